package cdr

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/rmw_dds_common"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tf2_msgs"
)

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func imu() *sensor_msgs.Imu {
	m := &sensor_msgs.Imu{
		Header: std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 1700000000, Nanosec: 123456789},
			FrameId: "imu_link"},
		Orientation:        geometry_msgs.NewQuaternion(),
		LinearAcceleration: geometry_msgs.Vector3{X: 0.1, Y: -0.2, Z: 9.81},
	}
	m.OrientationCovariance[0] = -1
	return m
}

func cloud(points int) *sensor_msgs.PointCloud2 {
	m := &sensor_msgs.PointCloud2{
		Header: std_msgs.Header{FrameId: "lidar"}, Height: 1, Width: uint32(points), PointStep: 16,
		RowStep: uint32(16 * points),
		Data:    make([]byte, 16*points), IsDense: true,
	}
	for i, name := range []string{"x", "y", "z", "intensity"} {
		m.Fields = append(m.Fields, sensor_msgs.PointField{
			Name: name, Offset: uint32(4 * i), Datatype: sensor_msgs.PointField_FLOAT32, Count: 1,
		})
	}
	return m
}

func transforms(n int) *tf2_msgs.TFMessage {
	m := &tf2_msgs.TFMessage{Transforms: make([]geometry_msgs.TransformStamped, n)}
	for i := range m.Transforms {
		m.Transforms[i] = geometry_msgs.TransformStamped{
			Header: std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 1, Nanosec: uint32(i)},
				FrameId: "base_link"},
			ChildFrameId: "camera_optical_frame"[:3+i%18],
			Transform: geometry_msgs.Transform{Translation: geometry_msgs.Vector3{X: float64(i)},
				Rotation: geometry_msgs.NewQuaternion()},
		}
	}
	return m
}

func TestMarshal(t *testing.T) {
	for _, c := range []struct {
		name    string
		message msgs.Message
		into    msgs.Message
		payload string
	}{
		{"empty", &std_srvs.Trigger_Request{}, &std_srvs.Trigger_Request{}, "00010000 00"},
		{
			"response", &std_srvs.Trigger_Response{Success: true, Message: "hello from blob"},
			&std_srvs.Trigger_Response{},
			"00010000 01 000000 10000000 68656c6c6f2066726f6d20626c6f6200",
		},
		{"time", &builtin_interfaces.Time{Sec: -1, Nanosec: 2}, &builtin_interfaces.Time{},
			"00010000 ffffffff 02000000"},
		{
			"header and flat structs", &geometry_msgs.PointStamped{Header: std_msgs.Header{FrameId: "map"},
				Point: geometry_msgs.Point{X: 1}},
			&geometry_msgs.PointStamped{},
			"00010000 00000000 00000000 04000000 6d617000 000000000000f03f 0000000000000000 0000000000000000",
		},
		{
			"bounded sequence",
			&rcl_interfaces.ParameterDescriptor{IntegerRange: []rcl_interfaces.IntegerRange{{FromValue: 1,
				ToValue: 2, Step: 3}}},
			&rcl_interfaces.ParameterDescriptor{},
			"00010000 01000000 00 00 0000 01000000 00 000000 01000000 00 00 00 00 00000000 01000000" +
				"0100000000000000 0200000000000000 0300000000000000",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			payload, err := Marshal(c.message)
			require.NoError(t, err)
			require.Equal(t, unhex(t, c.payload), payload)

			appended, err := Append([]byte("front"), c.message)
			require.NoError(t, err)
			require.Equal(t, append([]byte("front"), payload...), appended)

			for _, padding := range []string{"", "\x00\x00\x00", "\x01\x02\x03\x04\x05\x06\x07"} {
				require.NoError(t, Unmarshal(append(payload[:len(payload):len(payload)], padding...), c.into))
				again, err := Marshal(c.into)
				require.NoError(t, err)
				require.Equal(t, payload, again)
			}
		})
	}
}

func TestMarshalError(t *testing.T) {
	for name, c := range map[string]struct {
		message msgs.Message
		want    string
	}{
		"sequence": {
			&rcl_interfaces.ParameterDescriptor{IntegerRange: make([]rcl_interfaces.IntegerRange, 2)},
			"encode rcl_interfaces/msg/ParameterDescriptor: sequence length 2 exceeds the bound 1",
		},
		"string": {
			&rmw_dds_common.NodeEntitiesInfo{NodeName: strings.Repeat("n", 257)},
			"encode rmw_dds_common/msg/NodeEntitiesInfo: string length 257 exceeds the bound 256",
		},
	} {
		t.Run(name, func(t *testing.T) {
			payload, err := Marshal(c.message)
			require.EqualError(t, err, c.want)
			require.Nil(t, payload)
			appended, err := Append([]byte("front"), c.message)
			require.EqualError(t, err, c.want)
			require.Equal(t, "front", string(appended))
		})
	}
}

func TestUnmarshalError(t *testing.T) {
	payload, err := Marshal(imu())
	require.NoError(t, err)
	var m sensor_msgs.Imu
	require.ErrorContains(t, Unmarshal(append(payload, make([]byte, 8)...), &m),
		"decode sensor_msgs/msg/Imu: 8 bytes left behind the last field")
	require.ErrorContains(t, Unmarshal(payload[:100], &m), "decode sensor_msgs/msg/Imu: offset")
	require.ErrorContains(t, Unmarshal(nil, &m), "decode sensor_msgs/msg/Imu: payload length 0 is too short")
	var d rcl_interfaces.ParameterDescriptor
	require.ErrorContains(t, Unmarshal(unhex(t, "00010000 01000000 00 00 0000 01000000 00 000000 01000000 00 00 00 00 "+
		"00000000 02000000"), &d),
		"sequence length 2 exceeds the bound 1")
}

// TestAllocations checks that decoding into a used message and appending to a large enough buffer allocate nothing.
func TestAllocations(t *testing.T) {
	for _, m := range []msgs.Message{imu(), cloud(1000), transforms(10)} {
		payload, err := Marshal(m)
		require.NoError(t, err)
		buf := make([]byte, 0, len(payload))
		var encode, decode error
		require.Zero(t, testing.AllocsPerRun(100, func() {
			_, encode = Append(buf, m)
			decode = Unmarshal(payload, m)
		}), m.TypeName())
		require.NoError(t, encode)
		require.NoError(t, decode)
	}
}

// TestUnmarshalLengths checks that no memory is allocated for a sequence that the payload cannot hold.
func TestUnmarshalLengths(t *testing.T) {
	var m tf2_msgs.TFMessage
	payload := append(unhex(t, "00010000 00000100"), make([]byte, 1<<16)...)
	require.ErrorContains(t, Unmarshal(payload, &m), "sequence length 65536 does not fit: bytes needed: 4718592")
	require.Empty(t, m.Transforms)
}

func FuzzUnmarshal(f *testing.F) {
	all := []msgs.Message{imu(), cloud(2), transforms(2), &rcl_interfaces.ParameterEvent{},
		&rmw_dds_common.ParticipantEntitiesInfo{}}
	for i, m := range all {
		payload, err := Marshal(m)
		require.NoError(f, err)
		f.Add(uint8(i), payload)
	}
	f.Fuzz(func(t *testing.T, i uint8, payload []byte) {
		m := all[int(i)%len(all)]
		if Unmarshal(payload, m) != nil {
			return
		}
		again, err := Marshal(m)
		require.NoError(t, err)
		require.NoError(t, Unmarshal(again, m))
		twice, err := Marshal(m)
		require.NoError(t, err)
		require.Equal(t, again, twice)
	})
}

// runBenchmark runs a benchmark of do with payloads of size bytes.
func runBenchmark(b *testing.B, name string, size int, do func() error) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			if err := do(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkGenerated(b *testing.B) {
	for _, m := range []msgs.Message{imu(), cloud(65536), transforms(10)} {
		payload, err := Marshal(m)
		require.NoError(b, err)
		buf := make([]byte, 0, len(payload))
		runBenchmark(b, m.TypeName()+"/encode", len(payload), func() error { _, err := Append(buf, m); return err })
		runBenchmark(b, m.TypeName()+"/decode", len(payload), func() error { return Unmarshal(payload, m) })
	}
}

func BenchmarkSchema(b *testing.B) {
	for _, c := range []struct {
		message msgs.Message
		path    string
	}{
		{imu(), "header.stamp"}, {cloud(65536), "header.stamp"}, {transforms(10), "transforms[9].header.stamp"},
	} {
		payload, err := Marshal(c.message)
		require.NoError(b, err)
		s, err := NewSchema(msgs.Library(), c.message.TypeName())
		require.NoError(b, err)
		v, err := s.Decode(payload)
		require.NoError(b, err)
		p, err := s.Path(c.path)
		require.NoError(b, err)
		runBenchmark(b, s.Name()+"/encode", len(payload), func() error { _, err := s.Encode(v); return err })
		runBenchmark(b, s.Name()+"/decode", len(payload), func() error { _, err := s.Decode(payload); return err })
		runBenchmark(b, s.Name()+"/get", len(payload), func() error { _, err := p.Get(payload); return err })
	}
}
