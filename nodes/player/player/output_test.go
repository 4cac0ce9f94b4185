package player

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/nodes/internal/graph/rospub"
)

// memoryPublisher keeps published messages.
type memoryPublisher struct {
	bridge.Publisher
	data []byte
}

func (s *memoryPublisher) Publish(data []byte) error {
	s.data = data
	return nil
}

// TestSendMovesStampsBehindAnUnsetOne plays at twice the recorded speed. An unset stamp stays, a set one is moved.
func TestSendMovesStampsBehindAnUnsetOne(t *testing.T) {
	message := tf2_msgs.TFMessage{Transforms: make([]geometry_msgs.TransformStamped, 2)}
	message.Transforms[1].Header.Stamp = builtin_interfaces.TimeAt(epoch)
	data, err := cdr.Marshal(&message)
	require.NoError(t, err)
	schema, err := cdr.NewSchema(msgs.Library(), message.TypeName())
	require.NoError(t, err)
	out := &memoryPublisher{}
	p := publisher{Offer: rospub.Offer{Publisher: out}, stamps: schema.Stamps()}
	err = p.send(&codec.Message{LogTime: epoch, Data: data},
		func(t int64) int64 { return epoch + 3e9 + (t-epoch)/2 })
	require.NoError(t, err)
	require.NoError(t, cdr.Unmarshal(out.data, &message))
	require.Zero(t, message.Transforms[0].Header.Stamp)
	require.Equal(t, builtin_interfaces.TimeAt(epoch+3e9), message.Transforms[1].Header.Stamp)
}

// A warning names topics to which no node can subscribe, and topics with several types.
func TestAdvertiseOddTypes(t *testing.T) {
	for name, c := range map[string]struct {
		topics []string // topic and type in turn
		remaps []string
		warns  string // part of the only warning; "": no warning
	}{
		"two types": {[]string{"/a", "std_msgs/msg/String", "/b", "std_msgs/msg/Int8"}, nil, ""},
		"same name": {[]string{"/a", "std_msgs/msg/String", "/a", "std_msgs/msg/Int8"}, nil,
			"/a is played with two types, std_msgs/msg/String and std_msgs/msg/Int8"},
		"one type": {[]string{"/a", "std_msgs/msg/Int8", "/b", "std_msgs/msg/Int8"}, []string{"/a:=/b"}, ""},
		"renamed": {[]string{"/a", "std_msgs/msg/String", "/b", "std_msgs/msg/Int8"}, []string{"/a:=/b"},
			"/b is played with two"},
		"without type": {[]string{"/a", "std_msgs/msg/String", "/c", ""}, nil,
			"/c is not played: the recording does not name its type"},
		"without name": {[]string{"/a", "std_msgs/msg/String", "", "std_msgs/msg/Int8"}, nil, `"" is not played: `},
	} {
		t.Run(name, func(t *testing.T) {
			node, err := (&bridgetest.Network{}).Open(bridge.Options{Name: "player", Remaps: c.remaps})
			require.NoError(t, err)
			defer node.Close()
			logger := &loggingNode{Node: node}
			var channels []*codec.Channel
			for pair := range slices.Chunk(c.topics, 2) {
				channels = append(channels, &codec.Channel{Topic: pair[0], Type: pair[1], Encoding: codec.EncodingCDR})
			}
			o := defaultOptions()
			_, _, err = advertise(logger, channels, nil, &o)
			require.NoError(t, err)
			if c.warns == "" {
				require.Empty(t, logger.texts)
				return
			}
			require.Len(t, logger.texts, 1)
			require.Contains(t, logger.texts[0], c.warns)
		})
	}
}

// loggingNode is a node that keeps its log.
type loggingNode struct {
	bridge.Node
	texts []string
}

func (l *loggingNode) Log(_ bridge.LogLevel, format string, args ...any) {
	l.texts = append(l.texts, fmt.Sprintf(format, args...))
}
