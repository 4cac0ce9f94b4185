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

// TestMain plays the role of the process, if it has one. Otherwise it runs the tests. Nodes communicate only on this
// machine. A tag keeps out nodes of other tests in the same domain.
func TestMain(m *testing.M) {
	Roles{"flood": func() error { return inNode(open, flood) }}.Play(open)
	for name, value := range map[string]string{
		"ROS_DOMAIN_ID":      fmt.Sprint(1 + os.Getpid()%98), // tests of bridge/graph/dds use the domains from 100 on
		"ROS_LOCALHOST_ONLY": "1",
		// The tag has a random number because containers may share the network and repeat process ids. The long lease
		// keeps a process alive in the graph that is not scheduled for a while.
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
