package tlog

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/bluenviron/gomavlib/v3/pkg/dialect"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/message"

	"tapedeck/msgs/rosidl"
)

// LatestStamp is the limit of valid times in µs since the Unix epoch: the beginning of the year 2100.
const LatestStamp = 4102444800e6

// MessageName returns the name of m in the MAVLink definitions, such as HIGHRES_IMU, or "UNKNOWN" if m has an id that
// the dialect lacks.
func MessageName(m message.Message) string {
	if _, raw := m.(*message.MessageRaw); raw {
		return "UNKNOWN"
	}
	name := strings.TrimPrefix(reflect.TypeOf(m).Elem().Name(), "Message")
	return strings.ToUpper(rosidl.SnakeCase(name, ""))
}

// MessageID returns the id of a message by name, such as 105 for HIGHRES_IMU.
func MessageID(name string) (uint32, error) {
	for _, m := range ardupilotmega.Dialect.Messages {
		if strings.EqualFold(MessageName(m), name) {
			return m.GetID(), nil
		}
	}
	return 0, fmt.Errorf("unknown MAVLink message %q; want a name of the dialects common or ardupilotmega, "+
		"such as HIGHRES_IMU", name)
}

// MessageFormat is the wire format of a message.
type MessageFormat struct {
	Name      string // name in the definitions of MAVLink
	Codec     *message.ReadWriter
	Length    int   // bytes of the payload in MAVLink 1
	timeField int   // index of the field with the time
	timeUnit  int64 // unit of the time in ns; 0: the message has no time
}

// Time returns the time in m, a message of this format, in ns since boot or the Unix epoch; 0 if there is none.
func (f MessageFormat) Time(m message.Message) int64 {
	if f.timeUnit == 0 {
		return 0
	}
	t := reflect.ValueOf(m).Elem().Field(f.timeField).Uint()
	if t > LatestStamp {
		return 0
	}
	return int64(t) * f.timeUnit
}

// Formats returns the formats of the dialect's messages by id. Callers must not change the map.
var Formats = sync.OnceValues(func() (map[uint32]MessageFormat, error) {
	codecs := dialect.ReadWriter{Dialect: ardupilotmega.Dialect}
	if err := codecs.Initialize(); err != nil {
		return nil, fmt.Errorf("dialect ardupilotmega: %w", err)
	}
	formats := make(map[uint32]MessageFormat, len(ardupilotmega.Dialect.Messages))
	for _, m := range ardupilotmega.Dialect.Messages {
		c := codecs.GetMessage(m.GetID())
		f := MessageFormat{Name: MessageName(m), Codec: c, Length: len(c.Write(m, false).Payload)}
		for i := range reflect.TypeOf(m).Elem().NumField() {
			field := reflect.TypeOf(m).Elem().Field(i)
			switch {
			case field.Name == "TimeBootMs":
				f.timeField, f.timeUnit = i, 1e6
			case field.Name == "TimeUsec" && field.Type.Kind() == reflect.Uint64: // 32 bits wrap in 72 minutes
				f.timeField, f.timeUnit = i, 1e3
			}
		}
		formats[m.GetID()] = f
	}
	return formats, nil
})
