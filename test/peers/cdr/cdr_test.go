// Package cdr tests codec/encoding/cdr and the generated types of msgs on all message types: against each other,
// against Foxglove's implementation in TypeScript, and on recorded payloads of ROS 2.
package cdr

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples/random"
)

func TestMain(m *testing.M) {
	// The generated types must not be compared with the definitions of a sourced ROS 2.
	_ = os.Unsetenv("AMENT_PREFIX_PATH")
	_ = os.Unsetenv("ROS_DISTRO")
	os.Exit(process.Main(m, nil))
}

const rounds = 20 // random messages of each type

// sample is a random message and its payload.
type sample struct {
	schema  *cdr.Schema
	message *cdr.Struct
	payload []byte // message as CDR
	ascii   bool   // strings are ASCII
}

// randomSamples returns random messages of a type. Each run has equal messages.
func randomSamples(t *testing.T, name string) []sample {
	lib := msgs.Library()
	schema, err := cdr.NewSchema(lib, name)
	require.NoError(t, err)
	all := make([]sample, rounds)
	for i := range all {
		s := sample{schema: schema, ascii: i%2 == 0}
		r := random.Generator{Rand: rand.New(rand.NewPCG(uint64(i), 7)), Library: lib, Unicode: !s.ascii}
		s.message, err = r.Message(name)
		require.NoError(t, err)
		s.payload, err = schema.Encode(s.message)
		require.NoError(t, err)
		all[i] = s
	}
	return all
}

// TestGeneratedAgainstSchema checks that generated types and schemas decode and encode messages alike, and refuse
// truncated payloads.
func TestGeneratedAgainstSchema(t *testing.T) {
	for _, m := range types {
		t.Run(m.TypeName(), func(t *testing.T) {
			for _, s := range randomSamples(t, m.TypeName()) {
				require.NoError(t, cdr.Unmarshal(s.payload, m), "%x", s.payload)
				again, err := cdr.Marshal(m)
				require.NoError(t, err)
				require.Equal(t, s.payload, again)

				decoded, err := s.schema.Decode(s.payload)
				require.NoError(t, err)
				// NaN is not equal to NaN, but the texts are equal.
				require.Equal(t, text(s.message), text(decoded))

				for n := range s.payload {
					require.Error(t, cdr.Unmarshal(s.payload[:n], m), "%d of %d bytes", n, len(s.payload))
					_, err := s.schema.Decode(s.payload[:n])
					require.Error(t, err, "%d of %d bytes", n, len(s.payload))
				}
			}
		})
	}
}

// TestPaths checks that the path of each field finds the field's value.
func TestPaths(t *testing.T) {
	for _, m := range types {
		t.Run(m.TypeName(), func(t *testing.T) {
			for _, s := range randomSamples(t, m.TypeName())[:4] {
				requirePaths(t, s, "", s.message)
			}
		})
	}
}

// requirePaths requires that paths find the values of all fields of a struct. prefix is the path of the struct.
func requirePaths(t *testing.T, s sample, prefix string, value *cdr.Struct) {
	for _, f := range value.Fields {
		name := prefix + f.Name
		path, err := s.schema.Path(name)
		require.NoError(t, err, name)
		have, err := path.Get(s.payload)
		require.NoError(t, err, name)
		require.Equal(t, text(f.Value), text(have), name)
		switch v := f.Value.(type) {
		case *cdr.Struct:
			requirePaths(t, s, name+".", v)
		case []*cdr.Struct:
			for i := range v {
				requirePaths(t, s, fmt.Sprintf("%s[%d].", name, i), v[i])
			}
		}
	}
}

// text returns a text of a value. Texts differ if any bits of values differ, except for bits of NaN.
func text(v any) string {
	switch v := v.(type) {
	case *cdr.Struct:
		s := v.Type + "{"
		for _, f := range v.Fields {
			s += f.Name + ": " + text(f.Value) + ", "
		}
		return s + "}"
	case []*cdr.Struct:
		s := "["
		for _, e := range v {
			s += text(e) + ", "
		}
		return s + "]"
	}
	return fmt.Sprintf("%T %#[1]v", v)
}
