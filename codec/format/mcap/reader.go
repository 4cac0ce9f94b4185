package mcap

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/foxglove/mcap/go/mcap"
	"go.yaml.in/yaml/v3"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// reader reads an MCAP file.
//
// It uses the summary if that has indexes, statistics and all channels. It scans any other file once before the first
// message is read or Info returns. Reading holds the chunks that overlap in time, up to 256 MiB of them or a single
// larger one; other chunks are read again when their time comes.
//
// Info.Extra is an Extra. Info.Records are the metadata records of other programs.
type reader struct {
	chunked.Reader
	profile, library string
	rosbag2          string // Extra.Rosbag2
	schemas          map[uint16]*mcap.Schema
	metadata         map[string]string      // from tapedeck's metadata record
	records          []codec.MetadataRecord // other metadata records
	metadataRecords  int                    // including tapedeck's
	attachments      []codec.Attachment
	complete         bool
	summaryChecked   bool   // the summary has all channels, and a checksum
	headDamaged      bool   // the end of the file is right, but not its beginning
	dataEnd          int64  // offset of the DataEnd record
	dataSum          uint32 // checksum of everything before dataEnd; 0: there is none
}

// NewReader returns a reader of an MCAP file of size bytes, and owns the file. path is its name for errors and Info.
func NewReader(file codec.File, size int64, path string) (*chunked.Reader, error) {
	r := &reader{Reader: chunked.Reader{File: file, Path: path, Size: size}}
	r.Layout = r
	magic := make([]byte, len(mcap.Magic))
	n, err := file.ReadAt(magic, 0)
	switch {
	case n < len(magic):
		return nil, fmt.Errorf("read %s: not an MCAP file: %w", path, chunked.Unexpected(err))
	case bytes.Equal(magic, mcap.Magic):
	case bytes.HasPrefix(magic, mcap.Magic[:5]) && magic[5] != mcap.Magic[5]:
		return nil, fmt.Errorf("read %s: MCAP of version %q; this program reads version 0", path, magic[5])
	default:
		tail := make([]byte, len(mcap.Magic))
		if _, err := file.ReadAt(tail, size-int64(len(tail))); err == nil && bytes.Equal(tail, mcap.Magic) {
			r.headDamaged = true
			break
		}
		return nil, fmt.Errorf("read %s: not an MCAP file: it begins with %q", path, magic)
	}
	return &r.Reader, nil
}

func (r *reader) Loader() chunked.Loader { return r.loader() }

// Verify compares the checksum of the data section. It covers records that have none of their own, such as metadata and
// messages outside of chunks. Verify does not read the records of uncompressed chunks with a checksum, which the loader
// compares.
func (r *reader) Verify() error {
	if r.dataSum == 0 {
		return nil
	}
	segments := slices.Clone(r.Contents.Segments)
	slices.SortFunc(segments, func(a, b chunked.Segment) int { return cmp.Compare(a.Offset, b.Offset) })
	var sum dataSum
	read := int64(0)
	for i := range segments {
		s := &segments[i]
		c, err := readChunkHead(r.File, s)
		if err != nil || c.compression != mcap.CompressionNone || c.crc == 0 {
			continue
		}
		records := s.Offset + recordHead + int64(c.head)
		if err := sum.read(r.File, read, records); err != nil {
			return err
		}
		sum.join(c.crc, c.records)
		read = records + c.records
	}
	if err := sum.read(r.File, read, r.dataEnd); err != nil {
		return err
	}
	if uint32(sum) != r.dataSum {
		return errors.New("the checksum of the data section is wrong: records without one of their own may be damaged")
	}
	return nil
}

func (r *reader) Index() error {
	r.reset()
	err := r.readSummary()
	var useless *chunked.NoIndexError
	if errors.As(err, &useless) {
		schemas, channels, proven := r.schemas, r.Contents.Channels, r.summaryChecked
		r.reset()
		if proven {
			// Keep the channels of the summary: those before the messages may be damaged.
			r.schemas, r.Contents.Channels = schemas, channels
		}
		if useless.Damaged && !r.headDamaged {
			r.Contents.Event(codec.EventDamage, fmt.Sprintf("read without the index: %v", useless))
		}
		err = r.scan(r.headDamaged || useless.Damaged && !proven)
	}
	if err == nil && r.headDamaged {
		r.complete = false
		r.Contents.DamagedHead()
	}
	return err
}

func (r *reader) reset() {
	*r = reader{
		Reader: r.Reader, headDamaged: r.headDamaged, schemas: map[uint16]*mcap.Schema{}, metadata: map[string]string{},
	}
	r.Contents = chunked.Contents{Path: r.Path}
}

// define stores a schema, a channel, a metadata record or the header.
func (r *reader) define(op mcap.OpCode, content []byte) error {
	switch op {
	case mcap.OpHeader:
		header, err := mcap.ParseHeader(content)
		if err != nil {
			return err
		}
		r.profile, r.library = header.Profile, header.Library
	case mcap.OpSchema:
		schema, err := mcap.ParseSchema(content)
		if err != nil {
			return err
		}
		if _, ok := r.schemas[schema.ID]; !ok {
			r.schemas[schema.ID] = schema
		}
	case mcap.OpChannel:
		channel, err := mcap.ParseChannel(content)
		if err != nil {
			return err
		}
		if r.known(channel.ID) {
			return nil
		}
		channels := &r.Contents.Channels
		if n := int(channel.ID) + 1; n > len(*channels) {
			*channels = append(*channels, make([]*codec.Channel, n-len(*channels))...)
		}
		(*channels)[channel.ID] = newChannel(channel, r.schemas[channel.SchemaID])
	case mcap.OpMetadata:
		metadata, err := mcap.ParseMetadata(content)
		if err != nil {
			return err
		}
		r.metadataRecords++
		switch metadata.Name {
		case ownMetadata:
			maps.Copy(r.metadata, metadata.Metadata)
		case rosbag2Metadata: // repeats facts of the file, and has more about the bag
			r.rosbag2 = metadata.Metadata[keySerialized]
		default:
			r.records = append(r.records, codec.MetadataRecord{Name: metadata.Name, Values: metadata.Metadata})
		}
	}
	return nil
}

func (r *reader) known(channel uint16) bool { return r.Contents.Known(int(channel)) }

func newChannel(c *mcap.Channel, s *mcap.Schema) *codec.Channel {
	channel := &codec.Channel{
		Topic: c.Topic, Encoding: c.MessageEncoding, TypeHash: c.Metadata[keyTypeHash], Metadata: c.Metadata,
	}
	delete(channel.Metadata, keyTypeHash)
	if qos, ok := c.Metadata[codec.UnreadQoS]; ok {
		delete(channel.Metadata, codec.UnreadQoS)
		channel.SetQoSProfiles(qos)
	}
	if len(channel.Metadata) == 0 {
		channel.Metadata = nil
	}
	if s != nil {
		channel.Type = s.Name
		channel.Schema.Encoding = s.Encoding
		if len(s.Data) > 0 {
			channel.Schema.Data = s.Data
		}
	}
	return channel
}

// addCustom adds the custom data that rosbag2 stores at the end of its metadata.
func (r *reader) addCustom() {
	var bag struct {
		Custom map[string]string `yaml:"custom_data"`
		Distro string            `yaml:"ros_distro"`
	}
	i := strings.LastIndex(r.rosbag2, "\ncustom_data:")
	if i < 0 || yaml.Unmarshal([]byte(r.rosbag2[i:]), &bag) != nil {
		return
	}
	maps.Copy(r.metadata, bag.Custom)
	if bag.Distro != "" {
		r.metadata["ros_distro"] = bag.Distro
	}
}

// Extra is Info.Extra of an MCAP file.
type Extra struct {
	Profile     string         `json:"profile"`
	Library     string         `json:"library"`
	Chunks      map[string]int `json:"chunks"` // number of chunks by compression
	Attachments int            `json:"attachments"`
	Rosbag2     string         `json:"-"` // rosbag2's metadata of the bag: a metadata.yaml without its first line
}

func (r *reader) Describe() *codec.Info {
	chunks := map[string]int{}
	for i := range r.Contents.Segments {
		if s := &r.Contents.Segments[i]; s.Chunk {
			chunks[cmp.Or(s.Compression, "none")]++
		}
	}
	labels := codec.DefineAll(r.Contents.Channels)
	info := r.Contents.Info(Name, r.Size, r.loader())
	info.Unsigned = true
	unread := codec.UnreadQoSEvents(r.Contents.Channels)
	info.Events = slices.Concat(unread, labels, info.Events)
	info.Complete = r.complete && len(unread) == 0
	info.Extra = Extra{
		Profile: r.profile, Library: r.library, Chunks: chunks, Attachments: len(r.attachments), Rosbag2: r.rosbag2,
	}
	info.Records, info.Attachments = r.records, r.attachments
	r.addCustom()
	if len(r.metadata) > 0 {
		info.Metadata = r.metadata
	}
	return info
}
