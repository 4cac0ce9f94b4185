// Package hardware tests the way from devices to recordings. Simulated cameras, arms and an autopilot are published by
// nodes and recorded to sessions and bags, which are converted. The nodes and the recorder are processes on DDS.
package hardware

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
)

var bin string // folder of the executables

func TestMain(m *testing.M) {
	process.Short("TestDrive", "TestTake")
	process.Isolate()
	os.Exit(process.Main(m, &bin, "..."))
}

// graph is the ROS domain of a test, on loopback.
type graph struct {
	t      *testing.T
	domain int
	dir    string // working directory of the processes
}

// newGraph returns a graph in a new domain.
func newGraph(t *testing.T) *graph {
	return &graph{t: t, domain: process.Domain(), dir: t.TempDir()}
}

func (g *graph) path(name string) string { return filepath.Join(g.dir, name) }

// write writes a file.
func (g *graph) write(name, text string) {
	g.t.Helper()
	require.NoError(g.t, os.MkdirAll(filepath.Dir(g.path(name)), 0o777))
	require.NoError(g.t, os.WriteFile(g.path(name), []byte(text), 0o666))
}

// start starts one of tapedeck's executables.
func (g *graph) start(name string, args ...string) *process.Process {
	g.t.Helper()
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Dir, cmd.Env = g.dir, process.InDomain(g.domain)
	return process.Start(g.t, cmd)
}

// run runs an executable until it succeeds and returns its output.
func (g *graph) run(name string, args ...string) string {
	g.t.Helper()
	return g.start(name, args...).Wait(0)
}
