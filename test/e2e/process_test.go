// Package e2e tests the executables as processes that meet on DDS.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tapedeck/test/internal/process"
)

const (
	samples = "../../../shared/samples"
	patient = process.Patience
)

var bin string // folder of the executables

func TestMain(m *testing.M) {
	// Other tests on this machine may choose the same domains. A process that is not there for a while is not taken for dead.
	config := fmt.Sprintf("<Discovery><Tag>e2e-%d</Tag><LeaseDuration>3600s</LeaseDuration></Discovery>", os.Getpid())
	config = strings.TrimPrefix(os.Getenv("CYCLONEDDS_URI")+","+config, ",")
	for name, value := range map[string]string{"ROS_LOCALHOST_ONLY": "1", "CYCLONEDDS_URI": config} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	_ = flag.Set("test.parallel", "8") // processors are not what the tests wait for
	os.Exit(process.Main(m, &bin, "..."))
}

// graph is a ROS domain of a test's own, on loopback.
type graph struct {
	t      *testing.T
	domain int
	env    []string
	dir    string // where the processes work
}

var domains atomic.Int32

// isolate returns a new domain.
func isolate(t *testing.T) *graph {
	domain := 20 + (os.Getpid()+int(domains.Add(1)))%80 // those of the tests of bridge/dds, which count ports, begin at 100
	return &graph{t: t, domain: domain, dir: t.TempDir(), env: append(os.Environ(), fmt.Sprintf("ROS_DOMAIN_ID=%d", domain))}
}

func (g *graph) path(name string) string { return filepath.Join(g.dir, name) }

func (g *graph) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = g.dir, g.env
	return cmd
}

// start starts one of our executables.
func (g *graph) start(name string, args ...string) *process.Process {
	g.t.Helper()
	return process.Start(g.t, g.command(filepath.Join(bin, name), args...))
}

// run runs an executable to its end, requires that exit code and returns what it printed.
func (g *graph) run(code int, name string, args ...string) string {
	g.t.Helper()
	return g.start(name, args...).Wait(code)
}
