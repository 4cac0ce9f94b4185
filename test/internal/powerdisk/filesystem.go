package powerdisk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/test/internal/process"
)

// FileSystem is how a disk is formatted and mounted.
type FileSystem struct {
	Name    string // of the configuration
	Kind    string // ext4, xfs or btrfs
	Options string // of mount
	Direct  bool   // the loop device does direct I/O
	Size    int64  // in bytes; 0 is 512 MiB. xfs needs 300 MiB
}

// FileSystems are the tested configurations.
var FileSystems = []FileSystem{
	{Name: "ext4", Kind: "ext4"},
	{Name: "xfs", Kind: "xfs"},
	{Name: "btrfs", Kind: "btrfs"},
	{Name: "ext4-direct", Kind: "ext4", Direct: true},
	{Name: "ext4-writeback", Kind: "ext4", Options: "data=writeback"},
	{Name: "ext4-journal", Kind: "ext4", Options: "data=journal"},
}

// programs has for each kind of file system the command that makes it and the command that checks it.
var programs = map[string]struct{ make, check []string }{
	"ext4":  {[]string{"mkfs.ext4", "-q", "-F", "-E", "nodiscard"}, []string{"e2fsck", "-f", "-n"}},
	"xfs":   {[]string{"mkfs.xfs", "-q", "-f", "-K"}, []string{"xfs_repair", "-n"}},
	"btrfs": {[]string{"mkfs.btrfs", "-q", "-f", "-K"}, []string{"btrfs", "check", "--readonly"}},
}

// Require skips the test unless this machine can make such disks. The reason names what is missing.
func (f FileSystem) Require(t *testing.T) {
	t.Helper()
	if os.Getenv(private) == "" {
		t.Skip("cannot mount disks: " + os.Getenv(obstacle))
	}
	for _, path := range []string{"/dev/fuse", "/dev/loop-control"} {
		device, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Skip("cannot mount disks: ", err)
		}
		device.Close()
	}
	for _, command := range [][]string{programs[f.Kind].make, programs[f.Kind].check} {
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Skipf("cannot make disks with %s: %v (Debian: e2fsprogs, xfsprogs, btrfs-progs)", f.Kind, err)
		}
	}
	_ = exec.Command("modprobe", f.Kind).Run() // mount(2) loads the module, too, unless modprobe is missing
	known, err := os.ReadFile("/proc/filesystems")
	require.NoError(t, err)
	if !strings.Contains(string(known), "\t"+f.Kind+"\n") {
		t.Skip("the kernel does not have " + f.Kind)
	}
}

// format makes the file system on a device. mkfs.btrfs also looks at the loop devices of other mounted disks, and fails
// if one is freed meanwhile.
func (f FileSystem) format(device string) error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := run(programs[f.Kind].make, device)
		if err == nil || !strings.Contains(err.Error(), "cannot check mount status") ||
			time.Since(began) > process.Patience {
			return err
		}
	}
}

// check looks for damage in the file system on a device.
func (f FileSystem) check(device string) error { return run(programs[f.Kind].check, device) }

// run runs a command on a device.
func run(command []string, device string) error {
	out, err := exec.Command(command[0], append(command[1:len(command):len(command)], device)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", command[0], device, err, out)
	}
	return nil
}

func (f FileSystem) mount(device, folder string) error {
	options := f.Options
	if f.Kind == "xfs" { // the states of a disk have one UUID
		options = strings.TrimPrefix(options+",nouuid", ",")
	}
	if err := unix.Mount(device, folder, f.Kind, unix.MS_NOATIME, options); err != nil {
		return fmt.Errorf("mount %s: %w", f.Name, err)
	}
	return nil
}

// unmount unmounts a folder as soon as no process uses it.
func unmount(folder string) error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Unmount(folder, 0)
		if !errors.Is(err, unix.EBUSY) || time.Since(began) > process.Patience {
			return err
		}
	}
}
