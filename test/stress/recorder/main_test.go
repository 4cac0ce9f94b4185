// Package recorder shows that the recorder loses nothing, or says what: when it is killed, when the power fails, when
// files follow each other quickly, when the disk is slow, full or broken. Publishers number their messages; they and
// the recorder are processes that meet on DDS.
//
// The tests try at random for a few seconds each: the same each time, unless -seed or -tries are given. With more of
// -tries they take longer. Timing is not repeated.
package recorder

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tapedeck/test/internal/disk"
	"tapedeck/test/internal/process"
)

var (
	tries = flag.Int("tries", 10, "how often to kill the recorder, cut off files and split")
	seed  = flag.Uint64("seed", 1, "of what is tried at random")

	bin  string // folder of the executables
	self string // the test's own executable, which is the source too
)

func TestMain(m *testing.M) {
	disk.Exec()
	if len(os.Args) > 1 && os.Args[1] == sourceArgument {
		if err := source(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	var err error
	self, err = os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	process.Isolate()
	os.Exit(process.Main(m, &bin, "..."))
}

// graph is a ROS domain of a test's own, on loopback.
type graph struct {
	t    *testing.T
	env  []string
	dir  string // where the processes work
	rand *rand.Rand
}

func newGraph(t *testing.T) *graph {
	name := fnv.New64()
	_, _ = io.WriteString(name, t.Name())
	random := rand.New(rand.NewPCG(*seed, name.Sum64()))
	return &graph{t: t, dir: t.TempDir(), rand: random, env: process.InDomain(process.Domain())}
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

// startOn starts a recorder on a disk with that hook, nil for the disk as it is.
func (g *graph) startOn(hook func(disk.Call) error, args ...string) *process.Process {
	g.t.Helper()
	if hook == nil {
		return g.start("recorder", args...)
	}
	return disk.Start(g.t, g.command(filepath.Join(bin, "recorder"), args...), self, g.dir, hook)
}

// between returns a random duration.
func (g *graph) between(least, most time.Duration) time.Duration {
	return least + time.Duration(g.rand.Int64N(int64(most-least)))
}
