package powerdisk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// image is what a file of a server holds.
type image interface {
	size() int64
	read(data []byte, offset int64)
	do(q *Request) error
}

// server serves images as the files of a folder.
type server struct {
	fuse.RawFileSystem

	mu     sync.Mutex
	images map[uint64]image  // by node
	nodes  map[string]uint64 // by name
	last   uint64            // node
}

// maxWrite is the size of the largest write in bytes.
const maxWrite = 256 << 10

// serve mounts a folder for images.
func serve(folder string) (*server, error) {
	s := &server{RawFileSystem: fuse.NewDefaultRawFileSystem(), images: map[uint64]image{}, nodes: map[string]uint64{},
		last: fuse.FUSE_ROOT_ID}
	mounted, err := fuse.NewServer(s, folder, &fuse.MountOptions{
		FsName: "powerdisk", Name: "powerdisk", DirectMountStrict: true, MaxWrite: maxWrite,
		DisableXAttrs: true, DisableReadDirPlus: true, DisableSplice: true,
	})
	if err != nil {
		return nil, fmt.Errorf("mount FUSE on %s: %w", folder, err)
	}
	go mounted.Serve()
	if err := mounted.WaitMount(); err != nil {
		return nil, err
	}
	return s, guard(folder)
}

// guardian is a shell script that ends the requests of a FUSE connection when a process dies. Otherwise a thread of the
// process that waits for its own disk could not end: nobody answers, and the connection stays open as long as the
// thread lives. The arguments are the process and the number of the connection.
const guardian = `mount -t fusectl none /sys/fs/fuse/connections 2>/dev/null
connection=/sys/fs/fuse/connections/$2
while [ -e "$connection" ]; do
	state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
	case "$state" in
	"" | Z | X) echo 1 >"$connection/abort" ;;
	esac
	sleep 0.2
done`

// guard starts a guardian of this process for the connection of a mounted folder. It ends when the folder is unmounted.
func guard(folder string) error {
	var stat unix.Stat_t
	if err := unix.Stat(folder, &stat); err != nil {
		return fmt.Errorf("find the FUSE connection of %s: %w", folder, err)
	}
	connection := fmt.Sprint(unix.Minor(stat.Dev))
	cmd := exec.Command("sh", "-c", guardian, "guardian", fmt.Sprint(os.Getpid()), connection)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Ctrl-C does not end it
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("guard the FUSE connection of %s: %w", folder, err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// add makes an image the file with this name.
func (s *server) add(name string, i image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.nodes[name], s.images[s.last] = s.last, i
}

// remove frees the image with this name.
func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.images, s.nodes[name])
	delete(s.nodes, name)
}

func (s *server) image(node uint64) image {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.images[node]
}

func (s *server) attributes(node uint64, a *fuse.Attr) fuse.Status {
	a.Ino, a.Mode = node, syscall.S_IFDIR|0o700
	if node == fuse.FUSE_ROOT_ID {
		return fuse.OK
	}
	i := s.image(node)
	if i == nil {
		return fuse.ENOENT
	}
	a.Mode, a.Size, a.Blksize = syscall.S_IFREG|0o600, uint64(i.size()), pageSize
	return fuse.OK
}

func (s *server) Lookup(_ <-chan struct{}, _ *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	s.mu.Lock()
	node := s.nodes[name]
	s.mu.Unlock()
	out.NodeId = node
	return s.attributes(node, &out.Attr)
}

func (s *server) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return s.attributes(in.NodeId, &out.Attr)
}

func (s *server) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return s.attributes(in.NodeId, &out.Attr)
}

func (s *server) Open(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.OK }

func (s *server) Read(_ <-chan struct{}, in *fuse.ReadIn, data []byte) (fuse.ReadResult, fuse.Status) {
	i := s.image(in.NodeId)
	if i == nil {
		return nil, fuse.EIO
	}
	offset := int64(in.Offset)
	n := max(0, min(int64(len(data)), int64(in.Size), i.size()-offset))
	i.read(data[:n], offset)
	return fuse.ReadResultData(data[:n]), fuse.OK
}

// do executes a request on an image.
func (s *server) do(node uint64, q *Request) fuse.Status {
	i := s.image(node)
	if i == nil || q.Offset+q.Size > i.size() {
		return fuse.EIO
	}
	err := i.do(q)
	if err == nil {
		return fuse.OK
	}
	errno := syscall.EIO
	errors.As(err, &errno)
	return fuse.Status(errno)
}

func (s *server) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	q := &Request{Offset: int64(in.Offset), Size: int64(len(data)), Data: append([]byte(nil), data...)}
	return uint32(len(data)), s.do(in.NodeId, q)
}

func (s *server) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return s.do(in.NodeId, &Request{Flush: true})
}

// Fallocate writes zeros for loop devices, whose REQ_OP_DISCARD and REQ_OP_WRITE_ZEROES arrive here.
func (s *server) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	if in.Mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) == 0 {
		return fuse.OK
	}
	return s.do(in.NodeId, &Request{Offset: int64(in.Offset), Size: int64(in.Length)})
}

// Flush answers ENOSYS, after which the kernel does not ask again. Otherwise each close(2) would wait for an answer,
// and so would a child between fork and exec, for which Go stops all goroutines.
func (s *server) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }

func (s *server) FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

func (s *server) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.NameLen = pageSize, 255
	return fuse.OK
}
