// Package interop tests the installed executables against the sourced ROS 2, on each of its RMW implementations. Each
// test is a row of docs/reference/interoperation.md.
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

// stack is a ROS 2 stack with one RMW implementation in a new domain on loopback, with tapedeck's executables on one
// middleware.
type stack struct {
	t          *testing.T
	middleware string // of tapedeck's executables: "dds" or "rcl"
	rmw        string // RMW implementation of ROS 2
	domain     int
	env        []string
	dir        string  // working directory of the processes
	spin       float64 // seconds in which the ros2 command discovers the graph
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
	if !installed() { // only TestInstalled and TestTable run
		_ = flag.Set("test.run", "^(TestInstalled|TestTable)$")
	}
	os.Exit(process.Main(m, nil))
}

// installed reports whether tapedeck is installed in the sourced workspaces.
func installed() bool { return find("lib/tapedeck/recorder") != "" }

// TestInstalled is skipped if tapedeck is not installed in a ROS 2 workspace. The tests that need ROS 2 do not run
// then.
func TestInstalled(t *testing.T) {
	if !installed() {
		t.Skip("only TestTable runs: tapedeck is not installed in a sourced ROS 2 workspace; see test/ros2")
	}
	require.Contains(t, version(), "tapedeck ")
}

// eachCell runs the cells of a row of the table: each middleware of tapedeck with each RMW implementation. With -short,
// each middleware and each RMW implementation has one cell: dds with Fast DDS, and rcl with Cyclone DDS.
func eachCell(t *testing.T, cell func(*testing.T, *stack)) {
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

// find returns the path of the first file with this name in the sourced workspaces, or "".
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

// domain returns the id of an unused ROS domain.
func domain(t *testing.T) int {
	for range 100 {
		// Other tests use domains from 20 on. Fast DDS would not separate them by their tags.
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

// on returns a copy of the stack with tapedeck's executables on a middleware. It skips the test if they were built
// without the middleware.
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

// other returns a copy of the stack with tapedeck's executables on the other middleware.
func (s *stack) other() *stack {
	s.t.Helper()
	return s.on(map[string]string{"dds": "rcl", "rcl": "dds"}[s.middleware])
}

// ours starts one of tapedeck's executables.
func (s *stack) ours(name string, args ...string) *process.Process {
	s.t.Helper()
	find("lib/tapedeck/" + name + "_dds") // the go tool caches the test until this file changes
	return s.start(find("lib/tapedeck/"+name), args...)
}

// python is the Python of ROS 2, which need not be the first one on the PATH.
const python = "/usr/bin/python3"

// ros2 starts the ros2 command.
func (s *stack) ros2(args ...string) *process.Process {
	s.t.Helper()
	return s.start("ros2", args...)
}

// run starts an executable of a package. It skips the test if the package is not installed.
func (s *stack) run(pkg, name string, args ...string) *process.Process {
	s.t.Helper()
	s.needPackage(pkg)
	return s.start(find(filepath.Join("lib", pkg, name)), args...)
}

// needPackage skips the test if a package is not installed.
func (s *stack) needPackage(pkg string) {
	s.t.Helper()
	if find("share/"+pkg) == "" {
		s.t.Skipf("this ROS 2 has no %s", pkg)
	}
}

// awaitTexts runs a ros2 command, each time with more time for discovery, until its output has all texts. It returns
// the output.
func (s *stack) awaitTexts(texts []string, args ...string) string {
	s.t.Helper()
	begin := time.Now()
	for ; ; s.spin = min(2*s.spin, 8) {
		// A daemon would outlive the test.
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
