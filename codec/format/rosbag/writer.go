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
	defaultChunkSize     = 768 << 10 // as in ROS
	defaultChunkDuration = time.Second

	maxPayload = maxChunk / 2
	maxTime    = int64(math.MaxUint32)*1e9 + 1e9 - 1 // ns
	// finalReserve is an upper bound of the bytes at the end of a file that do not grow with its content.
	finalReserve = 16 << 10
)

// encoder encodes one file.
type encoder struct {
	path          string
	chunkSize     int    // bytes of records after which a chunk is closed
	chunkDuration int64  // ns of LogTime after which a chunk is closed
	packer        packer // of the chunk that is being encoded

	conns       []*connection   // by number
	topics      []*output.Topic // of conns
	byChannel   map[*codec.Channel]*connection
	byHeader    map[string]*connection // by encodeConnection
	lastChannel *codec.Channel         // channel of the last message
	lastConn    *connection            // connection of lastChannel

	chunk     *chunk // the open chunk
	spare     *chunk // an empty chunk, or nil
	connsSize int64  // bytes of conns in the index

	// Of the chunks in the file:
	infos  []byte // encoded chunk infos
	chunks int    // number of chunks
}

// connection is a connection of the file.
type connection struct {
	output.Topic
	number uint32
	record []byte // encoded connection record
}

// chunk has records that are not yet written.
type chunk struct {
	records []byte
	entries [][]entry // entries of the index, by connection number
	first   int64     // LogTime of the first message
	span    output.Span

	// Set when the chunk is closed:
	encoder *encoder
	reserve int64  // bytes to keep free on the disk for the end of the file
	info    []byte // encoded chunk info
}

// reset empties the chunk, which keeps its memory.
func (c *chunk) reset() {
	c.records, c.span = c.records[:0], output.Span{}
	for i, entries := range c.entries {
		c.entries[i] = entries[:0]
	}
}

func newEncoder(path string, o codec.CreateOptions) (output.Encoder, error) {
	w := &encoder{
		path:          path,
		chunkSize:     min(cmp.Or(o.ChunkSize, defaultChunkSize), maxChunk/2),
		chunkDuration: int64(cmp.Or(o.ChunkDuration, defaultChunkDuration)),
		byChannel:     map[*codec.Channel]*connection{}, byHeader: map[string]*connection{},
	}
	w.chunk = w.newChunk()
	var err error
	w.packer, err = newPacker(o.Compression)
	return w, err
}

// Begin returns the version and the first record.
func (w *encoder) Begin(*codec.Info) ([]byte, error) {
	return append([]byte(version2), encodeFileHeader(0, 0, 0)...), nil
}

func (w *encoder) newChunk() *chunk {
	return &chunk{encoder: w, records: make([]byte, 0, w.chunkSize+w.chunkSize/4)}
}

// Declare makes a connection for c, unless there is an equal connection.
func (w *encoder) Declare(c *codec.Channel) error {
	if c == w.lastChannel {
		return nil
	}
	conn := w.byChannel[c]
	if conn == nil {
		var err error
		conn, err = w.declare(c)
		if err != nil {
			return err
		}
		w.byChannel[c] = conn
	}
	w.lastChannel, w.lastConn = c, conn
	return nil
}

// declare returns the connection for c, which may be new.
func (w *encoder) declare(c *codec.Channel) (*connection, error) {
	if c.Encoding != codec.EncodingROS1 {
		return nil, fmt.Errorf("write %s: topic %s: the encoding is %s; a bag holds only messages of ROS 1 (%s)",
			w.path, c.Topic, cmp.Or(c.Encoding, "unknown"), codec.EncodingROS1)
	}
	header := encodeConnection(c)
	if conn := w.byHeader[string(header)]; conn != nil {
		return conn, nil
	}
	if len(header) > maxOtherData || len(c.Topic) > maxHeader/2 {
		return nil, fmt.Errorf("write %s: topic %s: the definition takes %d bytes; at most %d fit", w.path,
			c.Topic[:min(100, len(c.Topic))], len(header), maxOtherData)
	}
	conn := &connection{number: uint32(len(w.conns)), Topic: output.Topic{Channel: c}}
	conn.record = appendRecord(nil, opConnection, func(b []byte) []byte {
		return appendField(appendUint32(b, "conn", conn.number), "topic", c.Topic)
	}, func(b []byte) []byte { return append(b, header...) })
	w.chunk.records = append(w.chunk.records, conn.record...)
	w.byHeader[string(header)] = conn
	w.conns = append(w.conns, conn)
	w.topics = append(w.topics, &conn.Topic)
	w.connsSize += int64(len(conn.record))
	return conn, nil
}

// Prepare reports whether the open chunk would be too long or too large with m.
func (w *encoder) Prepare(m *codec.Message) (full bool, err error) {
	if err := w.Declare(m.Channel); err != nil {
		return false, err
	}
	switch {
	case m.LogTime <= 0 || m.LogTime > maxTime:
		return false, fmt.Errorf("write %s: a message of %s has the time %d ns; times in a bag are from 1 to %d",
			w.path, m.Channel.Topic, m.LogTime, maxTime)
	case len(m.Data) > maxPayload:
		return false, fmt.Errorf("write %s: a message of %s takes %d bytes; at most %d fit", w.path, m.Channel.Topic,
			len(m.Data), maxPayload)
	}
	return w.chunk.span.Messages > 0 &&
		(m.LogTime-w.chunk.first >= w.chunkDuration || len(w.chunk.records)+len(m.Data) > maxPayload), nil
}

// messageHead begins the header of every message: its length, the op, and the name of the connection's number.
const messageHead = "\x26\x00\x00\x00" + opField + connField

// Append appends m to the open chunk. It reports whether the chunk is full.
func (w *encoder) Append(m *codec.Message) (full bool) {
	c, conn := w.chunk, w.lastConn
	if c.span.Messages == 0 {
		c.first = m.LogTime
	}
	c.span.Add(m.LogTime)
	for len(c.entries) <= int(conn.number) {
		c.entries = append(c.entries, nil)
	}
	c.entries[conn.number] = append(c.entries[conn.number], entry{m.LogTime, uint32(len(c.records))})
	b := le.AppendUint32(append(c.records, messageHead...), conn.number)
	b = appendTime(append(b, timeField...), m.LogTime)
	c.records = append(le.AppendUint32(b, uint32(len(m.Data))), m.Data...)
	conn.Messages++
	return len(c.records) >= w.chunkSize
}

func (w *encoder) Event(e codec.Event) (*codec.Message, error) { return codec.EventMessage1(e), nil }
func (w *encoder) Topics() []*output.Topic                     { return w.topics }

// Take closes the open chunk. Connections wait for a message, because a chunk without messages has no time.
func (w *encoder) Take(beside bool) output.Chunk {
	c := w.chunk
	if c.span.Messages == 0 {
		return nil
	}
	if beside {
		w.chunk, w.spare = w.spare, nil
		if w.chunk == nil {
			w.chunk = w.newChunk()
		}
	}
	c.reserve = int64(len(w.infos)) + w.connsSize + finalReserve
	return c
}

// Drop drops the messages of the open chunk.
func (w *encoder) Drop() output.Span {
	span := w.chunk.span
	w.chunk.reset()
	return span
}

func (c *chunk) Span() output.Span { return c.span }

// Encode returns the compressed chunk and its index. offset is the offset of the chunk in the file.
func (c *chunk) Encode(offset int64) (output.Block, error) {
	c.info = appendChunkInfo(c.info[:0], offset, c)
	p := &c.encoder.packer
	stored, err := p.pack(c.records)
	if err != nil {
		return output.Block{}, err
	}
	var index []byte
	for conn, entries := range c.entries {
		if len(entries) > 0 {
			index = appendIndex(index, uint32(conn), entries)
		}
	}
	head := encodeChunkHead(p.compression, c.records, len(stored))
	return output.Block{Data: [][]byte{head, stored, index}, Reserve: c.reserve + int64(len(c.info))}, nil
}

// Keep adds the chunk, which was written, to the index of the file.
func (c *chunk) Keep() error {
	c.encoder.infos = append(c.encoder.infos, c.info...)
	c.encoder.chunks++
	return nil
}

// Release makes the memory of the chunk available to later chunks.
func (c *chunk) Release() {
	c.reset()
	if c != c.encoder.chunk {
		c.encoder.spare = c
	}
}

// Finish writes the index, and its offset to the file header.
func (w *encoder) Finish(file *output.File, _ *codec.Info, durable bool) error {
	w.chunk, w.spare = nil, nil
	var err error
	if durable {
		err = file.Sync() // the index must not list chunks that are not on the disk
	}
	offset := file.Size()
	if err == nil {
		var index []byte
		for _, conn := range w.conns {
			index = append(index, conn.record...)
		}
		err = file.Append(index, w.infos)
	}
	if err == nil {
		err = file.WriteAt(encodeFileHeader(offset, len(w.conns), w.chunks), int64(len(version2)))
	}
	return err
}
