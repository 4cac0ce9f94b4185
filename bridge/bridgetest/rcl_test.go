//go:build rcl

package bridgetest

import (
	"os"
	"strings"
	"testing"

	"tapedeck/bridge/graph/rcl"
)

var open = rcl.Open

// TestMain plays the role that is named, if there is one: the other process of a test.
func TestMain(m *testing.M) {
	Roles{"flood": func() error { return inNode(open, flood) }}.Play(open)
	os.Exit(RunOnROS2(m))
}

func TestRCL(t *testing.T) { conform(t, open, strings.Contains(rcl.Middleware(), "fastrtps")) }
