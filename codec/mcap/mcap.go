// Package mcap reads and writes MCAP files, https://mcap.dev/spec, as the format "mcap".
//
// Every profile is read, with or without chunks, indexes and summary. What is written has the profile "ros2" as long as
// all payloads are CDR, and the schemas and channel metadata that rosbag2_storage_mcap writes; see [Writer].
package mcap

import (
	"bytes"
	"path/filepath"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
)

// Name is the name of the format.
const Name = "mcap"

func init() {
	codec.Register(codec.Format{
		Name:   Name,
		Sniff:  func(_ string, head []byte) bool { return bytes.HasPrefix(head, mcap.Magic[:5]) },
		Named:  func(path string) bool { return filepath.Ext(path) == ".mcap" },
		Open:   func(path string) (codec.Reader, error) { return Open(path) },
		Create: func(path string, o codec.CreateOptions) (codec.Writer, error) { return Create(path, o) },
	})
}

// Keys of the channel metadata that rosbag2_storage_mcap writes.
const (
	keyQoS      = "offered_qos_profiles"
	keyTypeHash = "topic_type_hash"
)

// ownMetadata names the metadata record that keeps CreateOptions.Metadata.
const ownMetadata = "tapedeck"
