package bridge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWireNames(t *testing.T) {
	for _, test := range []struct {
		ros, dds string
		to       func(string) string
		from     func(string) (string, bool)
	}{
		{"/ns/x", "rt/ns/x", TopicToDDS, TopicFromDDS},
		{"/ns/s", "rq/ns/sRequest", ServiceRequestToDDS, ServiceRequestFromDDS},
		{"/ns/s", "rr/ns/sReply", ServiceReplyToDDS, ServiceReplyFromDDS},
		{"/a/_action/status", "rt/a/_action/status", TopicToDDS, TopicFromDDS},
		{"sensor_msgs/msg/Imu", "sensor_msgs::msg::dds_::Imu_", TypeToDDS, TypeFromDDS},
		{"pkg/action/A_FeedbackMessage", "pkg::action::dds_::A_FeedbackMessage_", TypeToDDS, TypeFromDDS},
		{"Imu", "dds_::Imu_", TypeToDDS, TypeFromDDS},
	} {
		require.Equal(t, test.dds, test.to(test.ros))
		ros, ok := test.from(test.dds)
		require.True(t, ok, test.dds)
		require.Equal(t, test.ros, ros)
	}
	request, response := ServiceTypeToDDS("std_srvs/srv/Trigger")
	require.Equal(t, "std_srvs::srv::dds_::Trigger_Request_", request)
	require.Equal(t, "std_srvs::srv::dds_::Trigger_Response_", response)
}

func TestForeignWireNames(t *testing.T) {
	for _, name := range []string{"", "rt", "rt/", "rtx", "x/rt/a", "DCPSTopic", "ros_discovery_info"} {
		_, ok := TopicFromDDS(name)
		require.False(t, ok, name)
	}
	for _, name := range []string{"rq/Request", "rq/a", "rqaRequest", "rr/aReply", "rt/aRequest"} {
		_, ok := ServiceRequestFromDDS(name)
		require.False(t, ok, name)
	}
	for _, name := range []string{"", "dds_::_", "Imu_", "sensor_msgs::msg::dds_::Imu", "sensor_msgs::msg::Imu_"} {
		_, ok := TypeFromDDS(name)
		require.False(t, ok, name)
	}
}

func TestIsHidden(t *testing.T) {
	for name, hidden := range map[string]bool{
		"/a": false, "/a_b": false, "/_a": true, "/a/_action/status": true, "/a__b/c": false, "/_ros2cli_1": true,
	} {
		require.Equal(t, hidden, IsHidden(name), name)
	}
}

func TestCallsOnDDS(t *testing.T) {
	for topic, name := range map[string]string{"/ns/set/_request": "rq/ns/setRequest",
		"/ns/set/_reply": "rr/ns/setReply"} {
		got, ok := CallsToDDS(topic)
		require.True(t, ok)
		require.Equal(t, name, got)
		back, ok := CallsFromDDS(name)
		require.True(t, ok)
		require.Equal(t, topic, back)
	}
	_, ok := CallsToDDS("/ns/set")
	require.False(t, ok)
	_, ok = CallsFromDDS("rt/ns/setRequest")
	require.False(t, ok)
}
