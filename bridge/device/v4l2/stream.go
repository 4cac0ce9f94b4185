package v4l2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2/internal/kernel"
)

// maxFailures is how often in a row dequeueing may fail before Run gives up: by the kernel's documentation, EIO may be
// temporary, such as a loss of signal, or mean that the driver has stopped.
const maxFailures = 16

// errSilent is returned if a device stops sending frames.
var errSilent = errors.New("no frame came")

// Stream receives frames from a device.
type Stream struct {
	capture *Capture
	format  Format
	count   *Counter
	memory  [][]byte
	given   []int64 // when the driver got each buffer, or earlier, on the monotonic clock
	on      bool

	// Reused structs for requests about a buffer. The driver gets the address of plane.
	buffer kernel.Buffer
	plane  kernel.Plane
	pinner runtime.Pinner

	frame   Frame
	started bool // a frame was received; frame.Sequence is its number
}

// Stream starts capturing into at least 2 buffers, and counts frames in count. A format must be set before.
func (c *Capture) Stream(buffers int, count *Counter) (*Stream, error) {
	if c.format.FourCC == 0 || c.stream != nil {
		return nil, fmt.Errorf("%s: set a format before capturing, and start only one stream", c.path)
	}
	s := &Stream{capture: c, format: c.format, count: count}
	if s.capture.planar() {
		s.pinner.Pin(&s.plane)
	}
	c.stream = s
	if err := s.start(max(buffers, 2)); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) start(buffers int) error {
	path, device := s.capture.path, s.capture.device
	request := kernel.RequestBuffers{Count: uint32(buffers), Type: s.capture.kind, Memory: kernel.V4L2_MEMORY_MMAP}
	if err := device.Ioctl(kernel.VIDIOC_REQBUFS, unsafe.Pointer(&request)); err != nil {
		return failed(path, fmt.Sprintf("request %d buffers", buffers), err)
	}
	if request.Count < 2 || request.Count > maxItems {
		return fmt.Errorf("%s: the driver allocated %d of %d buffers", path, request.Count, buffers)
	}
	began := device.Now(unix.CLOCK_MONOTONIC)
	for i := range request.Count {
		s.prepare(i)
		if err := device.Ioctl(kernel.VIDIOC_QUERYBUF, unsafe.Pointer(&s.buffer)); err != nil {
			return failed(path, fmt.Sprintf("query buffer %d", i), err)
		}
		offset, length := uint32(s.buffer.M), s.buffer.Length
		if s.capture.planar() {
			offset, length = uint32(s.plane.M), s.plane.Length
		}
		if length == 0 || length > math.MaxInt32 || int(length) < s.format.Size && !s.format.FourCC.Compressed() {
			return fmt.Errorf("%s: buffer %d of the driver has %d bytes, but an image in %v has %d", path, i, length,
				s.format, s.format.Size)
		}
		memory, err := device.Mmap(int64(offset), int(length))
		if err != nil {
			return failed(path, fmt.Sprintf("map buffer %d of %d bytes", i, length), err)
		}
		s.memory, s.given = append(s.memory, memory), append(s.given, began)
	}
	for i := range request.Count {
		if err := s.queue(i); err != nil {
			return err
		}
	}
	if err := device.Ioctl(kernel.VIDIOC_STREAMON, unsafe.Pointer(&s.capture.kind)); err != nil {
		return failed(path, "start the stream of "+s.format.String(), err)
	}
	s.on = true
	return nil
}

// prepare sets the structs for a request about a buffer.
func (s *Stream) prepare(index uint32) {
	s.buffer = kernel.Buffer{Index: index, Type: s.capture.kind, Memory: kernel.V4L2_MEMORY_MMAP}
	if s.capture.planar() {
		s.plane = kernel.Plane{}
		s.buffer.M = uintptr(unsafe.Pointer(&s.plane))
		s.buffer.Length = 1
	}
}

func (s *Stream) queue(index uint32) error {
	s.prepare(index)
	if err := s.capture.device.Ioctl(kernel.VIDIOC_QBUF, unsafe.Pointer(&s.buffer)); err != nil {
		return failed(s.capture.path, fmt.Sprintf("queue buffer %d", index), err)
	}
	return nil
}

// Run calls use with each good frame, until the context ends or the device fails, and returns the reason. The frame and
// its bytes return to the driver when use returns. Frames that the driver marks as damaged, or that have a wrong length
// or beginning, are counted and skipped. The error wraps unix.ENODEV if the device is gone. Run also fails if no frame
// arrives for as long as silence; 0 is no limit.
func (s *Stream) Run(ctx context.Context, silence time.Duration, use func(*Frame)) error {
	device := s.capture.device
	defer context.AfterFunc(ctx, device.Wake)()
	if silence <= 0 {
		silence = math.MaxInt64
	}
	failures := 0
	for ctx.Err() == nil {
		ready, err := device.Poll(silence)
		if errors.Is(err, unix.ECANCELED) {
			continue
		}
		if err != nil {
			return failed(s.capture.path, "wait for a frame", err)
		}
		if !ready {
			return failed(s.capture.path, "capture", fmt.Errorf("%w for %v", errSilent, silence))
		}
		s.prepare(0)
		err = device.Ioctl(kernel.VIDIOC_DQBUF, unsafe.Pointer(&s.buffer))
		if err == nil {
			failures = 0
			if err := s.take(use); err != nil {
				return err
			}
			continue
		}
		failures++
		if !errors.Is(err, unix.EAGAIN) {
			s.count.Change(func(s *Stats) { s.Errors++ })
		}
		if again := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EIO); !again || failures == maxFailures {
			return failed(s.capture.path, "dequeue a frame", err)
		}
	}
	return ctx.Err()
}

// take passes the image in the dequeued buffer, if any, to use, and queues the buffer again.
func (s *Stream) take(use func(*Frame)) error {
	index := s.buffer.Index
	if int64(index) >= int64(len(s.memory)) {
		return fmt.Errorf("%s: the driver filled unknown buffer %d", s.capture.path, index)
	}
	received := now(s.capture.device)
	f := &s.frame
	dropped := s.dropped()
	f.Sequence, s.started = s.buffer.Sequence, true
	f.Format = s.format
	f.Received = received.realtime
	f.Stamp, f.Clock = stamp(&s.buffer, s.given[index], received)
	s.given[index] = received.monotonic
	data, ok := s.picture(s.memory[index])
	if ok {
		f.Data = data
		s.count.Frame(f, dropped)
		use(f)
		f.Data = nil
	} else {
		s.count.Change(func(s *Stats) {
			s.Damaged++
			s.Dropped += uint64(dropped)
		})
	}
	return s.queue(index)
}

// dropped returns how many frames the driver dropped before this one. Some drivers do not count frames, some restart.
func (s *Stream) dropped() uint32 {
	step := s.buffer.Sequence - s.frame.Sequence
	if !s.started || step == 0 || step > math.MaxInt32 {
		return 0
	}
	return step - 1
}

// picture returns the image in the dequeued buffer's memory; false if there is none.
func (s *Stream) picture(memory []byte) ([]byte, bool) {
	offset, used := uint32(0), s.buffer.BytesUsed
	if s.capture.planar() {
		// The offset counts as used.
		offset, used = s.plane.DataOffset, s.plane.BytesUsed
	}
	if s.buffer.Flags&kernel.V4L2_BUF_FLAG_ERROR != 0 || offset >= used || int64(used) > int64(len(memory)) {
		return nil, false
	}
	data := memory[offset:used]
	switch f := &s.format; f.FourCC {
	case MJPG, JPEG:
		data = TrimJPEG(data)
		return data, bytes.HasPrefix(data, startOfImage)
	default:
		first, _ := f.FourCC.bits()
		if first == 0 {
			return data, true
		}
		// The last row may lack its padding, but the buffer has room for it.
		padding := f.BytesPerLine - (f.Width*first+7)/8
		if len(data) < f.Size-padding || int(offset)+f.Size > len(memory) {
			return nil, false
		}
		return memory[offset:][:f.Size], true
	}
}

// Close stops capturing and gives the buffers back.
func (s *Stream) Close() error {
	if s.capture.stream != s {
		return nil
	}
	s.capture.stream = nil
	path, device := s.capture.path, s.capture.device
	var errs []error
	if s.on {
		if err := device.Ioctl(kernel.VIDIOC_STREAMOFF, unsafe.Pointer(&s.capture.kind)); err != nil {
			errs = append(errs, failed(path, "stop the stream", err))
		}
	}
	for _, memory := range s.memory {
		if err := device.Munmap(memory); err != nil {
			errs = append(errs, failed(path, "unmap a buffer", err))
		}
	}
	// Freeing the buffers allows another format to be set.
	request := kernel.RequestBuffers{Type: s.capture.kind, Memory: kernel.V4L2_MEMORY_MMAP}
	if err := device.Ioctl(kernel.VIDIOC_REQBUFS, unsafe.Pointer(&request)); err != nil {
		errs = append(errs, failed(path, "free the buffers", err))
	}
	s.pinner.Unpin()
	return errors.Join(errs...)
}

// Frame is one image. It and its Data are valid only during the call that passes it.
type Frame struct {
	// Data is the image in the driver's memory: rows of Format.BytesPerLine bytes including padding, or a compressed
	// image. Bytes after the end of a JPEG, which some cameras send, are left out.
	Data []byte

	Format Format

	// Sequence is the driver's frame number. It restarts each time the device is opened.
	Sequence uint32

	// Stamp is when the frame was taken, converted from the driver's monotonic clock to ns since the Unix epoch;
	// Received is when it was dequeued. Without a stamp of the driver, Stamp equals Received.
	Stamp, Received int64

	// Clock is the source of Stamp.
	Clock StampClock
}

// StampClock is the source of a frame's stamp.
type StampClock int

// Sources of stamps.
const (
	Receive         StampClock = iota // the time of reception: the driver sends none, or an impossible one
	EndOfFrame                        // the driver, at the end of the frame's transmission
	StartOfExposure                   // the driver, at the start of exposure
)

// String returns "reception", "end of frame" or "start of exposure".
func (c StampClock) String() string {
	switch c {
	case EndOfFrame:
		return "end of frame"
	case StartOfExposure:
		return "start of exposure"
	}
	return "reception"
}
