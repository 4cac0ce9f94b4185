// Package carla reads and writes the logs of CARLA's recorder, as CARLA's CarlaRecorder writes them from 0.9.5 on:
// https://carla.readthedocs.io/en/latest/adv_recorder/ and LibCarla's and the plugin's Recorder sources. Importing the
// package registers it with package codec under the name "carla".
//
// A log is a header and packets: an id, a size and data. The packets of one tick of the simulation are a frame, from
// FrameStart to FrameEnd. There is no index, no checksum and no end mark. The version in the header does not tell the
// layouts apart that CARLA had over time; a [Profile] does, and is detected from the packets themselves.
//
// # Reading
//
// A log has one channel with the topic "/carla/log" and the encoding Encoding. A message is a frame, with
// its packets as they are in the file, whatever their ids; packets between two frames belong to the former. LogTime is
// the date in the header, which has whole seconds, plus the frame's time in the simulation; it never decreases, even if
// a log's own times do. [NextPacket] and [Decoder] make typed values of a message. The channel's metadata has the
// profile, the map, the date and the version.
//
// Much is recorded only when it changes: which actors there are, with boxes and physics, lights of the scene, doors,
// weather. A [State] keeps that. The first message of a reading that begins in the middle of a log has packets of the
// state before it added after its FrameStart, so that the rest of the log is understood without what was not read. An
// index with states in it is made by one pass over the file when it is first needed.
//
// A log whose writer was killed ends after its last complete frame. Any other data that are no packet are ErrDamaged,
// or are reported to Query.Damaged and skipped: reading continues at the next FrameStart.
//
// # Writing
//
// A log holds only messages of this format, one frame each; [AppendPacket] makes them. They are written unchanged, so
// that copying a log yields the same bytes. An unknown duration, such as that of the last frame of a log, is set when
// the next frame comes. With CreateOptions.Salvaged a duration that does not lead to the next frame is set as well, and
// that of the last frame becomes unknown. Map and date are those of the first channel's metadata; without a date there
// it is that of the first message. [Transcode] converts frames to another profile. The second and later files of a
// split recording begin with the state before them.
package carla

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"tapedeck/codec"
)

// Name is the name of the format.
const Name = "carla"

// Topic is the topic of a log's one channel, and Type its type.
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

// ErrDamaged is wrapped by the errors for content that no recorder writes.
var ErrDamaged = errors.New("damaged")

// Format is that of logs of CARLA's recorder.
var Format = codec.Format{
	Extension: ".log",
	Keeps:     codec.Keeps{Encodings: []string{Encoding}},
	Name:      Name,
	Sniff:     func(_ string, head []byte) bool { return len(head) > 2 && bytes.HasPrefix(head[2:], magicString) },
	Named:     func(path string) bool { return filepath.Ext(path) == ".log" },
	Open:      func(path string) (codec.Reader, error) { return Open(path) },
	Create:    func(path string, o codec.CreateOptions) (codec.Writer, error) { return create(path, o) },
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
