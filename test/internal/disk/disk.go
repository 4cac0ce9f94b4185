// Package disk puts a test between a program and its disk: the test sees the program's writes and syncs, can delay them
// and can let them fail. It uses seccomp's user notification, see seccomp_unotify(2): the kernel holds each system call
// until the test has answered. Any program can be tested, and the test need not be root.
package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/test/internal/process"
)

// Call is a system call of a program that writes to a file or syncs it.
type Call struct {
	Path string // of the file
	Sync bool   // the call is fsync or fdatasync, not a write
	Size int    // bytes to write; 0 for a sync
}

// disk answers the calls of one program.
type disk struct {
	folder  string
	hook    func(Call) error
	serving sync.WaitGroup
}

// Start starts cmd as process.Start does. Each Call on a file in folder waits until hook has returned. The call fails
// if hook returns a syscall.Errno. Files that were removed have no hook.
//
// Several goroutines call hook at once, because the program's threads make calls at once. A call that a signal has
// interrupted calls hook again. self is the path of a program that calls Exec first. Start skips the test if the kernel
// does not allow user notification.
func Start(t *testing.T, cmd *exec.Cmd, self, folder string, hook func(Call) error) *process.Process {
	t.Helper()
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	theirs := os.NewFile(uintptr(sockets[1]), "socket")
	defer theirs.Close()
	defer unix.Close(sockets[0])
	cmd.Args = append([]string{self, argument, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = self
	cmd.ExtraFiles = []*os.File{theirs}
	d := &disk{folder: folder, hook: hook}
	t.Cleanup(d.serving.Wait) // runs after the cleanup that sockets the program
	p := process.Start(t, cmd)
	theirs.Close()
	listener, err := receive(sockets[0])
	if err != nil {
		p.Ended()
		t.Skip("the kernel does not hold system calls for this test: ", p.Output())
	}
	d.serving.Go(func() { d.serve(listener) })
	return p
}

// argument marks the command line of the program that Exec starts.
const argument = "exec-on-disk"

// Exec replaces this process by the program to test if Start has started this process. Otherwise it returns.
func Exec() {
	if len(os.Args) < 3 || os.Args[1] != argument {
		return
	}
	runtime.LockOSThread() // the filter belongs to the thread
	err := install()
	if err == nil {
		err = syscall.Exec(os.Args[2], os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// held has the numbers of the system calls that the kernel holds. Go's os.File uses these.
var held = []uint32{unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FSYNC, unix.SYS_FDATASYNC}

// install makes the kernel hold the thread's calls. It sends the file descriptor by which calls are answered through
// the socket to the test.
func install() error {
	const number = 0 // of the call, in struct seccomp_data
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number}}
	for i, call := range held {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call,
			Jt: uint8(len(held) - i)})
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forgo new privileges: %w", err)
	}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("install a filter: %w", errno)
	}
	const socket = 3
	defer unix.Close(socket)
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return fmt.Errorf("hand over the filter: %w", err)
	}
	return unix.Close(int(listener))
}

// receive returns the file descriptor that install sends.
func receive(socket int) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return 0, errors.New("the program has sent no file descriptor")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	pointer    uint64
	args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id     uint64
	value  int64
	errno  int32
	action uint32
}

// Requests of ioctl(2). Each number contains the size of its structure.
const (
	receiveNotification = 0xc0502100
	sendResponse        = 0xc0182101
)

// serve answers calls until the program has ended.
func (d *disk) serve(listener int) {
	var calls sync.WaitGroup
	defer unix.Close(listener)
	defer calls.Wait()
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); errors.Is(err, unix.EINTR) {
			continue
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return // all threads of the program are gone
		}
		var n notification
		if err := ioctl(listener, receiveNotification, unsafe.Pointer(&n)); err != nil {
			continue // the thread is gone
		}
		calls.Go(func() {
			r := response{id: n.id, action: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			if err := d.answer(&n); err != nil {
				r.action = 0
				var errno syscall.Errno
				errors.As(err, &errno)
				r.errno = -int32(errno)
			}
			_ = ioctl(listener, sendResponse, unsafe.Pointer(&r)) // it fails when the thread is gone
		})
	}
}

// answer calls the hook for a call on a file in the folder.
func (d *disk) answer(n *notification) error {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(n.args[0])))
	if err != nil {
		return nil
	}
	if _, err := os.Lstat(path); err != nil || !strings.HasPrefix(path, d.folder+"/") {
		return nil
	}
	call := Call{Path: path}
	switch n.number {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		call.Sync = true
	default:
		call.Size = int(n.args[2])
	}
	return d.hook(call)
}

// ioctl calls ioctl(2), again after EINTR.
func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
			continue
		}
		return errno
	}
}
