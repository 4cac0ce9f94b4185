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

	"tapedeck/bridge/v4l2/internal/kernel"
)

// maxFailures is how often in a row dequeueing may fail before the stream is given up. The kernel's documentation says
// that EIO may be a passing matter, such as the loss of signal, but also that the driver may have stopped.
const maxFailures = 16

// errSilent is that a device sends nothing any more.
var errSilent = errors.New("no frame came")

// Stream is frames coming from a device.
type Stream struct {
	capture *Capture
	format  Format
	count   *counter
	memory  [][]byte
	given   []int64 // since when the driver has each buffer, or before, on the monotonic clock
	on      bool

	// What the driver is told and tells about a buffer, kept for the next one. The driver is told the address of plane.
	buffer kernel.Buffer
	plane  kernel.Plane
	pinner runtime.Pinner

	frame   Frame
	started bool // a frame came, and sequence is its number
}

// Stream starts capturing into a number of buffers, at least 2. Before, a format has to be set.
func (c *Capture) Stream(buffers int) (*Stream, error) {
	return c.start(buffers, new(counter))
}

func (c *Capture) start(buffers int, count *counter) (*Stream, error) {
	if c.format.FourCC == 0 || c.stream != nil {
		return nil, fmt.Errorf("%s: set a format before capturing, and capture once", c.path)
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
		return fmt.Errorf("%s: the driver has %d buffers where %d were requested", path, request.Count, buffers)
	}
	began := device.Now(unix.CLOCK_MONOTONIC)
	for i := range request.Count {
		s.prepare(i)
		if err := device.Ioctl(kernel.VIDIOC_QUERYBUF, unsafe.Pointer(&s.buffer)); err != nil {
			return failed(path, fmt.Sprintf("ask for buffer %d", i), err)
		}
		offset, length := uint32(s.buffer.M), s.buffer.Length
		if s.capture.planar() {
			offset, length = uint32(s.plane.M), s.plane.Length
		}
		if length == 0 || length > math.MaxInt32 || int(length) < s.format.Size && !s.format.FourCC.Compressed() {
			return fmt.Errorf("%s: the driver's buffer %d has %d bytes, where a picture of %v has %d", path, i, length, s.format,
				s.format.Size)
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

// prepare makes the structs ready for a request about a buffer.
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
		return failed(s.capture.path, fmt.Sprintf("give buffer %d to the driver", index), err)
	}
	return nil
}

// Run calls use with each good frame, until the context ends or the device fails, and returns why. The frame and its
// bytes belong to the driver again when use has returned. Frames that the driver marks as damaged, or that cannot be a
// picture, are counted and left out. That the device is gone is an error which errors.Is(err, unix.ENODEV) recognises.
// An error comes also if there is no frame for as long as silence; 0 waits for ever.
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
			s.count.change(func(s *Stats) { s.Errors++ })
		}
		if again := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EIO); !again || failures == maxFailures {
			return failed(s.capture.path, "get a frame from the driver", err)
		}
	}
	return ctx.Err()
}

// Stats returns what was counted, and begins a new Window. It may be called at any time, by any goroutine.
func (s *Stream) Stats() Stats { return s.count.take(time.Now()) }

// take hands the dequeued buffer to use if it has a picture, and gives it back to the driver.
func (s *Stream) take(use func(*Frame)) error {
	index := s.buffer.Index
	if int64(index) >= int64(len(s.memory)) {
		return fmt.Errorf("%s: the driver filled buffer %d, which it does not have", s.capture.path, index)
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
		s.count.frame(f, dropped)
		use(f)
		f.Data = nil
	} else {
		s.count.change(func(s *Stats) {
			s.Damaged++
			s.Dropped += uint64(dropped)
		})
	}
	return s.queue(index)
}

// dropped returns how many frames the driver counted between the last one and this. Some drivers don't count, and some
// begin anew.
func (s *Stream) dropped() uint32 {
	step := s.buffer.Sequence - s.frame.Sequence
	if !s.started || step == 0 || step > math.MaxInt32 {
		return 0
	}
	return step - 1
}

// picture returns the bytes of the dequeued buffer's picture, in its memory, and whether there is one.
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
		// The last row may come without its padding, which is in the buffer all the same.
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
	// The driver has no buffers left to write to, so that another format can be set; closing the device does the same.
	request := kernel.RequestBuffers{Type: s.capture.kind, Memory: kernel.V4L2_MEMORY_MMAP}
	if err := device.Ioctl(kernel.VIDIOC_REQBUFS, unsafe.Pointer(&request)); err != nil {
		errs = append(errs, failed(path, "free the buffers", err))
	}
	s.pinner.Unpin()
	return errors.Join(errs...)
}

// Frame is one picture. It and its Data are valid only during the call that hands it over.
type Frame struct {
	// Data is the picture, in the driver's memory: rows of Format.BytesPerLine bytes, all of them with their padding, or a
	// compressed picture. Bytes that some cameras send after a JPEG's end are not in it.
	Data []byte

	Format Format

	// Sequence is the driver's count of frames. It starts anew each time the device is opened.
	Sequence uint32

	// Stamp is when the driver says that the frame was taken, in ns since the Unix epoch, and Received when it was
	// dequeued. The driver's is on the monotonic clock, and converted. Where the driver does not say, Stamp is the time of
	// reception.
	Stamp, Received int64

	// Clock is where Stamp is from.
	Clock StampClock
}

// StampClock is where the stamp of a frame is from.
type StampClock int

// Sources of stamps.
const (
	Receive         StampClock = iota // the time of reception: the driver says nothing, or a time that cannot be
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
