package apollo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/translate/apollo"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/test/samples"
)

const python = "/usr/bin/python3"

// TestPython decodes messages of Apollo's recordings with Python's protobuf. It checks that the values equal the values
// of the ROS 2 messages that have all fields.
func TestPython(t *testing.T) {
	if exec.Command(python, "-c", "import google.protobuf").Run() != nil {
		t.Skip("Python's protobuf is not installed (Debian: python3-protobuf)")
	}
	const perTopic = 5
	types := map[string]bool{}
	for _, name := range []string{"example.record.00000", "apollo_cpp_sensors.record"} {
		r, err := formats.Open(samples.Path(t, "apollo/"+name))
		require.NoError(t, err)
		defer r.Close()
		translator, err := apollo.ToROS2(r)
		require.NoError(t, err)
		info, err := r.Info()
		require.NoError(t, err)
		for _, topic := range info.Topics {
			_, err := translator.Topics(topic)
			require.NoError(t, err)
		}
		translate := translator.Begin(nil)
		seen := map[string]int{}
		var input bytes.Buffer
		var want [][]string
		bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
			if seen[m.Channel.Topic] == perTopic {
				return
			}
			seen[m.Channel.Topic]++
			all, err := translate(m)
			require.NoError(t, err)
			i := slices.IndexFunc(all, func(m codec.Message) bool {
				return m.Channel.Metadata[apollo.MetadataWhole] == m.Channel.Topic
			})
			if i < 0 {
				return // no ROS 2 message has all fields
			}
			c := all[i].Channel
			schema, err := cdr.NewSchema(c.Library(nil), c.Type)
			require.NoError(t, err)
			message, err := schema.Decode(all[i].Data)
			require.NoError(t, err)
			want = append(want, texts(nil, reflect.ValueOf(message)))
			require.NoError(t, json.NewEncoder(&input).Encode(map[string]any{
				"type": m.Channel.Type, "set": m.Channel.Schema.Data, "data": m.Data,
			}))
			types[m.Channel.Type] = true
		})
		command := exec.Command(python, "decode.py")
		command.Stdin = &input
		var stderr bytes.Buffer
		command.Stderr = &stderr
		output, err := command.Output()
		require.NoError(t, err, stderr.String())
		decoder := json.NewDecoder(bytes.NewReader(output))
		for _, want := range want {
			var got []string
			require.NoError(t, decoder.Decode(&got))
			require.Equal(t, want, got)
		}
		require.False(t, decoder.More())
	}
	require.Len(t, types, 7)
}

// texts appends the values of a decoded message as decode.py prints them.
func texts(all []string, v reflect.Value) []string {
	switch s := v.Interface().(type) {
	case *cdr.Struct:
		for _, f := range s.Fields {
			all = texts(all, reflect.ValueOf(f.Value))
		}
		return all
	case bool:
		if s {
			return append(all, "1")
		}
		return append(all, "0")
	}
	switch v.Kind() {
	case reflect.Slice:
		all = append(all, "["+strconv.Itoa(v.Len())+"]")
		for i := range v.Len() {
			all = texts(all, v.Index(i))
		}
		return all
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(v.Float()) {
			return append(all, "nan")
		}
		return append(all, fmt.Sprintf("%016x", math.Float64bits(v.Float())))
	}
	return append(all, fmt.Sprint(v.Interface()))
}
