// Package e2e tests the executables as processes that meet on DDS.
package e2e

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	samples = "../../../shared/samples"
	patient = 90 * time.Second // for what takes a moment on a machine of one's own
)

var bin string // folder of the executables

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "tapedeck-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		// The go tool keeps a test's result until something changes that the test has looked at.
		for _, sources := range []string{"bridge", "codec", "config", "msgs", "nodes"} {
			_ = filepath.WalkDir("../../"+sources, func(string, fs.DirEntry, error) error { return nil })
		}
		bin = dir
		build := exec.Command("go", "build", "-o", dir+"/", "tapedeck/nodes/...")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the executables: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// graph is a ROS domain of a test's own, on loopback.
type graph struct {
	t   *testing.T
	env []string
	dir string // where the processes work
}

var domains atomic.Int32

// isolate joins the test's own process to a new domain too. Tests that use it do not run in parallel.
func isolate(t *testing.T) *graph {
	n := int(domains.Add(1))
	t.Setenv("ROS_DOMAIN_ID", fmt.Sprint(20+(os.Getpid()+n)%40))
	t.Setenv("ROS_LOCALHOST_ONLY", "1")
	// Other tests on this machine may have chosen the same domain.
	tag := fmt.Sprintf("<Discovery><Tag>e2e-%d-%d</Tag></Discovery>", os.Getpid(), n)
	t.Setenv("CYCLONEDDS_URI", strings.TrimPrefix(os.Getenv("CYCLONEDDS_URI")+","+tag, ","))
	return &graph{t: t, env: os.Environ(), dir: t.TempDir()}
}

func (g *graph) path(name string) string { return filepath.Join(g.dir, name) }

// process is a running executable.
type process struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	out  output        // on both streams
	std  output        // on standard output
	done chan struct{} // closed when it has ended
}

// output is what a process prints, on both streams.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (g *graph) start(name string, args ...string) *process {
	p := &process{t: g.t, name: name, cmd: exec.Command(filepath.Join(bin, name), args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = g.dir, g.env
	p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(&p.std, &p.out), &p.out
	g.launch(p, args)
	return p
}

// launch starts p, which does not outlive the test.
func (g *graph) launch(p *process, args []string) {
	g.t.Helper()
	require.NoError(g.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	g.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if g.t.Failed() {
			g.t.Logf("%s %s printed:\n%s", p.name, strings.Join(args, " "), p.out.String())
		}
	})
}

// wait waits for the end and requires that exit code.
func (p *process) wait(code int) string {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patient):
		require.FailNow(p.t, p.name+" does not end", p.out.String())
	}
	require.Equal(p.t, code, p.cmd.ProcessState.ExitCode(), p.out.String())
	return p.out.String()
}

// signal sends a signal and waits for a clean end.
func (p *process) signal(s os.Signal) string {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
	return p.wait(0)
}

// prints waits until the process has printed text.
func (p *process) prints(text string) {
	p.t.Helper()
	deadline := time.After(patient)
	for printed := false; !printed; {
		select {
		case <-p.done:
		case <-deadline:
		case <-time.After(10 * time.Millisecond):
			printed = strings.Contains(p.out.String(), text)
			continue
		}
		require.Contains(p.t, p.out.String(), text, p.name)
		return
	}
}

// run runs an executable to its end, requires that exit code and returns what it printed.
func (g *graph) run(code int, name string, args ...string) string {
	g.t.Helper()
	return g.start(name, args...).wait(code)
}
