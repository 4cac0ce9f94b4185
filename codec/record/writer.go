package record

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
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

// writer writes one file; it implements output.Part. A chunk and its header are written at once, so that as a rule the file of a
// killed writer ends with a whole chunk.
type writer struct {
	file          *output.File
	chunkSize     uint64
	chunkDuration uint64

	disk sync.Mutex // of file; locked before mu, which is not held while the disk works

	mu        sync.Mutex // for all below
	err       error      // what ended the writing
	told      bool       // it was returned
	closed    bool       // all is written, or given up
	complete  bool       // the file has its name
	header    header     // of what is in the file
	earliest  int64      // LogTime of what is in the file
	latest    int64
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
	channel  *codec.Channel // the first of those that share it
	prefix   []byte         // the name as field of a SingleMessage and the tag of the time
	wire     channel
	messages uint64
	taken    uint64 // of messages: in the file or in the chunk that is being written
	written  uint64 // of messages: in the file

	located bool    // the index says where in the file its messages are
	places  []int64 // there they are
}

// newWriter begins a file in which the channels of before, unless that is nil, are declared. It takes file over.
func newWriter(file *output.File, o codec.CreateOptions, before *writer) (*writer, error) {
	w := &writer{
		file:          file,
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
	before.mu.Lock()
	defer before.mu.Unlock()
	own := map[*writerChannel]*writerChannel{}
	for _, old := range before.order {
		own[old] = &writerChannel{channel: old.channel, prefix: old.prefix, wire: old.wire}
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
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.declare(c)
	return err
}

// declare returns the channel of the file for c.
func (w *writer) declare(c *codec.Channel) (*writerChannel, error) {
	if w.err != nil {
		return nil, w.ended()
	}
	if own := w.channels[c]; own != nil {
		return own, nil
	}
	path := w.file.Path()
	if c.Topic == "" || len(c.Topic) > maxName-8 {
		return nil, fmt.Errorf("write %s: a channel has a topic of %d bytes; 1 to %d are possible", path, len(c.Topic), maxName-8)
	}
	name := c.Topic
	for i := 2; ; i++ {
		own := w.names[name]
		if own == nil {
			break
		}
		if first := own.channel; first.Topic == c.Topic && first.Type == c.Type && first.Encoding == c.Encoding &&
			first.Schema.Encoding == c.Schema.Encoding && bytes.Equal(first.Schema.Data, c.Schema.Data) {
			w.channels[c] = own
			return own, nil
		}
		name = fmt.Sprintf("%s#%d", c.Topic, i)
	}
	own := &writerChannel{channel: c, wire: wireChannel(c, name)}
	own.prefix = append(appendBytes(nil, 1, name), timeTag)
	if size := len(encode(&own.wire)); size > maxChannel {
		return nil, fmt.Errorf("write %s: the definition of %s takes %d bytes; %d are possible", path, c.Topic, size, maxChannel)
	}
	w.add(own)
	w.channels[c] = own
	return own, nil
}

// ended returns what ended the writing, if something did.
func (w *writer) ended() error {
	w.told = w.err != nil
	return w.err
}

// add adds a channel. It comes into the file with the next chunk.
func (w *writer) add(own *writerChannel) {
	w.names[string(own.wire.name)] = own
	w.order = append(w.order, own)
	w.checksums = w.checksums || own.channel.Encoding != codec.EncodingProtobuf
	own.located = located(own.channel)
}

// Write implements output.Part.
func (w *writer) Write(m *codec.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Channel != w.last || w.err != nil {
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
	w.writeChunk(false)
	return nil
}

// writeLarge writes a message that does not fit into the open chunk.
func (w *writer) writeLarge(own *writerChannel, m *codec.Message) error {
	head := messageHead + len(own.prefix)
	if len(m.Data) > maxPayload-head {
		return fmt.Errorf("write %s: a message of %s takes %d bytes; %d are possible", w.file.Path(), m.Channel.Topic, len(m.Data), math.MaxInt32-1<<10)
	}
	w.lockDisk()
	defer w.disk.Unlock()
	w.flush(nil, false)
	if w.err != nil {
		return w.ended()
	}
	w.appendHead(own, m)
	tail := m.Data
	if len(tail) <= cap(w.chunk.buf)-chunkHead-head {
		w.chunk.buf, tail = append(w.chunk.buf, tail...), nil
	}
	if len(tail) > 0 || w.chunk.header.rawSize > w.chunkSize {
		w.flush(tail, false)
	}
	return nil
}

// writeChunk writes what is not in the file yet. An error is err then, and says that all of it is missing. beside says that Write
// may go on meanwhile.
func (w *writer) writeChunk(beside bool) {
	w.lockDisk()
	defer w.disk.Unlock()
	w.flush(nil, beside)
}

// lockDisk locks the disk too, while mu is locked. Sync may write the chunk before.
func (w *writer) lockDisk() {
	w.mu.Unlock()
	w.disk.Lock()
	w.mu.Lock()
}

// flush does what writeChunk does while the disk and mu are locked. tail is the content of the last message if that is not in the
// chunk.
func (w *writer) flush(tail []byte, beside bool) {
	c, channels := w.chunk, w.order[w.declared:]
	if w.err != nil || w.closed || c.header.messageNumber == 0 && len(channels) == 0 {
		return
	}
	w.chunk = chunk{buf: c.buf[:chunkHead]}
	if beside {
		w.chunk.buf, w.spare = w.spare, nil
		if w.chunk.buf == nil {
			w.chunk.buf = w.newBuffer()
		}
	}
	for _, own := range w.order {
		own.taken = own.messages
	}
	indexSize, checksum := w.indexSize, w.checksums
	w.mu.Unlock()

	sections, entries := encodeChannels(channels, w.file.Size())
	indexSize += int64(len(sections) + len(channels)*channelCost)
	var body []byte
	if c.header.messageNumber > 0 {
		head := c.encodeHead(tail, checksum)
		body = c.buf[chunkHead-len(head):]
		copy(body, head)
		c.pos = w.file.Size() + int64(len(sections))
		c.body = c.pos + int64(len(head))
		indexSize += int64(chunkCost + 8*len(c.places))
	}
	err := w.file.Reserve(indexSize + finalReserve)
	if err == nil {
		err = w.file.Append(sections, body, tail)
	}

	w.mu.Lock()
	if beside {
		w.spare = c.buf[:chunkHead]
	}
	if err != nil {
		w.fail(err, &c.header)
		return
	}
	w.indexSize = indexSize
	w.index = append(w.index, entries...)
	w.declared += len(channels)
	w.header.channelNumber += uint64(len(channels))
	for _, own := range w.order {
		own.written = own.taken
	}
	if len(body) > 0 {
		w.count(&c)
	}
}

// count takes note of a chunk that is in the file.
func (w *writer) count(c *chunk) {
	h := &w.header
	begin, end := int64(c.header.beginTime), int64(c.header.endTime)
	if h.chunkNumber == 0 {
		h.beginTime = c.header.beginTime
		w.earliest, w.latest = begin, end
	}
	w.earliest, w.latest = min(w.earliest, begin), max(w.latest, end)
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

// fail ends the writing: what is not in the file is missing. lost is the chunk that is in no place any more.
func (w *writer) fail(cause error, lost *chunkHeader) {
	missing := &codec.MissingError{Path: w.file.Path(), Err: cause}
	for _, own := range w.order {
		if n := own.messages - own.written; n > 0 {
			missing.Topics = append(missing.Topics, codec.TopicInfo{Channel: own.channel, MessageCount: n})
		}
		own.messages = own.written
	}
	open := w.chunk.header
	switch {
	case lost.messageNumber == 0:
		lost = &open
	case open.messageNumber == 0:
		open = *lost
	}
	missing.Start = min(int64(lost.beginTime), int64(open.beginTime))
	missing.End = max(int64(lost.endTime), int64(open.endTime))
	w.chunk = chunk{buf: w.chunk.buf[:chunkHead]}
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
	w.flush(nil, false) // after an error of syncing there may be something
	last := w.err
	w.file.Release()
	w.note(before)
	w.note(last)
	w.closed, w.err = true, cmp.Or(before, last)
	w.chunk, w.spare = chunk{}, nil
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
	m, err := codec.EventMessage(missing.Event())
	if err != nil {
		return
	}
	if own, err := w.declare(m.Channel); err == nil {
		w.appendHead(own, m)
		w.chunk.buf = append(w.chunk.buf, m.Data...)
		w.flush(nil, false)
	}
}

// finish writes the index and then the final header.
func (w *writer) finish(durable bool) error {
	w.header.indexPosition = uint64(w.file.Size())
	err := w.file.Append(w.encodeIndex())
	if err == nil && durable {
		err = w.file.Sync() // the header must not say that the file is complete before it is
	}
	if err == nil {
		w.header.size = uint64(w.file.Size())
		w.header.isComplete = 1
		err = w.file.WriteAt(w.encodeHeader(), 0)
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
	info := &codec.Info{
		Format: formatName, Path: w.file.Path(), Size: w.file.Size(), MessageCount: w.header.messageNumber,
		StartTime: w.earliest, EndTime: w.latest, Complete: w.complete,
	}
	if !w.complete {
		info.Path += codec.ActiveSuffix
	}
	for _, own := range w.order {
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: own.channel, MessageCount: own.written})
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
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
	own.messages++
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
