package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/record"
	"tapedeck/test/samples"
)

// The texts that Apollo's own cyber_recorder prints of real recordings.
func TestInfoAsApollo(t *testing.T) {
	for name, want := range map[string]string{
		"example.record.00000": `version:        1.0
duration:       0.138968 Seconds
begin_time:     2021-07-23-09:12:15
end_time:       2021-07-23-09:12:15
size:           489010 Bytes (477.548828 KB)
is_complete:    true
message_number: 34
channel_number: 8
channel_info:   
                /apollo/planning                                         1 messages: apollo.planning.ADCTrajectory
                /apollo/routing_request                                  0 messages: apollo.routing.RoutingRequest
                /apollo/monitor                                          0 messages: apollo.common.monitor.MonitorMessage
                /apollo/routing_response                                 0 messages: apollo.routing.RoutingResponse
                /apollo/routing_response_history                         1 messages: apollo.routing.RoutingResponse
                /apollo/localization/pose                               15 messages: apollo.localization.LocalizationEstimate
                /apollo/canbus/chassis                                  15 messages: apollo.canbus.Chassis
                /apollo/prediction                                       2 messages: apollo.prediction.PredictionObstacles
`,
		"multichunk.record": `version:        1.0
duration:       0.599000 Seconds
begin_time:     2023-11-14-22:13:20
end_time:       2023-11-14-22:13:20
`,
		"seg_emptytail.record.00001": `version:        1.0
duration:       0.000000 Seconds
begin_time:     1970-01-01-00:00:00
end_time:       1970-01-01-00:00:00
size:           2216 Bytes (2.164062 KB)
is_complete:    true
message_number: 0
`,
	} {
		t.Run(name, func(t *testing.T) {
			path := samples.Path(t, "apollo/"+name)
			stdout, _, err := run(t, "info", "--apollo", path)
			require.NoError(t, err)
			if strings.Contains(want, "channel_info") {
				require.Equal(t, "record_file:    "+path+"\n"+want, stdout)
			} else {
				require.True(t, strings.HasPrefix(stdout, "record_file:    "+path+"\n"+want), stdout)
			}
		})
	}
	// One that was not closed: what stands before the channels, as the header has it, and an error.
	path := samples.Path(t, "apollo/incomplete_killed.record")
	stdout, _, err := run(t, "info", "--apollo", path)
	require.EqualError(t, err, path+" has no index that can be read; without --apollo its channels are told")
	require.Equal(t, "record_file:    "+path+`
version:        1.0
duration:       0.000000 Seconds
begin_time:     1970-01-01-00:00:00
end_time:       1970-01-01-00:00:00
size:           0 Bytes
is_complete:    false
message_number: 0
channel_number: 0
`, stdout)
}

// Other recordings are told as if they were converted, in the local time zone.
func TestInfoAsApolloOfOthers(t *testing.T) {
	zone := time.Local
	time.Local = time.FixedZone("", 8*3600)
	defer func() { time.Local = zone }()
	info := sampleInfo()
	info.Topics[0].Channel.Topic = "/größe"
	var out bytes.Buffer
	require.NoError(t, writeInfoApollo(&out, "drive", info))
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
                /odd`+"\x1b"+`                                                    0 messages: 
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
	info := &codec.Info{Files: make([]codec.FileInfo, 1), Size: 9, MessageCount: 7, Complete: true, Extra: record.Details{
		Version: "1.0", Closed: true, Indexed: true, Header: record.Header{BeginTime: 1_500_000_000_900_000_000,
			EndTime: 1_500_000_000_100_000_000, MessageNumber: 8, Size: 5},
	}}
	var out bytes.Buffer
	require.NoError(t, writeInfoApollo(&out, "a.record", info))
	require.Contains(t, out.String(), "duration:       -0.800000 Seconds\nbegin_time:     2017-07-14-02:40:00\n")
	require.Contains(t, out.String(), "size:           5 Bytes\nis_complete:    true\nmessage_number: 8\n")
}
