// Package tlog finds frames of MAVLink in a stream of bytes. It reads telemetry logs of ground stations (.tlog), which
// have a time before each frame, and logs without times, such as Mission Planner's .rlog.
//
// A log has one channel with the topic "/mavlink/log" and the encoding Encoding. A message is an unchanged frame with
// its checksum. Package bridge/translate/mavros translates frames. The package knows the messages of gomavlib's dialect
// ardupilotmega, which includes the dialects common, standard and minimal.
//
// LogTime is the time before the frame. Ground stations write the time in big-endian order. If only little-endian times
// are plausible, the reader reads little-endian times. MAVProxy stores the number of the link in the lowest two bits of
// the µs.
//
// In a log without times, LogTime is the time since boot in the messages of one component: the first component that
// sends any time. If a SYSTEM_TIME message of this component contains UTC, all times of the log are shifted to UTC. A
// frame without a time has the time of the previous frame.
package tlog

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bluenviron/gomavlib/v3/pkg/frame"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/store"
)

// Name is the name of the format.
const Name = "tlog"

// Encoding is the Channel.Encoding of frames.
const Encoding = "mavlink"

// Topic and type of the only channel of a log.
const (
	Topic = "/mavlink/log"
	Type  = "mavlink.Frame"
)

// Format describes logs of MAVLink.
var Format = codec.Format{
	Extension: ".tlog",
	Name:      Name,
	Sniff:     sniff,
	Named: func(path string) bool {
		path = strings.TrimSuffix(strings.ToLower(path), ".raw")
		return slices.Contains([]string{".tlog", ".rlog", ".mavlink"}, filepath.Ext(path))
	},
	OpenFrom: func(files *store.Files, path string) (codec.Reader, error) {
		return chunked.Open(files, path, newReader)
	},
}

// Details is Info.Extra of a log.
type Details struct {
	Stamped     bool              `json:"stamped"`      // there is a time before each frame
	V1          uint64            `json:"v1"`           // frames of MAVLink 1
	V2          uint64            `json:"v2"`           // frames of MAVLink 2
	Signed      uint64            `json:"signed"`       // frames with a signature
	BadChecksum uint64            `json:"bad_checksum"` // frames with a bad checksum
	BadTime     uint64            `json:"bad_time"`     // frames with an invalid time
	Text        uint64            `json:"text"`         // bytes of text outside frames
	Garbage     uint64            `json:"garbage"`      // bytes outside frames
	Components  map[string]uint64 `json:"components"`   // frames by "system/component"
	Messages    map[string]uint64 `json:"messages"`     // frames by the name of the message; UNKNOWN_ID for other ids
}

// reader reads a log. Info.Extra is a Details.
type reader struct {
	chunked.Reader
	order   binary.ByteOrder // byte order of times; nil: a log without times
	first   int64            // first valid time before a frame, in ns
	formats map[uint32]MessageFormat
	channel *codec.Channel
	summary *summary // result of scanning the log; nil before
}

// orders are the possible byte orders of times; nil: a log without times.
var orders = []binary.ByteOrder{binary.BigEndian, binary.LittleEndian, nil}

// detectOrder returns the byte order of times with which frames of known messages take the most bytes of head. size is
// the number of bytes of frames with that order, and frames is their number. atStart reports whether such a frame
// begins the log, or follows only text.
func detectOrder(head []byte) (order binary.ByteOrder, size, frames int, atStart bool) {
	formats, err := Formats()
	if err != nil {
		return nil, 0, 0, false
	}
	text := int64(textSize(head))
	for _, candidate := range orders {
		s := newLogScanner(formats, candidate)
		s.Write(head)
		total, n, stamped, first := 0, 0, 0, false
		for record, h, ok := s.Next(true); ok; record, h, ok = s.Next(true) {
			if _, known := formats[h.ID]; !known {
				continue
			}
			if candidate == nil || s.Stamped(record) {
				stamped++
			}
			first = first || s.Offset-int64(len(record)) <= text
			total, n = total+len(record), n+1
		}
		if total > size && 2*stamped > n {
			order, size, frames, atStart = candidate, total, n, first
		}
	}
	return order, size, frames, atStart
}

// sniff reports whether head is the beginning of a log.
func sniff(_ *store.Files, _ string, head []byte) bool {
	text := textSize(head)
	beginning := head[text:min(len(head), text+StampSize+1)]
	if bytes.IndexByte(beginning, frame.V1MagicByte) < 0 && bytes.IndexByte(beginning, frame.V2MagicByte) < 0 {
		return false // before Formats, which is slow
	}
	_, size, frames, atStart := detectOrder(head)
	return atStart && (frames > 1 || size == len(head))
}

// textSize returns the number of bytes of text at the beginning of b.
func textSize(b []byte) int {
	i := bytes.IndexFunc(b, func(r rune) bool { return r > '~' || r < ' ' && !strings.ContainsRune("\t\n\r\x1b", r) })
	if i < 0 {
		return len(b)
	}
	return i
}
