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
	// bareChunk is the number of bytes before the records of a chunk without compression.
	bareChunk = recordHead + chunkHead
	// finalReserve is an upper bound of the bytes at the end of a file that do not grow with its content.
	finalReserve = 16 << 10
)

// encoder encodes an MCAP file as rosbag2_storage_mcap does, with schemas, offered QoS and type hashes, an index and
// statistics. In addition, chunks and the data section have checksums. Channels that are equal in everything become
// one. A PublishTime of 0 becomes the LogTime, as the specification requires. The messages of a group of topics keep
// the order in which they are written, and readers find their order in time by the index.
//
// A group has an open chunk, which is closed when it has ChunkSize bytes. All open chunks are closed when their
// messages span ChunkDuration of LogTime, so that a killed writer loses no more than that.
type encoder struct {
	path      string
	embed     Embed
	chunkSize int64
	duration  int64
	records   []codec.MetadataRecord // CreateOptions.Records, and CreateOptions.Metadata as a record

	// Of the chunk that is being encoded:
	packer        packer
	headerProfile string // profile in the file's header, or unknownProfile

	profile  string
	topics   []*output.Topic
	ids      map[*codec.Channel]uint16
	channels map[string]uint16 // by the content of the channel record
	schemas  map[string]uint16 // by the content of the schema record
	last     *codec.Channel    // channel of the last message
	lastID   uint16            // number of last

	groups
	chunks   int     // chunks in the file
	sum      dataSum // of the bytes in the file, behind the header
	metadata int     // metadata records in the file
	attached int     // attachments in the file

	embedSize int64 // upper bound of the embedded metadata and of the metadata.yaml with equal content, in bytes

	encoder *mcap.Writer // encodes rare records, to encoded
	encoded bytes.Buffer
	summary struct{ schemas, channels, chunks, attachments, metadata []byte }
}

// Embed returns a metadata record for the beginning and the end of a file. info describes the file at that time.
type Embed func(info *codec.Info) (name string, values map[string]string)

// NewEncoder returns the encoder of the MCAP file at path. CreateOptions.Metadata becomes a metadata record named
// "tapedeck"; embed may be nil.
func NewEncoder(path string, o codec.CreateOptions, embed Embed) (output.Encoder, error) {
	w := &encoder{
		path:      path,
		embed:     embed,
		chunkSize: int64(min(cmp.Or(o.ChunkSize, DefaultChunkSize), maxChunk/2)),
		duration:  int64(cmp.Or(o.ChunkDuration, DefaultChunkDuration)),
		records:   o.Records,
		profile:   "ros2",
		ids:       map[*codec.Channel]uint16{}, channels: map[string]uint16{}, schemas: map[string]uint16{},
	}
	if len(o.Metadata) > 0 {
		w.records = append([]codec.MetadataRecord{{Name: ownMetadata, Values: o.Metadata}}, o.Records...)
	}
	w.headerProfile = w.profile
	w.groups = newGroups(w, o.ChunkGroups)
	var err error
	w.packer, err = newPacker(o.Compression)
	if err == nil {
		w.encoder, err = mcap.NewWriter(&w.encoded, &mcap.WriterOptions{})
	}
	return w, err
}

// Begin returns the header and the metadata records.
func (w *encoder) Begin(info *codec.Info) ([]byte, error) {
	b := head(w.headerProfile)
	n := len(b)
	for _, r := range w.records {
		var err error
		b, err = w.appendMetadata(b, 0, r.Name, r.Values)
		if err != nil {
			return nil, err
		}
	}
	b, err := w.appendInfo(b, 0, info)
	w.sum.add(b[n:])
	return b, err
}

// unknownProfile is the profile of a file whose header may have been written or not.
const unknownProfile = "unknown"

// head returns the beginning of the file, up to the header.
func head(profile string) []byte {
	return append(mcap.Magic[:len(mcap.Magic):len(mcap.Magic)], header(profile)...)
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

// encode returns the bytes of a record that write, a method of w.encoder, encodes.
func encode[R any](w *encoder, write func(*R) error, record *R) ([]byte, error) {
	w.encoded.Reset()
	if err := write(record); err != nil {
		return nil, fmt.Errorf("write %s: %w", w.path, err)
	}
	return w.encoded.Bytes(), nil
}

func (w *encoder) Declare(c *codec.Channel) error {
	if c == w.last {
		return nil
	}
	id, ok := w.ids[c]
	if !ok {
		var err error
		id, err = w.declare(c)
		if err != nil {
			return err
		}
		w.ids[c] = id
	}
	w.last, w.lastID = c, id
	return nil
}

func (w *encoder) declare(c *codec.Channel) (uint16, error) {
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
		return 0, fmt.Errorf("write %s: topic %s: an MCAP file has at most %d channels", w.path, c.Topic,
			math.MaxUint16+1)
	}
	w.setProfile(c.Encoding)
	id := uint16(len(w.channels))
	record, err := encode(w, w.encoder.WriteChannel, &mcap.Channel{ID: id, SchemaID: schema, Topic: c.Topic,
		MessageEncoding: c.Encoding, Metadata: metadata})
	if err != nil {
		return 0, err
	}
	w.appendRecord(w.list[0], record)
	w.addPlace(id, place{schema: schema, start: len(w.summary.channels), size: len(record)})
	w.summary.channels = append(w.summary.channels, record...)
	w.channels[key] = id
	w.topics = append(w.topics, &output.Topic{Channel: c})
	if w.embed != nil {
		const rest = 512 // bytes of a topic's other metadata
		w.embedSize += int64(2 * (2*len(metadata[keyQoS]) + len(c.Topic) + len(c.Type) + rest))
	}
	return id, nil
}

// schema returns the number of a channel's schema, or 0 if the channel has none. A type with an unknown definition gets
// an empty schema.
func (w *encoder) schema(c *codec.Channel) (uint16, error) {
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
	record, err := encode(w, w.encoder.WriteSchema, &mcap.Schema{ID: id, Name: c.Type, Encoding: c.Schema.Encoding,
		Data: c.Schema.Data})
	if err != nil {
		return 0, err
	}
	w.appendRecord(w.list[0], record)
	w.schemaStarts = append(w.schemaStarts, len(w.summary.schemas))
	w.summary.schemas = append(w.summary.schemas, record...)
	w.schemas[key] = id
	return id, nil
}

// setProfile updates the profile for a new channel with this encoding.
func (w *encoder) setProfile(encoding string) {
	profile := map[string]string{codec.EncodingCDR: "ros2", codec.EncodingROS1: "ros1"}[encoding]
	if len(w.channels) > 0 && profile != w.profile {
		profile = ""
	}
	w.profile = profile
}

func (w *encoder) Event(e codec.Event) (*codec.Message, error) { return codec.EventMessage(e) }
func (w *encoder) Topics() []*output.Topic                     { return w.topics }

func (w *encoder) Finish(file *output.File, info *codec.Info, durable bool) error {
	w.groups = groups{}
	b, err := w.appendInfo(nil, file.Size(), info)
	if err == nil {
		w.sum.add(b)
		err = file.Append(b)
	}
	if err == nil && durable {
		err = file.Sync() // the summary must not list chunks that are not on the disk
	}
	if err == nil {
		b, err = w.encodeSummary(file.Size(), info)
	}
	if err == nil {
		err = file.Append(b)
	}
	return err
}

// summarySize returns an upper bound of the summary's size, including the next chunk.
func (w *encoder) summarySize() int64 {
	const perTopic = 10 + 10 // in the statistics and in the index of the next chunk
	s := &w.summary
	return int64(len(s.schemas) + len(s.channels) + len(s.chunks) + len(s.attachments) + len(s.metadata) +
		perTopic*len(w.topics))
}

// appendInfo appends the record of embed to b, which is written at offset.
func (w *encoder) appendInfo(b []byte, offset int64, info *codec.Info) ([]byte, error) {
	if w.embed == nil {
		return b, nil
	}
	name, values := w.embed(info)
	return w.appendMetadata(b, offset, name, values)
}

// appendMetadata appends a metadata record to b, which is written at offset, and adds it to the index.
func (w *encoder) appendMetadata(b []byte, offset int64, name string, values map[string]string) ([]byte, error) {
	record, err := encode(w, w.encoder.WriteMetadata, &mcap.Metadata{Name: name, Metadata: values})
	if err != nil {
		return nil, err
	}
	index := mcap.MetadataIndex{Offset: uint64(offset) + uint64(len(b)), Length: uint64(len(record)), Name: name}
	b = append(b, record...)
	w.metadata++
	record, err = encode(w, w.encoder.WriteMetadataIndex, &index)
	w.summary.metadata = append(w.summary.metadata, record...)
	return b, err
}

// sumTo returns the checksum of the file up to offset, where all chunks end. It returns 0, which stands for no
// checksum, if the content of the header is unknown.
func (w *encoder) sumTo(offset int64) uint32 {
	if w.headerProfile == unknownProfile {
		return 0
	}
	var sum dataSum
	b := head(w.headerProfile)
	sum.add(b)
	sum.join(uint32(w.sum), offset-int64(len(b)))
	return uint32(sum)
}

// encodeSummary returns the end of the file, from the DataEnd record at offset on.
func (w *encoder) encodeSummary(offset int64, info *codec.Info) ([]byte, error) {
	s := mcap.Statistics{
		MessageCount: info.MessageCount, MessageStartTime: uint64(info.StartTime), MessageEndTime: uint64(info.EndTime),
		SchemaCount: uint16(len(w.schemas)), ChannelCount: uint32(len(w.channels)), ChunkCount: uint32(w.chunks),
		AttachmentCount: uint32(w.attached), MetadataCount: uint32(w.metadata),
		ChannelMessageCounts: map[uint16]uint64{},
	}
	for id, t := range w.topics {
		s.ChannelMessageCounts[uint16(id)] = t.Written()
	}
	statistics, err := encode(w, w.encoder.WriteStatistics, &s)
	if err != nil {
		return nil, err
	}
	statistics = slices.Clone(statistics)
	dataEnd, err := encode(w, w.encoder.WriteDataEnd, &mcap.DataEnd{DataSectionCRC: w.sumTo(offset)})
	if err != nil {
		return nil, err
	}
	dataEnd = slices.Clone(dataEnd)
	footer := mcap.Footer{SummaryStart: uint64(offset) + uint64(len(dataEnd))}
	var summary, offsets []byte
	for _, group := range []struct {
		op      mcap.OpCode
		records []byte
	}{
		{mcap.OpSchema, w.summary.schemas},
		{mcap.OpChannel, w.summary.channels},
		{mcap.OpStatistics, statistics},
		{mcap.OpChunkIndex, w.summary.chunks},
		{mcap.OpAttachmentIndex, w.summary.attachments},
		{mcap.OpMetadataIndex, w.summary.metadata},
	} {
		if len(group.records) == 0 {
			continue
		}
		offset := mcap.SummaryOffset{GroupOpcode: group.op, GroupStart: footer.SummaryStart + uint64(len(summary)),
			GroupLength: uint64(len(group.records))}
		record, err := encode(w, w.encoder.WriteSummaryOffset, &offset)
		if err != nil {
			return nil, err
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
	return slices.Concat(dataEnd, summary, mcap.Magic), nil
}
