package ros1

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/rosbag"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// generator makes a random ROS 1 payload and the equal ROS 2 message.
type generator struct {
	*rand.Rand
	definitions map[string]*rosbag.Definition
	library     *rosidl.Library
	payload     []byte // payload of ROS 1
	reduced     []byte // payload of ROS 1 without the fields that ROS 2 does not have
}

func (g *generator) number(size int) uint64 {
	b := make([]byte, 8)
	for i := range size {
		b[i] = byte(g.Uint32())
	}
	g.put(b[:size]...)
	return le.Uint64(b)
}

func (g *generator) put(b ...byte) {
	g.payload, g.reduced = append(g.payload, b...), append(g.reduced, b...)
}

func (g *generator) length(n int) int {
	g.put(le.AppendUint32(nil, uint32(n))...)
	return n
}

func (g *generator) text() string {
	n := g.length(g.IntN(9))
	s := strings.Repeat("x", n)
	g.put([]byte(s)...)
	return s
}

// message makes a message of a ROS 1 type, as a ROS 2 message of the type target.
func (g *generator) message(name, target string) *cdr.Struct {
	message, err := g.library.Message(target)
	if err != nil {
		panic(err)
	}
	s := &cdr.Struct{Type: target}
	if target == timeType || target == durationType {
		s.Fields = g.time().Fields
		return s
	}
	types := map[string]rosidl.Type{}
	for _, f := range message.Fields {
		types[f.Name] = f.Type
	}
	for _, l := range fieldsOf(g.definitions[name]) {
		t, ok := types[fieldName(l.Name)]
		if !ok {
			at := len(g.reduced)
			g.values(l, t)
			g.reduced = g.reduced[:at]
			switch {
			case l.Shape != "" || l.Type == "string":
				g.reduced = append(g.reduced, 0, 0, 0, 0)
			default:
				g.reduced = append(g.reduced, make([]byte, sizeOf(l.Type))...)
			}
			continue
		}
		v := g.values(l, t)
		if target == logType && l.Name == "level" {
			level := []byte{1, 2, 4, 8, 16}[g.IntN(5)]
			g.payload[len(g.payload)-1], g.reduced[len(g.reduced)-1] = level, level
			v = levelsToROS2[level]
		}
		s.Fields = append(s.Fields, cdr.Field{Name: fieldName(l.Name), Value: v})
	}
	return s
}

func (g *generator) time() *cdr.Struct {
	return &cdr.Struct{Fields: []cdr.Field{{Name: "sec", Value: int32(g.number(4))},
		{Name: "nanosec", Value: uint32(g.number(4))}}}
}

// values makes the value of a field.
func (g *generator) values(l rosbag.Line, t rosidl.Type) any {
	n := 1
	switch {
	case l.Length > 0:
		n = l.Length
	case l.Length < 0:
		n = g.IntN(4)
		if t.Length > 0 {
			n = min(n, t.Length)
		}
		g.length(n)
	}
	single := l.Shape == ""
	switch l.Type {
	case "bool":
		return list(single, n, func() bool { b := byte(g.IntN(2)); g.put(b); return b == 1 })
	case "int8":
		return list(single, n, func() int8 { return int8(g.number(1)) })
	case "byte", "char", "uint8":
		return list(single, n, func() uint8 { return uint8(g.number(1)) })
	case "int16":
		return list(single, n, func() int16 { return int16(g.number(2)) })
	case "uint16":
		return list(single, n, func() uint16 { return uint16(g.number(2)) })
	case "int32":
		return list(single, n, func() int32 { return int32(g.number(4)) })
	case "uint32":
		return list(single, n, func() uint32 { return uint32(g.number(4)) })
	case "int64":
		return list(single, n, func() int64 { return int64(g.number(8)) })
	case "uint64":
		return list(single, n, func() uint64 { return g.number(8) })
	case "float32":
		return list(single, n, func() float32 {
			f := float32(g.IntN(1000))
			g.put(le.AppendUint32(nil, math.Float32bits(f))...)
			return f
		})
	case "float64":
		return list(single, n, func() float64 {
			f := g.NormFloat64()
			g.put(le.AppendUint64(nil,
				math.Float64bits(f))...)
			return f
		})
	case "string":
		return list(single, n, g.text)
	case "time", "duration":
		return list(single, n, g.time)
	}
	return list(single, n, func() *cdr.Struct { return g.message(l.Type, t.Message) })
}

func list[T any](single bool, n int, one func() T) any {
	if single {
		return one()
	}
	all := make([]T, n)
	for i := range all {
		all[i] = one()
	}
	return all
}

// features is a type with all features of ROS 1.
const features = `# About it.
byte SIGNED=-1
string TEXT=a # b "c"
float32 Ratio=0.5
bool aBool
uint8 b
float64[3] fixed  # three
Empty nothing
uint8 c
Empty[] nothings
char[] chars
byte[] bytes
string[2] two
string[] any
time[] times
duration d
uint8 e
Inner[2] pair
Inner[] inner
my_pkg/flat_one[] flats
uint8 g
my_pkg/flat_one flat
int64 last
================================================================================
MSG: my_pkg/Empty
================================================================================
MSG: my_pkg/Inner
uint8 a
float64 x
string s
================================================================================
MSG: my_pkg/flat_one
float64 x
float32 y
int16 z
uint16 zz
`

// TestPayloads compares payloads, in both directions and for all types in tapedeck, with messages encoded by the ROS 2
// definition.
func TestPayloads(t *testing.T) {
	library := msgs.Release("")
	types := map[string]string{"my_pkg/Features": features}
	for _, name := range library.Types() {
		if !strings.Contains(name, "/msg/") {
			continue
		}
		plan1, err := planToROS1(library, name)
		require.NoError(t, err)
		types[plan1.name] = plan1.text
	}
	require.Greater(t, len(types), 150)
	for name, text := range types {
		plan2, err := planToROS2(library, name, text)
		require.NoError(t, err)
		own, err := rosidl.ParseConcatenated(plan2.name, plan2.text)
		require.NoError(t, err)
		schema, err := cdr.NewSchema(own, plan2.name)
		require.NoError(t, err)
		definitions, err := rosbag.ParseDefinitions(name, text)
		require.NoError(t, err)
		var there, back []byte
		for seed := range uint64(20) {
			g := generator{Rand: rand.New(rand.NewPCG(seed, 1)), definitions: definitions, library: own}
			message := g.message(name, plan2.name)
			want, err := schema.Encode(message)
			require.NoError(t, err, name)
			there, _, err = toCDR(there, g.payload, plan2.steps)
			require.NoError(t, err, name)
			require.Equal(t, want, there, "%s: %v", name, plan2.steps)
			back, _, err = fromCDR(back, there, plan2.steps)
			require.NoError(t, err, name)
			require.Equal(t, string(g.reduced), string(back), name)

			// Missing and extra bytes are errors.
			cut := g.payload[:g.IntN(len(g.payload)+1)]
			if len(cut) < len(g.payload) {
				_, _, err = toCDR(nil, cut, plan2.steps)
				require.Error(t, err, name)
			}
			_, _, err = toCDR(nil, append(bytes.Clone(g.payload), 0), plan2.steps)
			require.ErrorContains(t, err, "1 byte left behind the last field", name)
			_, _, err = fromCDR(nil, append(bytes.Clone(want), make([]byte, 8)...), plan2.steps)
			require.ErrorContains(t, err, "8 bytes left behind the last field", name)
		}
	}
}
