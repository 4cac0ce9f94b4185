// Package powerdisk serves a disk image in memory by FUSE, keeps the history of its writes and flushes, and mounts
// states that a power cut could have left. It needs root, loop devices and the programs that make file systems.
package powerdisk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Disk is a mounted disk in memory. Its history has everything that reached it.
type Disk struct {
	Dir string // where the file system is mounted

	t        testing.TB
	system   FileSystem
	server   *server
	recorder *recorder
	folders  folders
	device   *os.File // loop device; nil after Unmount
}

// folders are the folders of a server and of a mounted file system.
type folders struct{ images, mounted string }

// newFolders mounts a server. The server ends with the test.
func newFolders(t testing.TB) (folders, *server) {
	dir, err := os.MkdirTemp("", "tapedeck-power-")
	require.NoError(t, err)
	f := folders{filepath.Join(dir, "images"), filepath.Join(dir, "disk")}
	require.NoError(t, errors.Join(os.Mkdir(f.images, 0o700), os.Mkdir(f.mounted, 0o700)))
	s, err := serve(f.images)
	require.NoError(t, err)
	t.Cleanup(func() {
		if unix.Unmount(f.images, 0) != nil {
			_ = unix.Unmount(f.images, unix.MNT_DETACH)
		}
		for _, path := range []string{f.images, f.mounted, dir} {
			_ = os.Remove(path) // and never what is below a mount
		}
	})
	return f, s
}

// New returns a disk with an empty file system. It is unmounted at the end of the test at the latest.
func New(t *testing.T, system FileSystem) *Disk {
	t.Helper()
	system.Require(t)
	if system.Size == 0 {
		system.Size = 512 << 20
	}
	content, err := allocate(system.Size)
	require.NoError(t, err)
	d := &Disk{t: t, system: system, recorder: &recorder{content: content, log: Log{Size: system.Size}}}
	d.folders, d.server = newFolders(t)
	d.Dir = d.folders.mounted
	t.Cleanup(func() { _ = free(content) })
	d.server.add("disk", d.recorder)
	d.device, err = attach(filepath.Join(d.folders.images, "disk"), system.Direct)
	require.NoError(t, err)
	t.Cleanup(d.release)
	require.NoError(t, system.format(d.device.Name()))
	require.NoError(t, system.mount(d.device.Name(), d.Dir))
	d.Sync()
	return d
}

// Sync makes everything durable that was written to the disk.
func (d *Disk) Sync() {
	d.t.Helper()
	folder, err := os.Open(d.Dir)
	require.NoError(d.t, err)
	defer folder.Close()
	require.NoError(d.t, unix.Syncfs(int(folder.Fd())))
}

// Fault calls hook for each later request before the disk executes it. The request takes as long as the hook. It fails
// if the hook returns a syscall.Errno. A nil hook is none. Several goroutines call hook at once.
func (d *Disk) Fault(hook func(*Request) error) {
	d.recorder.mu.Lock()
	defer d.recorder.mu.Unlock()
	d.recorder.fault = hook
}

// TurnReadOnly makes the file system believe that it is damaged. It must be ext4 with the option errors=remount-ro.
func (d *Disk) TurnReadOnly() error {
	trigger := filepath.Join("/sys/fs/ext4", filepath.Base(d.device.Name()), "trigger_fs_error")
	return os.WriteFile(trigger, []byte("a test"), 0o200)
}

// Position returns the position of the last start or end of a request.
func (d *Disk) Position() int64 {
	d.recorder.mu.Lock()
	defer d.recorder.mu.Unlock()
	return d.recorder.log.Position
}

// Unmount unmounts the disk and returns its history. Nothing may use the disk any more.
func (d *Disk) Unmount() *Log {
	d.t.Helper()
	require.NoError(d.t, unmount(d.Dir), "unmount %s", d.Dir)
	d.device.Close()
	d.device = nil
	if d.system.Kind == "btrfs" {
		forget()
	}
	d.recorder.mu.Lock() // after the last request
	defer d.recorder.mu.Unlock()
	return &d.recorder.log
}

// release unmounts the disk, whatever uses it.
func (d *Disk) release() {
	if d.device == nil {
		return
	}
	_ = unix.Unmount(d.Dir, unix.MNT_DETACH)
	d.device.Close()
}

// Viewer mounts the states that power cuts leave.
type Viewer struct {
	Dir string // where a state is mounted

	system  FileSystem
	server  *server
	folders folders
	device  *os.File // loop device; nil while no state is mounted
}

// NewViewer returns a viewer of disks with a file system. It ends with the test.
func NewViewer(t *testing.T, system FileSystem) *Viewer {
	t.Helper()
	system.Require(t)
	v := &Viewer{system: system}
	v.folders, v.server = newFolders(t)
	v.Dir = v.folders.mounted
	t.Cleanup(func() {
		if v.device != nil {
			_ = unix.Unmount(v.Dir, unix.MNT_DETACH)
			v.device.Close()
		}
	})
	return v
}

// Mount mounts the state after a power cut that has kept the pieces. The file system repairs itself as after a real
// power cut. An error means that it cannot be mounted.
func (v *Viewer) Mount(c *Crashes, cut Cut, kept []Piece) error {
	const name = "state"
	v.server.remove(name)
	v.server.add(name, c.state(cut, kept))
	device, err := attach(filepath.Join(v.folders.images, name), false)
	if err != nil {
		return err
	}
	err = v.system.mount(device.Name(), v.Dir)
	if err != nil {
		device.Close()
		v.forget()
		return err
	}
	v.device = device
	return nil
}

// Unmount unmounts the state. With check it looks for damage in the file system, and returns it.
func (v *Viewer) Unmount(check bool) error {
	err := unmount(v.Dir)
	if err == nil && check {
		err = v.system.check(v.device.Name())
	}
	v.device.Close()
	v.device = nil
	v.forget()
	return err
}

func (v *Viewer) forget() {
	if v.system.Kind == "btrfs" {
		forget()
	}
}
