// Package record reads and writes the record files of Apollo Cyber RT, as Apollo's cyber/proto/record.proto,
// cyber/proto/proto_desc.proto and cyber/record define them: Apollo's tools open our files, and we open theirs.
//
// A file is a sequence of sections: a Header, whose area has a fixed size, then Channels and pairs of ChunkHeader and
// ChunkBody, and an Index at the end if the file was closed. The reader walks the sections in order. It does not use
// the positions in the index, which differ between Apollo's versions. Nothing is compressed.
//
// # Reading
//
// A folder of record files is one recording. If files NAME.record.00000 and so on exist, NAME.record and NAME mean all
// of them.
//
// Messages are read in time order, whatever their order in the file. A reader holds 32 bytes for each message of a
// chunk, however large the messages are, and up to 256 MiB if very many messages overlap in time. A file
// whose writer was killed ends after its last complete message. Other damage is ErrDamaged, or is reported to
// Query.Damaged and skipped: reading continues at the next section or message. The format has no checksums, so a
// changed payload in a complete file is not noticed.
//
// # Writing
//
// Messages keep the order in which they are given. As in Apollo's writer, a chunk is written when its payloads exceed
// CreateOptions.ChunkSize (16 MiB), or when a message is more than CreateOptions.ChunkDuration (1 s) later than the
// earliest in it. Sync also writes it; a recorder calls Sync when no message arrives for a while. A killed writer loses
// at most the messages of the open chunk. CreateOptions.Metadata is not kept. NAME.record.00000 is split into
// NAME.record.00001 and so on.
//
// A chunk of more than 512 KiB is written in pieces. Until it is complete its header gives the body a size of 2 GiB -
// 1: readers ignore such a chunk at the end of a file. The header is the one that Apollo's writer would write, but if a
// chunk turns out much shorter than it began its numbers may have leading zeros. A channel that appears during such a
// chunk ends it.
//
// Two channels with equal topic, type, encoding and schema become one in the file; type hash and metadata of the
// second are not kept. If one of the four but the topic differs, Apollo's tools see the second as "topic#2".
//
// # Additions to the format
//
// Four additions are in fields that record.proto does not define, which all readers skip.
//
// A channel whose payloads are not protobuf, or that carries more than a proto_desc can say, has a ProtoDesc whose root
// file defines nothing and imports the file that describes the type. It carries this FileOptions extension:
//
//	extend google.protobuf.FileOptions { optional ChannelOption channel = 51001; }
//
//	message ChannelOption {
//	  optional string encoding = 1;        // of the payloads: "cdr", "ros1", …
//	  optional string type = 2;            // "sensor_msgs/msg/Imu"
//	  optional string schema_encoding = 3; // "ros2msg": concatenated .msg texts, …
//	  optional bytes schema = 4;           // absent for "protobuf": the imported files are the schema
//	  optional string type_hash = 5;       // REP-2011: "RIHS01_…"
//	  optional string qos = 6;             // offered, in rosbag2's YAML
//	  map<string, string> metadata = 7;
//	  optional string topic = 8;           // if the name differs: the second type on /topic is "/topic#2"
//	}
//
// The type of such a channel is a protobuf name, "sensor_msgs.msg.Imu". The file that describes it has the name
// "sensor_msgs/msg/Imu.msg". It has the fields of the definition, or an empty message if the definition is unknown.
//
// A message with a PublishTime has it in a fixed64 field 51001 of its SingleMessage, in front of the content.
//
// A ChunkHeader has the CRC-32 (IEEE) of the chunk's body in a fixed32 field 51001, unless all channels are protobuf.
// Readers compare it in files that were not closed, where a crash may have left other data, and for Query.Verify.
//
// The ChannelCache of the events channel, and of each channel with latched messages (codec.LatchedDepth), lists the
// positions of the channel's messages in a bytes field 51001, one fixed64 each. Readers find these messages without
// reading the file. A channel with more than 65536 messages has no list.
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/store"
)

const (
	formatName = "record"

	// extension is the field number of our additions, from the range that protobuf leaves to private use.
	extension = 51001
)

// ErrDamaged is wrapped by errors about content that differs from what was written.
var ErrDamaged = errors.New("damaged")

// damage is one damaged place of a file.
type damage struct {
	path  string // "" if the caller adds it to the error
	pos   int64
	chunk int // counted from 1; 0 outside of chunks
	text  string
	sum   bool           // a wrong checksum, which verification finds, too
	lost  codec.Affected // messages that a header or the index counts but that were not found
}

// withLost returns the damage, as a codec.DamageError if lost messages are known.
func (d *damage) withLost() error {
	if d.lost == nil {
		return d
	}
	return &codec.DamageError{Err: d, Lost: d.lost}
}

func (d *damage) Error() string {
	at := fmt.Sprintf("damaged at %#x", d.pos)
	if d.chunk > 0 {
		at += fmt.Sprintf(" in chunk %d", d.chunk)
	}
	if d.path != "" {
		at = fmt.Sprintf("read %s: %s", d.path, at)
	}
	return at + ": " + d.text
}

func (d *damage) Unwrap() error { return ErrDamaged }

// names matches the file names that Apollo's recorder, split and recover give.
var names = regexp.MustCompile(`\.record(\.\d{5}(\.\d{14})?)?(\.split|\.recover)?$`)

// Format describes Apollo's record files.
var Format = codec.Format{
	Extension: ".record",
	Keeps:     codec.Keeps{PublishTime: true, QoS: true, ChannelMetadata: true, Joins: true},
	Name:      formatName,
	Sniff:     sniff,
	Named:     names.MatchString,
	OpenFrom:  openAny,
	FilesIn:   listFiles,
	Check:     check,
	Splits:    true,
	Accepts:   accepts,
	Create:    func(path string, o codec.CreateOptions) (codec.Writer, error) { return createOn(o.OnDisk(), path, o) },
}

// openAny opens a file, or several as one.
func openAny(files *store.Files, path string) (codec.Reader, error) {
	if stat, err := files.Stat(path); err == nil && !stat.IsDir() {
		return open(files, path)
	}
	return openFiles(files, path)
}

// sniff accepts a file that begins with a Header, whole or cut. It also accepts a file with a broken Header if a
// section follows where the Header ends. Several files as one recording are recognised by their names.
func sniff(files *store.Files, path string, head []byte) bool {
	if head == nil {
		return slices.ContainsFunc(listFiles(files, path), func(name string) bool { return isRecord(files, name) })
	}
	if len(head) >= sectionSize {
		s := parseSection(head)
		if s.typ == headerSection && s.size > 0 && s.size <= headerArea {
			payload := head[sectionSize:min(len(head), sectionSize+int(s.size))]
			if decodeBeginning(payload, s.size, new(recordpb.Header)) == nil {
				return true
			}
		}
	}
	if len(head) < firstSection+sectionSize {
		return false
	}
	s := parseSection(head[firstSection:])
	payload := head[firstSection+sectionSize:]
	switch s.typ {
	case channelSection:
		// Type, padding and size are followed by the tag of the name.
		return s.size > 2 && binary.LittleEndian.Uint32(head[firstSection+4:]) == 0 && len(payload) > 0 &&
			payload[0] == 0x0a
	case chunkHeaderSection:
		var h recordpb.ChunkHeader
		return s.size > 0 && s.size <= int64(len(payload)) && proto.Unmarshal(payload[:s.size], &h) == nil &&
			len(h.ProtoReflect().GetUnknown()) == 0
	}
	return false
}

// numbered matches the end of a name that Apollo's recorder gives to a file of a split recording.
var numbered = regexp.MustCompile(`\.\d{5}$`)

func check(o codec.CreateOptions) error { return o.CheckUncompressed(formatName) }

// createOn begins a recording whose first file is path. NAME.record.00001 follows NAME.record.00000.
func createOn(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error) {
	if err := check(o); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	base := numbered.ReplaceAllString(path, "")
	name := func(n int) string {
		name := fmt.Sprintf("%s.%05d", base, n)
		if o.Dated != nil { // as Apollo's recorder names files since version 10
			name += o.Dated().Format(".20060102150405")
		}
		return name
	}
	if _, err := s.Lstat(base); err != nil && o.Dated != nil && !o.Overwrite && listFiles(store.On(s), base) != nil {
		return nil, fmt.Errorf("create %s: %w; name another output or use --overwrite", base, fs.ErrExist)
	}
	return output.NewChunkRecording(s, formatName, path, o, name, func(path string) (output.Encoder, error) {
		return newEncoder(path, o), nil
	})
}
