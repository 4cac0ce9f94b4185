package powerdisk

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attach returns a loop device for a file. The kernel frees the device once it is closed and not mounted. It takes
// requests of which FUSE has executed a part for whole ones, so no request is larger than one of FUSE.
func attach(path string, direct bool) (*os.File, error) {
	// No child may inherit the open files, see syscall.ForkLock: it would hold the device.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	mode := os.O_RDWR
	config := unix.LoopConfig{Size: 512}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
	if direct {
		mode |= unix.O_DIRECT
		config.Info.Flags |= unix.LO_FLAGS_DIRECT_IO
	}
	file, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	config.Fd = uint32(file.Fd())
	for {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}
		device, err := os.OpenFile(fmt.Sprint("/dev/loop", number), os.O_RDWR, 0)
		if err == nil {
			err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
			if err == nil {
				limit := fmt.Sprintf("/sys/block/loop%d/queue/max_sectors_kb", number)
				return device, os.WriteFile(limit, fmt.Append(nil, maxWrite>>10), 0o200)
			}
			device.Close()
		}
		if !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENXIO) { // another process has taken the device
			return nil, fmt.Errorf("configure loop device %d for %s: %w", number, path, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// forget makes the kernel forget btrfs file systems that are not mounted. Otherwise it refuses an older state of a file
// system that it knows.
func forget() {
	control, err := os.OpenFile("/dev/btrfs-control", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer control.Close()
	const forgetDevice = 1<<30 | 4096<<16 | 0x94<<8 | 5 // BTRFS_IOC_FORGET_DEV
	var all [4096]byte                                  // struct btrfs_ioctl_vol_args without a name
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, control.Fd(), forgetDevice, uintptr(unsafe.Pointer(&all)))
}

// allocate returns zeroed memory that takes space only where it is written.
func allocate(size int64) ([]byte, error) {
	memory, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("allocate a disk of %d bytes: %w", size, err)
	}
	return memory, nil
}

func free(memory []byte) error { return unix.Munmap(memory) }
