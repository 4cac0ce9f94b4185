package apollo

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/test/samples"
)

// FuzzToROS2 translates damaged messages of each type of a real recording.
func FuzzToROS2(f *testing.F) {
	r, err := formats.Open(samples.Path(f, "apollo/apollo_cpp_sensors.record"))
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
	seeds := 0
	bridgetest.Each(f, r, codec.Query{}, func(m *codec.Message) {
		if i := slices.Index(channels, m.Channel); i >= 0 && len(m.Data) < 4096 && seeds < 300 {
			f.Add(uint8(i), slices.Clone(m.Data))
			seeds++
		}
	})
	translate := translator.Begin(nil)
	f.Fuzz(func(t *testing.T, channel uint8, data []byte) {
		m := &codec.Message{Channel: channels[int(channel)%len(channels)], LogTime: 1700000000e9, Data: data}
		out, err := translate(m)
		for _, m := range out {
			require.Less(t, len(m.Data), 1024*len(data)+4096) // a message with no field set has 2 bytes
		}
		if err == nil {
			require.NotEmpty(t, out)
		}
	})
}

// FuzzGenerated decodes damaged messages of each type of a real recording with dynamicpb and with a planEncoder. Both
// must accept equal messages and read equal values.
func FuzzGenerated(f *testing.F) {
	r, err := formats.Open(samples.Path(f, "apollo/example.record.00000"))
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
		plans, err := plansOf(d)
		require.NoError(f, err)
		channels[topic.Channel] = uint8(len(types))
		types, schemas = append(types, plans), append(schemas, generatedSchema(f, plans))
	}
	bridgetest.Each(f, r, codec.Query{}, func(m *codec.Message) {
		if len(m.Data) < 4096 {
			f.Add(channels[m.Channel], slices.Clone(m.Data))
		}
	})
	var encoder planEncoder
	f.Fuzz(func(t *testing.T, typeIndex uint8, data []byte) {
		plans, schema := types[int(typeIndex)%len(types)], schemas[int(typeIndex)%len(types)]
		got, err := encoder.append(nil, plans.root(), data, func(*plan) {})
		m := dynamicpb.NewMessage(plans.root().descriptor)
		if damaged := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(data,
			m); damaged != nil {
			require.Error(t, err, damaged)
			return
		}
		require.NoError(t, err)
		want, err := schema.Encode(structOf(plans.root(), m))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// realMessages returns the first ROS 2 messages of real recordings.
func realMessages(t testing.TB, atMost int) []codec.Message {
	var messages []codec.Message
	for _, name := range []string{"rosbag2/rosbags_rs/test_bag_mcap", "rosbag2/rosbags_rs/test_bag_sqlite3"} {
		path, ok := samples.Find(name)
		if !ok {
			continue // a fuzz test needs fewer seeds
		}
		r, err := formats.Open(path)
		require.NoError(t, err)
		count := 0
		bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
			count++
			if count <= atMost {
				kept := *m
				kept.Data = slices.Clone(m.Data)
				messages = append(messages, kept)
			}
		})
		require.NoError(t, r.Close())
	}
	return messages
}

// FuzzFromROS2 translates damaged payloads of each pair and of a type with every kind of field. It also translates
// damaged messages back.
func FuzzFromROS2(f *testing.F) {
	odd, err := rosidl.ParseConcatenated("odd_msgs/msg/Odd", oddTypes)
	require.NoError(f, err)
	from, err := FromROS2(nil)
	require.NoError(f, err)
	to, err := ToROS2(nil)
	require.NoError(f, err)
	channels := []*codec.Channel{channelOf(f, odd, "/odd", "odd_msgs/msg/Odd")}
	for _, m := range pairs {
		channels = append(channels, channelOf(f, msgs.Release(""), "/corrected"+m.suffix, m.ros))
	}
	middle := map[*codec.Channel]*codec.Channel{}
	for _, c := range channels {
		topics, err := from.Topics(codec.TopicInfo{Channel: c})
		require.NoError(f, err)
		middle[c] = topics[0].Channel
		_, err = to.Topics(topics[0])
		require.NoError(f, err)
	}
	there, back := from.Begin(nil), to.Begin(nil)
	seeds := realMessages(f, 60)
	for i, c := range channels {
		for _, m := range seeds {
			if m.Channel.Type == c.Type {
				f.Add(uint8(i), false, m.Data)
				out, err := there(&codec.Message{Channel: c, Data: m.Data})
				require.NoError(f, err)
				f.Add(uint8(i), true, append([]byte(nil), out[0].Data...))
			}
		}
	}
	f.Fuzz(func(t *testing.T, typeIndex uint8, backward bool, data []byte) {
		c := channels[int(typeIndex)%len(channels)]
		if backward {
			out, err := back(&codec.Message{Channel: middle[c], LogTime: 1e18, Data: data})
			if err == nil {
				require.NotEmpty(t, out)
			}
			return
		}
		out, err := there(&codec.Message{Channel: c, Data: data})
		if err != nil {
			return
		}
		require.Less(t, len(out[0].Data), 64*len(data)+4096)
		d, err := descriptorOf(out[0].Channel)
		require.NoError(t, err)
		require.NoError(t, proto.Unmarshal(out[0].Data, dynamicpb.NewMessage(d)))
		again, err := back(&out[0])
		require.NoError(t, err)
		require.NotEmpty(t, again)
	})
}

// TestReal translates all messages of real recordings to Protocol Buffers and back.
func TestReal(t *testing.T) {
	messages := realMessages(t, 10000)
	if len(messages) == 0 {
		samples.Path(t, "rosbag2/rosbags_rs") // skips the test: the sample is missing
	}
	from, err := FromROS2(&bridgetest.Recording{Messages: messages})
	require.NoError(t, err)
	to, err := ToROS2(nil)
	require.NoError(t, err)
	announced := map[*codec.Channel]bool{}
	there, back := from.Begin(nil), to.Begin(nil)
	exact := 0
	for i := range messages {
		m := &messages[i]
		if !announced[m.Channel] {
			announced[m.Channel] = true
			topics, err := from.Topics(codec.TopicInfo{Channel: m.Channel})
			require.NoError(t, err)
			require.Len(t, topics, 1)
			_, err = to.Topics(topics[0])
			require.NoError(t, err)
		}
		out, err := there(m)
		require.NoError(t, err, m.Channel.Topic)
		again, err := back(&out[0])
		require.NoError(t, err, m.Channel.Topic)
		require.Equal(t, m.Channel.Type, again[0].Channel.Type)
		require.Len(t, again, 1)
		if !strings.HasPrefix(out[0].Channel.Type, "apollo.") {
			exact++
			require.Equal(t, len(m.Data)/4, len(again[0].Data)/4, "but for padding")
			if len(m.Channel.Schema.Data) > 0 {
				require.Equal(t, m.Channel.Schema, again[0].Channel.Schema)
			}
		}
	}
	require.Greater(t, exact, 100)
}
