package v4l2_test

import (
	"math"
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

// TestKernelNodes checks the nodes that Kernel reads from a folder with sysfs's layout. The folder has a USB webcam
// with two video nodes, and a platform camera with a video node and a subdevice, which is not a video node.
func TestKernelNodes(t *testing.T) {
	sys := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(sys, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o666))
	}
	addNode := func(device, node, name string) {
		folder := filepath.Join("devices", device, "video4linux", node)
		write(filepath.Join(folder, "name"), name)
		require.NoError(t, os.Symlink(filepath.Join(sys, "devices", device), filepath.Join(sys, folder, "device")))
		class := filepath.Join(sys, "class", "video4linux")
		require.NoError(t, os.MkdirAll(class, 0o777))
		require.NoError(t, os.Symlink(filepath.Join(sys, folder), filepath.Join(class, node)))
	}
	const usb = "pci0000:00/0000:00:14.0/usb1/1-2"
	write("devices/"+usb+"/idVendor", "046d")
	write("devices/"+usb+"/serial", "8A2F (b)/1")
	addNode(usb+"/1-2:1.0", "video10", "HD Pro Webcam C920")
	addNode(usb+"/1-2:1.0", "video2", "HD Pro Webcam C920")
	addNode("platform/rkisp0-vir0", "video0", "rkisp_mainpath")
	addNode("platform/rkisp0-vir0", "v4l-subdev0", "m00_b_imx415")

	nodes, err := v4l2.Kernel{Sys: sys}.Nodes()
	require.NoError(t, err)
	require.Equal(t, []v4l2.Node{
		{Path: "/dev/video0", Name: "rkisp_mainpath", Port: "rkisp0-vir0"},
		{Path: "/dev/video2", Name: "HD Pro Webcam C920", Serial: "8A2F__b__1", Port: "1-2"},
		{Path: "/dev/video10", Name: "HD Pro Webcam C920", Serial: "8A2F__b__1", Port: "1-2"},
	}, nodes)

	nodes, err = v4l2.Kernel{Sys: filepath.Join(sys, "missing")}.Nodes()
	require.NoError(t, err, "a machine without video drivers has no nodes")
	require.Empty(t, nodes)
	file := filepath.Join(sys, "devices", usb, "serial")
	_, err = v4l2.Kernel{Sys: file}.Nodes()
	require.Error(t, err, "a file in place of the folder cannot be listed")
}

// openPipe creates a named pipe and opens it as a device. Poll works on a pipe as on a camera; ioctls fail.
func openPipe(t *testing.T) (path string, device v4l2.Device) {
	path = filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o666))
	device, err := v4l2.Kernel{}.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { device.Close() })
	return path, device
}

// TestKernelPoll checks that Poll returns at its timeout, after Wake, and when there is data.
func TestKernelPoll(t *testing.T) {
	path, device := openPipe(t)
	ready, err := device.Poll(time.Millisecond)
	require.NoError(t, err)
	require.False(t, ready, "the pipe has no data")

	device.Wake()
	_, err = device.Poll(patience)
	require.ErrorIs(t, err, unix.ECANCELED, "Wake before Poll cancels Poll")

	var wait sync.WaitGroup
	defer wait.Wait()
	duringPoll := func(do func()) {
		wait.Go(func() {
			time.Sleep(10 * time.Millisecond) // the test also passes if Poll begins later
			do()
		})
	}
	const forever = time.Duration(math.MaxInt64)
	duringPoll(device.Wake)
	_, err = device.Poll(forever)
	require.ErrorIs(t, err, unix.ECANCELED, "Wake during Poll cancels Poll")
	duringPoll(func() {
		if err := os.WriteFile(path, []byte{1}, 0); err != nil {
			t.Error(err)
		}
	})
	ready, err = device.Poll(forever)
	require.NoError(t, err)
	require.True(t, ready, "the pipe has data")
	wait.Wait()
	require.NoError(t, device.Close())
	require.NoError(t, device.Close(), "a second Close does nothing")
	device.Wake() // a closed device ignores Wake
}

// TestKernelOpen checks the errors for a file that is not a video device, and for a missing file.
func TestKernelOpen(t *testing.T) {
	path, _ := openPipe(t)
	_, err := v4l2.Open(nil, path)
	require.ErrorIs(t, err, unix.ENOTTY)
	require.EqualError(t, err, path+" is not a video device: inappropriate ioctl for device")
	_, err = v4l2.Open(nil, path+"2")
	require.ErrorIs(t, err, unix.ENOENT)
}

// TestKernelMmap checks that a write to mapped memory changes the file at the mapping's offset.
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

// TestKernelAllocations checks that the calls for each frame allocate nothing.
func TestKernelAllocations(t *testing.T) {
	_, device := openPipe(t)
	var buffer kernel.Buffer
	require.Zero(t, testing.AllocsPerRun(10, func() {
		if ready, err := device.Poll(0); ready || err != nil {
			t.Errorf("Poll of an empty pipe returned %v, %v", ready, err)
		}
		if device.Ioctl(kernel.VIDIOC_DQBUF, unsafe.Pointer(&buffer)) == nil {
			t.Error("VIDIOC_DQBUF on a pipe returned no error")
		}
		if device.Now(unix.CLOCK_REALTIME) == 0 {
			t.Error("Now returned 0")
		}
	}))
}

// TestKernelNow checks that the monotonic clock does not run backwards, and that the realtime clock is Go's clock.
func TestKernelNow(t *testing.T) {
	_, device := openPipe(t)
	before := device.Now(unix.CLOCK_MONOTONIC)
	require.LessOrEqual(t, before, device.Now(unix.CLOCK_MONOTONIC))
	require.InDelta(t, time.Now().UnixNano(), device.Now(unix.CLOCK_REALTIME), float64(time.Hour))
}
