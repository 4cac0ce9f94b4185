package rosbag

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync"
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

// writer writes one file; it implements output.Part.
type writer struct {
	file      *output.File
	chunkSize int
	duration  int64

	disk   sync.Mutex // of the next one and file; locked before mu, which is not held while the disk works
	packer packer

	mu       sync.Mutex // for all below
	err      error      // what ended the writing
	told     bool       // it was returned
	closed   bool       // all is written, or given up
	complete bool       // the file has its name

	conns   []*connection // by number
	ids     map[*codec.Channel]*connection
	headers map[string]*connection // by all that a connection has
	last    *codec.Channel         // the channel of the last message, and its connection
	lastOwn *connection

	chunk *chunk // the open one
	spare *chunk
	size  int64 // of conns in the index

	// Of what is in the file:
	infos      []byte // the chunk infos
	chunks     int
	start, end int64
}

// connection is a connection of the file.
type connection struct {
	number   uint32
	channel  *codec.Channel
	record   []byte
	messages uint64
	taken    uint64 // of messages: in the file or in the chunk that is being written
	written  uint64 // of messages: in the file
}

// chunk is a chunk that is to be written.
type chunk struct {
	records    []byte
	entries    [][]entry // of the index, by connection
	messages   int
	first      int64 // LogTime of the first message
	start, end int64 // LogTime of the earliest and the latest message
}

// reset empties the chunk, which keeps its memory.
func (c *chunk) reset() {
	c.records, c.messages = c.records[:0], 0
	for i, entries := range c.entries {
		c.entries[i] = entries[:0]
	}
}

// newWriter begins a bag in which the channels of before, unless that is nil, are declared. It takes file over.
func newWriter(file *output.File, o codec.CreateOptions, before *writer) (*writer, error) {
	w := &writer{
		file: file, chunkSize: min(cmp.Or(o.ChunkSize, defaultChunkSize), maxChunk/2), duration: int64(cmp.Or(o.ChunkDuration, defaultChunkDuration)),
		ids: map[*codec.Channel]*connection{}, headers: map[string]*connection{},
	}
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
	before.mu.Lock()
	defer before.mu.Unlock()
	for _, c := range before.conns {
		if _, err := w.connection(c.channel); err != nil {
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
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.connection(c)
	return err
}

// connection returns the connection of a channel.
func (w *writer) connection(c *codec.Channel) (*connection, error) {
	if w.err != nil {
		return nil, w.ended()
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

// ended returns what ended the writing, if something did.
func (w *writer) ended() error {
	w.told = w.err != nil
	return w.err
}

func (w *writer) declare(c *codec.Channel) (*connection, error) {
	if c.Encoding != codec.EncodingROS1 {
		return nil, fmt.Errorf("write %s: topic %s: its messages are %s, and a bag has those of ROS 1 (%s) alone", w.file.Path(), c.Topic, cmp.Or(c.Encoding, "of no known encoding"), codec.EncodingROS1)
	}
	header := encodeConnection(c)
	if own := w.headers[string(header)]; own != nil {
		return own, nil
	}
	if len(header) > maxConnect || len(c.Topic) > maxHeader/2 {
		return nil, fmt.Errorf("write %s: topic %s: its definition takes %d bytes; %d are possible", w.file.Path(), c.Topic[:min(100, len(c.Topic))], len(header), maxConnect)
	}
	own := &connection{number: uint32(len(w.conns)), channel: c}
	own.record = appendRecord(nil, opConnection, func(b []byte) []byte {
		return appendField(appendUint32(b, "conn", own.number), "topic", c.Topic)
	}, func(b []byte) []byte { return append(b, header...) })
	w.chunk.records = append(w.chunk.records, own.record...)
	w.headers[string(header)] = own
	w.conns = append(w.conns, own)
	w.size += int64(len(own.record))
	return own, nil
}

// Write implements output.Part.
func (w *writer) Write(m *codec.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	own, err := w.connection(m.Channel)
	if err != nil {
		return err
	}
	switch {
	case m.LogTime <= 0 || m.LogTime > maxTime:
		return fmt.Errorf("write %s: a message of %s has the time %d ns; in a bag it is from 1 to %d", w.file.Path(), m.Channel.Topic, m.LogTime, maxTime)
	case len(m.Data) > maxPayload:
		return fmt.Errorf("write %s: a message of %s takes %d bytes; %d are possible", w.file.Path(), m.Channel.Topic, len(m.Data), maxPayload)
	}
	if w.chunk.messages > 0 && (m.LogTime-w.chunk.first >= w.duration || len(w.chunk.records)+len(m.Data) > maxPayload) {
		w.writeChunk(false)
		if w.err != nil {
			return w.ended()
		}
	}
	w.append(own, m)
	if len(w.chunk.records) >= w.chunkSize {
		w.writeChunk(false)
	}
	return nil
}

// messageHead is how the header of every message begins: its length, the op, and the name of the connection's number.
const messageHead = "\x26\x00\x00\x00" + opField + connField

// append appends a message to the chunk.
func (w *writer) append(own *connection, m *codec.Message) {
	c := w.chunk
	if c.messages == 0 {
		c.first, c.start, c.end = m.LogTime, m.LogTime, m.LogTime
	}
	c.start, c.end = min(c.start, m.LogTime), max(c.end, m.LogTime)
	for len(c.entries) <= int(own.number) {
		c.entries = append(c.entries, nil)
	}
	c.entries[own.number] = append(c.entries[own.number], entry{m.LogTime, uint32(len(c.records))})
	b := le.AppendUint32(append(c.records, messageHead...), own.number)
	b = appendTime(append(b, timeField...), m.LogTime)
	c.records = append(le.AppendUint32(b, uint32(len(m.Data))), m.Data...)
	c.messages++
	own.messages++
}

// lockDisk locks the disk too, while mu is locked. Sync may write the chunk before.
func (w *writer) lockDisk() {
	w.mu.Unlock()
	w.disk.Lock()
	w.mu.Lock()
}

// writeChunk writes the open chunk with its index. An error is err then, and says that all of it is missing. beside says that
// Write may go on meanwhile.
func (w *writer) writeChunk(beside bool) {
	w.lockDisk()
	defer w.disk.Unlock()
	w.flush(beside)
}

// flush does what writeChunk does while the disk and mu are locked. Connections wait for the first message: a chunk without one
// would have no time.
func (w *writer) flush(beside bool) {
	c := w.chunk
	if w.err != nil || w.closed || c.messages == 0 {
		return
	}
	if beside {
		if w.chunk, w.spare = w.spare, nil; w.chunk == nil {
			w.chunk = w.newChunk()
		}
	}
	for _, own := range w.conns {
		own.taken = own.messages
	}
	offset := w.file.Size()
	infos := appendChunkInfo(w.infos, offset, c)
	reserve := int64(len(infos)) + w.size + finalReserve
	w.mu.Unlock()

	stored, err := w.packer.pack(c.records)
	if err == nil {
		err = w.file.Reserve(reserve)
	}
	if err == nil {
		var index []byte
		for conn, entries := range c.entries {
			if len(entries) > 0 {
				index = appendIndex(index, uint32(conn), entries)
			}
		}
		err = w.file.Append(encodeChunkHead(w.packer.compression, c.records, len(stored)), stored, index)
	}

	w.mu.Lock()
	if beside {
		w.spare = c
	}
	if err == nil {
		w.count(c, infos)
	} else {
		w.fail(err, c)
	}
	c.reset()
}

// count takes note of what was written.
func (w *writer) count(c *chunk, infos []byte) {
	if w.chunks == 0 {
		w.start, w.end = c.start, c.end
	}
	w.start, w.end = min(w.start, c.start), max(w.end, c.end)
	w.infos = infos
	w.chunks++
	for _, own := range w.conns {
		own.written = own.taken
	}
}

// fail ends the writing: what is not in the file is missing. lost is the chunk that is in no place any more.
func (w *writer) fail(cause error, lost *chunk) {
	missing := &codec.MissingError{Path: w.file.Path(), Err: cause}
	for _, own := range w.conns {
		if n := own.messages - own.written; n > 0 {
			missing.Topics = append(missing.Topics, codec.TopicInfo{Channel: own.channel, MessageCount: n})
		}
		own.messages = own.written
	}
	open := w.chunk
	switch {
	case lost.messages == 0:
		lost = open
	case open.messages == 0:
		open = lost
	}
	missing.Start, missing.End = min(lost.start, open.start), max(lost.end, open.end)
	w.chunk.reset()
	w.err, w.told = missing, false
}

// Sync implements output.Part.
func (w *writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeChunk(true)
	if w.err != nil || w.closed {
		return w.ended()
	}
	w.mu.Unlock()
	err := w.file.Sync()
	w.mu.Lock()
	if err != nil && w.err == nil {
		w.err = &codec.MissingError{Path: w.file.Path(), Err: fmt.Errorf("put it on the disk: %w", err)}
	}
	return w.ended()
}

// Complete implements output.Part.
func (w *writer) Complete(durable bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lockDisk()
	defer w.disk.Unlock()
	before, told := w.err, w.told
	w.err = nil
	w.flush(false) // after an error of syncing there may be something
	last := w.err
	w.file.Release()
	w.note(before)
	w.note(last)
	w.closed, w.err = true, cmp.Or(before, last)
	w.chunk, w.spare = nil, nil
	err := last
	if err == nil && !told {
		err = before
	}
	if unable := w.finish(durable); unable != nil {
		return errors.Join(err, fmt.Errorf("complete %s: %w; it is readable nevertheless", w.file.Path(), unable))
	}
	w.complete = true
	return err
}

// note writes what the recording itself is to say of missing messages. It is returned, too, so that it need not succeed.
func (w *writer) note(err error) {
	var missing *codec.MissingError
	if !errors.As(err, &missing) || missing.Count() == 0 {
		return
	}
	w.err = nil
	m := codec.EventMessage1(missing.Event())
	if own, err := w.connection(m.Channel); err == nil {
		w.append(own, m)
		w.flush(false)
	}
}

// finish writes the index, and where it is.
func (w *writer) finish(durable bool) error {
	var err error
	if durable {
		err = w.file.Sync() // there must be no index of what may not be there
	}
	offset := w.file.Size()
	if err == nil {
		var index []byte
		for _, own := range w.conns {
			index = append(index, own.record...)
		}
		err = w.file.Append(index, w.infos)
	}
	if err == nil {
		err = w.file.WriteAt(encodeFileHeader(offset, len(w.conns), w.chunks), int64(len(version2)))
	}
	if err != nil {
		_ = w.file.Abandon()
		return err
	}
	return w.file.Complete(durable)
}

// Info implements output.Part.
func (w *writer) Info() *codec.Info {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	info := &codec.Info{Format: Name, Path: w.file.Path(), Size: w.file.Size(), StartTime: w.start, EndTime: w.end, Complete: w.complete}
	if !w.complete {
		info.Path += codec.ActiveSuffix
	}
	for _, own := range w.conns {
		info.MessageCount += own.written
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: own.channel, MessageCount: own.written})
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
}
