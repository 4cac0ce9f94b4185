package ulog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/msgs/rcl_interfaces"
)

// linesKey begins the names of information, such as perf_counter_preflight, that PX4 continues with one line in each
// message. Other information continues in the next message where a message is full.
const linesKey = "perf_"

// information holds a log's information and default parameters.
type information struct {
	values   map[string]string   // numbers and texts with one value, by name
	multi    map[string][][]byte // texts with several values, by name
	binary   map[string][][]byte // other values, by name
	defaults map[string][]byte   // "name=value" lines of default parameters, by kind of default
}

func newInformation() information {
	return information{values: map[string]string{}, multi: map[string][][]byte{}, binary: map[string][][]byte{},
		defaults: map[string][]byte{}}
}

// add adds a message with information or a default parameter. It returns false if the message is damaged.
func (in *information) add(m *message) (ok bool) {
	data, first := m.data, byte(0)
	if m.kind != 'I' {
		first, data = data[0], data[1:]
	}
	kind, key, value, ok := keyed(data)
	if !ok {
		return false
	}
	text, printable := format(kind, value)
	switch {
	case m.kind == 'Q':
		for bit, name := range []string{"system", "airframe"} {
			if first&(1<<bit) != 0 {
				in.defaults[name] = fmt.Appendf(in.defaults[name], "%s=%s\n", key, text)
			}
		}
	case m.kind == 'I' && printable:
		in.values[key] = text
	case printable:
		if strings.HasPrefix(key, linesKey) && first&1 != 0 && len(in.multi[key]) > 0 {
			text = "\n" + text
		}
		addValue(in.multi, key, []byte(text), first)
	default:
		addValue(in.binary, key, value, first)
	}
	return true
}

// records returns the numbers, the texts and the default parameters.
func (in *information) records() []codec.MetadataRecord {
	multi, defaults := map[string]string{}, map[string]string{}
	for key, texts := range in.multi {
		multi[key] = string(bytes.Join(texts, []byte("\n")))
	}
	for key, text := range in.defaults {
		defaults[key] = string(text)
	}
	var records []codec.MetadataRecord
	for _, r := range []codec.MetadataRecord{{Name: "ulog.info", Values: in.values},
		{Name: "ulog.multi_info", Values: multi}, {Name: "ulog.default_parameters", Values: defaults}} {
		if len(r.Values) > 0 {
			records = append(records, r)
		}
	}
	return records
}

// attachments returns the binary values.
func (in *information) attachments() []codec.Attachment {
	var attachments []codec.Attachment
	for _, name := range slices.Sorted(maps.Keys(in.binary)) {
		for i, b := range in.binary[name] {
			a := codec.Attachment{Name: name, MediaType: "application/octet-stream", Size: int64(len(b)),
				Open: func(func(error)) io.Reader { return bytes.NewReader(b) }}
			if i > 0 {
				a.Name = fmt.Sprintf("%s (%d)", name, i+1)
			}
			attachments = append(attachments, a)
		}
	}
	return attachments
}

// addValue adds a value to the values of a name. first is the message's first byte: if bit 0 is set, value continues
// the last value.
func addValue(values map[string][][]byte, key string, value []byte, first byte) {
	if list := values[key]; first&1 != 0 && len(list) > 0 {
		list[len(list)-1] = append(list[len(list)-1], value...)
		return
	}
	values[key] = append(values[key], bytes.Clone(value))
}

// keyed splits data into the type, the name and the value. The data begin with the length of type and name.
func keyed(data []byte) (kind, key string, value []byte, ok bool) {
	n := 1 + int(data[0])
	if n > len(data) {
		return "", "", nil, false
	}
	kind, key, ok = strings.Cut(string(data[1:n]), " ")
	return kind, strings.ToValidUTF8(key, "�"), data[n:], ok && key != "" && isName(kind, "[]")
}

// format formats a number or text. printable is false for other values.
func format(kind string, value []byte) (text string, printable bool) {
	base, _, array := strings.Cut(kind, "[")
	if base == "char" {
		return strings.ToValidUTF8(string(bytes.TrimRight(value, "\x00")), "�"), true
	}
	if t := basicTypes[base]; array || t.size == 0 || t.size != len(value) {
		return "", false
	}
	bits := binary.LittleEndian.Uint64(append(bytes.Clone(value), make([]byte, 8-len(value))...))
	switch shift := 64 - 8*len(value); base {
	case "float":
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(bits))), 'g', -1, 32), true
	case "double":
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64), true
	case "int8_t", "int16_t", "int32_t", "int64_t":
		return strconv.FormatInt(int64(bits<<shift)>>shift, 10), true
	}
	return strconv.FormatUint(bits, 10), true
}

// parameter parses the payload of a message with a parameter.
func parameter(data []byte) (p rcl_interfaces.Parameter, ok bool) {
	kind, key, value, ok := keyed(data)
	if !ok || len(value) != 4 {
		return p, false
	}
	bits := binary.LittleEndian.Uint32(value)
	p.Name = key
	switch kind {
	case "int32_t":
		p.Value.Type, p.Value.IntegerValue = rcl_interfaces.ParameterType_PARAMETER_INTEGER, int64(int32(bits))
	case "float":
		p.Value.Type = rcl_interfaces.ParameterType_PARAMETER_DOUBLE
		p.Value.DoubleValue = float64(math.Float32frombits(bits))
	default:
		return p, false
	}
	return p, true
}
