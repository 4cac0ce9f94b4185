// Package interop tests the installed executables against the ROS 2 that is sourced, on each of its RMW
// implementations. Its tests are the rows of docs/reference/interoperation.md.
package interop

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/test/internal/process"
)

// stack is a ROS 2 stack with one RMW implementation, in a domain of its own on loopback, and our executables on one
// middleware.
type stack struct {
	t          *testing.T
	middleware string // "dds" or "rcl": ours
	rmw        string // of the stack
	domain     int
	env        []string
	dir        string  // where the processes work
	spin       float64 // s, how long the ros2 command looks at the graph
}

func TestMain(m *testing.M) {
	if os.Getenv(callerRole) != "" {
		if err := call(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if !installed() { // one skipped test says so for all
		_ = flag.Set("test.run", "^(TestInstalled|TestTable)$")
	}
	os.Exit(process.Main(m, nil))
}

func installed() bool { return find("lib/tapedeck/recorder") != "" }

// TestInstalled is skipped in place of all tests that need ROS 2 where there is none.
func TestInstalled(t *testing.T) {
	if !installed() {
		t.Skip("nothing here but TestTable runs: tapedeck is not installed in a sourced ROS 2 workspace; see test/ros2")
	}
	require.Contains(t, version(), "tapedeck ")
}

// each runs the cells of a row of the table: for each middleware of ours with each RMW implementation. With -short each
// of them is in one cell, of different vendors for dds.
func each(t *testing.T, cell func(*testing.T, *stack)) {
	t.Parallel()
	for _, middleware := range []string{"dds", "rcl"} {
		for _, rmw := range []string{"rmw_cyclonedds_cpp", "rmw_fastrtps_cpp"} {
			t.Run(middleware+"/"+rmw, func(t *testing.T) {
				if find("lib/lib"+rmw+".so") == "" {
					t.Skipf("this ROS 2 has no %s", rmw)
				}
				if testing.Short() && (middleware == "dds") != (rmw == "rmw_fastrtps_cpp") {
					t.Skip("with -short dds meets Fast DDS, and rcl runs on Cyclone DDS")
				}
				t.Parallel()
				cell(t, newStack(t, rmw).on(middleware))
			})
		}
	}
}

// find returns the first file of that name in the sourced workspaces, "" if there is none.
func find(name string) string {
	for _, prefix := range filepath.SplitList(os.Getenv("AMENT_PREFIX_PATH")) {
		path := filepath.Join(prefix, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// version is the output of --version, which names the middlewares of the build.
var version = sync.OnceValue(func() string {
	out, _ := exec.Command(find("lib/tapedeck/recorder"), "--version").CombinedOutput()
	return string(out)
})

func newStack(t *testing.T, rmw string) *stack {
	dir, domain := t.TempDir(), domain(t)
	reach, value := bridgetest.Loopback()
	return &stack{t: t, rmw: rmw, dir: dir, domain: domain, spin: 0.5, env: append(os.Environ(),
		fmt.Sprint("ROS_DOMAIN_ID=", domain), reach+"="+value, "RMW_IMPLEMENTATION="+rmw, "CYCLONEDDS_URI=",
		"ROS_LOG_DIR="+filepath.Join(dir, "log"), "PYTHONUNBUFFERED=1", "PYTHONWARNINGS=ignore",
		"RCUTILS_COLORIZED_OUTPUT=0")}
}

var domains atomic.Int32

// domain returns the id of a ROS domain in which nobody is.
func domain(t *testing.T) int {
	for range 100 {
		// Other tests, which Fast DDS would not tell apart by their tags, begin at 20.
		id := 1 + (os.Getpid()+int(domains.Add(1)))%19
		port := 7400 + 250*id
		if unused(port) && unused(port+10) {
			return id
		}
	}
	require.FailNow(t, "all ROS domains are in use")
	return 0
}

func unused(port int) bool {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func (s *stack) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stack) write(name, text string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(text), 0o644))
}

func (s *stack) start(program string, args ...string) *process.Process {
	s.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return process.Start(s.t, cmd)
}

// on returns a copy of the stack with our executables on a middleware. It skips the test where they lack it.
func (s *stack) on(middleware string) *stack {
	s.t.Helper()
	if !strings.Contains(version(), " "+middleware+" ") {
		s.t.Skipf("tapedeck was installed without %s: %s", middleware, version())
	}
	other := *s
	other.middleware = middleware
	other.env = append(s.env[:len(s.env):len(s.env)], "TAPEDECK_MIDDLEWARE="+middleware)
	return &other
}

// other returns a copy of the stack with our executables on our other middleware.
func (s *stack) other() *stack {
	s.t.Helper()
	return s.on(map[string]string{"dds": "rcl", "rcl": "dds"}[s.middleware])
}

// ours starts one of our executables.
func (s *stack) ours(name string, args ...string) *process.Process {
	s.t.Helper()
	find("lib/tapedeck/" + name + "_dds") // so that the go tool runs the test again when it has changed
	return s.start(find("lib/tapedeck/"+name), args...)
}

// python is the Python that ROS 2 uses, which need not be the first on the PATH.
const python = "/usr/bin/python3"

// ros2 starts the ros2 command.
func (s *stack) ros2(args ...string) *process.Process {
	s.t.Helper()
	return s.start("ros2", args...)
}

// run starts an executable of a package, which it skips the test without.
func (s *stack) run(pkg, name string, args ...string) *process.Process {
	s.t.Helper()
	s.needs(pkg)
	return s.start(find(filepath.Join("lib", pkg, name)), args...)
}

// needs skips the test where a package is not installed.
func (s *stack) needs(pkg string) {
	s.t.Helper()
	if find("share/"+pkg) == "" {
		s.t.Skipf("this ROS 2 has no %s", pkg)
	}
}

// look has the ros2 command look at the graph, for longer if need be, until what it prints holds all texts, and returns
// that.
func (s *stack) look(texts []string, args ...string) string {
	s.t.Helper()
	begin := time.Now()
	for ; ; s.spin = min(2*s.spin, 8) {
		// A daemon would stay.
		p := s.ros2(append(args, "--no-daemon", "--spin-time", fmt.Sprint(s.spin))...)
		p.Ended()
		var missing []string
		for _, text := range texts {
			if !strings.Contains(p.Output(), text) {
				missing = append(missing, text)
			}
		}
		if missing == nil {
			return p.Output()
		}
		require.Less(s.t, time.Since(begin), process.Patience, "ros2 %s does not print %q", strings.Join(args, " "),
			missing)
	}
}
