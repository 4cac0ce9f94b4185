package apollo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge"
	"tapedeck/codec"
	_ "tapedeck/codec/mcap"
	_ "tapedeck/codec/rosbag"
	_ "tapedeck/codec/rosbag2"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/test/samples"
)

// realMessages returns messages of ROS 2 out of real recordings, at most so many of each.
func realMessages(t testing.TB, atMost int) []codec.Message {
	var all []codec.Message
	for _, name := range []string{"rosbag2/rosbags_rs/test_bag_mcap", "rosbag2/rosbags_rs/test_bag_sqlite3"} {
		path, ok := samples.Find(name)
		if !ok {
			continue // a fuzz test has fewer seeds
		}
		r, err := codec.Open(path)
		require.NoError(t, err)
		it, err := r.Read(codec.Query{})
		require.NoError(t, err)
		for range atMost {
			m, err := it.Next()
			if err != nil {
				break
			}
			kept := *m
			kept.Data = append([]byte(nil), m.Data...)
			all = append(all, kept)
		}
		require.NoError(t, it.Close())
		require.NoError(t, r.Close())
	}
	return all
}

// FuzzReverse gives damaged payloads to the translation of each mapping and of a type of every kind of field, and damaged messages to
// the way back.
func FuzzReverse(f *testing.F) {
	odd, err := rosidl.ParseConcatenated("odd_msgs/msg/Odd", oddTypes)
	require.NoError(f, err)
	reverse, err := FromROS2(nil)
	require.NoError(f, err)
	forward, err := ToROS2(nil)
	require.NoError(f, err)
	channels := []*codec.Channel{channelOf(f, odd, "/odd", "odd_msgs/msg/Odd")}
	for _, m := range pairs {
		channels = append(channels, channelOf(f, msgs.Release(""), "/corrected"+m.suffix, m.ros))
	}
	middle := map[*codec.Channel]*codec.Channel{}
	for _, c := range channels {
		topics, err := reverse.Topics(codec.TopicInfo{Channel: c})
		require.NoError(f, err)
		middle[c] = topics[0].Channel
		_, err = forward.Topics(topics[0])
		require.NoError(f, err)
	}
	there, back := reverse.Begin(nil), forward.Begin(nil)
	for i, c := range channels {
		for _, m := range realMessages(f, 500) {
			if m.Channel.Type == c.Type {
				f.Add(uint8(i), false, m.Data)
				out, err := there(&codec.Message{Channel: c, Data: m.Data})
				require.NoError(f, err)
				f.Add(uint8(i), true, append([]byte(nil), out[0].Data...))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, way bool, data []byte) {
		c := channels[int(which)%len(channels)]
		if way {
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

// TestReal takes all real messages to Protocol Buffers and back.
func TestReal(t *testing.T) {
	messages := realMessages(t, 10000)
	if len(messages) == 0 {
		samples.Path(t, "rosbag2/rosbags_rs") // which is not here
	}
	reverse, err := FromROS2(recorded{messages})
	require.NoError(t, err)
	forward, err := ToROS2(nil)
	require.NoError(t, err)
	announced := map[*codec.Channel]bool{}
	there, back := reverse.Begin(nil), forward.Begin(nil)
	exact := 0
	for i := range messages {
		m := &messages[i]
		if !announced[m.Channel] {
			announced[m.Channel] = true
			topics, err := reverse.Topics(codec.TopicInfo{Channel: m.Channel})
			require.NoError(t, err)
			require.Len(t, topics, 1)
			_, err = forward.Topics(topics[0])
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
	require.NotNil(t, reverse.(bridge.Lossy))
}
