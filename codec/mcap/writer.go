package mcap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
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
	part      output.Chunked
	embed     Embed
	chunkSize int
	duration  int64

	// Of the disk:
	packer        packer
	headerProfile string // that the file has

	profile  string
	ids      map[*codec.Channel]uint16
	channels map[string]uint16 // by all that a channel record has
	schemas  map[string]uint16 // likewise
	last     *codec.Channel    // the channel of the last message, and its number
	lastID   uint16

	chunk    *chunk // the open one
	spare    *chunk
	chunks   int // in the file
	metadata int // records in the file

	embedSize int64 // more than what is embedded takes, and as much again for metadata.yaml

	encoder *mcap.Writer // encodes the records that are not written often, to encoded
	encoded bytes.Buffer
	summary struct{ schemas, channels, chunks, metadata []byte }
}

// Embed returns a metadata record that a file has at its beginning and at its end, of what is in the file then.
type Embed func(info *codec.Info) (name string, values map[string]string, err error)

// NewWriter begins an MCAP file in which the channels of before, unless that is nil, are declared. It takes file over.
// CreateOptions.Metadata becomes a metadata record named "tapedeck"; embed may be nil.
func NewWriter(file *output.File, o codec.CreateOptions, embed Embed, before *Writer) (*Writer, error) {
	w := &Writer{
		embed:     embed,
		chunkSize: min(cmp.Or(o.ChunkSize, DefaultChunkSize), maxChunk/2),
		duration:  int64(cmp.Or(o.ChunkDuration, DefaultChunkDuration)),
		profile:   "ros2",
		ids:       map[*codec.Channel]uint16{}, channels: map[string]uint16{}, schemas: map[string]uint16{},
	}
	w.part.Init(file, (*layout)(w), o)
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
	before.part.Lock()
	defer before.part.Unlock()
	for _, t := range before.part.Topics {
		if _, err := w.channel(t.Channel); err != nil {
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
		return nil, fmt.Errorf("write %s: %w", w.part.File.Path(), err)
	}
	return w.encoded.Bytes(), nil
}

// Declare implements output.Part.
func (w *Writer) Declare(c *codec.Channel) error {
	w.part.Lock()
	defer w.part.Unlock()
	_, err := w.channel(c)
	return err
}

// channel returns the number of a channel.
func (w *Writer) channel(c *codec.Channel) (uint16, error) {
	if err := w.part.Ended(); err != nil {
		return 0, err
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
		return 0, fmt.Errorf("write %s: topic %s: an MCAP file has at most %d channels", w.part.File.Path(), c.Topic, math.MaxUint16+1)
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
	w.part.Topics = append(w.part.Topics, &output.Topic{Channel: c})
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
		return 0, fmt.Errorf("write %s: topic %s: an MCAP file has at most %d schemas", w.part.File.Path(), c.Topic, math.MaxUint16)
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
	w.part.Lock()
	defer w.part.Unlock()
	id, err := w.channel(m.Channel)
	if err != nil {
		return err
	}
	if w.chunk.span.Messages > 0 && m.LogTime-w.chunk.first >= w.duration {
		w.part.Write()
		if err := w.part.Ended(); err != nil {
			return err
		}
	}
	w.append(id, m)
	if len(w.chunk.records)-bareChunk >= w.chunkSize {
		w.part.Write()
	}
	return nil
}

// append appends a message to the chunk.
func (w *Writer) append(id uint16, m *codec.Message) {
	c := w.chunk
	if c.span.Messages == 0 {
		c.first = m.LogTime
	}
	c.span.Add(m.LogTime)

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
	w.part.Topics[id].Messages++
	w.part.Took(m)
}

// layout is a Writer as output.Chunked calls it.
type layout Writer

// Flush implements output.Layout.
func (l *layout) Flush(beside bool) {
	w := (*Writer)(l)
	c := w.chunk
	if len(c.records) == bareChunk {
		return
	}
	if beside {
		if w.chunk, w.spare = w.spare, nil; w.chunk == nil {
			w.chunk = w.newChunk()
		}
	}
	reserve := w.summarySize() + w.embedSize + w.part.EventReserve() + finalReserve
	profile := w.profile
	var index *mcap.ChunkIndex
	err := w.part.Put(func() (err error) {
		index, err = w.write(c, profile, reserve)
		return err
	})
	if beside {
		w.spare = c
	}
	if err == nil && index != nil {
		err = w.count(index)
	}
	if err == nil {
		w.part.Keep(c.span)
	} else {
		w.part.Fail(err, c.span, w.chunk.span)
		w.chunk.reset()
	}
	c.reset()
}

// write writes a chunk with its indexes.
func (w *Writer) write(c *chunk, profile string, reserve int64) (*mcap.ChunkIndex, error) {
	data, index, err := w.pack(c)
	if err == nil && profile != w.headerProfile {
		w.headerProfile = profile
		err = w.part.File.WriteAt(header(profile), int64(len(mcap.Magic)))
	}
	if err == nil {
		err = w.part.File.Reserve(reserve)
	}
	if err == nil {
		err = w.part.File.Append(data)
	}
	return index, err
}

// pack returns c as it is in the file, and its entry in the index. That is nil without messages: there is no chunk then, for it
// would have no time, but bare records.
func (w *Writer) pack(c *chunk) ([]byte, *mcap.ChunkIndex, error) {
	records := c.records[bareChunk:]
	if c.span.Messages == 0 {
		return records, nil, nil
	}
	index := &mcap.ChunkIndex{
		MessageStartTime: uint64(c.span.Start), MessageEndTime: uint64(c.span.End), ChunkStartOffset: uint64(w.part.File.Size()),
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

// count takes note of a chunk that was written.
func (w *Writer) count(index *mcap.ChunkIndex) error {
	record, err := w.encode(func() error { return w.encoder.WriteChunkIndex(index) })
	if err != nil {
		return err
	}
	w.summary.chunks = append(w.summary.chunks, record...)
	w.chunks++
	return nil
}

// Sync implements output.Part.
func (w *Writer) Sync() error { return w.part.Sync() }

// Complete implements output.Part.
func (w *Writer) Complete(durable bool) error { return w.part.Complete(durable) }

// Info implements output.Part.
func (w *Writer) Info() *codec.Info { return w.part.Info(Name) }

// Note implements output.Layout.
func (l *layout) Note(e codec.Event) {
	w := (*Writer)(l)
	m, err := codec.EventMessage(e)
	if err != nil {
		return
	}
	if id, err := w.channel(m.Channel); err == nil {
		w.append(id, m)
	}
}

// Release implements output.Layout.
func (l *layout) Release() { l.chunk, l.spare = nil, nil }

// Finish implements output.Layout: it writes everything behind the chunks.
func (l *layout) Finish(durable bool) error {
	w := (*Writer)(l)
	file := w.part.File
	err := w.embedInfo()
	if err == nil && durable {
		err = file.Sync() // there must be no summary of what may not be there
	}
	var summary []byte
	if err == nil {
		summary, err = w.encodeSummary()
	}
	if err == nil {
		err = file.Append(summary)
	}
	if err != nil {
		_ = file.Abandon()
		return err
	}
	return file.Complete(durable)
}
