//go:build !rcl && cgo

package bridgetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"tapedeck/bridge/graph/dds"
)

var open = dds.Open

// TestMain keeps the tests on this machine, and nodes of other tests in the same domain out by a tag. Where a role is
// named it plays it instead.
func TestMain(m *testing.M) {
	Roles{"flood": func() error { return inNode(open, flood) }}.Play(open)
	for name, value := range map[string]string{
		"ROS_DOMAIN_ID":      fmt.Sprint(1 + os.Getpid()%98), // those from 100 on are those of tests of bridge/graph/dds
		"ROS_LOCALHOST_ONLY": "1",
		// Process ids repeat in containers, which may share the network. A process that is not scheduled for a while
		// does not count as gone.
		"CYCLONEDDS_URI": fmt.Sprintf("<Discovery><Tag>conformance-%d-%08x</Tag><LeaseDuration>3600s</LeaseDuration>"+
			"</Discovery>", os.Getpid(), rand.Uint32()),
	} {
		os.Setenv(name, value)
	}
	for _, name := range []string{"ROS_DISTRO", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

func TestDDS(t *testing.T) { conform(t, open, false) }
