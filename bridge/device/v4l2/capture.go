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

// Capture receives the frames of a CaptureDevice.
type Capture struct {
	device *CaptureDevice
	format Format
	count  *Counter
	memory [][]byte
	queued []int64 // by buffer: when the driver got it, or earlier, in ns of the monotonic clock
	on     bool    // the driver captures

	// Reused structs for requests about a buffer. The driver gets the address of plane.
	buffer kernel.Buffer
	plane  kernel.Plane
	pinner runtime.Pinner

	frame   Frame
	started bool // a frame was received; frame.Sequence is its number
}

// Start starts to capture into at least 2 buffers, and counts frames in count. A format must be set before. A device
// has one Capture at a time.
func (d *CaptureDevice) Start(buffers int, count *Counter) (*Capture, error) {
	if d.format.FourCC == 0 || d.capture != nil {
		return nil, fmt.Errorf("%s: set a format before capturing, and start only one capture", d.path)
	}
	c := &Capture{device: d, format: d.format, count: count}
	if c.device.planar() {
		c.pinner.Pin(&c.plane)
	}
	d.capture = c
	if err := c.start(max(buffers, 2)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Capture) start(buffers int) error {
	path, handle := c.device.path, c.device.handle
	request := kernel.RequestBuffers{Count: uint32(buffers), Type: c.device.kind, Memory: kernel.V4L2_MEMORY_MMAP}
	if err := handle.Ioctl(kernel.VIDIOC_REQBUFS, unsafe.Pointer(&request)); err != nil {
		return failed(path, fmt.Sprintf("request %d buffers", buffers), err)
	}
	if request.Count < 2 || request.Count > maxItems {
		return fmt.Errorf("%s: the driver allocated %d of %d buffers", path, request.Count, buffers)
	}
	began := handle.Now(unix.CLOCK_MONOTONIC)
	for i := range request.Count {
		c.prepare(i)
		if err := handle.Ioctl(kernel.VIDIOC_QUERYBUF, unsafe.Pointer(&c.buffer)); err != nil {
			return failed(path, fmt.Sprintf("query buffer %d", i), err)
		}
		offset, length := uint32(c.buffer.M), c.buffer.Length
		if c.device.planar() {
			offset, length = uint32(c.plane.M), c.plane.Length
		}
		if length == 0 || length > math.MaxInt32 || int(length) < c.format.Size && !c.format.FourCC.Compressed() {
			return fmt.Errorf("%s: buffer %d of the driver has %d bytes, but an image in %v has %d", path, i, length,
				c.format, c.format.Size)
		}
		memory, err := handle.Mmap(int64(offset), int(length))
		if err != nil {
			return failed(path, fmt.Sprintf("map buffer %d of %d bytes", i, length), err)
		}
		c.memory, c.queued = append(c.memory, memory), append(c.queued, began)
	}
	for i := range request.Count {
		if err := c.queue(i); err != nil {
			return err
		}
	}
	if err := handle.Ioctl(kernel.VIDIOC_STREAMON, unsafe.Pointer(&c.device.kind)); err != nil {
		return failed(path, "start the stream of "+c.format.String(), err)
	}
	c.on = true
	return nil
}

// prepare sets the structs for a request about a buffer.
func (c *Capture) prepare(index uint32) {
	c.buffer = kernel.Buffer{Index: index, Type: c.device.kind, Memory: kernel.V4L2_MEMORY_MMAP}
	if c.device.planar() {
		c.plane = kernel.Plane{}
		c.buffer.M = uintptr(unsafe.Pointer(&c.plane))
		c.buffer.Length = 1
	}
}

func (c *Capture) queue(index uint32) error {
	c.prepare(index)
	if err := c.device.handle.Ioctl(kernel.VIDIOC_QBUF, unsafe.Pointer(&c.buffer)); err != nil {
		return failed(c.device.path, fmt.Sprintf("queue buffer %d", index), err)
	}
	return nil
}

// Run calls use with each good frame, until the context ends or the device fails, and returns the reason. The frame and
// its bytes return to the driver when use returns. Frames that the driver marks as damaged, or that have a wrong length
// or beginning, are counted and skipped. The error wraps unix.ENODEV if the device is gone. Run also fails if no frame
// arrives for as long as silence; 0 is no limit.
func (c *Capture) Run(ctx context.Context, silence time.Duration, use func(*Frame)) error {
	handle := c.device.handle
	defer context.AfterFunc(ctx, handle.Wake)()
	if silence <= 0 {
		silence = math.MaxInt64
	}
	failures := 0
	for ctx.Err() == nil {
		ready, err := handle.Poll(silence)
		if errors.Is(err, unix.ECANCELED) {
			continue
		}
		if err != nil {
			return failed(c.device.path, "wait for a frame", err)
		}
		if !ready {
			return failed(c.device.path, "capture", fmt.Errorf("%w for %v", errSilent, silence))
		}
		c.prepare(0)
		err = handle.Ioctl(kernel.VIDIOC_DQBUF, unsafe.Pointer(&c.buffer))
		if err == nil {
			failures = 0
			if err := c.take(use); err != nil {
				return err
			}
			continue
		}
		failures++
		if !errors.Is(err, unix.EAGAIN) {
			c.count.Change(func(s *Stats) { s.Errors++ })
		}
		if again := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EIO); !again || failures == maxFailures {
			return failed(c.device.path, "dequeue a frame", err)
		}
	}
	return ctx.Err()
}

// take passes the image in the dequeued buffer, if any, to use, and queues the buffer again.
func (c *Capture) take(use func(*Frame)) error {
	index := c.buffer.Index
	if int64(index) >= int64(len(c.memory)) {
		return fmt.Errorf("%s: the driver filled unknown buffer %d", c.device.path, index)
	}
	received := now(c.device.handle)
	f := &c.frame
	dropped := c.dropped()
	f.Sequence, c.started = c.buffer.Sequence, true
	f.Format = c.format
	f.Received = received.realtime
	f.Stamp, f.Clock = stamp(&c.buffer, c.queued[index], received)
	c.queued[index] = received.monotonic
	data, ok := c.picture(c.memory[index])
	if ok {
		f.Data = data
		c.count.Frame(f, dropped)
		use(f)
		f.Data = nil
	} else {
		c.count.Change(func(s *Stats) {
			s.Damaged++
			s.Dropped += uint64(dropped)
		})
	}
	return c.queue(index)
}

// dropped returns how many frames the driver dropped before this one. Some drivers do not count frames, some restart.
func (c *Capture) dropped() uint32 {
	step := c.buffer.Sequence - c.frame.Sequence
	if !c.started || step == 0 || step > math.MaxInt32 {
		return 0
	}
	return step - 1
}

// picture returns the image in the dequeued buffer's memory; false if there is none.
func (c *Capture) picture(memory []byte) ([]byte, bool) {
	offset, used := uint32(0), c.buffer.BytesUsed
	if c.device.planar() {
		// The offset counts as used.
		offset, used = c.plane.DataOffset, c.plane.BytesUsed
	}
	if c.buffer.Flags&kernel.V4L2_BUF_FLAG_ERROR != 0 || offset >= used || int64(used) > int64(len(memory)) {
		return nil, false
	}
	data := memory[offset:used]
	switch f := &c.format; f.FourCC {
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
func (c *Capture) Close() error {
	if c.device.capture != c {
		return nil
	}
	c.device.capture = nil
	path, handle := c.device.path, c.device.handle
	var errs []error
	if c.on {
		if err := handle.Ioctl(kernel.VIDIOC_STREAMOFF, unsafe.Pointer(&c.device.kind)); err != nil {
			errs = append(errs, failed(path, "stop the stream", err))
		}
	}
	for _, memory := range c.memory {
		if err := handle.Munmap(memory); err != nil {
			errs = append(errs, failed(path, "unmap a buffer", err))
		}
	}
	// Freeing the buffers allows another format to be set.
	request := kernel.RequestBuffers{Type: c.device.kind, Memory: kernel.V4L2_MEMORY_MMAP}
	if err := handle.Ioctl(kernel.VIDIOC_REQBUFS, unsafe.Pointer(&request)); err != nil {
		errs = append(errs, failed(path, "free the buffers", err))
	}
	c.pinner.Unpin()
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
