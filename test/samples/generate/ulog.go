package generate

import (
	"encoding/binary"
	"math"
	"os"
)

// ULog builds a log in the format of PX4's logger, see https://docs.px4.io/main/en/dev_log/ulog_file_format.html.
type ULog struct{ bytes []byte }

// NewULog returns a log that consists of a header with the start time in µs.
func NewULog(start uint64) *ULog {
	return &ULog{binary.LittleEndian.AppendUint64([]byte("ULog\x01\x12\x35\x01"), start)}
}

// Bytes returns the log.
func (l *ULog) Bytes() []byte { return l.bytes }

// Add appends a message of a message type of the ULog specification, such as 'D' for data. The payload is the
// concatenation of parts: little-endian numbers, and strings without a length.
func (l *ULog) Add(messageType byte, parts ...any) *ULog {
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
	l.bytes = append(binary.LittleEndian.AppendUint16(l.bytes, uint16(len(data))), messageType)
	l.bytes = append(l.bytes, data...)
	return l
}

// Keyed appends a message with a named value, such as an information message ('I') or a parameter ('P'). prefix is the
// payload before the length of key. key is the type and name of the value, such as "int32_t SYS_AUTOSTART".
func (l *ULog) Keyed(messageType byte, prefix, key string, value any) *ULog {
	return l.Add(messageType, prefix, uint8(len(key)), key, value)
}

// Message ids of Flight's subscriptions.
const (
	attitudeID uint16 = iota
	gpsID
	batteryID
	ownTopicID
	secondBatteryID
)

// Flight returns a log of one second of flight, which begins 5 s after boot. It has an attitude every 20 ms, a GPS
// receiver that gets a fix, two batteries, a user-defined topic with nested structs, log lines, a dropout, and
// parameters.
func Flight() []byte {
	l := NewULog(5_000_000)
	l.addFlightDefinitions()
	for i, name := range []string{"vehicle_attitude", "vehicle_gps_position", "battery_status", "own_topic"} {
		l.Add('A', uint8(0), uint16(i), name) // subscription of the first instance of a topic
	}
	l.Add('A', uint8(1), secondBatteryID, "battery_status") // subscription of the second instance
	l.Add('L', uint8('6'), uint64(5_000_000), "[commander] Ready")
	// This message was published 1 s before the log began.
	l.Add('D', batteryID, uint64(4_000_000), float32(16.4), float32(2), float32(0.75), true)
	for i := range uint64(50) {
		l.addFlightData(i)
		if i == 25 {
			l.Add('O', uint16(40))                                            // a dropout of 40 ms
			l.Add('S', "\x2f\x73\x13\x20\x25\x0c\xbb\x12")                    // synchronization
			l.Keyed('P', "", "float MPC_XY_P", float32(1.25))                 // a changed parameter
			l.Add('Z', "of a later version")                                  // a message type that readers do not know
			l.Add('C', uint8('3'), uint16(7), flightTime(i), "[ekf2] tagged") // a log line with the tag 7
		}
	}
	return l.Bytes()
}

// flightTime returns the time of step i of the flight in µs since boot.
func flightTime(i uint64) uint64 { return 5_000_000 + 20_000*i }

// addFlightDefinitions appends the formats, information messages and initial parameters of Flight.
func (l *ULog) addFlightDefinitions() {
	l.Add('B', make([]byte, 40)) // flags, all unset
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
	// The prefix 1 continues the value of the previous message.
	l.Keyed('M', "\x00", "char[5] boot", "hello").Keyed('M', "\x01", "char[6] boot", " world")
	l.Keyed('M', "\x00", "uint8_t[3] events", "\x01\x02\x03")
	l.Keyed('P', "", "int32_t SYS_AUTOSTART", int32(4001)).Keyed('P', "", "float MPC_XY_P", float32(0.95))
	l.Keyed('Q', "\x01", "float MPC_XY_P", float32(0.5)) // the system-wide default of a parameter
}

// addFlightData appends the data messages of step i of the flight: an attitude, and in every tenth step also messages
// of the GPS receiver, the second battery and own_topic.
func (l *ULog) addFlightData(i uint64) {
	t := flightTime(i)
	sin, cos := math.Sincos(float64(i) / 100)
	l.Add('D', attitudeID, t, t-500, float32(cos), float32(0), float32(0), float32(sin), make([]byte, 16), uint8(0))
	if i%10 != 5 {
		return
	}
	fix := uint8(min(3, i/10)) // 3: a 3D fix, from step 35 on
	// The GPS message is written 30 ms after its timestamp, out of order.
	l.Add('D', gpsID, t-30_000, uint64(1_700_000_000_000_000)+20_000*i, int32(473977418), int32(85455939),
		int32(488000), int32(535400), float32(0.7), float32(1.1), int32(-25_000), fix)
	// The message of the second battery has the timestamp 0, which means no time.
	l.Add('D', secondBatteryID, uint64(0), float32(12), float32(-1), float32(-1), false)
	l.Add('D', ownTopicID, float64(i), uint8(1), make([]byte, 7), float64(-1), uint8(2), make([]byte, 7), t,
		"name\x00\x00\x00\x00")
}

func ulog(path string) error { return os.WriteFile(path, Flight(), 0o666) }
