package convert

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

func TestLikeChannelsOfOneRecordingStayApart(t *testing.T) {
	channel := func() *codec.Channel { return &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu"} }
	all := channels{byKey: map[channelKey]*codec.Channel{}}
	rename := func(topic string) string { return "/robot" + topic }
	first, second := all.recording(rename), all.recording(rename)
	left, right := first(channel()), first(channel())
	require.NotSame(t, left, right)
	require.Same(t, left, second(channel()))
	require.Same(t, right, second(channel()))
	require.Equal(t, []*codec.Channel{left, right}, all.all)
	require.Equal(t, "/robot/imu", left.Topic)
	require.NotSame(t, left, all.recording(func(string) string { return "/other" })(channel()))
}
