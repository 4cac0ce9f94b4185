// Package mcap reads and writes MCAP files, https://mcap.dev/spec, as the format "mcap".
//
// It reads every profile, with or without chunks, indexes and summary. It writes the profile "ros2" as long as all
// payloads are CDR, and the schemas and channel metadata that rosbag2_storage_mcap writes; see [NewEncoder].
//
// A chunk of more than 512 KiB without compression is written in pieces. Until it is complete its head says 1 GiB - 1;
// at the end of a file such a chunk is ignored.
package mcap

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/store"
)

// Name is the name of the format.
const Name = "mcap"

// Format describes MCAP files.
var Format = codec.Format{
	Extension: ".mcap",
	Keeps:     codec.Keeps{PublishTime: true, QoS: true, Metadata: true, Attachments: true, ChannelMetadata: true},
	Name:      Name,
	Sniff:     func(_ *store.Files, _ string, head []byte) bool { return bytes.HasPrefix(head, mcap.Magic[:5]) },
	Named:     func(path string) bool { return filepath.Ext(path) == ".mcap" },
	OpenFrom: func(files *store.Files, path string) (codec.Reader, error) {
		return chunked.Open(files, path, NewReader)
	},
	Check: func(o codec.CreateOptions) error {
		_, err := newPacker(o.Compression)
		return err
	},
	Splits: true,
	Create: func(path string, o codec.CreateOptions) (codec.Writer, error) { return createOn(o.OnDisk(), path, o) },
}

// Keys of the channel metadata that rosbag2_storage_mcap writes.
const (
	keyQoS      = codec.UnreadQoS // also of QoS that can be read
	keyTypeHash = "topic_type_hash"
)

// Names of metadata records.
const (
	ownMetadata     = "tapedeck" // keeps CreateOptions.Metadata
	rosbag2Metadata = "rosbag2"  // keeps the content of metadata.yaml, under keySerialized
	keySerialized   = "serialized_metadata"
)

// createOn begins a recording whose first file is path. NAME_1.mcap follows NAME.mcap or NAME_0.mcap.
func createOn(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error) {
	extension := filepath.Ext(path)
	base := strings.TrimSuffix(strings.TrimSuffix(path, extension), "_0")
	name := output.Names(base, extension, o.Dated)
	return output.NewChunkRecording(s, Name, path, o, name, func(path string) (output.Encoder, error) {
		return NewEncoder(path, o, nil)
	})
}
