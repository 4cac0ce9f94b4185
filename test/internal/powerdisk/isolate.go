package powerdisk

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Environment variables of a process that Isolate has started.
const (
	private  = "POWERDISK_PRIVATE"  // the process has its own mounts
	obstacle = "POWERDISK_OBSTACLE" // why it has none
)

// Isolate gives this process and its children their own mounts, by starting the executable again. TestMain calls it
// first. The mounts and loop devices vanish with the last process, however it ends. Without root, Isolate makes
// FileSystem.Require skip tests.
func Isolate() {
	if os.Getenv(private) != "" || os.Getenv(obstacle) != "" {
		return
	}
	runtime.LockOSThread() // the mounts belong to the thread, which exec makes the only one
	name, value := private, "1"
	if err := unshare(); err != nil {
		name, value = obstacle, err.Error()
	}
	err := os.Setenv(name, value)
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "start again with own mounts:", err)
	os.Exit(1)
}

// unshare gives this thread its own mounts.
func unshare() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare the mounts, which needs root: %w", err)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	return nil
}
