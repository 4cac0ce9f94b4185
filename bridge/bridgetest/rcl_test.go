//go:build rcl

package bridgetest

import (
	"os"
	"strings"
	"testing"

	"tapedeck/bridge/graph/rcl"
)

var open = rcl.Open

// TestMain plays the role of the process, if it has one. Otherwise it runs the tests.
func TestMain(m *testing.M) {
	Roles{"flood": func() error { return inNode(open, flood) }}.Play(open)
	os.Exit(RunOnROS2(m))
}

func TestRCL(t *testing.T) { conform(t, open, strings.Contains(rcl.Middleware(), "fastrtps")) }
