package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"tapedeck/codec"
)

const (
	defaultChunkSize     = 16 << 20
	defaultChunkDuration = time.Second
	maxChunkSize         = 1 << 30

	// chunkHead is more than what precedes the messages of a chunk: the header's section and that of the body.
	chunkHead = 2*sectionSize + 4*(1+binary.MaxVarintLen64)
	// messageHead is more than what precedes a content, without the name.
	messageHead = 3*(1+binary.MaxVarintLen64) + publishSize
)

// writer implements codec.Writer. A chunk and its header are written at once, so that as a rule the file of a killed writer
// ends with a whole chunk.
type writer struct {
	path          string
	file          *os.File
	chunkSize     uint64
	chunkDuration uint64

	mu       sync.Mutex // for all below
	err      error      // the first of writing, returned ever after
	closed   bool
	durable  bool // Sync was called: Close puts everything on the disk too
	header   header
	position int64 // where the next section goes
	channels map[*codec.Channel]*writerChannel
	names    map[string]*writerChannel
	last     *codec.Channel // of the last message
	lastOwn  *writerChannel
	index    []indexEntry

	// chunk is the open chunk: chunkHead bytes, then the messages.
	chunk       []byte
	chunkHeader chunkHeader
}

// writerChannel is a channel of the file.
type writerChannel struct {
	channel  *codec.Channel // the first of those that share it
	prefix   []byte         // the name as field of a SingleMessage and the tag of the time
	wire     channel
	messages uint64
}

// indexEntry is what the index says about a channel, or about a chunk.
type indexEntry struct {
	channel  *writerChannel // nil for a chunk
	position int64          // of the section
	body     int64          // of the section of a chunk's body

	beginTime, endTime, messageNumber, rawSize uint64
}

func create(path string, o codec.CreateOptions) (*writer, error) {
	if o.Compression != "" && o.Compression != "none" {
		return nil, fmt.Errorf("create %s: compression %q: a record file is never compressed", path, o.Compression)
	}
	if o.ChunkSize < 0 || o.ChunkDuration < 0 {
		return nil, fmt.Errorf("create %s: size and duration of chunks must not be negative", path)
	}
	w := &writer{
		path:          path,
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
	// The contents are at most chunkSize before the last message, and what surrounds them takes a third as much again for
	// messages of 100 bytes. When it takes more the chunk ends early.
	w.chunk = make([]byte, chunkHead, chunkHead+w.chunkSize+w.chunkSize/2+1<<20)
	flags := os.O_RDWR | os.O_CREATE
	if o.Overwrite {
		flags |= os.O_TRUNC
	} else {
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, pathless(err))
	}
	w.file = file
	if err := w.writeHeader(); err != nil {
		file.Close()
		if !o.Overwrite { // else it may be a device
			_ = os.Remove(path)
		}
		return nil, err
	}
	w.position = firstSection
	return w, nil
}

// writeHeader writes the whole area of the header. Behind the payload Apollo's writer has one '0' and zero bytes.
func (w *writer) writeHeader() error {
	payload := encode(&w.header)
	area := section{headerSection, int64(len(payload))}.append(make([]byte, 0, firstSection))
	area = append(append(area, payload...), '0')
	return w.write(area[:firstSection], 0)
}

// write writes b at pos. When that fails it cuts off what it wrote behind the last whole section.
func (w *writer) write(b []byte, pos int64) error {
	if w.err != nil {
		return w.err
	}
	if _, err := w.file.WriteAt(b, pos); err != nil {
		w.fail(err)
	}
	return w.err
}

func (w *writer) fail(err error) {
	advice := ""
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		advice = "; what was written before is readable, free some space before going on"
	}
	w.err = fmt.Errorf("write %s: %w%s", w.path, pathless(err), advice)
	if w.position > 0 {
		if err := w.file.Truncate(w.position); err != nil {
			w.err = errors.Join(w.err, fmt.Errorf("cut off a part of a chunk: %w", err))
		}
	}
}

func (w *writer) Declare(c *codec.Channel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.declare(c)
	return err
}

// declare returns the channel of the file for c and writes it if it is new.
func (w *writer) declare(c *codec.Channel) (*writerChannel, error) {
	if own := w.channels[c]; own != nil {
		return own, nil
	}
	if w.closed {
		return nil, fmt.Errorf("write %s: %w", w.path, fs.ErrClosed)
	}
	if c.Topic == "" || len(c.Topic) > maxName-8 {
		return nil, fmt.Errorf("write %s: a channel has a topic of %d bytes; 1 to %d are possible", w.path, len(c.Topic), maxName-8)
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
	payload := encode(&own.wire)
	if len(payload) > maxChannel {
		return nil, fmt.Errorf("write %s: the definition of %s takes %d bytes; %d are possible", w.path, c.Topic, len(payload), maxChannel)
	}
	b := section{channelSection, int64(len(payload))}.append(nil)
	b = append(b, payload...)
	if err := w.write(b, w.position); err != nil {
		return nil, err
	}
	w.index = append(w.index, indexEntry{channel: own, position: w.position})
	w.position += int64(len(b))
	w.header.channelNumber++
	w.channels[c], w.names[name] = own, own
	return own, nil
}

func (w *writer) Write(m *codec.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.closed {
		if w.err == nil {
			return fmt.Errorf("write %s: %w", w.path, fs.ErrClosed)
		}
		return w.err
	}
	if m.Channel != w.last {
		own, err := w.declare(m.Channel)
		if err != nil {
			return err
		}
		w.last, w.lastOwn = m.Channel, own
	}
	c := w.lastOwn
	if len(m.Data) > maxPayload-messageHead-len(c.prefix) {
		return fmt.Errorf("write %s: a message of %s takes %d bytes; %d are possible", w.path, m.Channel.Topic, len(m.Data), math.MaxInt32-1<<10)
	}
	if len(w.chunk)+messageHead+len(c.prefix)+len(m.Data) > cap(w.chunk) {
		if err := w.flush(nil); err != nil {
			return err
		}
	}
	w.appendHead(c, m)
	h := &w.chunkHeader
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
	c.messages++
	if len(m.Data) > cap(w.chunk)-len(w.chunk) {
		return w.flush(m.Data)
	}
	w.chunk = append(w.chunk, m.Data...)
	if h.rawSize > w.chunkSize || time-h.beginTime > w.chunkDuration {
		return w.flush(nil)
	}
	return nil
}

// appendHead appends what precedes the content of a message.
func (w *writer) appendHead(c *writerChannel, m *codec.Message) {
	size := len(c.prefix) + protowire.SizeVarint(uint64(m.LogTime)) + 1 + protowire.SizeBytes(len(m.Data))
	if m.PublishTime != 0 {
		size += publishSize
	}
	b := append(w.chunk, nameTag) // the number of ChunkBody.messages is that of the name
	b = protowire.AppendVarint(b, uint64(size))
	b = append(b, c.prefix...)
	b = protowire.AppendVarint(b, uint64(m.LogTime))
	if m.PublishTime != 0 {
		b = protowire.AppendTag(b, extension, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, uint64(m.PublishTime))
	}
	b = append(b, contentTag)
	w.chunk = protowire.AppendVarint(b, uint64(len(m.Data)))
}

// flush writes the open chunk, if there is one. tail is the content of its last message if that is not in the chunk.
func (w *writer) flush(tail []byte) error {
	if w.err != nil || w.chunkHeader.messageNumber == 0 {
		return w.err
	}
	h := w.chunkHeader
	h.set = all
	header := encode(&h)
	head := section{chunkHeaderSection, int64(len(header))}.append(nil)
	head = append(head, header...)
	body := int64(len(head))
	head = section{chunkBodySection, int64(len(w.chunk) - chunkHead + len(tail))}.append(head)
	b := w.chunk[chunkHead-len(head):]
	copy(b, head)

	if err := w.write(b, w.position); err != nil {
		return err
	}
	if err := w.write(tail, w.position+int64(len(b))); err != nil {
		return err
	}
	w.index = append(w.index, indexEntry{
		position: w.position, body: w.position + body,
		beginTime: h.beginTime, endTime: h.endTime, messageNumber: h.messageNumber, rawSize: h.rawSize,
	})
	if w.header.chunkNumber == 0 {
		w.header.beginTime = h.beginTime
	}
	w.header.endTime = h.endTime
	w.header.chunkNumber++
	w.header.messageNumber += h.messageNumber
	w.position += int64(len(b) + len(tail))
	w.chunk, w.chunkHeader = w.chunk[:chunkHead], chunkHeader{}
	return nil
}

func (w *writer) Sync() error {
	w.mu.Lock()
	err := w.flush(nil)
	closed := w.closed
	w.durable = true
	w.mu.Unlock()
	if err != nil || closed {
		return err
	}
	return w.syncFile() // beside Write: it may take long
}

func (w *writer) syncFile() error {
	if err := w.file.Sync(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("sync %s: %w", w.path, pathless(err))
	}
	return nil
}

func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	if w.flush(nil) == nil {
		w.writeIndex()
	}
	w.closed = true
	w.chunk = nil
	if w.durable && w.err == nil {
		w.err = w.syncFile()
	}
	if err := w.file.Close(); err != nil && w.err == nil {
		w.err = fmt.Errorf("close %s: %w", w.path, pathless(err))
	}
	return w.err
}

// writeIndex writes the index and then the final header.
func (w *writer) writeIndex() {
	size := 0
	var b []byte
	for i := range w.index {
		b = w.index[i].append(b[:0])
		size += len(b)
	}
	buffer := bufio.NewWriterSize(&sectionWriter{w, w.position}, 1<<20)
	_, _ = buffer.Write(section{indexSection, int64(size)}.append(nil)) // Flush returns the first error
	for i := range w.index {
		b = w.index[i].append(b[:0])
		_, _ = buffer.Write(b)
	}
	if buffer.Flush() != nil {
		return // it is in w.err
	}
	if w.durable {
		// The header must not say that the file is complete before it is.
		if w.err = w.syncFile(); w.err != nil {
			return
		}
	}
	w.header.indexPosition = uint64(w.position)
	w.header.size = uint64(w.position) + sectionSize + uint64(size)
	w.header.isComplete = 1
	_ = w.writeHeader() // it is in w.err
}

// sectionWriter writes on from a position of the file.
type sectionWriter struct {
	w   *writer
	pos int64
}

func (s *sectionWriter) Write(b []byte) (int, error) {
	if err := s.w.write(b, s.pos); err != nil {
		return 0, err
	}
	s.pos += int64(len(b))
	return len(b), nil
}

// append appends the entry as field of Index: one for a channel, two for a chunk.
func (e *indexEntry) append(dst []byte) []byte {
	if e.channel != nil {
		cache := channelCache{
			messageNumber: e.channel.messages, name: e.channel.wire.name, messageType: e.channel.wire.messageType,
			protoDesc: e.channel.wire.protoDesc, presence: presence{set: all},
		}
		return appendIndex(dst, &singleIndex{
			typ: uint64(channelSection), position: uint64(e.position), channelCache: encode(&cache),
			presence: presence{set: channelEntry},
		})
	}
	header := chunkHeaderCache{
		messageNumber: e.messageNumber, beginTime: e.beginTime, endTime: e.endTime, rawSize: e.rawSize,
		presence: presence{set: all},
	}
	dst = appendIndex(dst, &singleIndex{
		typ: uint64(chunkHeaderSection), position: uint64(e.position), chunkHeaderCache: encode(&header),
		presence: presence{set: chunkHeaderEntry},
	})
	body := chunkBodyCache{messageNumber: e.messageNumber, presence: presence{set: all}}
	return appendIndex(dst, &singleIndex{
		typ: uint64(chunkBodySection), position: uint64(e.body), chunkBodyCache: encode(&body),
		presence: presence{set: chunkBodyEntry},
	})
}

func appendIndex(dst []byte, s *singleIndex) []byte { return appendBytes(dst, 1, encode(s)) }
