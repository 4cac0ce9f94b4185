package v4l2

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kernel is this machine.
type Kernel struct {
	// Sys is the path of sysfs; empty is /sys.
	Sys string
}

// Open implements System.
func (Kernel) Open(path string) (Device, error) {
	var fd int
	var err error
	for {
		fd, err = unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &kernelDevice{fd: fd, wake: wake, fds: []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN},
		{Fd: int32(wake), Events: unix.POLLIN}}}, nil
}

// Nodes implements System.
func (k Kernel) Nodes() ([]Node, error) {
	class := filepath.Join(cmp.Or(k.Sys, "/sys"), "class", "video4linux")
	entries, err := os.ReadDir(class)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // the folder is missing if no video driver is loaded
		return nil, err
	}
	var nodes []Node
	for _, entry := range entries {
		if _, ok := nodeNumber(entry.Name()); ok {
			nodes = append(nodes, readNode(filepath.Join(class, entry.Name())))
		}
	}
	slices.SortFunc(nodes, func(a, b Node) int {
		i, _ := nodeNumber(filepath.Base(a.Path))
		j, _ := nodeNumber(filepath.Base(b.Path))
		return i - j
	})
	return nodes, nil
}

// nodeNumber returns the 3 of video3. Other devices of the class, such as v4l-subdev0 or radio0, do not capture video.
func nodeNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "video")
	number, err := strconv.Atoi(digits)
	return number, ok && err == nil
}

// readNode reads a folder of /sys/class/video4linux. Missing attributes are empty.
func readNode(folder string) Node {
	node := Node{Path: filepath.Join("/dev", filepath.Base(folder)), Name: attribute(folder, "name")}
	parent, err := filepath.EvalSymlinks(filepath.Join(folder, "device"))
	if err != nil {
		return node
	}
	// For a USB camera this is a USB interface, whose parent is the USB device.
	if usb := filepath.Dir(parent); attribute(usb, "idVendor") != "" {
		parent = usb
	}
	node.Port = filepath.Base(parent)
	node.Serial = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("#+-.:=@_", r) {
			return r
		}
		return '_' // as udev does, so that the serial number may be part of a path
	}, attribute(parent, "serial"))
	return node
}

func attribute(folder, name string) string {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

type kernelDevice struct {
	fd  int
	fds []unix.PollFd // the device, and wake

	mutex sync.Mutex // between Wake and Close
	wake  int        // an eventfd; -1 when closed
}

func (d *kernelDevice) Ioctl(request uint32, argument unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(d.fd), uintptr(request), uintptr(argument))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}

func (d *kernelDevice) Mmap(offset int64, length int) ([]byte, error) {
	return unix.Mmap(d.fd, offset, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (d *kernelDevice) Munmap(memory []byte) error { return unix.Munmap(memory) }

func (d *kernelDevice) Poll(timeout time.Duration) (bool, error) {
	for began := time.Now(); ; {
		// Round up, so as not to spin through the last millisecond.
		left := min(max(timeout-time.Since(began), 0), time.Hour) + time.Millisecond - 1
		n, err := unix.Poll(d.fds, int(left/time.Millisecond))
		switch {
		case errors.Is(err, unix.EINTR): // Go's scheduler sends signals
		case err != nil:
			return false, err
		case d.fds[1].Revents != 0:
			var count [8]byte
			_, _ = unix.Read(d.wake, count[:]) // only this goroutine reads it
			return false, unix.ECANCELED
		case n > 0:
			return true, nil
		case time.Since(began) >= timeout:
			return false, nil
		}
	}
}

func (d *kernelDevice) Wake() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.wake >= 0 {
		_, _ = unix.Write(d.wake, []byte{1, 7: 0}) // fails only if the counter is full, and then Poll wakes anyway
	}
}

func (d *kernelDevice) Now(clock int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0 // every Linux has these clocks
	}
	return t.Nano()
}

func (d *kernelDevice) Close() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.wake < 0 {
		return nil
	}
	err := errors.Join(unix.Close(d.fd), unix.Close(d.wake))
	d.wake = -1
	return err
}
