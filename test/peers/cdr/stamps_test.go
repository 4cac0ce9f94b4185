package cdr

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/test/samples"
)

// moveStamps adds ns to the stamps of all headers in m, except for zero stamps, as cdr.Stamps specifies. It returns the
// first stamp.
func moveStamps(m *cdr.Struct, ns int64) (first int64, found bool) {
	var visit func(s *cdr.Struct)
	visit = func(s *cdr.Struct) {
		for i, f := range s.Fields {
			switch v := f.Value.(type) {
			case *cdr.Struct:
				if s.Type != "std_msgs/msg/Header" || f.Name != "stamp" || !isTime(v) {
					visit(v)
					continue
				}
				t := int64(v.Get("sec").(int32))*1e9 + int64(v.Get("nanosec").(uint32))
				if !found {
					first, found = t, true
				}
				if t != 0 {
					s.Fields[i].Value = timeOf(t + ns)
				}
			case []*cdr.Struct:
				for _, e := range v {
					visit(e)
				}
			}
		}
	}
	visit(m)
	return first, found
}

// isTime reports whether s is a builtin_interfaces/msg/Time.
func isTime(s *cdr.Struct) bool {
	_, sec := s.Get("sec").(int32)
	_, nanosec := s.Get("nanosec").(uint32)
	return s.Type == "builtin_interfaces/msg/Time" && len(s.Fields) == 2 && sec && nanosec
}

// timeOf returns the builtin_interfaces/msg/Time of ns, or the nearest time that it can hold.
func timeOf(ns int64) *cdr.Struct {
	sec, nanosec := new(big.Int).DivMod(big.NewInt(ns), big.NewInt(1e9), new(big.Int))
	s, n := sec.Int64(), uint32(nanosec.Int64())
	if s < math.MinInt32 {
		s, n = math.MinInt32, 0
	} else if s > math.MaxInt32 {
		s, n = math.MaxInt32, 999_999_999
	}
	return &cdr.Struct{Type: "builtin_interfaces/msg/Time",
		Fields: []cdr.Field{{Name: "sec", Value: int32(s)}, {Name: "nanosec", Value: n}}}
}

// TestStamps moves stamps in payloads of all types, in both byte orders. It checks that the generated types and
// Foxglove's implementation read the moved stamps.
func TestStamps(t *testing.T) {
	p := startPeer(t)
	lib := msgs.Library()
	stamped := 0
	for _, m := range types {
		t.Run(m.TypeName(), func(t *testing.T) {
			definition, err := lib.Concatenated(m.TypeName())
			require.NoError(t, err)
			for i, s := range randomSamples(t, m.TypeName()) {
				ns := rand.New(rand.NewPCG(uint64(i), 11)).Int64N(4e18) - 2e18
				swapped := (&bigEndian{t, lib, []byte{0, 0, 0, 0}}).message(s.message)
				first, found := moveStamps(s.message, ns)
				stamps := s.schema.Stamps()
				if !found {
					requireNoStamp(t, stamps, s.payload)
					continue
				}
				stamped++
				for _, payload := range [][]byte{s.payload, swapped} {
					have, ok, err := stamps.First(payload)
					require.NoError(t, err)
					require.True(t, ok)
					require.Equal(t, first, have)
					require.NoError(t, stamps.Add(payload, ns))
					require.Equal(t, plain(s.message), p.ask(t, definition, payload).Value)
				}
				require.NoError(t, cdr.Unmarshal(s.payload, m))
				again, err := cdr.Marshal(m)
				require.NoError(t, err)
				require.Equal(t, again, s.payload)
				require.NoError(t, cdr.Unmarshal(swapped, m))
				again, err = cdr.Marshal(m)
				require.NoError(t, err)
				require.Equal(t, again, s.payload)
			}
		})
	}
	require.Greater(t, stamped, 500)
}

// requireNoStamp checks stamps on a payload without headers. The payload's type may have headers, or begin with a time.
func requireNoStamp(t testing.TB, stamps *cdr.Stamps, payload []byte) {
	if stamps == nil {
		return
	}
	first, ok, err := stamps.First(payload)
	require.NoError(t, err)
	if ok {
		var order binary.ByteOrder = binary.BigEndian
		if payload[1] == 1 {
			order = binary.LittleEndian
		}
		require.Equal(t, int64(int32(order.Uint32(payload[4:])))*1e9+int64(order.Uint32(payload[8:])), first)
		return
	}
	before := bytes.Clone(payload)
	require.NoError(t, stamps.Add(payload, 1))
	require.Equal(t, before, payload)
}

// bigEndian encodes messages as big-endian CDR.
type bigEndian struct {
	t       *testing.T
	lib     *rosidl.Library
	payload []byte
}

func (e *bigEndian) message(s *cdr.Struct) []byte {
	m, err := e.lib.Message(s.Type)
	require.NoError(e.t, err)
	for i, f := range m.Fields {
		v := reflect.ValueOf(s.Fields[i].Value)
		if f.Type.Shape == rosidl.Single {
			e.value(v)
			continue
		}
		if f.Type.Shape == rosidl.Sequence {
			e.number(uint32(v.Len()))
		}
		for j := range v.Len() {
			e.value(v.Index(j))
		}
	}
	if len(m.Fields) == 0 {
		e.number(uint8(0))
	}
	return e.payload
}

func (e *bigEndian) value(v reflect.Value) {
	switch v := v.Interface().(type) {
	case *cdr.Struct:
		e.message(v)
	case string:
		e.number(uint32(len(v) + 1))
		e.payload = append(append(e.payload, v...), 0)
	default:
		e.number(v)
	}
}

func (e *bigEndian) number(v any) {
	for len(e.payload)%min(8, binary.Size(v)) != 4%binary.Size(v) {
		e.payload = append(e.payload, 0)
	}
	var err error
	e.payload, err = binary.Append(e.payload, binary.BigEndian, v)
	require.NoError(e.t, err)
}

// TestStampsOfRecordings checks that moving the stamps of recorded messages changes decoded stamps, and nothing else.
func TestStampsOfRecordings(t *testing.T) {
	const ns = 1_234_567_890
	all := definitions{}
	stamped := map[string]bool{}
	eachRecorded(t, func(r recorded) {
		d := all.parse(t, r)
		m, err := d.Decode(r.payload)
		require.NoError(t, err)
		first, found := moveStamps(m, ns)
		stamps := d.Stamps()
		if !found {
			requireNoStamp(t, stamps, r.payload)
			return
		}
		have, ok, err := stamps.First(r.payload)
		require.NoError(t, err, "%s: %s", r.path, r.topic)
		require.True(t, ok)
		require.Equal(t, first, have)
		before := bytes.Clone(r.payload)
		require.NoError(t, stamps.Add(r.payload, ns))
		moved, err := d.Decode(r.payload)
		require.NoError(t, err)
		require.Equal(t, text(m), text(moved), "%s: %s", r.path, r.topic)
		require.Equal(t, len(before), len(r.payload))
		stamped[r.typeName] = true
	})
	t.Logf("%d types", len(stamped))
	require.GreaterOrEqual(t, len(stamped), 20)
}

// FuzzStamps moves the stamps of any payload by any definition. It checks that stamps are found where decoding finds
// them.
func FuzzStamps(f *testing.F) {
	seeds := map[string]bool{}
	if _, ok := samples.Find("rosbag2"); ok {
		eachRecorded(f, func(r recorded) {
			if !seeds[r.definition] && len(r.payload) < 1<<12 {
				seeds[r.definition] = true
				f.Add(r.typeName, r.definition, bytes.Clone(r.payload), int64(1e9))
			}
		})
	}
	f.Add("p/msg/X", "bool b\nstd_msgs/Header[2] h\n"+strings.Repeat("=", 80)+
		"\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n", make([]byte, 40), int64(-1))
	f.Fuzz(func(t *testing.T, typeName, definition string, payload []byte, ns int64) {
		lib, err := rosidl.ParseConcatenated(typeName, definition)
		if err != nil {
			return
		}
		s, err := cdr.NewSchema(lib, typeName)
		if err != nil {
			return
		}
		stamps := s.Stamps()
		if stamps == nil {
			return
		}
		ns %= 4e18 // so that the sum in moveStamps does not overflow
		m, err := s.Decode(payload)
		guarded := append(bytes.Clone(payload), 0xa5)
		moved := guarded[:len(payload):len(payload)]
		first, ok, firstErr := stamps.First(moved)
		addErr := stamps.Add(moved, ns)
		if firstErr != nil {
			require.Error(t, addErr)
		}
		require.Equal(t, byte(0xa5), guarded[len(payload)])
		if err != nil {
			return
		}
		require.NoError(t, addErr)
		want, found := moveStamps(m, ns)
		if !found {
			requireNoStamp(t, stamps, payload)
			return
		}
		require.True(t, ok)
		require.Equal(t, want, first)
		again, err := s.Decode(moved)
		require.NoError(t, err)
		require.Equal(t, text(m), text(again))
	})
}
