// Package recorder tests that the recorder loses nothing or reports its losses: when it is killed, when the power
// fails, when files follow each other quickly, and when the disk is slow, full or broken. Publishers number their
// messages. The publishers and the recorder are processes that meet on DDS.
//
// Each test takes a few seconds, and longer with more -tries. Equal values of -seed and -tries repeat the random
// choices, but not the timing.
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
	tries = flag.Int("tries", 10, "number of kills, power failures and splits")
	seed  = flag.Uint64("seed", 1, "seed of random choices")

	bin  string // folder of the executables
	self string // path of the test's own executable, which also publishes
)

func TestMain(m *testing.M) {
	disk.Exec()
	if len(os.Args) > 1 && os.Args[1] == publisherArgument {
		if err := publishLoad(os.Args[2]); err != nil {
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

// graph is the ROS domain of one test, on loopback.
type graph struct {
	t    *testing.T
	env  []string // environment of the processes
	dir  string   // working directory of the processes
	rand *rand.Rand
}

// newGraph returns a graph whose random choices depend on -seed and the test's name.
func newGraph(t *testing.T) *graph {
	name := fnv.New64()
	_, _ = io.WriteString(name, t.Name())
	random := rand.New(rand.NewPCG(*seed, name.Sum64()))
	return &graph{t: t, dir: t.TempDir(), rand: random, env: process.InDomain(process.Domain())}
}

func (g *graph) path(name string) string { return filepath.Join(g.dir, name) }

// command returns a command in the graph.
func (g *graph) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = g.dir, g.env
	return cmd
}

// start starts one of tapedeck's executables.
func (g *graph) start(name string, args ...string) *process.Process {
	g.t.Helper()
	return process.Start(g.t, g.command(filepath.Join(bin, name), args...))
}

// startOn starts a recorder. Unless hook is nil, each of the recorder's writes and syncs in g.dir calls hook.
func (g *graph) startOn(hook func(disk.Call) error, args ...string) *process.Process {
	g.t.Helper()
	if hook == nil {
		return g.start("recorder", args...)
	}
	return disk.Start(g.t, g.command(filepath.Join(bin, "recorder"), args...), self, g.dir, hook)
}

// between returns a random duration of at least least and less than most.
func (g *graph) between(least, most time.Duration) time.Duration {
	return least + time.Duration(g.rand.Int64N(int64(most-least)))
}
