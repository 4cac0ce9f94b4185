// Package rosbag reads and writes the bags of ROS 1, http://wiki.ros.org/Bags/Format/2.0, as the format "bag". ROS's
// own rosbag reads our bags. Bags of version 1.2, http://wiki.ros.org/Bags/Format/1.2, can be read.
//
// Payloads are in ROS 1's serialisation, codec.EncodingROS1; package bridge/translate/ros1 translates them to ROS 2.
// Each connection of a bag, that is each publisher of a topic, is a channel. Channel.Metadata has the fields of the
// connection header except topic, type and definition: "md5sum", "callerid", "latching" as "true" or "false", and any
// others. A latching channel has transient-local QoS. There is no PublishTime.
//
// # Reading
//
// A bag that was closed is read by its index. Any other bag, also one of version 1.2, is scanned once before the first
// message is read or Info returns. The scan ends after the last complete message, which may be in a chunk that was not
// closed. The reader reports damage to Query.Damaged and skips it: the messages around damage are kept, except in a
// damaged bzip2 chunk.
//
// # Writing
//
// Only messages of ROS 1 can be written, with times from 1 ns to the year 2106. Messages stay in the order of writing;
// the index is in time order. Equal channels become one connection. A channel without "md5sum" gets the MD5 sum of its
// definition. A chunk is closed when it has ChunkSize bytes (768 KiB) or its messages span ChunkDuration of LogTime
// (1 s): a killed writer loses at most one chunk. Events are messages of tapedeck/RecordingEvent on codec.EventTopic.
// CreateOptions.Metadata is not kept. NAME_1.bag and so on follow NAME.bag after splits.
//
// One addition, which ROS ignores: the header of a chunk has the CRC-32 (IEEE) of its records as "tapedeck_crc".
package rosbag

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/store"
)

// Name is the name of the format.
const Name = "bag"

const (
	magic    = "#ROSBAG V"
	version1 = magic + "1.2\n"
	version2 = magic + "2.0\n"
)

// Format describes bags of ROS 1.
var Format = codec.Format{
	Extension: ".bag",
	Keeps:     codec.Keeps{Encodings: []string{codec.EncodingROS1}, ChannelMetadata: true},
	Name:      Name,
	Sniff:     func(_ *store.Files, _ string, head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) },
	Named:     func(path string) bool { return filepath.Ext(path) == ".bag" },
	OpenFrom: func(files *store.Files, path string) (codec.Reader, error) {
		return chunked.Open(files, path, newReader)
	},
	Check: func(o codec.CreateOptions) error {
		_, err := newPacker(o.Compression)
		return err
	},
	Splits: true,
	Create: func(path string, o codec.CreateOptions) (codec.Writer, error) { return createOn(o.OnDisk(), path, o) },
}

// createOn begins a recording whose first file is path. NAME_1.bag follows NAME.bag or NAME_0.bag, as in rosbag record.
func createOn(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error) {
	extension := filepath.Ext(path)
	base := strings.TrimSuffix(strings.TrimSuffix(path, extension), "_0")
	name := output.Names(base, extension, o.Dated)
	return output.NewChunkRecording(s, Name, path, o, name, func(path string) (output.Encoder, error) {
		return newEncoder(path, o)
	})
}

// checkVersion returns an error if head is not the beginning of a bag of a supported version.
func checkVersion(head string) error {
	if head == version1 || head == version2 {
		return nil
	}
	version, ok := strings.CutPrefix(head, magic)
	if !ok {
		return fmt.Errorf("not a bag of ROS 1: the file begins with %q", head)
	}
	return fmt.Errorf("a bag of version %q; this program reads 1.2 and 2.0; convert the bag with ROS's 'rosbag fix'",
		strings.TrimSpace(version))
}
