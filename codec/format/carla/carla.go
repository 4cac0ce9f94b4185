// Package carla reads and writes the logs of CARLA's recorder, as CARLA's CarlaRecorder writes them from 0.9.5 on:
// https://carla.readthedocs.io/en/latest/adv_recorder/ and the Recorder sources of LibCarla and of the plugin.
//
// A log is a header and packets. A packet has an id, a size and data. The packets of one tick of the simulation are a
// frame, from FrameStart to FrameEnd. There is no index, no checksum and no end mark. CARLA changed the layout without
// changing the version in the header. A [Profile] names a layout; it is detected from the packets.
//
// # Reading
//
// A log has one channel with the topic "/carla/log" and the encoding Encoding. A message is a frame with its packets
// as they are in the file, whatever their ids. Packets between two frames belong to the earlier frame. LogTime is the
// date in the header, in whole seconds, plus the frame's time in the simulation. It never decreases, even if the log's
// own times do. [NextPacket] and [Decoder] decode a message. The channel's metadata has the profile, the map, the date
// and the version.
//
// Actors with their boxes and physics, lights of the scene, doors and weather are recorded only when they change. A
// [State] keeps them. If reading starts in the middle of a log, the first message also contains packets with the state
// before it, after its FrameStart. One pass over the file makes an index with states when it is first needed.
//
// A log whose writer was killed ends after its last complete frame. Other data that is not a packet is ErrDamaged. If
// Query.Damaged is set, it gets the error, and reading continues at the next FrameStart.
//
// # Writing
//
// A log holds only messages of this format, one frame each. [AppendPacket] makes frames. They are written unchanged, so
// that a copy of a log has equal bytes. If the duration of a frame is unknown, as in the last frame of a log, it is set
// when the next frame arrives. With CreateOptions.Salvaged, a duration that does not lead to the next frame is
// corrected, and the duration of the last frame becomes unknown. Map and date come from the metadata of the first
// channel. If there is no date, the first message gives the date. [Transcode] converts frames to another profile. The
// second and later files of a split recording begin with the state before them.
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

// ErrDamaged is wrapped by errors about content that no recorder writes.
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

// damage is one damaged place of a log, from pos up to end.
type damage struct {
	path     string
	pos, end int64
	text     string
}

func (d *damage) Error() string {
	return fmt.Sprintf("read %s: damaged from %#x to %#x: %s", d.path, d.pos, d.end, d.text)
}

func (d *damage) Unwrap() error { return ErrDamaged }
