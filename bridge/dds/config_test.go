package dds

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

func TestDomainID(t *testing.T) {
	for _, test := range []struct {
		domain int
		env    string
		want   int
		err    string
	}{
		{-1, "", 0, ""},
		{-1, "42", 42, ""},
		{7, "42", 7, ""},
		{-1, "x", 0, `ROS_DOMAIN_ID is "x", want a number from 0 to 232`},
		{-1, "-3", 0, `ROS_DOMAIN_ID is "-3", want a number from 0 to 232`},
		{-1, "233", 0, "domain id 233 is too large, ports go up to 232"},
		{233, "", 0, "domain id 233 is too large, ports go up to 232"},
	} {
		got, err := domainID(test.domain, func(string) string { return test.env })
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
}

func TestConfiguration(t *testing.T) {
	wrap := func(s string) string { return ",<CycloneDDS><Domain>" + s + "</Domain></CycloneDDS>" }
	loopback := wrap(`<General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces></General>`)
	unicast := wrap("<General><AllowMulticast>false</AllowMulticast></General>")
	localhost := unicast + wrap(`<Discovery><Peers><Peer address="localhost"/></Peers></Discovery>`)
	base, _ := configuration(0, func(string) string { return "" })
	for _, test := range []struct {
		name    string
		env     map[string]string
		want    string
		warning string
	}{
		{"nothing", nil, "", ""},
		{"localhost only", map[string]string{"ROS_LOCALHOST_ONLY": "1"}, loopback, ""},
		{"not localhost only", map[string]string{"ROS_LOCALHOST_ONLY": "0"}, "", ""},
		{"localhost only in Humble", map[string]string{"ROS_LOCALHOST_ONLY": "1", "ROS_DISTRO": "humble"}, loopback, ""},
		{"localhost only in Jazzy", map[string]string{"ROS_LOCALHOST_ONLY": "1", "ROS_DISTRO": "jazzy", "ROS_STATIC_PEERS": "a"}, localhost, ""},
		{"localhost", map[string]string{"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, localhost, ""},
		{"localhost with peers", map[string]string{"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_STATIC_PEERS": "10.0.0.1; a<b;"},
			unicast + wrap(`<Discovery><Peers><Peer address="localhost"/><Peer address="10.0.0.1"/><Peer address="a&lt;b"/></Peers></Discovery>`), ""},
		{"subnet with peers", map[string]string{"ROS_STATIC_PEERS": "10.0.0.1"},
			wrap(`<Discovery><Peers><Peer address="10.0.0.1"/></Peers></Discovery>`), ""},
		{"system default", map[string]string{"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT", "ROS_STATIC_PEERS": "10.0.0.1"}, "", ""},
		{"off", map[string]string{"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"},
			wrap("<General><AllowMulticast>false</AllowMulticast></General>" + fmt.Sprintf(
				"<Discovery><ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_%d</Tag></Discovery>", os.Getpid())), ""},
		{"misspelt", map[string]string{"ROS_AUTOMATIC_DISCOVERY_RANGE": "local"}, localhost,
			`ROS_AUTOMATIC_DISCOVERY_RANGE is "local", want OFF, LOCALHOST, SUBNET or SYSTEM_DEFAULT; going on with LOCALHOST`},
		{"the user's last", map[string]string{"CYCLONEDDS_URI": "file:///x", "ROS_LOCALHOST_ONLY": "1"}, loopback + ",file:///x", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, warning := configuration(0, func(name string) string { return test.env[name] })
			require.Equal(t, base+test.want, got)
			require.Equal(t, test.warning, warning)
		})
	}
	last, _ := configuration(232, func(string) string { return "" })
	require.Contains(t, last, "<MaxAutoParticipantIndex>62<", "ports go up to 65535")
}

func TestReceiveBufferHint(t *testing.T) {
	require.Contains(t, receiveBufferHint("212992\n"), "sudo sysctl -w net.core.rmem_max=16777216")
	require.Empty(t, receiveBufferHint("16777216\n"))
	require.Empty(t, receiveBufferHint("33554432\n"))
	require.Empty(t, receiveBufferHint("?"))
}

// TestDiscoveryRange has two processes find each other, or not, by what the environment says.
func TestDiscoveryRange(t *testing.T) {
	for _, test := range []struct {
		name, variable, value string
		found                 bool
	}{
		{"localhost only", "ROS_LOCALHOST_ONLY", "1", true},
		{"localhost", "ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST", true},
		{"subnet", "ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET", true},
		{"off", "ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("ROS_LOCALHOST_ONLY", "")
			t.Setenv(test.variable, test.value)
			n := newNode(t, "observer")
			start(t, "server")
			if !test.found {
				require.Never(t, func() bool { return len(publishersOf(n, "/test/numbers")) > 0 }, quiet, 10e6)
				return
			}
			topicOf(t, n, "/test/numbers", func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })
		})
	}
}

func TestBadConfiguration(t *testing.T) {
	t.Setenv("CYCLONEDDS_URI", "<CycloneDDS><Domain><Nonsense/></Domain></CycloneDDS>")
	_, err := Open(bridge.Options{Name: "node", Domain: -1})
	require.ErrorContains(t, err, "open node /node: create DDS domain")
	require.ErrorContains(t, err, "Nonsense")
	t.Setenv("CYCLONEDDS_URI", "")
	newNode(t, "node")
}
