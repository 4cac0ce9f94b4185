//go:build !rcl && cgo

package bridgetest

import (
	"fmt"
	"os"
	"testing"

	"tapedeck/bridge/dds"
)

var open = dds.Open

// TestMain keeps the tests on this machine, in a domain that other tests on it hardly share. Where a role is
// named it plays it instead.
func TestMain(m *testing.M) {
	Roles{"flood": func() error { return inNode(open, flood) }}.Play(open)
	for name, value := range map[string]string{
		"ROS_DOMAIN_ID":      fmt.Sprint(1 + os.Getpid()%98), // those from 100 on are those of tests of bridge/dds
		"ROS_LOCALHOST_ONLY": "1",
		// A process that is not scheduled for a while does not count as gone.
		"CYCLONEDDS_URI": "<Discovery><LeaseDuration>3600s</LeaseDuration></Discovery>",
	} {
		os.Setenv(name, value)
	}
	for _, name := range []string{"ROS_DISTRO", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

func TestDDS(t *testing.T) { conform(t, open, false) }
