package rosbag

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

const (
	defaultChunkSize     = 768 << 10 // that of ROS
	defaultChunkDuration = time.Second

	maxPayload   = maxChunk / 2
	maxTime      = int64(math.MaxUint32)*1e9 + 1e9 - 1 // ns
	finalReserve = 16 << 10                            // more than what a file takes at its end beside what grows with it
)

// writer writes one file; it implements output.Part and output.Layout.
type writer struct {
	part      output.Chunked
	chunkSize int
	duration  int64
	packer    packer // of the disk

	conns   []*connection // by number
	ids     map[*codec.Channel]*connection
	headers map[string]*connection // by all that a connection has
	last    *codec.Channel         // the channel of the last message, and its connection
	lastOwn *connection

	chunk *chunk // the open one
	spare *chunk
	size  int64 // of conns in the index

	// Of what is in the file:
	infos  []byte // the chunk infos
	chunks int
}

// connection is a connection of the file.
type connection struct {
	output.Topic
	number uint32
	record []byte
}

// chunk is a chunk that is to be written.
type chunk struct {
	records []byte
	entries [][]entry // of the index, by connection
	first   int64     // LogTime of the first message
	span    output.Span
}

// reset empties the chunk, which keeps its memory.
func (c *chunk) reset() {
	c.records, c.span = c.records[:0], output.Span{}
	for i, entries := range c.entries {
		c.entries[i] = entries[:0]
	}
}

// newWriter begins a bag in which the channels of before, unless that is nil, are declared. It takes file over.
func newWriter(file *output.File, o codec.CreateOptions, before *writer) (*writer, error) {
	w := &writer{
		chunkSize: min(cmp.Or(o.ChunkSize, defaultChunkSize), maxChunk/2), duration: int64(cmp.Or(o.ChunkDuration, defaultChunkDuration)),
		ids: map[*codec.Channel]*connection{}, headers: map[string]*connection{},
	}
	w.part.Init(file, w, o)
	w.chunk = w.newChunk()
	// At once, so that hardly ever an empty file is left by a killed writer.
	err := file.Append([]byte(version2), encodeFileHeader(0, 0, 0))
	if err == nil {
		w.packer, err = newPacker(o.Compression)
	}
	if err == nil && before != nil {
		err = w.inherit(before)
	}
	if err != nil {
		file.Discard()
		return nil, fmt.Errorf("create %s: %w", file.Path(), err)
	}
	return w, nil
}

func (w *writer) newChunk() *chunk {
	return &chunk{records: make([]byte, 0, w.chunkSize+w.chunkSize/4)}
}

// inherit declares the channels of another file, which may be in use. They keep their numbers.
func (w *writer) inherit(before *writer) error {
	before.part.Lock()
	defer before.part.Unlock()
	for _, c := range before.conns {
		if _, err := w.connection(c.Channel); err != nil {
			return err
		}
	}
	for channel, c := range before.ids {
		w.ids[channel] = w.conns[c.number]
	}
	return nil
}

// Declare implements output.Part.
func (w *writer) Declare(c *codec.Channel) error {
	w.part.Lock()
	defer w.part.Unlock()
	_, err := w.connection(c)
	return err
}

// connection returns the connection of a channel.
func (w *writer) connection(c *codec.Channel) (*connection, error) {
	if err := w.part.Ended(); err != nil {
		return nil, err
	}
	if c == w.last {
		return w.lastOwn, nil
	}
	own := w.ids[c]
	if own == nil {
		var err error
		if own, err = w.declare(c); err != nil {
			return nil, err
		}
		w.ids[c] = own
	}
	w.last, w.lastOwn = c, own
	return own, nil
}

func (w *writer) declare(c *codec.Channel) (*connection, error) {
	if c.Encoding != codec.EncodingROS1 {
		return nil, fmt.Errorf("write %s: topic %s: its messages are %s, and a bag has those of ROS 1 (%s) alone", w.part.File.Path(), c.Topic, cmp.Or(c.Encoding, "of no known encoding"), codec.EncodingROS1)
	}
	header := encodeConnection(c)
	if own := w.headers[string(header)]; own != nil {
		return own, nil
	}
	if len(header) > maxConnect || len(c.Topic) > maxHeader/2 {
		return nil, fmt.Errorf("write %s: topic %s: its definition takes %d bytes; %d are possible", w.part.File.Path(), c.Topic[:min(100, len(c.Topic))], len(header), maxConnect)
	}
	own := &connection{number: uint32(len(w.conns)), Topic: output.Topic{Channel: c}}
	own.record = appendRecord(nil, opConnection, func(b []byte) []byte {
		return appendField(appendUint32(b, "conn", own.number), "topic", c.Topic)
	}, func(b []byte) []byte { return append(b, header...) })
	w.chunk.records = append(w.chunk.records, own.record...)
	w.headers[string(header)] = own
	w.conns = append(w.conns, own)
	w.part.Topics = append(w.part.Topics, &own.Topic)
	w.size += int64(len(own.record))
	return own, nil
}

// Write implements output.Part.
func (w *writer) Write(m *codec.Message) error {
	w.part.Lock()
	defer w.part.Unlock()
	own, err := w.connection(m.Channel)
	if err != nil {
		return err
	}
	switch {
	case m.LogTime <= 0 || m.LogTime > maxTime:
		return fmt.Errorf("write %s: a message of %s has the time %d ns; in a bag it is from 1 to %d", w.part.File.Path(), m.Channel.Topic, m.LogTime, maxTime)
	case len(m.Data) > maxPayload:
		return fmt.Errorf("write %s: a message of %s takes %d bytes; %d are possible", w.part.File.Path(), m.Channel.Topic, len(m.Data), maxPayload)
	}
	if w.chunk.span.Messages > 0 && (m.LogTime-w.chunk.first >= w.duration || len(w.chunk.records)+len(m.Data) > maxPayload) {
		w.part.Write()
		if err := w.part.Ended(); err != nil {
			return err
		}
	}
	w.append(own, m)
	if len(w.chunk.records) >= w.chunkSize {
		w.part.Write()
	}
	return nil
}

// messageHead is how the header of every message begins: its length, the op, and the name of the connection's number.
const messageHead = "\x26\x00\x00\x00" + opField + connField

// append appends a message to the chunk.
func (w *writer) append(own *connection, m *codec.Message) {
	c := w.chunk
	if c.span.Messages == 0 {
		c.first = m.LogTime
	}
	c.span.Add(m.LogTime)
	for len(c.entries) <= int(own.number) {
		c.entries = append(c.entries, nil)
	}
	c.entries[own.number] = append(c.entries[own.number], entry{m.LogTime, uint32(len(c.records))})
	b := le.AppendUint32(append(c.records, messageHead...), own.number)
	b = appendTime(append(b, timeField...), m.LogTime)
	c.records = append(le.AppendUint32(b, uint32(len(m.Data))), m.Data...)
	own.Messages++
	w.part.Took(m)
}

// Flush implements output.Layout. Connections wait for the first message: a chunk without one would have no time.
func (w *writer) Flush(beside bool) {
	c := w.chunk
	if c.span.Messages == 0 {
		return
	}
	if beside {
		if w.chunk, w.spare = w.spare, nil; w.chunk == nil {
			w.chunk = w.newChunk()
		}
	}
	infos := appendChunkInfo(w.infos, w.part.File.Size(), c)
	reserve := int64(len(infos)) + w.size + w.part.EventReserve() + finalReserve
	err := w.part.Put(func() error { return w.write(c, reserve) })
	if beside {
		w.spare = c
	}
	if err == nil {
		w.infos = infos
		w.chunks++
		w.part.Keep(c.span)
	} else {
		w.part.Fail(err, c.span, w.chunk.span)
		w.chunk.reset()
	}
	c.reset()
}

// write writes a chunk with its index.
func (w *writer) write(c *chunk, reserve int64) error {
	stored, err := w.packer.pack(c.records)
	if err != nil {
		return err
	}
	if err := w.part.File.Reserve(reserve); err != nil {
		return err
	}
	var index []byte
	for conn, entries := range c.entries {
		if len(entries) > 0 {
			index = appendIndex(index, uint32(conn), entries)
		}
	}
	return w.part.File.Append(encodeChunkHead(w.packer.compression, c.records, len(stored)), stored, index)
}

// Sync implements output.Part.
func (w *writer) Sync() error { return w.part.Sync() }

// Complete implements output.Part.
func (w *writer) Complete(durable bool) error { return w.part.Complete(durable) }

// Info implements output.Part.
func (w *writer) Info() *codec.Info { return w.part.Info(Name) }

// Note implements output.Layout.
func (w *writer) Note(e codec.Event) {
	m := codec.EventMessage1(e)
	if own, err := w.connection(m.Channel); err == nil {
		w.append(own, m)
	}
}

// Release implements output.Layout.
func (w *writer) Release() { w.chunk, w.spare = nil, nil }

// Finish implements output.Layout: it writes the index, and where it is.
func (w *writer) Finish(durable bool) error {
	file := w.part.File
	var err error
	if durable {
		err = file.Sync() // there must be no index of what may not be there
	}
	offset := file.Size()
	if err == nil {
		var index []byte
		for _, own := range w.conns {
			index = append(index, own.record...)
		}
		err = file.Append(index, w.infos)
	}
	if err == nil {
		err = file.WriteAt(encodeFileHeader(offset, len(w.conns), w.chunks), int64(len(version2)))
	}
	if err != nil {
		_ = file.Abandon()
		return err
	}
	return file.Complete(durable)
}
