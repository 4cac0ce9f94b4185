package formats

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
)

func TestInfoDetails(t *testing.T) {
	for _, test := range []struct {
		extra any
		want  []Detail
	}{
		{nil, nil},
		{rosbag.Extra{Compression: "bz2", Chunks: 3}, []Detail{{"Chunks:", "3 bz2"}}},
		{rosbag.Extra{}, nil},
		{mcap.Extra{Chunks: map[string]int{"none": 1, "zstd": 12, "lz4": 0}},
			[]Detail{{"Chunks:", "1 not compressed, 12 zstd"}}},
		{rosbag2.Extra{Extra: mcap.Extra{Chunks: map[string]int{"lz4": 2}}, CompressionMode: "FILE",
			ROSDistro: "jazzy"},
			[]Detail{{"Chunks:", "2 lz4"}, {"Compressed:", "each file, zstd"}, {"ROS:", "jazzy"}}},
		{record.Details{Chunks: 4, Map: "sunnyvale", Vehicle: "mkz\x1b"},
			[]Detail{{"Chunks:", "4"}, {"Map:", "sunnyvale"}, {"Vehicle:", `"mkz\x1b"`}}},
		{carla.Details{Version: 2, Profile: "ue4-0.9.16", Duration: 1.5, Packets: map[string]uint64{"FrameStart": 30},
			Actors: map[string]uint64{"vehicle": 1, "walker": 2}},
			[]Detail{{"CARLA:", "ue4-0.9.16, version 2"}, {"Map:", "-"}, {"Frames:", "30 in 1.500 s of simulation"},
				{"Actors:", "2 walkers, 1 vehicle"}}},
	} {
		require.Equal(t, test.want, Details(&codec.Info{Extra: test.extra}))
	}
}

// Other recordings are described as if they were converted. Times are in the local time zone.
func TestInfoAsApolloOfOthers(t *testing.T) {
	zone := time.Local
	time.Local = time.FixedZone("", 8*3600)
	defer func() { time.Local = zone }()
	info := &codec.Info{
		StartTime: 1627031535000000000, EndTime: 1627031538500000000, Size: 5 << 20, MessageCount: 301,
		Topics: []codec.TopicInfo{
			{Channel: &codec.Channel{Topic: "/größe", Type: "tf2_msgs/msg/TFMessage"}, MessageCount: 1},
			{Channel: &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu"}, MessageCount: 300},
			{Channel: &codec.Channel{Topic: "/odd\x1b"}},
		},
	}
	var out bytes.Buffer
	require.NoError(t, writeApolloInfo(&out, "drive", info))
	require.Equal(t, `record_file:    drive
version:        1.0
duration:       3.500000 Seconds
begin_time:     2021-07-23-17:12:15
end_time:       2021-07-23-17:12:18
size:           5242880 Bytes (5.000000 MB)
is_complete:    false
message_number: 301
channel_number: 3
channel_info:   
                /größe                                                 1 messages: tf2_msgs/msg/TFMessage
                /imu                                                   300 messages: sensor_msgs/msg/Imu
                "/odd\x1b"                                               0 messages: 
`, out.String())
}

func TestApolloSizes(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 Bytes", 1023: "1023 Bytes", 1024: "1024 Bytes (1.000000 KB)", 1<<20 - 1: "1048575 Bytes (1023.999023 KB)",
		1 << 20: "1048576 Bytes (1.000000 MB)", 1<<30 - 1: "1073741823 Bytes (1024.000000 MB)", // float32
		2147483648 + 123456789: "2270940437 Bytes (2.114978 GB)", 489010: "489010 Bytes (477.548828 KB)",
	} {
		require.Equal(t, want, apolloSize(n))
	}
}

func TestInfoAsApolloOfHeader(t *testing.T) {
	info := &codec.Info{Files: make([]codec.FileInfo, 1), Size: 9, MessageCount: 7, Complete: true,
		Extra: record.Details{
			Version: "1.0", Closed: true, Indexed: true, Header: record.Header{BeginTime: 1_500_000_000_900_000_000,
				EndTime: 1_500_000_000_100_000_000, MessageNumber: 8, Size: 5},
		}}
	var out bytes.Buffer
	require.NoError(t, writeApolloInfo(&out, "a.record", info))
	begin := time.Unix(1_500_000_000, 0).Format("2006-01-02-15:04:05")
	require.Contains(t, out.String(), "duration:       -0.800000 Seconds\nbegin_time:     "+begin+"\n")
	require.Contains(t, out.String(), "size:           5 Bytes\nis_complete:    true\nmessage_number: 8\n")
}
