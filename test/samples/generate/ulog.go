package generate

import (
	"encoding/binary"
	"math"
	"os"
)

// ULog builds a log as PX4's logger writes it.
type ULog struct{ bytes []byte }

// NewULog begins a log with the start time in µs.
func NewULog(start uint64) *ULog {
	return &ULog{binary.LittleEndian.AppendUint64([]byte("ULog\x01\x12\x35\x01"), start)}
}

// Bytes returns the log.
func (l *ULog) Bytes() []byte { return l.bytes }

// Add appends a message. Its content is the parts: little-endian numbers, and strings without a length.
func (l *ULog) Add(kind byte, parts ...any) *ULog {
	var data []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			data = append(data, p...)
		case float32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(p))
		default:
			data, _ = binary.Append(data, binary.LittleEndian, p)
		}
	}
	l.bytes = append(binary.LittleEndian.AppendUint16(l.bytes, uint16(len(data))), kind)
	l.bytes = append(l.bytes, data...)
	return l
}

// Keyed appends a message with a named value. key is its type and name. first comes before the length of key.
func (l *ULog) Keyed(kind byte, first, key string, value any) *ULog {
	return l.Add(kind, first, uint8(len(key)), key, value)
}

// Flight returns a log of a second of flight: an attitude each 20 ms, a GPS receiver that gets a fix, two batteries, an
// user-defined topic with nested structs, texts, a dropout, and parameters.
func Flight() []byte {
	l := NewULog(5_000_000)
	l.Add('B', make([]byte, 40))
	for _, format := range []string{
		"vehicle_attitude:uint64_t timestamp;uint64_t timestamp_sample;float[4] q;float[4] delta_q_reset;" +
			"uint8_t quat_reset_counter;uint8_t[7] _padding0;",
		"vehicle_gps_position:uint64_t timestamp;uint64_t time_utc_usec;int32_t lat;int32_t lon;int32_t alt;" +
			"int32_t alt_ellipsoid;float eph;float epv;int32_t timestamp_time_relative;uint8_t fix_type;" +
			"uint8_t[3] _padding0;",
		"battery_status:uint64_t timestamp;float voltage_v;float current_a;float remaining;bool connected;" +
			"uint8_t[3] _padding0;",
		"own_topic:inner[2] parts;uint64_t timestamp;char[8] name;",
		"inner:double value;uint8_t kind;uint8_t[7] _padding0;",
	} {
		l.Add('F', format)
	}
	l.Keyed('I', "", "char[3] sys_name", "PX4").Keyed('I', "", "uint32_t ver_sw_release", uint32(0x010e0000))
	l.Keyed('M', "\x00", "char[5] boot", "hello").Keyed('M', "\x01", "char[6] boot", " world")
	l.Keyed('M', "\x00", "uint8_t[3] events", "\x01\x02\x03")
	l.Keyed('P', "", "int32_t SYS_AUTOSTART", int32(4001)).Keyed('P', "", "float MPC_XY_P", float32(0.95))
	l.Keyed('Q', "\x01", "float MPC_XY_P", float32(0.5))
	for i, name := range []string{"vehicle_attitude", "vehicle_gps_position", "battery_status", "own_topic"} {
		l.Add('A', uint8(0), uint16(i), name)
	}
	l.Add('A', uint8(1), uint16(4), "battery_status")
	l.Add('L', uint8('6'), uint64(5_000_000), "[commander] Ready")
	l.Add('D', uint16(2), uint64(4_000_000), float32(16.4), float32(2), float32(0.75), true) // before the log began
	for i := range uint64(50) {
		t := 5_000_000 + 20_000*i
		sin, cos := math.Sincos(float64(i) / 100)
		l.Add('D', uint16(0), t, t-500, float32(cos), float32(0), float32(0), float32(sin), make([]byte, 16), uint8(0))
		if i%10 == 5 { // late
			fix := uint8(min(3, i/10))
			l.Add('D', uint16(1), t-30_000, uint64(1_700_000_000_000_000)+20_000*i, int32(473977418), int32(85455939),
				int32(488000), int32(535400), float32(0.7), float32(1.1), int32(-25_000), fix)
			l.Add('D', uint16(4), uint64(0), float32(12), float32(-1), float32(-1), false) // without a time
			l.Add('D', uint16(3), float64(i), uint8(1), make([]byte, 7), float64(-1), uint8(2), make([]byte, 7), t,
				"name\x00\x00\x00\x00")
		}
		if i == 25 {
			l.Add('O', uint16(40)).Add('S', "\x2f\x73\x13\x20\x25\x0c\xbb\x12")
			l.Keyed('P', "", "float MPC_XY_P", float32(1.25)).Add('Z', "of a later version")
			l.Add('C', uint8('3'), uint16(7), t, "[ekf2] tagged")
		}
	}
	return l.Bytes()
}

func ulog(path string) error { return os.WriteFile(path, Flight(), 0o666) }
