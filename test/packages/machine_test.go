package packages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/test/internal/process"
)

// Users of a machine.
const (
	superuser = 0
	plainUser = 1000
)

// isolate gives the test's goroutine, and the processes that it starts, mounts and a loopback interface of their own.
// When they have ended, however they end, the kernel removes both. Other goroutines of this process do not see them.
// isolate returns a folder of plainUser. It has the same path in all machines of the test, as have all folders of
// t.TempDir.
func isolate(t *testing.T) (shared string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a Debian system is made by root")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("packages are tested on amd64, which also runs those for arm64 by qemu")
	}
	for _, program := range []string{"debootstrap", "unshare", "chroot"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("test/install packages installs it: ", err)
		}
	}
	runtime.LockOSThread() // for ever: the thread ends with the goroutine
	err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET)
	if err != nil {
		t.Skip("cannot mount and make networks, as in a container without privileges: ", err)
	}
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	require.NoError(t, os.MkdirAll(machines(), 0o755))
	require.NoError(t, unix.Mount("machines", machines(), "tmpfs", 0, "mode=755"))
	// While it is mounted anywhere, the kernel knows the qemu that the script root registers; without it, arm64 fails.
	_ = unix.Mount("binfmt_misc", "/proc/sys/fs/binfmt_misc", "binfmt_misc", 0, "")
	startLoopback(t)

	shared = t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(shared), 0o755))
	require.NoError(t, os.Chown(shared, plainUser, plainUser))
	return shared
}

func startLoopback(t *testing.T) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	require.NoError(t, err)
	loopback.SetUint16(unix.IFF_UP | unix.IFF_MULTICAST)
	require.NoError(t, unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback))
}

func work() string { return filepath.Join(process.Root(), "build", "test-packages") }

// machines returns the folder in which isolate mounts memory for what machines change.
func machines() string { return filepath.Join(work(), "machines") }

// machine is a minimal Debian system. It exists as long as the goroutine of its test.
type machine struct {
	t      *testing.T
	root   string
	shared string   // as isolate returned it; the working directory
	env    []string // of all processes
}

// newMachine returns a machine with further packages of its distribution.
func newMachine(t *testing.T, shared, suite, arch string, packages ...string) *machine {
	t.Helper()
	if arch == "arm64" {
		if _, err := exec.LookPath("qemu-aarch64-static"); err != nil {
			t.Skip("test/install packages installs it: ", err)
		}
	}
	script := exec.Command(filepath.Join(process.Root(), "test", "packages", "root"),
		slices.Concat([]string{suite, arch}, packages)...)
	script.Stderr = os.Stderr
	var lower []byte
	var err error
	made := make(chan struct{})
	go func() { // which has the network that isolate has taken from the goroutine of the test
		defer close(made)
		lower, err = script.Output()
	}()
	<-made
	require.NoError(t, err)

	top, err := os.MkdirTemp(machines(), suite)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(top, 0o755))
	m := &machine{t: t, root: filepath.Join(top, "root"), shared: shared, env: []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + shared,
		"TAPEDECK_TEST_RUN=" + os.Getenv("TAPEDECK_TEST_RUN"), // lets process.Main find it
	}}
	if arch == "arm64" {
		m.env = append(m.env, "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST") // qemu-user has no IP_MULTICAST_IF
	}
	upper, work := filepath.Join(top, "upper"), filepath.Join(top, "work")
	for _, dir := range []string{m.root, upper, work} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	require.NoError(t, unix.Mount("overlay", m.root, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s",
		strings.TrimSpace(string(lower)), upper, work)))
	require.NoError(t, unix.Mount("proc", m.path("/proc"), "proc", 0, ""))
	m.mountDevices()
	temporary := filepath.Dir(shared) // also has later folders of t.TempDir
	require.NoError(t, os.MkdirAll(m.path(temporary), 0o755))
	require.NoError(t, unix.Mount(temporary, m.path(temporary), "", unix.MS_BIND, ""))
	return m
}

// mountDevices makes the devices of containers. The machine does not get /dev of this system, where tests could do
// harm.
func (m *machine) mountDevices() {
	m.t.Helper()
	require.NoError(m.t, unix.Mount("dev", m.path("/dev"), "tmpfs", 0, "mode=755"))
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		path := m.path("/dev/" + name)
		require.NoError(m.t, unix.Mknod(path, unix.S_IFCHR, int(unix.Mkdev(1, minor))))
		require.NoError(m.t, os.Chmod(path, 0o666))
	}
	require.NoError(m.t, os.Symlink("/proc/self/fd", m.path("/dev/fd")))
	require.NoError(m.t, os.Mkdir(m.path("/dev/shm"), 0o755))
	require.NoError(m.t, os.Chmod(m.path("/dev/shm"), 0o777|os.ModeSticky))
}

// path returns the path that a file of the machine has for the test.
func (m *machine) path(inside string) string { return filepath.Join(m.root, inside) }

// with returns the machine with further environment variables.
func (m *machine) with(env ...string) *machine {
	more := *m
	more.env = slices.Concat(m.env, env)
	return &more
}

// command returns a command that runs in the machine as a user, in the folder shared.
func (m *machine) command(user int, args ...string) *exec.Cmd {
	env := m.env
	if user == superuser {
		env = slices.Concat(env, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"})
	}
	// The directory is changed after the root is.
	return exec.Command("chroot", slices.Concat([]string{fmt.Sprintf("--userspec=%d:%[1]d", user), m.root,
		"/usr/bin/env", "-i", "-C", m.shared}, env, args)...)
}

// start starts a program of the machine.
func (m *machine) start(user int, args ...string) *process.Process {
	m.t.Helper()
	return process.Start(m.t, m.command(user, args...))
}

// run runs a program of the machine to its end and returns the output.
func (m *machine) run(user int, args ...string) string {
	m.t.Helper()
	return m.start(user, args...).Wait(0)
}
