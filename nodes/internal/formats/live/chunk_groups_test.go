package live

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/config"
)

func TestChunkGroups(t *testing.T) {
	latched := codec.DefaultQoS()
	latched.Durability = codec.TransientLocal
	for _, c := range []struct {
		value, topic string
		qos          codec.QoS
		size         int
		want         string
	}{
		{"auto", "/imu", codec.DefaultQoS(), 300, ""},
		{"auto", "/camera/left/image", codec.DefaultQoS(), 6 << 20, "/camera/left/image"},
		{"auto", "/map", latched, 4 << 20, "latched"},
		{"auto", "/tf_static", latched, 200, "latched"},
		{"/camera/*;/lidar", "/camera/left/image", codec.DefaultQoS(), 6 << 20, "/camera/*"},
		{"/camera/*;/lidar", "/camera/left/info", latched, 300, "/camera/*"},
		{"/camera/*;/lidar", "/lidar", codec.DefaultQoS(), 6 << 20, "/lidar"},
		{"/camera/*;/lidar", "/lidar/2", codec.DefaultQoS(), 6 << 20, ""},
	} {
		o := ChunkOptions{ChunkGroups: c.value}
		groups, err := o.Groups()
		require.NoError(t, err)
		require.Equal(t, c.want, groups(&codec.Channel{Topic: c.topic, QoS: []codec.QoS{c.qos}}, c.size), c)
	}
	for _, value := range []string{"", "one"} {
		o := ChunkOptions{ChunkGroups: value}
		groups, err := o.Groups()
		require.NoError(t, err)
		require.Nil(t, groups)
	}
	o := ChunkOptions{ChunkGroups: "/a;(b"}
	_, err := o.Groups()
	require.ErrorIs(t, err, config.ErrUsage)
}
