// Package query answers the queries of CARLA's client about a log without a server: show_recorder_file_info,
// show_recorder_collisions and show_recorder_actors_blocked. Answers are texts, equal to CARLA's byte for byte, or
// JSON.
//
// The texts equal the output of CarlaRecorderQuery.cpp on Linux, including CARLA's mistakes. Three things differ. A
// cut log ends with its last complete frame; CARLA repeats the packet that it read last. Blocked actors with equal
// durations are sorted by id; CARLA has the order of a hash table. The lateral slip graph of a wheel of UE5 is empty,
// because a log has only a pointer to the graph.
package query

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/text/printable"
)

// Style is the version of CARLA that a text follows.
type Style int

// The styles of texts.
const (
	// Newest is the style of the development branches in 2026, UE5's for logs of UE5, otherwise UE4's.
	Newest Style = iota
	// V0913 is the style of CARLA 0.9.10 to 0.9.14, without later additions and the physics of UE5. The metrics of
	// scenario_runner read only this style.
	V0913
)

// Options change how an answer is written. The zero value is a text of the newest style in local time.
type Options struct {
	Style    Style
	Location *time.Location // time zone of the date; nil is time.Local
	// JSON writes one JSON object instead of text: version, profile, date in s since the Unix epoch, map, the answer,
	// last_frame and duration in s. NaN and infinity are "NaN", "Infinity" and "-Infinity", as in the JSON of Protocol
	// Buffers.
	JSON bool
}

// printer writes texts in the manner of C++ streams.
type printer struct {
	*bufio.Writer
	Options
}

func newPrinter(w io.Writer, o Options) *printer {
	if o.Location == nil {
		o.Location = time.Local
	}
	return &printer{Writer: bufio.NewWriterSize(w, 64<<10), Options: o}
}

// print writes values one after the other. Floats have the format %g with 6 digits, booleans are 0 and 1.
func (p *printer) print(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			_, _ = p.WriteString(v) // Flush returns the error
		case float32:
			p.printNumber(float64(v))
		case float64:
			p.printNumber(v)
		case carla.Vector:
			p.print("(", v.X, ", ", v.Y, ", ", v.Z, ")")
		case bool:
			if v {
				p.print("1")
			} else {
				p.print("0")
			}
		default:
			fmt.Fprint(p, v)
		}
	}
}

func (p *printer) printNumber(v float64) {
	var room [32]byte
	_, _ = p.Write(appendNumber(room[:0], v, 'g', 6))
}

// appendNumber appends a number in a format of package strconv, but NaN and infinity as C's printf writes them.
func appendNumber(dst []byte, v float64, format byte, precision int) []byte {
	switch {
	case math.IsNaN(v) && math.Signbit(v):
		return append(dst, "-nan"...)
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, v, format, precision, 64)
}

// formatRounded formats a number without decimals.
func formatRounded(v float64) string { return string(appendNumber(nil, v, 'f', 0)) }

// padName escapes a name and pads it to the 35 bytes of a column. C counts columns in bytes.
func padName(name string) string {
	name = escape(name)
	return name + strings.Repeat(" ", max(0, 35-len(name)))
}

// escape replaces the characters of a log's text that control a terminal or begin a line.
func escape(s string) string { return printable.Escape(s, "") }

// header writes the beginning of all texts.
func (p *printer) header(h carla.Header) {
	date := time.Unix(h.Date, 0).In(p.Location).Format("01/02/06 15:04:05")
	p.print("Version: ", h.Version, "\nMap: ", escape(h.Map), "\nDate: ", date, "\n\n")
}

// footer writes the end of all texts.
func (p *printer) footer(last carla.FrameStart) {
	p.print("\nFrames: ", last.Frame, "\nDuration: ", last.Elapsed, " seconds\n")
}

// forEachPacket calls f with each packet of a log and its decoded body. The body is valid until f returns. It is nil if
// the packet is unknown or cannot be decoded.
func forEachPacket(r *carla.Reader, f func(carla.Packet, carla.Body)) error {
	d := carla.Decoder{Profile: r.Profile()}
	for m, err := range codec.Messages(r, codec.Query{Damaged: func(error) {}}) {
		if err != nil {
			return err
		}
		for rest := m.Data; len(rest) > 0; {
			var k carla.Packet
			k, rest, err = carla.NextPacket(rest)
			if err != nil {
				return err
			}
			b, err := d.Decode(k)
			if err != nil {
				b = nil
			}
			f(k, b)
		}
	}
	return nil
}
