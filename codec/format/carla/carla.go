// Package carla reads and writes the logs of CARLA's recorder, as CARLA's CarlaRecorder writes them from 0.9.5 on:
// https://carla.readthedocs.io/en/latest/adv_recorder/ and the Recorder sources of LibCarla and of the plugin.
//
// A log is a header and packets. A packet has an id, a size and data. The packets of one tick of the simulation are a
// frame, from FrameStart to FrameEnd. There is no index, no checksum and no end mark. CARLA changed the layout without
// changing the version in the header. A [Profile] names a layout. The reader detects the profile from the packets.
//
// # Reading
//
// A log has one channel with the topic "/carla/log" and the encoding Encoding. A message is one frame: the bytes of all
// its packets as they are in the file. Packets between two frames belong to the earlier frame. LogTime is the date in
// the header, in whole seconds, plus the frame's time in the simulation. LogTime never decreases, even if the times of
// frames do. [NextPacket] and [Decoder] decode a message. The channel's metadata has the profile, the map, the date
// and the version.
//
// Actors, boxes and physics of actors, lights of the scene, doors and weather are recorded only when they change. A
// [State] holds the latest values. If reading starts in the middle of a log, the first message also contains, after its
// FrameStart, packets with the state before the frame. The reader makes an index with states in one pass over the file
// when the index is first needed.
//
// Reading a log whose writer was killed ends after the last complete frame. Other data that is not a packet is
// ErrDamaged. Query.Damaged, if set, gets the error, and reading continues at the next FrameStart.
//
// # Writing
//
// A log holds only messages of this format, one frame each. [AppendPacket] makes frames. The writer does not change
// frames, so that a copy of a log has equal bytes, with one exception: if the duration of a frame is unknown, as in the
// last frame of a log, the writer sets it when the next frame arrives. With CreateOptions.Salvaged, the writer also
// corrects a duration that does not lead to the next frame, and makes the duration of the last frame unknown. Map and
// date come from the metadata of the first channel. If there is no date, the first message gives the date. [Transcode]
// converts frames to another profile. The second and later files of a split recording begin with the state at the end
// of the previous file.
package carla

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// Name is the name of the format.
const Name = "carla"

// Topic and Type are the topic and the type of the only channel of a log.
const (
	Topic = "/carla/log"
	Type  = "carla.Frame"
)

// Keys of the metadata of a log's channel and of a recording.
const (
	KeyProfile = "carla.profile" // Profile.Name
	KeyMap     = "carla.map"     // Header.Map
	KeyDate    = "carla.date"    // Header.Date in decimal
	KeyVersion = "carla.version" // Header.Version in decimal
)

// Encoding is the Channel.Encoding of packets.
const Encoding = "carla"

// ErrDamaged is wrapped by errors about content that CARLA's recorder does not write.
var ErrDamaged = errors.New("damaged")

// Format is the format of the logs of CARLA's recorder.
var Format = codec.Format{
	Extension: ".log",
	Keeps:     codec.Keeps{Encodings: []string{Encoding}},
	Name:      Name,
	Sniff: func(_ *store.Files, _ string, head []byte) bool {
		return len(head) > 2 && bytes.HasPrefix(head[2:], magicString)
	},
	Named:    func(path string) bool { return filepath.Ext(path) == ".log" },
	OpenFrom: func(files *store.Files, path string) (codec.Reader, error) { return Open(files, path) },
	Check:    check,
	Splits:   true,
	Create:   func(path string, o codec.CreateOptions) (codec.Writer, error) { return createOn(o.OnDisk(), path, o) },
}

// damage is the error for a damaged range of a log, from offset pos up to end.
type damage struct {
	path     string
	pos, end int64
	text     string
}

func (d *damage) Error() string {
	return fmt.Sprintf("read %s: damaged from %#x to %#x: %s", d.path, d.pos, d.end, d.text)
}

func (d *damage) Unwrap() error { return ErrDamaged }
