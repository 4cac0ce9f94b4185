// Package player tests that the player plays all recorded messages in order: with random seeks, pauses and rates on a
// busy machine, in loops, with late subscribers, and from real recordings of every format. The player is a process, and
// the tests subscribe on DDS.
package player

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/test/internal/process"
)

var bin string // folder of the player

func TestMain(m *testing.M) {
	process.Short("TestControls", "TestFirstMessage", "TestLockStep")
	process.Isolate()
	os.Exit(process.Main(m, &bin, "player"))
}

// graph is the ROS domain of a test, on loopback. The test is a node in the domain.
type graph struct {
	t      *testing.T
	domain int
	node   bridge.Node
	dir    string
}

func newGraph(t *testing.T) *graph {
	g := &graph{t: t, domain: process.Domain(), dir: t.TempDir()}
	g.node = g.open("listener")
	return g
}

// open returns another node of the test.
func (g *graph) open(name string) bridge.Node {
	node, err := dds.Open(bridge.Options{Name: name, Domain: g.domain})
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, node.Close()) })
	return node
}

// player starts a player without keyboard controls.
func (g *graph) player(args ...string) *process.Process {
	g.t.Helper()
	args = slices.Concat(args, process.Patient, []string{"--disable-keyboard-controls"})
	cmd := exec.Command(filepath.Join(bin, "player"), args...)
	cmd.Dir, cmd.Env = g.dir, process.InDomain(g.domain)
	return process.Start(g.t, cmd)
}

// call calls a service of the player, and decodes the reply into response unless response is nil.
func (g *graph) call(service, typeName string, request, response msgs.Message) {
	g.t.Helper()
	payload, err := cdr.Marshal(request)
	require.NoError(g.t, err)
	ctx, cancel := context.WithTimeout(g.t.Context(), process.Patience)
	defer cancel()
	payload, err = g.node.Call(ctx, "/player/"+service, "rosbag2_interfaces/srv/"+typeName, payload)
	require.NoError(g.t, err)
	if response != nil {
		require.NoError(g.t, cdr.Unmarshal(payload, response))
	}
}
