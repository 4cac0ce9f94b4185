package cdr

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
)

const headerText = "builtin_interfaces/Time stamp\nstring frame_id\n"

func stampsOf(t testing.TB, lib *rosidl.Library, name string) *Stamps {
	s, err := NewSchema(lib, name)
	require.NoError(t, err)
	return s.Stamps()
}

func header(sec int32, nanosec uint32, frame string) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: sec, Nanosec: nanosec}, FrameId: frame}
}

func TestStamps(t *testing.T) {
	const add = 1_500_000_000
	for name, c := range map[string]struct {
		before, after msgs.Message
		first         int64 // -1 if there is none
	}{
		"header first": {
			&sensor_msgs.Image{Header: header(1, 2, "cam"), Encoding: "rgb8", Data: []byte{1, 2, 3}},
			&sensor_msgs.Image{Header: header(2, 500_000_002, "cam"), Encoding: "rgb8", Data: []byte{1, 2, 3}},
			1_000_000_002,
		},
		"sequence": {
			&tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{
				{Header: header(0, 0, "static"), ChildFrameId: "a"}, {Header: header(3, 0, "b"), ChildFrameId: "long"},
				{Header: header(4, 999_999_999, "")},
			}},
			&tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{
				{Header: header(0, 0, "static"), ChildFrameId: "a"},
				{Header: header(4, 500_000_000, "b"), ChildFrameId: "long"},
				{Header: header(6, 499_999_999, "")},
			}}, 0,
		},
		"nothing in the sequence": {&tf2_msgs.TFMessage{}, &tf2_msgs.TFMessage{}, -1},
		"header and sequence": {
			&nav_msgs.Path{Header: header(-1, 0, "map"),
				Poses: []geometry_msgs.PoseStamped{{Header: header(5, 0, "odom")}}},
			&nav_msgs.Path{Header: header(0, 500_000_000, "map"),
				Poses: []geometry_msgs.PoseStamped{{Header: header(6, 500_000_000, "odom")}}}, -1e9,
		},
		"other times": {
			&sensor_msgs.TimeReference{Header: header(1, 0, ""), TimeRef: builtin_interfaces.Time{Sec: 9}},
			&sensor_msgs.TimeReference{Header: header(2, 500_000_000, ""), TimeRef: builtin_interfaces.Time{Sec: 9}},
			1e9,
		},
		"clock": {
			&rosgraph_msgs.Clock{Clock: builtin_interfaces.Time{Sec: 7}},
			&rosgraph_msgs.Clock{Clock: builtin_interfaces.Time{Sec: 8, Nanosec: 500_000_000}}, 7e9,
		},
		"time first": {
			&rcl_interfaces.Log{Stamp: builtin_interfaces.Time{Sec: 7}, Msg: "hi"},
			&rcl_interfaces.Log{Stamp: builtin_interfaces.Time{Sec: 8, Nanosec: 500_000_000}, Msg: "hi"}, 7e9,
		},
		"first": {
			&std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: math.MinInt32, Nanosec: 1}},
			&std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: math.MinInt32 + 1, Nanosec: 500_000_001}},
			math.MinInt32*1e9 + 1,
		},
		"last": {
			&std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: math.MaxInt32 - 1, Nanosec: math.MaxUint32}},
			&std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: math.MaxInt32, Nanosec: 999_999_999}},
			(math.MaxInt32-1)*1e9 + math.MaxUint32,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := stampsOf(t, msgs.Library(), c.before.TypeName())
			payload, err := Marshal(c.before)
			require.NoError(t, err)
			want, err := Marshal(c.after)
			require.NoError(t, err)
			first, ok, err := s.First(payload)
			require.NoError(t, err)
			require.Equal(t, c.first != -1, ok)
			if ok {
				require.Equal(t, c.first, first)
			}
			require.NoError(t, s.Add(payload, add))
			require.Equal(t, want, payload)
		})
	}
	for _, name := range []string{"std_msgs/msg/String", "std_msgs/msg/Empty", "builtin_interfaces/msg/Time",
		"geometry_msgs/msg/Twist"} {
		require.Nil(t, stampsOf(t, msgs.Library(), name), name)
	}
}

func TestStampsSaturate(t *testing.T) {
	s := stampsOf(t, msgs.Library(), "std_msgs/msg/Header")
	low, high := builtin_interfaces.Time{Sec: math.MinInt32},
		builtin_interfaces.Time{Sec: math.MaxInt32, Nanosec: 999_999_999}
	for _, old := range []builtin_interfaces.Time{low, high, {Sec: 1}, {Sec: -1, Nanosec: 999_999_999},
		{Sec: math.MaxInt32, Nanosec: math.MaxUint32}} {
		for add, want := range map[int64]builtin_interfaces.Time{math.MinInt64: low, math.MaxInt64: high} {
			payload, err := Marshal(&std_msgs.Header{Stamp: old})
			require.NoError(t, err)
			require.NoError(t, s.Add(payload, add))
			var have std_msgs.Header
			require.NoError(t, Unmarshal(payload, &have))
			require.Equal(t, want, have.Stamp, "%v + %d", old, add)
		}
	}
}

// TestStampsDefinition has stamps after fields of all alignments, in nested arrays, in a big-endian payload.
func TestStampsDefinition(t *testing.T) {
	lib := rosidl.NewLibrary(fstest.MapFS{
		"p/msg/Outer.msg": {Data: []byte("uint8 a\nfloat64 b\nuint16[3] c\nstring[2] d\nuint8[] e\nInner[2] " +
			"f\nstring g\n")},
		"p/msg/Inner.msg":         {Data: []byte("bool x\nstd_msgs/Header[<=2] h\nHeader own\n")},
		"p/msg/Header.msg":        {Data: []byte("builtin_interfaces/Time stamp\n")},
		"std_msgs/msg/Header.msg": {Data: []byte(headerText)},
	})
	s := stampsOf(t, lib, "p/msg/Outer")
	payload := unhex(t, "00000000"+
		"01 00000000000000 3ff0000000000000 0001 0002 0003 0000 00000002 6100 0000 00000001 00 000000 00000003 070809"+
		"01 00000002"+"0000000a 00000001 00000002 6200 0000"+"0000000b 00000002 00000001 00 000000"+"00000063 00000000"+
		"00 000000 00000001"+"0000000c 00000003 00000001 00 000000"+"00000063 00000000"+
		"00000001 00")
	decoder, err := NewSchema(lib, "p/msg/Outer")
	require.NoError(t, err)
	want, err := decoder.Decode(payload)
	require.NoError(t, err)
	first, ok, err := s.First(payload)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, int64(10_000_000_001), first)

	size := len(payload)
	for n := range size {
		err := s.Add(payload[:n:n], 0)
		if n < size-13 { // its own Header, padding, g
			require.ErrorContains(t, err, "find stamps of p/msg/Outer: ", "%d of %d bytes", n, size)
		}
	}
	require.NoError(t, s.Add(payload, 1_000_000_005))
	have, err := decoder.Decode(payload)
	require.NoError(t, err)
	for i, in := range want.Get("f").([]*Struct) {
		for j, h := range in.Get("h").([]*Struct) {
			h.with("stamp", stamp(int32(11+2*i+j), uint32(6+2*i+j)))
		}
	}
	require.Equal(t, want, have)
}

// TestStampsOfOtherDefinitions checks that types with the names of Header and Time but other fields have no stamps.
func TestStampsOfOtherDefinitions(t *testing.T) {
	for name, texts := range map[string]fstest.MapFS{
		"time": {"std_msgs/msg/Header.msg": {Data: []byte(headerText)},
			"builtin_interfaces/msg/Time.msg": {Data: []byte("float64 t\n")}},
		"array":   {"std_msgs/msg/Header.msg": {Data: []byte("builtin_interfaces/Time[2] stamp\n")}},
		"name":    {"std_msgs/msg/Header.msg": {Data: []byte("string frame_id\nbuiltin_interfaces/Time time\n")}},
		"integer": {"std_msgs/msg/Header.msg": {Data: []byte("int32 stamp\n")}},
	} {
		require.Nil(t, stampsOf(t, rosidl.NewLibrary(texts), "std_msgs/msg/Header"), name)
	}
}

func TestStampsError(t *testing.T) {
	s := stampsOf(t, msgs.Library(), "tf2_msgs/msg/TFMessage")
	for payload, want := range map[string]string{
		"":                  "find stamps of tf2_msgs/msg/TFMessage: payload length 0",
		"00070000 00000000": "names XCDR2",
		"00010000 ffffffff": "sequence length 4294967295 does not fit: bytes needed: 309237645240, left: 0",
		"00010000 01000000 01000000 02000000 ffffffff" + strings.Repeat("00", 64): "string length 4294967295",
	} {
		_, _, err := s.First(unhex(t, payload))
		if want != "string length 4294967295" {
			require.ErrorContains(t, err, want)
		}
		require.ErrorContains(t, s.Add(unhex(t, payload), 1), want)
	}
}

// TestStampsOfManyMessages checks that a type with an exponential number of nested fields does not make Stamps hang.
func TestStampsOfManyMessages(t *testing.T) {
	texts := fstest.MapFS{
		"std_msgs/msg/Header.msg": {Data: []byte(headerText)},
		"p/msg/T0.msg":            {Data: []byte("std_msgs/Header[] a\n")},
	}
	for i := range 45 {
		texts["p/msg/T"+strconv.Itoa(i+1)+".msg"] = &fstest.MapFile{Data: []byte("T" + strconv.Itoa(i) + "[<=2] a\nT" +
			strconv.Itoa(i) + "[] b\n")}
	}
	s := stampsOf(t, rosidl.NewLibrary(texts), "p/msg/T45")
	require.NoError(t, s.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 1))
}

func TestStampsAllocations(t *testing.T) {
	for _, m := range []msgs.Message{imu(), cloud(1000), transforms(10), &rosgraph_msgs.Clock{}} {
		payload, err := Marshal(m)
		require.NoError(t, err)
		s := stampsOf(t, msgs.Library(), m.TypeName())
		require.Zero(t, testing.AllocsPerRun(100, func() {
			err = s.Add(payload, 1)
			if err == nil {
				_, _, err = s.First(payload)
			}
		}), m.TypeName())
		require.NoError(t, err)
	}
}

func BenchmarkStamps(b *testing.B) {
	for _, m := range []msgs.Message{imu(), cloud(65536), transforms(10)} {
		payload, err := Marshal(m)
		require.NoError(b, err)
		s := stampsOf(b, msgs.Library(), m.TypeName())
		runBenchmark(b, m.TypeName(), len(payload), func() error { return s.Add(payload, 1) })
	}
}
