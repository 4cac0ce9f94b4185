package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/samples"
)

// The texts that Apollo's own cyber_recorder prints for real recordings.
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
	// For a record that was not closed: the lines before the channels, from the header, and an error.
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
