package v4l2_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/internal/kernel"
)

// babbler is a device whose driver answers with fuzzed data: one byte decides the result of a request, the rest is the
// argument.
type babbler struct{ answers []byte }

func (b *babbler) Open(string) (v4l2.Device, error) { return b, nil }
func (b *babbler) Nodes() ([]v4l2.Node, error)      { return nil, nil }
func (b *babbler) Munmap([]byte) error              { return nil }
func (b *babbler) Poll(time.Duration) (bool, error) { return true, nil }
func (b *babbler) Wake()                            {}
func (b *babbler) Now(int32) int64                  { return int64(len(b.answers)) }
func (b *babbler) Close() error                     { return nil }
func (b *babbler) Mmap(_ int64, n int) ([]byte, error) {
	if n > 1<<20 {
		return nil, unix.ENOMEM
	}
	return make([]byte, n), nil
}

func (b *babbler) Ioctl(request uint32, argument unsafe.Pointer) error {
	if len(b.answers) == 0 {
		return unix.ENODEV
	}
	end := b.answers[0]
	b.answers = b.answers[1:]
	if end >= 0x80 {
		return []error{unix.EINVAL, unix.ENOTTY, unix.EIO, unix.EAGAIN, unix.EBUSY}[end%5]
	}
	switch request {
	case kernel.VIDIOC_S_EXT_CTRLS: // has a pointer, which a driver does not change
		return nil
	case kernel.VIDIOC_QUERYBUF, kernel.VIDIOC_DQBUF:
		if buffer := (*kernel.Buffer)(argument); buffer.Type == kernel.V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE {
			plane := *(**kernel.Plane)(unsafe.Pointer(&buffer.M))
			b.answers = b.answers[copy(unsafe.Slice((*byte)(unsafe.Pointer(plane)), unsafe.Sizeof(*plane)), b.answers):]
		}
	}
	size := request >> 16 & 0x3fff
	b.answers = b.answers[copy(unsafe.Slice((*byte)(argument), size), b.answers):]
	return nil
}

// answer returns fuzzed data that make a babbler fill in an argument.
func answer[T any](argument T) []byte {
	return append([]byte{0}, unsafe.Slice((*byte)(unsafe.Pointer(&argument)), unsafe.Sizeof(argument))...)
}

// FuzzDriver lets a driver answer anything: nothing may panic or hang, and frames must lie within their buffers.
func FuzzDriver(f *testing.F) {
	const end, unknown = 0x82, 0x83 // EINVAL, ENOTTY
	for _, can := range []uint32{kernel.V4L2_CAP_VIDEO_CAPTURE, kernel.V4L2_CAP_VIDEO_CAPTURE_MPLANE} {
		seed := answer(kernel.Capability{Capabilities: can | kernel.V4L2_CAP_STREAMING})
		seed = append(append(seed, answer(kernel.FmtDesc{PixelFormat: uint32(v4l2.GREY)})...), end, end, end)
		var format kernel.Format
		var plane []byte
		if can == kernel.V4L2_CAP_VIDEO_CAPTURE {
			format.Pix = kernel.PixFormat{Width: 4, Height: 4, PixelFormat: uint32(v4l2.GREY), BytesPerLine: 4}
		} else {
			*format.PixMP() = kernel.PixFormatMplane{Width: 4, Height: 4, PixelFormat: uint32(v4l2.GREY), NumPlanes: 1}
			plane = answer(kernel.Plane{BytesUsed: 16, Length: 16})[1:]
		}
		seed = append(append(append(seed, answer(format)...), answer(format)...), unknown)
		control := answer(kernel.QueryExtCtrl{ID: 1, Type: 1, Name: [32]byte{'a'}, Maximum: 5})
		seed = append(append(append(append(seed, control...), end), control...), end)
		seed = append(seed, answer(kernel.Control{})...)
		seed = append(seed, answer(kernel.RequestBuffers{Count: 2})...)
		buffer := append(append([]byte{0}, plane...), answer(kernel.Buffer{BytesUsed: 16, Length: 16})[1:]...)
		seed = append(append(seed, buffer...), buffer...)
		seed = append(append(seed, answer(kernel.Buffer{})...), answer(kernel.Buffer{})...)
		seed = append(seed, answer(kernel.BufType(0))...)
		seed = append(seed, buffer...)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answers []byte) {
		c, err := v4l2.Open(&babbler{answers}, "/dev/video0")
		if err != nil {
			return
		}
		formats, _ := c.Formats()
		for _, format := range formats[:min(2, len(formats))] {
			sizes, _ := c.Sizes(format.FourCC)
			for _, size := range sizes[:min(2, len(sizes))] {
				require.NotEmpty(t, size.String())
			}
			rates, _ := c.Rates(format.FourCC, 640, 480)
			for _, rate := range rates {
				require.NotEmpty(t, rate.String())
			}
		}
		_, err = c.SetFormat(0, 0, 0)
		if err != nil {
			require.NotEmpty(t, err.Error())
		}
		_, _ = c.SetRate(0)
		controls, _ := c.Controls()
		for _, control := range controls[:min(2, len(controls))] {
			_ = c.Set([]v4l2.Setting{{Control: control.Name, Value: "1"}})
		}
		capture, err := c.Start(2, new(v4l2.Counter))
		if err == nil {
			require.Error(t, capture.Run(t.Context(), 0, func(f *v4l2.Frame) {
				require.NotEmpty(t, f.Data)
				f.Data[0], f.Data[len(f.Data)-1] = 1, 2
				if f.Format.BytesPerLine > 0 && f.Format.FourCC == v4l2.GREY {
					require.Len(t, f.Data, f.Format.BytesPerLine*f.Format.Height)
				}
			}))
		}
		_ = c.Close()
	})
}
