package v4l2_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/internal/kernel"
)

// TestKernelNodes lists a folder laid out as sysfs is for a webcam with two nodes, a camera of a system on chip, and
// a file that is not a video node.
func TestKernelNodes(t *testing.T) {
	sys := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(sys, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o666))
	}
	node := func(device, name, title string) {
		folder := filepath.Join("devices", device, "video4linux", name)
		write(filepath.Join(folder, "name"), title)
		require.NoError(t, os.Symlink(filepath.Join(sys, "devices", device), filepath.Join(sys, folder, "device")))
		class := filepath.Join(sys, "class", "video4linux")
		require.NoError(t, os.MkdirAll(class, 0o777))
		require.NoError(t, os.Symlink(filepath.Join(sys, folder), filepath.Join(class, name)))
	}
	const usb = "pci0000:00/0000:00:14.0/usb1/1-2"
	write("devices/"+usb+"/idVendor", "046d")
	write("devices/"+usb+"/serial", "8A2F (b)/1")
	node(usb+"/1-2:1.0", "video10", "HD Pro Webcam C920")
	node(usb+"/1-2:1.0", "video2", "HD Pro Webcam C920")
	node("platform/rkisp0-vir0", "video0", "rkisp_mainpath")
	node("platform/rkisp0-vir0", "v4l-subdev0", "m00_b_imx415")

	nodes, err := v4l2.Kernel{Sys: sys}.Nodes()
	require.NoError(t, err)
	require.Equal(t, []v4l2.Node{
		{Path: "/dev/video0", Name: "rkisp_mainpath", Port: "rkisp0-vir0"},
		{Path: "/dev/video2", Name: "HD Pro Webcam C920", Serial: "8A2F__b__1", Port: "1-2"},
		{Path: "/dev/video10", Name: "HD Pro Webcam C920", Serial: "8A2F__b__1", Port: "1-2"},
	}, nodes)

	nodes, err = v4l2.Kernel{Sys: filepath.Join(sys, "without")}.Nodes()
	require.NoError(t, err)
	require.Empty(t, nodes)
	_, err = v4l2.Kernel{Sys: filepath.Join(sys, "devices", usb, "serial")}.Nodes()
	require.Error(t, err)
}

// pipe returns a named pipe, which can be polled like a camera.
func pipe(t *testing.T) (path string, device v4l2.Device) {
	path = filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o666))
	device, err := v4l2.Kernel{}.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { device.Close() })
	return path, device
}

func TestKernelPoll(t *testing.T) {
	path, device := pipe(t)
	ready, err := device.Poll(time.Millisecond)
	require.NoError(t, err)
	require.False(t, ready)

	device.Wake() // before
	_, err = device.Poll(patience)
	require.ErrorIs(t, err, unix.ECANCELED)

	var wait sync.WaitGroup
	defer wait.Wait()
	soon := func(do func()) {
		wait.Go(func() {
			time.Sleep(10 * time.Millisecond) // likely while Poll waits; it returns either way
			do()
		})
	}
	soon(device.Wake)
	_, err = device.Poll(time.Duration(1<<63 - 1))
	require.ErrorIs(t, err, unix.ECANCELED)
	soon(func() {
		if err := os.WriteFile(path, []byte{1}, 0); err != nil {
			t.Error(err)
		}
	})
	ready, err = device.Poll(time.Duration(1<<63 - 1))
	require.NoError(t, err)
	require.True(t, ready)
	wait.Wait()
	require.NoError(t, device.Close())
	require.NoError(t, device.Close())
	device.Wake() // after
}

func TestKernelOpen(t *testing.T) {
	path, _ := pipe(t)
	_, err := v4l2.Open(nil, path)
	require.ErrorIs(t, err, unix.ENOTTY)
	require.EqualError(t, err, path+" is not a video device: inappropriate ioctl for device")
	_, err = v4l2.Open(nil, path+"2")
	require.ErrorIs(t, err, unix.ENOENT)
}

func TestKernelMmap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 8192), 0o666))
	device, err := v4l2.Kernel{}.Open(path)
	require.NoError(t, err)
	memory, err := device.Mmap(4096, 100)
	require.NoError(t, err)
	memory[99] = 7
	require.NoError(t, device.Munmap(memory))
	require.NoError(t, device.Close())
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.EqualValues(t, 7, written[4096+99])
}

func TestKernelAllocations(t *testing.T) {
	_, device := pipe(t)
	var buffer kernel.Buffer
	require.Zero(t, testing.AllocsPerRun(10, func() {
		ready, err := device.Poll(0)
		if ready || err != nil || device.Ioctl(kernel.VIDIOC_DQBUF, unsafe.Pointer(&buffer)) == nil ||
			device.Now(unix.CLOCK_REALTIME) == 0 {
			t.Error("a pipe is no camera")
		}
	}))
}

func TestKernelNow(t *testing.T) {
	_, device := pipe(t)
	before := device.Now(unix.CLOCK_MONOTONIC)
	require.LessOrEqual(t, before, device.Now(unix.CLOCK_MONOTONIC))
	require.InDelta(t, time.Now().UnixNano(), device.Now(unix.CLOCK_REALTIME), float64(time.Hour))
}
