package mcap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
)

// Defaults of CreateOptions. A chunk of 4 MiB is written in one call and keeps the index of a long recording short.
const (
	DefaultChunkSize     = 4 << 20
	DefaultChunkDuration = time.Second
)

// bareChunk is how many bytes precede the records of a chunk without compression.
const bareChunk = recordHead + chunkHead

// Writer writes an MCAP file as rosbag2_storage_mcap does, with schemas, offered QoS and type hashes, an index and
// statistics. Unlike there, chunks have checksums. Channels that agree in everything become one. A PublishTime of 0
// becomes the LogTime, as the specification asks. Messages keep the order in which they are written, and readers find
// their order in time by the index.
//
// A chunk is closed when it has ChunkSize bytes or its messages span ChunkDuration of LogTime, so that a killed writer
// loses no more than that.
type Writer struct {
	path string

	mu        sync.Mutex
	file      *os.File
	err       error // the first one; nothing is written after it
	size      int64 // of the file
	profile   string
	chunkSize int
	duration  int64
	durable   bool // Sync was called: Close puts everything on the disk too
	packer    packer

	topics   []*codec.Channel // by number
	ids      map[*codec.Channel]uint16
	channels map[string]uint16 // by all that a channel record has
	schemas  map[string]uint16 // likewise
	last     *codec.Channel    // the channel of the last message, and its number
	lastID   uint16

	chunk      []byte   // bareChunk bytes, then the records
	indexes    [][]byte // entries of the message indexes, by channel
	messages   int      // in the chunk
	first      int64    // LogTime of the first message in the chunk
	start, end int64    // LogTime of the messages in the chunk
	statistics mcap.Statistics
	counts     []uint64 // messages, by channel

	encoder *mcap.Writer // encodes the records that are not written often, to encoded
	encoded bytes.Buffer
	summary struct{ schemas, channels, chunks, metadata []byte }
}

// Create begins an MCAP file at path. CreateOptions.Metadata becomes a metadata record named "tapedeck".
func Create(path string, o codec.CreateOptions) (*Writer, error) {
	packer, err := newPacker(o.Compression)
	if err == nil && (o.ChunkSize < 0 || o.ChunkDuration < 0) {
		err = errors.New("size and duration of chunks must not be negative")
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	exist := os.O_EXCL
	if o.Overwrite {
		exist = os.O_TRUNC
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|exist, 0o666)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		path: path, file: file, packer: packer,
		chunkSize: min(cmp.Or(o.ChunkSize, DefaultChunkSize), maxChunk/2),
		duration:  int64(cmp.Or(o.ChunkDuration, DefaultChunkDuration)),
		ids:       map[*codec.Channel]uint16{}, channels: map[string]uint16{}, schemas: map[string]uint16{},
	}
	w.chunk = make([]byte, bareChunk, bareChunk+w.chunkSize+w.chunkSize/4)
	w.encoder, err = mcap.NewWriter(&w.encoded, &mcap.WriterOptions{})
	if err == nil {
		w.profile = "ros2"
		err = w.write(append(slices.Clone(mcap.Magic), header(w.profile)...))
	}
	if err == nil && len(o.Metadata) > 0 {
		err = w.WriteMetadata(ownMetadata, o.Metadata)
	}
	if err != nil {
		file.Close()
		if !o.Overwrite {
			_ = os.Remove(path)
		}
		return nil, err
	}
	return w, nil
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
		return nil, fmt.Errorf("write %s: %w", w.path, err)
	}
	return w.encoded.Bytes(), nil
}

// write appends to the file.
func (w *Writer) write(b []byte) error {
	if w.err != nil {
		return w.err
	}
	n, err := w.file.Write(b)
	w.size += int64(n)
	if err != nil {
		w.err = w.failed(err)
	}
	return w.err
}

func (w *Writer) failed(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("write %s: %w", w.path, err)
}

// Declare implements codec.Writer.
func (w *Writer) Declare(c *codec.Channel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.channel(c)
	return err
}

// channel returns the number of a channel.
func (w *Writer) channel(c *codec.Channel) (uint16, error) {
	if c == w.last {
		return w.lastID, w.err
	}
	id, ok := w.ids[c]
	if !ok {
		if w.err != nil {
			return 0, w.err
		}
		var err error
		if id, err = w.declare(c); err != nil {
			return 0, err
		}
		w.ids[c] = id
	}
	w.last, w.lastID = c, id
	return id, w.err
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
		return 0, fmt.Errorf("write %s: topic %s: an MCAP file has at most %d channels", w.path, c.Topic, math.MaxUint16+1)
	}
	if err := w.setProfile(c.Encoding); err != nil {
		return 0, err
	}
	id := uint16(len(w.channels))
	record, err := w.encode(func() error {
		return w.encoder.WriteChannel(&mcap.Channel{ID: id, SchemaID: schema, Topic: c.Topic, MessageEncoding: c.Encoding, Metadata: metadata})
	})
	if err != nil {
		return 0, err
	}
	w.chunk = append(w.chunk, record...)
	w.summary.channels = append(w.summary.channels, record...)
	w.channels[key] = id
	w.indexes = append(w.indexes, nil)
	w.counts = append(w.counts, 0)
	w.topics = append(w.topics, c)
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
		return 0, fmt.Errorf("write %s: topic %s: an MCAP file has at most %d schemas", w.path, c.Topic, math.MaxUint16)
	}
	id := uint16(len(w.schemas) + 1)
	record, err := w.encode(func() error {
		return w.encoder.WriteSchema(&mcap.Schema{ID: id, Name: c.Type, Encoding: c.Schema.Encoding, Data: c.Schema.Data})
	})
	if err != nil {
		return 0, err
	}
	w.chunk = append(w.chunk, record...)
	w.summary.schemas = append(w.summary.schemas, record...)
	w.schemas[key] = id
	return id, nil
}

// setProfile makes the profile that of all channels, when another one with this encoding joins them.
func (w *Writer) setProfile(encoding string) error {
	profile := map[string]string{codec.EncodingCDR: "ros2", codec.EncodingROS1: "ros1"}[encoding]
	if len(w.channels) > 0 && profile != w.profile {
		profile = ""
	}
	if profile == w.profile {
		return nil
	}
	if _, err := w.file.WriteAt(header(profile), int64(len(mcap.Magic))); err != nil {
		return w.failed(err)
	}
	w.profile = profile
	return nil
}

// Write implements codec.Writer.
func (w *Writer) Write(m *codec.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, err := w.channel(m.Channel)
	if err != nil {
		return err
	}
	if w.messages > 0 && m.LogTime-w.first >= w.duration {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.messages == 0 {
		w.first, w.start, w.end = m.LogTime, m.LogTime, m.LogTime
	}
	w.start, w.end = min(w.start, m.LogTime), max(w.end, m.LogTime)

	off := len(w.chunk)
	w.chunk = slices.Grow(w.chunk, recordHead+messageHead+len(m.Data))[:off+recordHead+messageHead]
	head := w.chunk[off:]
	head[0] = byte(mcap.OpMessage)
	binary.LittleEndian.PutUint64(head[1:], uint64(messageHead+len(m.Data)))
	binary.LittleEndian.PutUint16(head[9:], id)
	binary.LittleEndian.PutUint32(head[11:], 0)
	binary.LittleEndian.PutUint64(head[15:], uint64(m.LogTime))
	binary.LittleEndian.PutUint64(head[23:], uint64(cmp.Or(m.PublishTime, m.LogTime)))
	w.chunk = append(w.chunk, m.Data...)

	index := binary.LittleEndian.AppendUint64(w.indexes[id], uint64(m.LogTime))
	w.indexes[id] = binary.LittleEndian.AppendUint64(index, uint64(off-bareChunk))
	w.messages++
	w.counts[id]++
	if len(w.chunk)-bareChunk >= w.chunkSize {
		return w.flush()
	}
	return nil
}

// flush closes the chunk and writes it with its indexes.
func (w *Writer) flush() error {
	records := w.chunk[bareChunk:]
	if len(records) == 0 || w.err != nil {
		return w.err
	}
	if w.messages == 0 {
		// A chunk without messages would have no time.
		err := w.write(records)
		w.chunk = w.chunk[:bareChunk]
		return err
	}
	index := mcap.ChunkIndex{
		MessageStartTime: uint64(w.start), MessageEndTime: uint64(w.end), ChunkStartOffset: uint64(w.size),
		MessageIndexOffsets: map[uint16]uint64{}, UncompressedSize: uint64(len(records)),
	}
	crc := crc32.ChecksumIEEE(records)
	chunk, compression, err := w.packer.pack(w.chunk)
	if err != nil {
		return w.failed(err)
	}
	head := bareChunk + len(compression)
	index.Compression = compression
	index.CompressedSize = uint64(len(chunk) - head)
	index.ChunkLength = uint64(len(chunk))
	b := append(chunk[:0], byte(mcap.OpChunk))
	b = binary.LittleEndian.AppendUint64(b, index.ChunkLength-recordHead)
	b = binary.LittleEndian.AppendUint64(b, index.MessageStartTime)
	b = binary.LittleEndian.AppendUint64(b, index.MessageEndTime)
	b = binary.LittleEndian.AppendUint64(b, index.UncompressedSize)
	b = binary.LittleEndian.AppendUint32(b, crc)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(compression))), compression...)
	_ = binary.LittleEndian.AppendUint64(b, index.CompressedSize)
	for id, entries := range w.indexes {
		if len(entries) == 0 {
			continue
		}
		index.MessageIndexOffsets[uint16(id)] = uint64(w.size) + uint64(len(chunk))
		chunk = append(chunk, byte(mcap.OpMessageIndex))
		chunk = binary.LittleEndian.AppendUint64(chunk, uint64(2+4+len(entries)))
		chunk = binary.LittleEndian.AppendUint16(chunk, uint16(id))
		chunk = binary.LittleEndian.AppendUint32(chunk, uint32(len(entries)))
		chunk = append(chunk, entries...)
		w.indexes[id] = entries[:0]
	}
	index.MessageIndexLength = uint64(len(chunk)) - index.ChunkLength
	if err := w.write(chunk); err != nil {
		return err
	}
	record, err := w.encode(func() error { return w.encoder.WriteChunkIndex(&index) })
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
	s.MessageCount += uint64(w.messages)
	w.messages = 0
	if compression == "" {
		w.chunk = chunk // it may have grown
	} else {
		w.packer.packed = chunk
	}
	w.chunk = w.chunk[:bareChunk]
	return nil
}

// Info says what was written so far, files and sizes left out.
func (w *Writer) Info() *codec.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	info := &codec.Info{Format: Name, Path: w.path, MessageCount: w.statistics.MessageCount + uint64(w.messages)}
	for id, channel := range w.topics {
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: channel, MessageCount: w.counts[id]})
	}
	if info.StartTime, info.EndTime = int64(w.statistics.MessageStartTime), int64(w.statistics.MessageEndTime); w.messages > 0 {
		if w.statistics.MessageCount == 0 {
			info.StartTime, info.EndTime = w.start, w.end
		}
		info.StartTime, info.EndTime = min(info.StartTime, w.start), max(info.EndTime, w.end)
	}
	return info
}

// WriteMetadata adds a metadata record.
func (w *Writer) WriteMetadata(name string, values map[string]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	record, err := w.encode(func() error { return w.encoder.WriteMetadata(&mcap.Metadata{Name: name, Metadata: values}) })
	if err != nil {
		return err
	}
	index := mcap.MetadataIndex{Offset: uint64(w.size), Length: uint64(len(record)), Name: name}
	if err := w.write(record); err != nil {
		return err
	}
	w.statistics.MetadataCount++
	record, err = w.encode(func() error { return w.encoder.WriteMetadataIndex(&index) })
	w.summary.metadata = append(w.summary.metadata, record...)
	return err
}

// Sync implements codec.Writer.
func (w *Writer) Sync() error {
	w.mu.Lock()
	err := w.flush()
	w.durable = true
	w.mu.Unlock()
	if err != nil {
		return err
	}
	// Writing goes on while the system does its part.
	if err := w.file.Sync(); err != nil {
		return w.failed(err)
	}
	return nil
}

// errClosed is what everything returns behind Close.
var errClosed = errors.New("it is closed")

// Close implements codec.Writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, errClosed) {
		return nil
	}
	err := w.finish()
	if err == nil && w.durable {
		if syncErr := w.file.Sync(); syncErr != nil {
			err = w.failed(syncErr)
		}
	}
	if closeErr := w.file.Close(); err == nil && closeErr != nil {
		err = w.failed(closeErr)
	}
	w.err = w.failed(errClosed)
	return err
}

// finish writes everything from the last chunk on.
func (w *Writer) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	s := &w.statistics
	s.SchemaCount, s.ChannelCount = uint16(len(w.schemas)), uint32(len(w.channels))
	s.ChannelMessageCounts = map[uint16]uint64{}
	for id, n := range w.counts {
		s.ChannelMessageCounts[uint16(id)] = n
	}
	statistics, err := w.encode(func() error { return w.encoder.WriteStatistics(s) })
	if err != nil {
		return err
	}
	statistics = slices.Clone(statistics)
	dataEnd, err := w.encode(func() error { return w.encoder.WriteDataEnd(&mcap.DataEnd{}) })
	if err != nil {
		return err
	}
	if err := w.write(dataEnd); err != nil {
		return err
	}
	footer := mcap.Footer{SummaryStart: uint64(w.size)}
	var summary, offsets []byte
	for _, group := range []struct {
		op      mcap.OpCode
		records []byte
	}{
		{mcap.OpSchema, w.summary.schemas},
		{mcap.OpChannel, w.summary.channels},
		{mcap.OpStatistics, statistics},
		{mcap.OpChunkIndex, w.summary.chunks},
		{mcap.OpMetadataIndex, w.summary.metadata},
	} {
		if len(group.records) == 0 {
			continue
		}
		offset := mcap.SummaryOffset{GroupOpcode: group.op, GroupStart: footer.SummaryStart + uint64(len(summary)), GroupLength: uint64(len(group.records))}
		record, err := w.encode(func() error { return w.encoder.WriteSummaryOffset(&offset) })
		if err != nil {
			return err
		}
		offsets = append(offsets, record...)
		summary = append(summary, group.records...)
	}
	footer.SummaryOffsetStart = footer.SummaryStart + uint64(len(summary))
	summary = append(summary, offsets...)
	summary = append(summary, byte(mcap.OpFooter))
	summary = binary.LittleEndian.AppendUint64(summary, footerSize-recordHead)
	summary = binary.LittleEndian.AppendUint64(summary, footer.SummaryStart)
	summary = binary.LittleEndian.AppendUint64(summary, footer.SummaryOffsetStart)
	summary = binary.LittleEndian.AppendUint32(summary, crc32.ChecksumIEEE(summary))
	return w.write(append(summary, mcap.Magic...))
}
