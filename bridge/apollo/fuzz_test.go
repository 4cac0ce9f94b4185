package apollo

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/test/samples"
)

// FuzzTranslate gives damaged messages to the translation of each type of a real recording.
func FuzzTranslate(f *testing.F) {
	r, err := codec.Open(samples.Path(f, "apollo/apollo_cpp_sensors.record"))
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, r.Close()) })
	info, err := r.Info()
	require.NoError(f, err)
	translator, err := ToROS2(r)
	require.NoError(f, err)
	var channels []*codec.Channel
	for _, topic := range info.Topics {
		if _, err := translator.Topics(topic); err == nil {
			channels = append(channels, topic.Channel)
		}
	}
	it, err := r.Read(codec.Query{})
	require.NoError(f, err)
	for range 300 {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(f, err)
		for i, c := range channels {
			if c == m.Channel && len(m.Data) < 4096 {
				f.Add(uint8(i), append([]byte(nil), m.Data...))
			}
		}
	}
	translate := translator.Begin(nil)
	f.Fuzz(func(t *testing.T, channel uint8, data []byte) {
		m := &codec.Message{Channel: channels[int(channel)%len(channels)], LogTime: 1700000000e9, Data: data}
		out, err := translate(m)
		for _, m := range out {
			require.Less(t, len(m.Data), 1024*len(data)+4096) // a message with nothing set in it takes 2 bytes
		}
		if err == nil {
			require.NotEmpty(t, out)
		}
	})
}

// FuzzGenerated gives damaged messages of each type of a real recording to dynamicpb and to what makes them messages of ROS 2: both take
// the same ones, and find the same in them.
func FuzzGenerated(f *testing.F) {
	r, err := codec.Open(samples.Path(f, "apollo/example.record.00000"))
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, r.Close()) })
	info, err := r.Info()
	require.NoError(f, err)
	var types []*plans
	var schemas []*cdr.Schema
	channels := map[*codec.Channel]uint8{}
	for _, topic := range info.Topics {
		d, err := descriptorOf(topic.Channel)
		require.NoError(f, err)
		all, err := plansOf(d)
		require.NoError(f, err)
		channels[topic.Channel] = uint8(len(types))
		types, schemas = append(types, all), append(schemas, generatedSchema(f, all))
	}
	it, err := r.Read(codec.Query{})
	require.NoError(f, err)
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(f, err)
		if len(m.Data) < 4096 {
			f.Add(channels[m.Channel], append([]byte(nil), m.Data...))
		}
	}
	var encoder planEncoder
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		all, schema := types[int(which)%len(types)], schemas[int(which)%len(types)]
		got, err := encoder.append(nil, all.root(), data, func(*plan) {})
		m := dynamicpb.NewMessage(all.root().descriptor)
		if damaged := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(data, m); damaged != nil {
			require.Error(t, err, damaged)
			return
		}
		require.NoError(t, err)
		want, err := schema.Encode(structOf(all.root(), m))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
