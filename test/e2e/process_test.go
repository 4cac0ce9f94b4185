// Package e2e tests the executables as processes that meet on DDS.
package e2e

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"tapedeck/test/internal/process"
)

const patient = process.Patience

var bin string // folder of the executables

func TestMain(m *testing.M) {
	process.Short("TestCalls", "TestCARLALogOverDDS", "TestControl", "TestConvertService", "TestKillAfterTheSyncInterval",
		"TestLatchedMessageFromBeforeTheRecorder", "TestNameSaysTheFormat", "TestPlayerLatches",
		"TestRealRecordingsOverDDS", "TestRecorderKilledKeepsWhatWasWritten", "TestRecorderLosesNothing",
		"TestSecurity", "TestSessionOverDDS", "TestSimulatedTimeOfThePlayer", "TestSnapshotOverService")
	process.Isolate()
	_ = flag.Set("test.parallel", "8") // tests mostly wait, and take little processor time
	os.Exit(process.Main(m, &bin, "..."))
}

// graph is the ROS domain of a test, on loopback.
type graph struct {
	t      *testing.T
	domain int
	env    []string
	dir    string // working directory of the processes
	bin    string // folder of the executables
}

// isolate returns a graph in a new domain.
func isolate(t *testing.T) *graph {
	domain := process.Domain()
	return &graph{t: t, domain: domain, dir: t.TempDir(), bin: bin, env: process.InDomain(domain)}
}

func (g *graph) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(g.dir, name)
}

func (g *graph) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = g.dir, g.env
	return cmd
}

// start starts one of tapedeck's executables.
func (g *graph) start(name string, args ...string) *process.Process {
	g.t.Helper()
	if name == "player" {
		args = slices.Concat(process.Patient, args)
	}
	return process.Start(g.t, g.command(filepath.Join(g.bin, name), args...))
}

// run runs an executable to its end, requires the exit code and returns the output.
func (g *graph) run(code int, name string, args ...string) string {
	g.t.Helper()
	return g.start(name, args...).Wait(code)
}
