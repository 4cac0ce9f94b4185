package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

const (
	defaultChunkSize     = 16 << 20
	defaultChunkDuration = time.Second
	maxChunkSize         = 1 << 30

	// messageHead is more than what precedes a content, without the name.
	messageHead = 3*(1+binary.MaxVarintLen64) + publishSize
	// finalReserve is more than what is written in front of the index when the disk failed.
	finalReserve = 16 << 10
)

// writer writes one file; it implements output.Part and output.Layout. A chunk and its header are written at once, so that as a rule the file of a
// killed writer ends with a whole chunk.
type writer struct {
	part          output.Chunked
	chunkSize     uint64
	chunkDuration uint64

	header    header // of what is in the file
	index     []indexEntry
	indexSize int64 // at most; of what is in the file

	channels  map[*codec.Channel]*writerChannel
	names     map[string]*writerChannel
	order     []*writerChannel
	declared  int            // so many of order are in the file
	checksums bool           // of chunks
	last      *codec.Channel // of the last message
	lastOwn   *writerChannel

	chunk chunk  // the open one
	spare []byte // room for another one
}

// writerChannel is a channel of the file.
type writerChannel struct {
	output.Topic        // the channel is the first of those that share it
	prefix       []byte // the name as field of a SingleMessage and the tag of the time
	wire         channel

	located bool    // the index says where in the file its messages are
	places  []int64 // there they are
}

// newWriter begins a file in which the channels of before, unless that is nil, are declared. It takes file over.
func newWriter(file *output.File, o codec.CreateOptions, before *writer) (*writer, error) {
	w := &writer{
		chunkSize:     defaultChunkSize,
		chunkDuration: uint64(defaultChunkDuration),
		channels:      map[*codec.Channel]*writerChannel{},
		names:         map[string]*writerChannel{},
	}
	if o.ChunkSize > 0 {
		w.chunkSize = uint64(min(o.ChunkSize, maxChunkSize))
	}
	if o.ChunkDuration > 0 {
		w.chunkDuration = uint64(o.ChunkDuration)
	}
	w.header = header{
		majorVersion: 1, chunkInterval: w.chunkDuration, chunkRawSize: w.chunkSize, presence: presence{set: headerFields},
	}
	w.part.Init(file, w, o)
	// At once, so that hardly ever an empty file is left by a killed writer.
	area := append(w.encodeHeader(), make([]byte, firstSection)...)[:firstSection]
	if err := file.Append(area); err != nil {
		file.Discard()
		return nil, fmt.Errorf("create %s: %w", file.Path(), err)
	}
	w.chunk.buf = w.newBuffer()
	if before != nil {
		w.inherit(before)
	}
	return w, nil
}

// newBuffer returns room for a chunk. The contents are at most chunkSize before the last message, and what surrounds them
// takes a third as much again for messages of 100 bytes. When it takes more the chunk ends early.
func (w *writer) newBuffer() []byte {
	return make([]byte, chunkHead, chunkHead+w.chunkSize+w.chunkSize/2+1<<20)
}

// inherit declares the channels of another file, which may be in use.
func (w *writer) inherit(before *writer) {
	before.part.Lock()
	defer before.part.Unlock()
	own := map[*writerChannel]*writerChannel{}
	for _, old := range before.order {
		own[old] = &writerChannel{Topic: output.Topic{Channel: old.Channel}, prefix: old.prefix, wire: old.wire}
		w.add(own[old])
	}
	for c, old := range before.channels {
		w.channels[c] = own[old]
	}
}

// encodeHeader returns the header, with the '0' that Apollo's writer has behind it.
func (w *writer) encodeHeader() []byte {
	payload := encode(&w.header)
	return append(append(section{headerSection, int64(len(payload))}.append(nil), payload...), '0')
}

// Declare implements output.Part.
func (w *writer) Declare(c *codec.Channel) error {
	w.part.Lock()
	defer w.part.Unlock()
	_, err := w.declare(c)
	return err
}

// declare returns the channel of the file for c.
func (w *writer) declare(c *codec.Channel) (*writerChannel, error) {
	if err := w.part.Ended(); err != nil {
		return nil, err
	}
	if own := w.channels[c]; own != nil {
		return own, nil
	}
	path := w.part.File.Path()
	if c.Topic == "" || len(c.Topic) > maxName-8 {
		return nil, fmt.Errorf("write %s: a channel has a topic of %d bytes; 1 to %d are possible", path, len(c.Topic), maxName-8)
	}
	name := c.Topic
	for i := 2; ; i++ {
		own := w.names[name]
		if own == nil {
			break
		}
		if first := own.Channel; first.Topic == c.Topic && first.Type == c.Type && first.Encoding == c.Encoding &&
			first.Schema.Encoding == c.Schema.Encoding && bytes.Equal(first.Schema.Data, c.Schema.Data) {
			w.channels[c] = own
			return own, nil
		}
		name = fmt.Sprintf("%s#%d", c.Topic, i)
	}
	own := &writerChannel{Topic: output.Topic{Channel: c}, wire: wireChannel(c, name)}
	own.prefix = append(appendBytes(nil, 1, name), timeTag)
	if size := len(encode(&own.wire)); size > maxChannel {
		return nil, fmt.Errorf("write %s: the definition of %s takes %d bytes; %d are possible", path, c.Topic, size, maxChannel)
	}
	w.add(own)
	w.channels[c] = own
	return own, nil
}

// add adds a channel. It comes into the file with the next chunk.
func (w *writer) add(own *writerChannel) {
	w.names[string(own.wire.name)] = own
	w.order = append(w.order, own)
	w.part.Topics = append(w.part.Topics, &own.Topic)
	w.checksums = w.checksums || own.Channel.Encoding != codec.EncodingProtobuf
	own.located = located(own.Channel)
}

// Write implements output.Part.
func (w *writer) Write(m *codec.Message) error {
	w.part.Lock()
	defer w.part.Unlock()
	if err := w.part.Ended(); err != nil {
		return err
	}
	if m.Channel != w.last {
		own, err := w.declare(m.Channel)
		if err != nil {
			return err
		}
		w.last, w.lastOwn = m.Channel, own
	}
	own := w.lastOwn
	if len(m.Data) > cap(w.chunk.buf)-len(w.chunk.buf)-messageHead-len(own.prefix) {
		return w.writeLarge(own, m)
	}
	w.appendHead(own, m)
	w.chunk.buf = append(w.chunk.buf, m.Data...)
	if h := &w.chunk.header; h.rawSize <= w.chunkSize && uint64(m.LogTime)-h.beginTime <= w.chunkDuration {
		return nil
	}
	w.part.Write()
	return nil
}

// writeLarge writes a message that does not fit into the open chunk.
func (w *writer) writeLarge(own *writerChannel, m *codec.Message) error {
	head := messageHead + len(own.prefix)
	if len(m.Data) > maxPayload-head {
		return fmt.Errorf("write %s: a message of %s takes %d bytes; %d are possible", w.part.File.Path(), m.Channel.Topic, len(m.Data), math.MaxInt32-1<<10)
	}
	var err error
	w.part.WithDisk(func() {
		w.flush(nil, false)
		if err = w.part.Ended(); err != nil {
			return
		}
		w.appendHead(own, m)
		tail := m.Data
		if len(tail) <= cap(w.chunk.buf)-chunkHead-head {
			w.chunk.buf, tail = append(w.chunk.buf, tail...), nil
		}
		if len(tail) > 0 || w.chunk.header.rawSize > w.chunkSize {
			w.flush(tail, false)
		}
	})
	return err
}

// Flush implements output.Layout.
func (w *writer) Flush(beside bool) { w.flush(nil, beside) }

// flush is Flush with the content of the last message if that is not in the chunk.
func (w *writer) flush(tail []byte, beside bool) {
	c, channels := w.chunk, w.order[w.declared:]
	if c.header.messageNumber == 0 && len(channels) == 0 {
		return
	}
	w.chunk = chunk{buf: c.buf[:chunkHead]}
	if beside {
		w.chunk.buf, w.spare = w.spare, nil
		if w.chunk.buf == nil {
			w.chunk.buf = w.newBuffer()
		}
	}
	indexSize, checksum, ending := w.indexSize, w.checksums, w.part.EventReserve()
	var entries []indexEntry
	err := w.part.Put(func() error {
		file := w.part.File
		var sections, body []byte
		sections, entries = encodeChannels(channels, file.Size())
		indexSize += int64(len(sections) + len(channels)*channelCost)
		if c.header.messageNumber > 0 {
			head := c.encodeHead(tail, checksum)
			body = c.buf[chunkHead-len(head):]
			copy(body, head)
			c.pos = file.Size() + int64(len(sections))
			c.body = c.pos + int64(len(head))
			indexSize += int64(chunkCost + 8*len(c.places))
		}
		if err := file.Reserve(indexSize + ending + finalReserve); err != nil {
			return err
		}
		return file.Append(sections, body, tail)
	})
	if beside {
		w.spare = c.buf[:chunkHead]
	}
	if err != nil {
		w.part.Fail(err, c.header.span(), w.chunk.header.span())
		w.chunk = chunk{buf: w.chunk.buf[:chunkHead]}
		return
	}
	w.indexSize = indexSize
	w.index = append(w.index, entries...)
	w.declared += len(channels)
	w.header.channelNumber += uint64(len(channels))
	w.part.Keep(c.header.span())
	if c.header.messageNumber > 0 {
		w.count(&c)
	}
}

// span returns the messages of a chunk.
func (h *chunkHeader) span() output.Span {
	return output.Span{Messages: int(h.messageNumber), Start: int64(h.beginTime), End: int64(h.endTime)}
}

// count takes note of a chunk that is in the file.
func (w *writer) count(c *chunk) {
	h := &w.header
	if h.chunkNumber == 0 {
		h.beginTime = c.header.beginTime
	}
	h.endTime = c.header.endTime
	h.chunkNumber++
	h.messageNumber += c.header.messageNumber
	w.index = append(w.index, indexEntry{chunk: c.header, position: c.pos, body: c.body - sectionSize})
	for _, p := range c.places {
		if len(p.own.places) == maxPlaces {
			p.own.located, p.own.places = false, nil
		}
		if p.own.located {
			p.own.places = append(p.own.places, c.body+int64(p.at-chunkHead))
		}
	}
}

// Sync implements output.Part.
func (w *writer) Sync() error { return w.part.Sync() }

// Complete implements output.Part.
func (w *writer) Complete(durable bool) error { return w.part.Complete(durable) }

// Info implements output.Part.
func (w *writer) Info() *codec.Info { return w.part.Info(formatName) }

// Note implements output.Layout.
func (w *writer) Note(e codec.Event) {
	m, err := codec.EventMessage(e)
	if err != nil {
		return
	}
	if own, err := w.declare(m.Channel); err == nil {
		w.appendHead(own, m)
		w.chunk.buf = append(w.chunk.buf, m.Data...)
	}
}

// Release implements output.Layout.
func (w *writer) Release() { w.chunk, w.spare = chunk{}, nil }

// Finish implements output.Layout: it writes the index and then the final header.
func (w *writer) Finish(durable bool) error {
	file := w.part.File
	w.header.indexPosition = uint64(file.Size())
	err := file.Append(w.encodeIndex())
	if err == nil && durable {
		err = file.Sync() // the header must not say that the file is complete before it is
	}
	if err == nil {
		w.header.size = uint64(file.Size())
		w.header.isComplete = 1
		err = file.WriteAt(w.encodeHeader(), 0)
	}
	if err != nil {
		_ = file.Abandon()
		return err
	}
	return file.Complete(durable)
}

// appendHead counts a message and appends what precedes its content.
func (w *writer) appendHead(own *writerChannel, m *codec.Message) {
	h := &w.chunk.header
	time := uint64(m.LogTime)
	switch {
	case h.messageNumber == 0:
		h.beginTime, h.endTime = time, time
	case m.LogTime < int64(h.beginTime):
		h.beginTime = time
	case m.LogTime > int64(h.endTime):
		h.endTime = time
	}
	h.messageNumber++
	h.rawSize += uint64(len(m.Data))
	own.Messages++
	w.part.Took(m)
	if own.located {
		w.chunk.places = append(w.chunk.places, place{own, len(w.chunk.buf)})
	}

	size := len(own.prefix) + protowire.SizeVarint(time) + 1 + protowire.SizeBytes(len(m.Data))
	if m.PublishTime != 0 {
		size += publishSize
	}
	b := append(w.chunk.buf, nameTag) // the number of ChunkBody.messages is that of the name
	b = protowire.AppendVarint(b, uint64(size))
	b = append(b, own.prefix...)
	b = protowire.AppendVarint(b, time)
	if m.PublishTime != 0 {
		b = protowire.AppendTag(b, extension, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, uint64(m.PublishTime))
	}
	b = append(b, contentTag)
	w.chunk.buf = protowire.AppendVarint(b, uint64(len(m.Data)))
}
