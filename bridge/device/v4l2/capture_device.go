package v4l2

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2/internal/kernel"
)

// maxItems limits lists, in case a driver never ends one.
const maxItems = 1024

// CaptureDevice is an open capture device. It must be used by one goroutine only.
type CaptureDevice struct {
	path       string
	handle     Device
	capability kernel.Capability
	kind       kernel.BufType
	format     Format
	capture    *Capture
}

// Open opens the capture device at path on a system; nil is Kernel. Errors wrap an error of the system, such as
// unix.ENOENT or unix.EBUSY, and say what to do. A device that cannot stream video is an error.
func Open(system System, path string) (*CaptureDevice, error) {
	if system == nil {
		system = Kernel{}
	}
	handle, err := system.Open(path)
	if err != nil {
		return nil, failed(path, "open", err)
	}
	c := &CaptureDevice{path: path, handle: handle}
	if err := c.query(); err != nil {
		handle.Close()
		return nil, err
	}
	return c, nil
}

func (c *CaptureDevice) query() error {
	if err := c.handle.Ioctl(kernel.VIDIOC_QUERYCAP, unsafe.Pointer(&c.capability)); err != nil {
		if errors.Is(err, unix.ENOTTY) {
			return fmt.Errorf("%s is not a video device: %w", c.path, err)
		}
		return failed(c.path, "query capabilities", err)
	}
	can := c.capability.Capabilities
	if can&kernel.V4L2_CAP_DEVICE_CAPS != 0 {
		can = c.capability.DeviceCaps
	}
	switch {
	case can&kernel.V4L2_CAP_VIDEO_CAPTURE != 0:
		c.kind = kernel.V4L2_BUF_TYPE_VIDEO_CAPTURE
	case can&kernel.V4L2_CAP_VIDEO_CAPTURE_MPLANE != 0:
		c.kind = kernel.V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE
	case can&kernel.V4L2_CAP_META_CAPTURE != 0:
		return fmt.Errorf("%s captures metadata, not video: %w; use another node of %q", c.path, errNotCapture,
			c.Card())
	default:
		return fmt.Errorf("%s does not capture video: %w; its capabilities are 0x%08x", c.path, errNotCapture, can)
	}
	if can&kernel.V4L2_CAP_STREAMING == 0 {
		return fmt.Errorf("%s cannot stream: %w; its capabilities are 0x%08x", c.path, errNotCapture, can)
	}
	return nil
}

// Card returns the name that the device reports: "HD Pro Webcam C920".
func (c *CaptureDevice) Card() string { return kernel.String(c.capability.Card[:]) }

// enumerate performs a request for each index, until the list ends or add returns false.
func (c *CaptureDevice) enumerate(what string, request uint32, argument unsafe.Pointer, index *uint32,
	add func() bool) error {
	for *index = 0; *index < maxItems; *index++ {
		switch err := c.handle.Ioctl(request, argument); {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTTY):
			return nil // end of the list; no list
		case err != nil:
			return failed(c.path, what, err)
		}
		if !add() {
			return nil
		}
	}
	return nil
}

// Formats lists the pixel formats that the device offers.
func (c *CaptureDevice) Formats() ([]PixelFormat, error) {
	var formats []PixelFormat
	item := kernel.FmtDesc{Type: c.kind}
	err := c.enumerate("list pixel formats", kernel.VIDIOC_ENUM_FMT, unsafe.Pointer(&item), &item.Index, func() bool {
		formats = append(formats, PixelFormat{FourCC(item.PixelFormat), kernel.String(item.Description[:])})
		return true
	})
	return formats, err
}

// Sizes lists the sizes that the device offers in a pixel format; none if it lists none.
func (c *CaptureDevice) Sizes(f FourCC) ([]Sizes, error) {
	var sizes []Sizes
	item := kernel.FrmSizeEnum{PixelFormat: uint32(f)}
	err := c.enumerate("list sizes", kernel.VIDIOC_ENUM_FRAMESIZES, unsafe.Pointer(&item), &item.Index, func() bool {
		if item.Type == kernel.V4L2_FRMSIZE_TYPE_DISCRETE {
			width, height := int(item.MinWidth), int(item.MaxWidth)
			sizes = append(sizes, Sizes{width, width, 0, height, height, 0})
			return true
		}
		sizes = append(sizes, Sizes{
			int(item.MinWidth), int(item.MaxWidth), int(item.StepWidth),
			int(item.MinHeight), int(item.MaxHeight), int(item.StepHeight),
		})
		return false // a stepwise range is the only item
	})
	return sizes, err
}

// Rates lists the frame rates that the device offers in a pixel format and size; none if it lists none.
func (c *CaptureDevice) Rates(f FourCC, width, height int) ([]Rates, error) {
	var rates []Rates
	item := kernel.FrmIvalEnum{PixelFormat: uint32(f), Width: uint32(width), Height: uint32(height)}
	err := c.enumerate("list rates", kernel.VIDIOC_ENUM_FRAMEINTERVALS, unsafe.Pointer(&item), &item.Index,
		func() bool {
			if item.Type == kernel.V4L2_FRMIVAL_TYPE_DISCRETE {
				rates = append(rates, Rates{rate(item.Min), rate(item.Min)})
				return true
			}
			rates = append(rates, Rates{Min: rate(item.Max), Max: rate(item.Min)})
			return false
		})
	return rates, err
}

// rate returns the frames per second of an interval; 0 if it is invalid.
func rate(interval kernel.Fract) float64 {
	if interval.Numerator == 0 {
		return 0
	}
	return float64(interval.Denominator) / float64(interval.Numerator)
}

// SetFormat sets pixel format and size, and returns the driver's format, including the padding of rows. The driver
// chooses a FourCC, width or height of 0. It is an error if the device does not offer the format.
func (c *CaptureDevice) SetFormat(f FourCC, width, height int) (Format, error) {
	argument := kernel.Format{Type: c.kind}
	if err := c.handle.Ioctl(kernel.VIDIOC_G_FMT, unsafe.Pointer(&argument)); err != nil {
		return Format{}, failed(c.path, "get the format", err)
	}
	wanted := c.read(&argument)
	wanted = Format{FourCC: cmp.Or(f, wanted.FourCC), Width: cmp.Or(width, wanted.Width),
		Height: cmp.Or(height, wanted.Height)}

	// The driver chooses everything that depends on format and size, such as the length of rows.
	argument = kernel.Format{Type: c.kind}
	if c.planar() {
		pix := argument.PixMP()
		pix.PixelFormat, pix.Width, pix.Height = uint32(wanted.FourCC), uint32(wanted.Width), uint32(wanted.Height)
	} else {
		pix := &argument.Pix
		pix.PixelFormat, pix.Width, pix.Height = uint32(wanted.FourCC), uint32(wanted.Width), uint32(wanted.Height)
	}
	err := c.handle.Ioctl(kernel.VIDIOC_S_FMT, unsafe.Pointer(&argument))
	if errors.Is(err, unix.EINVAL) {
		return Format{}, c.missing(wanted, Format{})
	}
	if err != nil {
		return Format{}, failed(c.path, "set the format "+wanted.String(), err)
	}
	given := c.read(&argument)
	if f != 0 && given.FourCC != f || width != 0 && given.Width != width || height != 0 && given.Height != height {
		return Format{}, c.missing(wanted, given)
	}
	if planes := argument.PixMP().NumPlanes; c.planar() && planes != 1 {
		return Format{}, fmt.Errorf("%s: frames of %v are in %d separate planes, but only one can be captured; ask "+
			"for a format such as NV12, not NM12", c.path, given, planes)
	}
	if err := given.check(); err != nil {
		return Format{}, fmt.Errorf("%s: %w", c.path, err)
	}
	c.format = given
	return given, nil
}

// planar reports whether the driver describes formats and buffers by planes.
func (c *CaptureDevice) planar() bool { return c.kind == kernel.V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE }

// read returns the format in a struct that the driver filled in, with the lengths of the first plane.
func (c *CaptureDevice) read(argument *kernel.Format) Format {
	if c.planar() {
		pix, plane := argument.PixMP(), &argument.PixMP().PlaneFmt[0]
		return Format{FourCC(pix.PixelFormat), int(pix.Width), int(pix.Height), int(plane.BytesPerLine),
			int(plane.SizeImage)}
	}
	pix := &argument.Pix
	return Format{FourCC(pix.PixelFormat), int(pix.Width), int(pix.Height), int(pix.BytesPerLine), int(pix.SizeImage)}
}

// missing returns the error for a format that the device does not offer, with what it offers: pixel formats, or sizes
// of the wanted one, or else the format that the driver chose, if any.
func (c *CaptureDevice) missing(wanted, given Format) error {
	offers := ""
	if given.FourCC != 0 {
		offers = given.String()
	}
	var codes []FourCC
	formats, _ := c.Formats()
	for _, format := range formats {
		codes = append(codes, format.FourCC)
	}
	if len(codes) > 0 && !slices.Contains(codes, wanted.FourCC) {
		return notOffered(c.path, wanted.FourCC, list(codes))
	}
	if sizes, _ := c.Sizes(wanted.FourCC); len(sizes) > 0 {
		offers = wanted.FourCC.String() + " " + list(sizes)
	}
	return notOffered(c.path, wanted, offers)
}

// notOffered returns the error for a format that a camera does not offer; offers may be "".
func notOffered(camera string, wanted fmt.Stringer, offers string) error {
	if offers == "" {
		return fmt.Errorf("%s: the camera does not offer %v", camera, wanted)
	}
	return fmt.Errorf("%s: the camera does not offer %v, only %s", camera, wanted, offers)
}

// SetRate sets the frames per second, and returns the rate that the driver chose: the nearest that the device supports,
// or 0 if the driver does not report it. A wanted rate of 0 changes nothing.
func (c *CaptureDevice) SetRate(wanted float64) (float64, error) {
	argument := kernel.StreamParm{Type: c.kind}
	request, what := kernel.VIDIOC_G_PARM, "get the rate"
	if wanted != 0 {
		if !(wanted > 0 && wanted <= 1e6) {
			return 0, fmt.Errorf("%s: invalid rate of %g frames per second; want a number such as 30", c.path, wanted)
		}
		request, what = kernel.VIDIOC_S_PARM, "set the rate "+number(wanted)
		argument.TimePerFrame = interval(wanted)
	}
	err := c.handle.Ioctl(request, unsafe.Pointer(&argument))
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) && wanted == 0 {
		return 0, nil // not supported by the driver
	}
	if err != nil {
		return 0, failed(c.path, what, err)
	}
	if argument.Capability&kernel.V4L2_CAP_TIMEPERFRAME == 0 {
		return 0, nil
	}
	return rate(argument.TimePerFrame), nil
}

// interval returns the time between frames. It is exact for whole rates and for rates of NTSC, such as 30000/1001.
func interval(rate float64) kernel.Fract {
	if ntsc := math.Round(rate*1.001) * 1000; ntsc > 0 && math.Abs(rate-ntsc/1001) < 0.005 && rate != math.Round(rate) {
		return kernel.Fract{Numerator: 1001, Denominator: uint32(ntsc)}
	}
	if rate == math.Round(rate) {
		return kernel.Fract{Numerator: 1, Denominator: uint32(rate)}
	}
	if slow := 1 / rate; slow == math.Round(slow) && slow < math.MaxUint32 {
		return kernel.Fract{Numerator: uint32(slow), Denominator: 1}
	}
	return kernel.Fract{Numerator: 1000, Denominator: uint32(max(1, math.Round(rate*1000)))}
}

// Close closes the device, and ends its capture.
func (c *CaptureDevice) Close() error {
	var err error
	if c.capture != nil {
		err = c.capture.Close()
	}
	return errors.Join(err, c.handle.Close())
}

// fold makes texts comparable regardless of case and surrounding space.
func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
