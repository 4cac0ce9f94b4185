package mcap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

// Defaults of CreateOptions. A chunk of 4 MiB is written in one call and keeps the index of a long recording short.
const (
	DefaultChunkSize     = 4 << 20
	DefaultChunkDuration = time.Second
)

const (
	// bareChunk is how many bytes precede the records of a chunk without compression.
	bareChunk = recordHead + chunkHead
	// finalReserve is more than what a file takes at its end beside what grows with it.
	finalReserve = 16 << 10
)

// Writer writes an MCAP file as rosbag2_storage_mcap does, with schemas, offered QoS and type hashes, an index and
// statistics. Unlike there, chunks have checksums. Channels that agree in everything become one. A PublishTime of 0
// becomes the LogTime, as the specification asks. Messages keep the order in which they are written, and readers find
// their order in time by the index.
//
// A chunk is closed when it has ChunkSize bytes or its messages span ChunkDuration of LogTime, so that a killed writer
// loses no more than that.
//
// It is a part of a recording, output.Part.
type Writer struct {
	file      *output.File
	embed     Embed
	chunkSize int
	duration  int64

	disk          sync.Mutex // of the next two and file; locked before mu, which is not held while the disk works
	packer        packer
	headerProfile string // that the file has

	mu       sync.Mutex // for all below
	err      error      // what ended the writing
	told     bool       // it was returned
	closed   bool       // all is written, or given up
	complete bool       // the file has its name
	profile  string

	topics   []*topic // by number
	ids      map[*codec.Channel]uint16
	channels map[string]uint16 // by all that a channel record has
	schemas  map[string]uint16 // likewise
	last     *codec.Channel    // the channel of the last message, and its number
	lastID   uint16

	chunk      *chunk // the open one
	spare      *chunk
	statistics mcap.Statistics // of what is in the file

	embedSize int64 // more than what is embedded takes, and as much again for metadata.yaml

	encoder *mcap.Writer // encodes the records that are not written often, to encoded
	encoded bytes.Buffer
	summary struct{ schemas, channels, chunks, metadata []byte }
}

// topic is a channel of the file.
type topic struct {
	channel  *codec.Channel
	messages uint64
	taken    uint64 // of messages: in the file or in the chunk that is being written
	written  uint64 // of messages: in the file
}

// Embed returns a metadata record that a file has at its beginning and at its end, of what is in the file then.
type Embed func(info *codec.Info) (name string, values map[string]string, err error)

// NewWriter begins an MCAP file in which the channels of before, unless that is nil, are declared. It takes file over.
// CreateOptions.Metadata becomes a metadata record named "tapedeck"; embed may be nil.
func NewWriter(file *output.File, o codec.CreateOptions, embed Embed, before *Writer) (*Writer, error) {
	w := &Writer{
		file: file, embed: embed,
		chunkSize: min(cmp.Or(o.ChunkSize, DefaultChunkSize), maxChunk/2),
		duration:  int64(cmp.Or(o.ChunkDuration, DefaultChunkDuration)),
		profile:   "ros2",
		ids:       map[*codec.Channel]uint16{}, channels: map[string]uint16{}, schemas: map[string]uint16{},
	}
	// At once, so that hardly ever an empty file is left by a killed writer.
	w.headerProfile = w.profile
	err := file.Append(mcap.Magic, header(w.profile))
	if err == nil {
		w.packer, err = newPacker(o.Compression)
	}
	if err == nil {
		w.encoder, err = mcap.NewWriter(&w.encoded, &mcap.WriterOptions{})
	}
	w.chunk = w.newChunk()
	if err == nil && before != nil {
		err = w.inherit(before)
	}
	if err == nil && len(o.Metadata) > 0 {
		err = w.writeMetadata(ownMetadata, o.Metadata)
	}
	if err == nil {
		err = w.embedInfo()
	}
	if err != nil {
		file.Discard()
		return nil, fmt.Errorf("create %s: %w", file.Path(), err)
	}
	return w, nil
}

func (w *Writer) newChunk() *chunk {
	return &chunk{records: make([]byte, bareChunk, bareChunk+w.chunkSize+w.chunkSize/4)}
}

// inherit declares the channels of another file, which may be in use. They keep their numbers.
func (w *Writer) inherit(before *Writer) error {
	before.mu.Lock()
	defer before.mu.Unlock()
	for _, t := range before.topics {
		if _, err := w.channel(t.channel); err != nil {
			return err
		}
	}
	w.ids = maps.Clone(before.ids)
	return nil
}

// header returns the header record. It has the same length for every profile of at most four bytes.
func header(profile string) []byte {
	const library = "tapedeck"
	const size = 4 + 4 + 4 + len(library)
	b := append(make([]byte, 0, recordHead+size), byte(mcap.OpHeader))
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(profile))), profile...)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(library))), library...)
	return b[:recordHead+size]
}

// encode returns a record that f writes with w.encoder.
func (w *Writer) encode(f func() error) ([]byte, error) {
	w.encoded.Reset()
	if err := f(); err != nil {
		return nil, fmt.Errorf("write %s: %w", w.file.Path(), err)
	}
	return w.encoded.Bytes(), nil
}

// Declare implements output.Part.
func (w *Writer) Declare(c *codec.Channel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.channel(c)
	return err
}

// channel returns the number of a channel.
func (w *Writer) channel(c *codec.Channel) (uint16, error) {
	if w.err != nil {
		return 0, w.ended()
	}
	if c == w.last {
		return w.lastID, nil
	}
	id, ok := w.ids[c]
	if !ok {
		var err error
		if id, err = w.declare(c); err != nil {
			return 0, err
		}
		w.ids[c] = id
	}
	w.last, w.lastID = c, id
	return id, nil
}

// ended returns what ended the writing, if something did.
func (w *Writer) ended() error {
	w.told = w.err != nil
	return w.err
}

func (w *Writer) declare(c *codec.Channel) (uint16, error) {
	schema, err := w.schema(c)
	if err != nil {
		return 0, err
	}
	metadata := maps.Clone(c.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	if c.QoS != nil || c.Encoding == codec.EncodingCDR && metadata[keyQoS] == "" {
		metadata[keyQoS] = codec.FormatQoSProfiles(c.QoS)
	}
	if c.TypeHash != "" {
		metadata[keyTypeHash] = c.TypeHash
	}
	key := fmt.Sprintf("%d %q %q %q", schema, c.Topic, c.Encoding, metadata)
	if id, ok := w.channels[key]; ok {
		return id, nil
	}
	if len(w.channels) > math.MaxUint16 {
		return 0, fmt.Errorf("write %s: topic %s: an MCAP file has at most %d channels", w.file.Path(), c.Topic, math.MaxUint16+1)
	}
	w.setProfile(c.Encoding)
	id := uint16(len(w.channels))
	record, err := w.encode(func() error {
		return w.encoder.WriteChannel(&mcap.Channel{ID: id, SchemaID: schema, Topic: c.Topic, MessageEncoding: c.Encoding, Metadata: metadata})
	})
	if err != nil {
		return 0, err
	}
	w.chunk.records = append(w.chunk.records, record...)
	w.summary.channels = append(w.summary.channels, record...)
	w.channels[key] = id
	w.topics = append(w.topics, &topic{channel: c})
	if w.embed != nil {
		const rest = 512 // of what metadata says of a topic
		w.embedSize += int64(2 * (2*len(metadata[keyQoS]) + len(c.Topic) + len(c.Type) + rest))
	}
	return id, nil
}

// schema returns the number of a channel's schema, 0 when it has none. A type whose definition is not known has an empty one.
func (w *Writer) schema(c *codec.Channel) (uint16, error) {
	if c.Type == "" && c.Schema.Encoding == "" && len(c.Schema.Data) == 0 {
		return 0, nil
	}
	key := fmt.Sprintf("%q %q %s", c.Type, c.Schema.Encoding, c.Schema.Data)
	if id, ok := w.schemas[key]; ok {
		return id, nil
	}
	if len(w.schemas) == math.MaxUint16 {
		return 0, fmt.Errorf("write %s: topic %s: an MCAP file has at most %d schemas", w.file.Path(), c.Topic, math.MaxUint16)
	}
	id := uint16(len(w.schemas) + 1)
	record, err := w.encode(func() error {
		return w.encoder.WriteSchema(&mcap.Schema{ID: id, Name: c.Type, Encoding: c.Schema.Encoding, Data: c.Schema.Data})
	})
	if err != nil {
		return 0, err
	}
	w.chunk.records = append(w.chunk.records, record...)
	w.summary.schemas = append(w.summary.schemas, record...)
	w.schemas[key] = id
	return id, nil
}

// setProfile makes the profile that of all channels, when another one with this encoding joins them.
func (w *Writer) setProfile(encoding string) {
	profile := map[string]string{codec.EncodingCDR: "ros2", codec.EncodingROS1: "ros1"}[encoding]
	if len(w.channels) > 0 && profile != w.profile {
		profile = ""
	}
	w.profile = profile
}

// Write implements output.Part.
func (w *Writer) Write(m *codec.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, err := w.channel(m.Channel)
	if err != nil {
		return err
	}
	if w.chunk.messages > 0 && m.LogTime-w.chunk.first >= w.duration {
		w.writeChunk(false)
		if w.err != nil {
			return w.ended()
		}
	}
	w.append(id, m)
	if len(w.chunk.records)-bareChunk >= w.chunkSize {
		w.writeChunk(false)
	}
	return nil
}

// append appends a message to the chunk.
func (w *Writer) append(id uint16, m *codec.Message) {
	c := w.chunk
	if c.messages == 0 {
		c.first, c.start, c.end = m.LogTime, m.LogTime, m.LogTime
	}
	c.start, c.end = min(c.start, m.LogTime), max(c.end, m.LogTime)

	off := len(c.records)
	c.records = slices.Grow(c.records, recordHead+messageHead+len(m.Data))[:off+recordHead+messageHead]
	head := c.records[off:]
	head[0] = byte(mcap.OpMessage)
	binary.LittleEndian.PutUint64(head[1:], uint64(messageHead+len(m.Data)))
	binary.LittleEndian.PutUint16(head[9:], id)
	binary.LittleEndian.PutUint32(head[11:], 0)
	binary.LittleEndian.PutUint64(head[15:], uint64(m.LogTime))
	binary.LittleEndian.PutUint64(head[23:], uint64(cmp.Or(m.PublishTime, m.LogTime)))
	c.records = append(c.records, m.Data...)

	if missing := int(id) + 1 - len(c.indexes); missing > 0 {
		c.indexes = append(c.indexes, make([][]byte, missing)...)
	}
	index := binary.LittleEndian.AppendUint64(c.indexes[id], uint64(m.LogTime))
	c.indexes[id] = binary.LittleEndian.AppendUint64(index, uint64(off-bareChunk))
	c.messages++
	w.topics[id].messages++
}

// lockDisk locks the disk too, while mu is locked. Sync may write the chunk before.
func (w *Writer) lockDisk() {
	w.mu.Unlock()
	w.disk.Lock()
	w.mu.Lock()
}

// writeChunk writes the open chunk with its indexes. An error is err then, and says that all of it is missing. beside says that
// Write may go on meanwhile.
func (w *Writer) writeChunk(beside bool) {
	w.lockDisk()
	defer w.disk.Unlock()
	w.flush(beside)
}

// flush does what writeChunk does while the disk and mu are locked.
func (w *Writer) flush(beside bool) {
	c := w.chunk
	if w.err != nil || w.closed || len(c.records) == bareChunk {
		return
	}
	if beside {
		if w.chunk, w.spare = w.spare, nil; w.chunk == nil {
			w.chunk = w.newChunk()
		}
	}
	for _, t := range w.topics {
		t.taken = t.messages
	}
	reserve := w.summarySize() + w.embedSize + finalReserve
	profile := w.profile
	w.mu.Unlock()

	data, index, err := w.pack(c)
	if err == nil && profile != w.headerProfile {
		w.headerProfile = profile
		err = w.file.WriteAt(header(profile), int64(len(mcap.Magic)))
	}
	if err == nil {
		err = w.file.Reserve(reserve)
	}
	if err == nil {
		err = w.file.Append(data)
	}

	w.mu.Lock()
	if beside {
		w.spare = c
	}
	if err == nil {
		err = w.count(index)
	}
	if err != nil {
		w.fail(err, c)
	}
	c.reset()
}

// pack returns c as it is in the file, and its entry in the index. That is nil without messages: there is no chunk then, for it
// would have no time, but bare records.
func (w *Writer) pack(c *chunk) ([]byte, *mcap.ChunkIndex, error) {
	records := c.records[bareChunk:]
	if c.messages == 0 {
		return records, nil, nil
	}
	index := &mcap.ChunkIndex{
		MessageStartTime: uint64(c.start), MessageEndTime: uint64(c.end), ChunkStartOffset: uint64(w.file.Size()),
		MessageIndexOffsets: map[uint16]uint64{}, UncompressedSize: uint64(len(records)),
	}
	crc := crc32.ChecksumIEEE(records)
	data, compression, err := w.packer.pack(c.records)
	if err != nil {
		return nil, nil, err
	}
	index.Compression = compression
	index.CompressedSize = uint64(len(data) - bareChunk - len(compression))
	index.ChunkLength = uint64(len(data))
	b := append(data[:0], byte(mcap.OpChunk))
	b = binary.LittleEndian.AppendUint64(b, index.ChunkLength-recordHead)
	b = binary.LittleEndian.AppendUint64(b, index.MessageStartTime)
	b = binary.LittleEndian.AppendUint64(b, index.MessageEndTime)
	b = binary.LittleEndian.AppendUint64(b, index.UncompressedSize)
	b = binary.LittleEndian.AppendUint32(b, crc)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(compression))), compression...)
	_ = binary.LittleEndian.AppendUint64(b, index.CompressedSize)
	for id, entries := range c.indexes {
		if len(entries) == 0 {
			continue
		}
		index.MessageIndexOffsets[uint16(id)] = index.ChunkStartOffset + uint64(len(data))
		data = append(data, byte(mcap.OpMessageIndex))
		data = binary.LittleEndian.AppendUint64(data, uint64(2+4+len(entries)))
		data = binary.LittleEndian.AppendUint16(data, uint16(id))
		data = binary.LittleEndian.AppendUint32(data, uint32(len(entries)))
		data = append(data, entries...)
	}
	index.MessageIndexLength = uint64(len(data)) - index.ChunkLength
	if compression == "" {
		c.records = data // it may have grown
	} else {
		w.packer.packed = data
	}
	return data, index, nil
}

// count takes note of what was written.
func (w *Writer) count(index *mcap.ChunkIndex) error {
	if index == nil {
		return nil
	}
	record, err := w.encode(func() error { return w.encoder.WriteChunkIndex(index) })
	if err != nil {
		return err
	}
	w.summary.chunks = append(w.summary.chunks, record...)
	s := &w.statistics
	if s.ChunkCount == 0 {
		s.MessageStartTime, s.MessageEndTime = index.MessageStartTime, index.MessageEndTime
	}
	s.MessageStartTime, s.MessageEndTime = min(s.MessageStartTime, index.MessageStartTime), max(s.MessageEndTime, index.MessageEndTime)
	s.ChunkCount++
	s.MessageCount = 0
	for _, t := range w.topics {
		t.written = t.taken
		s.MessageCount += t.written
	}
	return nil
}

// fail ends the writing: what is not in the file is missing. lost is the chunk that is in no place any more.
func (w *Writer) fail(cause error, lost *chunk) {
	missing := &codec.MissingError{Path: w.file.Path(), Err: cause}
	for _, t := range w.topics {
		if n := t.messages - t.written; n > 0 {
			missing.Topics = append(missing.Topics, codec.TopicInfo{Channel: t.channel, MessageCount: n})
		}
		t.messages = t.written
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
func (w *Writer) Sync() error {
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
func (w *Writer) Complete(durable bool) error {
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
func (w *Writer) note(err error) {
	var missing *codec.MissingError
	if !errors.As(err, &missing) || missing.Count() == 0 {
		return
	}
	w.err = nil
	m, err := codec.EventMessage(missing.Event())
	if err != nil {
		return
	}
	if id, err := w.channel(m.Channel); err == nil {
		w.append(id, m)
		w.flush(false)
	}
}

// finish writes everything behind the chunks.
func (w *Writer) finish(durable bool) error {
	err := w.embedInfo()
	if err == nil && durable {
		err = w.file.Sync() // there must be no summary of what may not be there
	}
	var summary []byte
	if err == nil {
		summary, err = w.encodeSummary()
	}
	if err == nil {
		err = w.file.Append(summary)
	}
	if err != nil {
		_ = w.file.Abandon()
		return err
	}
	return w.file.Complete(durable)
}

// Info implements output.Part.
func (w *Writer) Info() *codec.Info {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.info()
}

func (w *Writer) info() *codec.Info {
	info := &codec.Info{
		Format: Name, Path: w.file.Path(), Size: w.file.Size(), MessageCount: w.statistics.MessageCount,
		StartTime: int64(w.statistics.MessageStartTime), EndTime: int64(w.statistics.MessageEndTime), Complete: w.complete,
	}
	if !w.complete {
		info.Path += codec.ActiveSuffix
	}
	for _, t := range w.topics {
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: t.channel, MessageCount: t.written})
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
}
