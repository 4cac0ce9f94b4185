package query

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"

	"tapedeck/codec/format/carla"
	"tapedeck/msgs/rosidl"
)

// infoJSON writes the object of Options.JSON with all frames if all, else only with the frames that have events. A
// frame has its number, its times in s, and its packets by name, except empty packets. Fields are in CARLA's units. An
// unknown packet is named by its id, "packet_139", and has its size in bytes.
func infoJSON(w io.Writer, r *carla.Reader, all bool) error {
	p := newJSONPrinter(w, r, "frames")
	p.all = all
	if err := forEachPacket(r, p.packet); err != nil {
		return err
	}
	if p.begun {
		p.buf = append(p.buf, '}')
	}
	return p.finish(p.frame)
}

// writeJSON writes the answer to a query: a list under its name.
func writeJSON[T any](w io.Writer, r *carla.Reader, name string, list []T, last carla.FrameStart) error {
	p := newJSONPrinter(w, r, name)
	for i := range list {
		p.element()
		p.value(reflect.ValueOf(list[i]))
	}
	return p.finish(last)
}

// jsonPrinter writes a JSON object with a list of frames, collisions or blocked actors.
type jsonPrinter struct {
	*bufio.Writer
	profile carla.Profile
	buf     []byte // JSON that is not yet written
	first   bool   // the next element is the first of the list

	all   bool             // write all packets, not only events
	frame carla.FrameStart // current frame
	begun bool             // the object of the frame is begun and not ended
}

func newJSONPrinter(w io.Writer, r *carla.Reader, list string) *jsonPrinter {
	p := &jsonPrinter{Writer: bufio.NewWriterSize(w, 64<<10), profile: r.Profile(), first: true}
	h := r.Header()
	p.buf = fmt.Appendf(p.buf, `{"version":%d,"profile":%q,"date":%d,"map":`, h.Version, r.Profile().Name, h.Date)
	p.value(reflect.ValueOf(h.Map))
	p.buf = fmt.Appendf(p.buf, `,%q:[`, list)
	return p
}

// element begins the next element of the list on a new line.
func (p *jsonPrinter) element() {
	if !p.first {
		p.buf = append(p.buf, ',')
	}
	p.first = false
	_, _ = p.Write(append(p.buf, '\n')) // Flush returns the error
	p.buf = p.buf[:0]
}

// finish ends the list and the object.
func (p *jsonPrinter) finish(last carla.FrameStart) error {
	p.buf = fmt.Appendf(p.buf, "\n],\"last_frame\":%d,\"duration\":", last.Frame)
	p.value(reflect.ValueOf(last.Elapsed))
	_, _ = p.Write(append(p.buf, "}\n"...))
	return p.Flush()
}

// packet writes a packet into the object of its frame.
func (p *jsonPrinter) packet(k carla.Packet, b carla.Body) {
	switch l := b.(type) {
	case *carla.FrameStart:
		if p.begun {
			p.buf = append(p.buf, '}')
		}
		p.frame, p.begun = *l, false
		if p.all {
			p.begin()
		}
		return
	case *carla.FrameEnd:
		return
	case *carla.EventAddList, *carla.EventDelList, *carla.EventParentList, *carla.CollisionList, *carla.WeatherList:
	default:
		if !p.all {
			return
		}
	}
	if b == nil {
		p.begin()
		p.buf = fmt.Appendf(p.buf, `,"packet_%d":{"size":%d}`, k.ID, len(k.Data))
		return
	}
	v := reflect.ValueOf(b).Elem()
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return
	}
	p.begin()
	p.buf = append(append(append(p.buf, `,"`...), rosidl.SnakeCase(p.profile.PacketName(k.ID), "")...), `":`...)
	p.value(v)
}

// begin begins the object of the frame with its number and times, once.
func (p *jsonPrinter) begin() {
	if p.begun {
		return
	}
	p.begun = true
	p.element()
	p.buf = fmt.Appendf(p.buf, `{"frame":%d,"elapsed":`, p.frame.Frame)
	p.value(reflect.ValueOf(p.frame.Elapsed))
	p.buf = append(p.buf, `,"duration":`...)
	p.value(reflect.ValueOf(p.frame.Duration))
}

// value appends a value as JSON. Names of fields are in snake_case.
func (p *jsonPrinter) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		p.buf = append(p.buf, '{')
		for i := range v.NumField() {
			if i > 0 {
				p.buf = append(p.buf, ',')
			}
			p.buf = append(append(append(p.buf, '"'), rosidl.SnakeCase(v.Type().Field(i).Name, "")...), `":`...)
			p.value(v.Field(i))
		}
		p.buf = append(p.buf, '}')
	case reflect.Slice, reflect.Array:
		p.buf = append(p.buf, '[')
		for i := range v.Len() {
			if i > 0 {
				p.buf = append(p.buf, ',')
			}
			p.value(v.Index(i))
		}
		p.buf = append(p.buf, ']')
	case reflect.Float32, reflect.Float64:
		switch f := v.Float(); {
		case math.IsNaN(f):
			p.buf = append(p.buf, `"NaN"`...)
		case math.IsInf(f, 1):
			p.buf = append(p.buf, `"Infinity"`...)
		case math.IsInf(f, -1):
			p.buf = append(p.buf, `"-Infinity"`...)
		default:
			p.buf = strconv.AppendFloat(p.buf, f, 'g', -1, v.Type().Bits())
		}
	case reflect.String:
		text, _ := json.Marshal(v.String()) // encoding a string cannot fail
		p.buf = append(p.buf, text...)
	default:
		p.buf = fmt.Append(p.buf, v.Interface())
	}
}
