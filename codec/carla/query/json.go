package query

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"tapedeck/codec/carla"
)

// JSON writes what Info tells as values: a line with the header, and a line for each frame, or for each with events. A frame has its
// number, its times in s, and the packets that are not empty under their names, with their fields in CARLA's units. NaN and infinite
// values, which JSON does not have, are null. A packet that is not known has its id for
// a name, "packet_139", and its size.
func JSON(w io.Writer, r *carla.Reader, all bool) error {
	p := jsonPrinter{Writer: bufio.NewWriterSize(w, 64<<10), all: all}
	h := r.Header()
	p.buf = fmt.Appendf(p.buf, `{"version":%d,"profile":%q,"date":%d,"map":`, h.Version, r.Profile().Name, h.Date)
	p.value(reflect.ValueOf(h.Map))
	p.end()
	err := each(r, p.packet)
	if p.begun {
		p.end()
	}
	if err != nil {
		return err
	}
	return p.Flush()
}

// jsonPrinter writes what JSON tells.
type jsonPrinter struct {
	*bufio.Writer
	all   bool
	buf   []byte // the line
	frame carla.FrameStart
	begun bool // the line has the frame
}

// end ends an object that is a line.
func (p *jsonPrinter) end() {
	_, _ = p.Write(append(p.buf, "}\n"...)) // the error is that of Flush
	p.buf, p.begun = p.buf[:0], false
}

func (p *jsonPrinter) packet(k carla.Packet, b carla.Body) {
	switch l := b.(type) {
	case *carla.FrameStart:
		if p.begun {
			p.end()
		}
		p.frame = *l
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
	p.buf = append(append(append(p.buf, `,"`...), snake(strings.TrimSuffix(v.Type().Name(), "List"))...), `":`...)
	p.value(v)
}

// begin begins the line of the frame.
func (p *jsonPrinter) begin() {
	if p.begun {
		return
	}
	p.begun = true
	p.buf = fmt.Appendf(p.buf, `{"frame":%d,"elapsed":`, p.frame.Frame)
	p.value(reflect.ValueOf(p.frame.Elapsed))
	p.buf = append(p.buf, `,"duration":`...)
	p.value(reflect.ValueOf(p.frame.Duration))
}

// value appends a value of a packet.
func (p *jsonPrinter) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		p.buf = append(p.buf, '{')
		for i := range v.NumField() {
			if i > 0 {
				p.buf = append(p.buf, ',')
			}
			p.buf = append(append(append(p.buf, '"'), snake(v.Type().Field(i).Name)...), `":`...)
			p.value(v.Field(i))
		}
		p.buf = append(p.buf, '}')
	case reflect.Slice:
		p.buf = append(p.buf, '[')
		for i := range v.Len() {
			if i > 0 {
				p.buf = append(p.buf, ',')
			}
			p.value(v.Index(i))
		}
		p.buf = append(p.buf, ']')
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			p.buf = append(p.buf, "null"...)
		} else {
			p.buf = strconv.AppendFloat(p.buf, f, 'g', -1, v.Type().Bits())
		}
	case reflect.String:
		text, _ := json.Marshal(v.String()) // a string can always be encoded
		p.buf = append(p.buf, text...)
	default:
		p.buf = fmt.Append(p.buf, v.Interface())
	}
}

// snake turns the name of a field, MaxRPM, into one of JSON, max_rpm.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
