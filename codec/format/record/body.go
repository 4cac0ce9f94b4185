package record

import (
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
)

const (
	// maxName bounds the names of channels, for reading them without a copy.
	maxName = 1 << 12
	// maxFields is far above the fields of a message. It bounds the time in which readAny rejects other data.
	maxFields = 64
	// headSize is more than the bytes before the content of a message, if the channel's name is below 128 bytes.
	headSize = 192
)

// errOverrun is returned if a message runs over the end of the data.
var errOverrun = errors.New("the message runs over the end")

// errNoMessage is the reason why no message is at an offset.
type errNoMessage string

func (e errNoMessage) Error() string { return string(e) }

// singleMessage is a SingleMessage of record.proto in a file.
type singleMessage struct {
	pos, end int64  // of the message, with its tag and length
	name     []byte // of the channel; valid until the next message is read
	time     int64  // LogTime
	publish  int64  // PublishTime, 0 if there is none
	content  int64  // offset of the content
	size     int    // of the content
	longName []byte // buffer of readAny for name
}

const (
	nameTag    = 1<<3 | byte(protowire.BytesType)
	timeTag    = 2<<3 | byte(protowire.VarintType)
	contentTag = 3<<3 | byte(protowire.BytesType)
	// publishTag0 to publishTag2 are the tag of the extension as fixed64.
	publishTag0, publishTag1, publishTag2 = 0xc9, 0xf3, 0x18
	publishSize                           = 3 + 8
)

// readMessage reads the message of a ChunkBody at pos. The message must have the channel's name and the time.
func readMessage(w *chunked.Window, pos int64, m *singleMessage) error {
	b, err := w.View(pos, headSize)
	if err != nil {
		return err
	}
	if readPlain(b, pos, m) {
		return nil
	}
	return readAny(w, pos, m)
}

// readPlain reads a message as Apollo and we write it. It returns false for other layouts, and if b ends too early.
func readPlain(b []byte, pos int64, m *singleMessage) bool {
	if len(b) < 2 || b[0] != nameTag { // ChunkBody.messages and SingleMessage.channel_name have equal tags
		return false
	}
	length, n := uvarint(b[1:])
	if n <= 0 || length > maxPayload {
		return false
	}
	i := 1 + n
	end := i + int(length)
	if len(b) < i+2 || b[i] != nameTag || b[i+1] >= 0x80 {
		return false
	}
	size := int(b[i+1])
	i += 2
	if len(b) < i+size+1 || b[i+size] != timeTag {
		return false
	}
	m.name = b[i : i+size]
	i += size + 1
	time, n := uvarint(b[i:])
	if n <= 0 {
		return false
	}
	i += n
	m.publish = 0
	if len(b) > i+publishSize && b[i] == publishTag0 && b[i+1] == publishTag1 && b[i+2] == publishTag2 {
		v, _ := protowire.ConsumeFixed64(b[i+3:])
		m.publish = int64(v)
		i += publishSize
	}
	if len(b) < i+2 || b[i] != contentTag {
		return false
	}
	content, n := uvarint(b[i+1:])
	i += 1 + n
	if n <= 0 || content > maxPayload || i+int(content) != end {
		return false
	}
	m.pos, m.end = pos, pos+int64(end)
	m.time = int64(time)
	m.content, m.size = pos+int64(i), int(content)
	return true
}

// uvarint is protowire.ConsumeVarint with a fast path for one byte.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

// wireField is a protobuf field in the file.
type wireField struct {
	number protowire.Number
	typ    protowire.Type
	value  uint64 // the number, or else the size of the value
	at     int64  // offset of the value of a string, bytes or an embedded message
	end    int64  // offset behind the field
}

// readField reads the field at pos of a message that ends at limit. The value of a string, bytes or an embedded
// message may run over the end of the file.
func readField(w *chunked.Window, pos, limit int64) (f wireField, err error) {
	b, err := w.View(pos, headSize)
	if err != nil {
		return f, err
	}
	whole := int64(len(b)) >= limit-pos
	if whole {
		b = b[:limit-pos]
	}
	number, typ, n := protowire.ConsumeTag(b)
	size := n
	if n >= 0 {
		switch typ {
		case protowire.VarintType, protowire.BytesType:
			f.value, size = protowire.ConsumeVarint(b[n:])
		case protowire.Fixed64Type:
			f.value, size = protowire.ConsumeFixed64(b[n:])
		case protowire.Fixed32Type:
			size = protowire.ConsumeFieldValue(number, typ, b[n:])
		default:
			return f, errNoMessage("there is no message: a field is a group")
		}
	}
	if n < 0 || size < 0 {
		if errors.Is(protowire.ParseError(min(n, size)), io.ErrUnexpectedEOF) && !whole {
			return f, errOverrun
		}
		return f, errNoMessage(fmt.Sprintf("there is no message: %v", codec.Plain(protowire.ParseError(min(n, size)))))
	}
	f.number, f.typ = number, typ
	f.at = pos + int64(n+size)
	f.end = f.at
	if typ == protowire.BytesType {
		if f.value > maxPayload {
			return f, errNoMessage(fmt.Sprintf("there is no message: a field has the size %d", f.value))
		}
		f.end += int64(f.value)
	}
	if f.end > limit {
		return f, errNoMessage(fmt.Sprintf("field %d is longer than its message", number))
	}
	return f, nil
}

// readAny reads a message whose fields are in any order.
func readAny(w *chunked.Window, pos int64, m *singleMessage) error {
	*m = singleMessage{pos: pos, longName: m.longName}
	outer, err := readField(w, pos, math.MaxInt64)
	if err != nil {
		return err
	}
	if outer.number != 1 || outer.typ != protowire.BytesType {
		return errNoMessage("there is no message")
	}
	m.end, m.content = outer.end, outer.end
	var named, timed, unknown bool
	count := 0
	for at := outer.at; at < m.end; count++ {
		if count == maxFields {
			return errNoMessage(fmt.Sprintf("there is no message: more than %d fields", maxFields))
		}
		f, err := readField(w, at, m.end)
		if err != nil {
			return err
		}
		at = f.end
		switch {
		case f.number == 1 && f.typ == protowire.BytesType:
			if f.value > maxName {
				return errNoMessage(fmt.Sprintf("the name of a channel has %s", plural.Count(f.value, "byte")))
			}
			name, err := w.View(f.at, int(f.value))
			if err != nil {
				return err
			}
			if uint64(len(name)) < f.value {
				return errOverrun
			}
			m.longName = append(m.longName[:0], name[:f.value]...)
			m.name, named = m.longName, true
		case f.number == 2 && f.typ == protowire.VarintType:
			m.time, timed = int64(f.value), true
		case f.number == 3 && f.typ == protowire.BytesType:
			m.content, m.size = f.at, int(f.value)
		case f.number == extension && f.typ == protowire.Fixed64Type:
			m.publish = int64(f.value)
		default:
			unknown = true
		}
	}
	if !named || !timed {
		return errNoMessage("a message has no channel or no time")
	}
	if unknown && m.content == m.end {
		return errNoMessage("a message has unknown fields but no content")
	}
	return nil
}
