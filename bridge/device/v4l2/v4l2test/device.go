package v4l2test

import (
	"math"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/internal/kernel"
)

// device is an open Camera.
type device struct {
	camera  *Camera
	plugged *bool // guarded by the camera's mutex
	timer   *time.Timer
	news    chan struct{}

	mutex sync.Mutex
	woken bool
}

func newDevice(c *Camera) *device {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return &device{camera: c, plugged: c.plugged, timer: time.NewTimer(0), news: make(chan struct{}, 1)}
}

// notify wakes Poll.
func (d *device) notify() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// Wake implements v4l2.Device.
func (d *device) Wake() {
	d.mutex.Lock()
	d.woken = true
	d.mutex.Unlock()
	d.notify()
}

// Poll implements v4l2.Device.
func (d *device) Poll(timeout time.Duration) (bool, error) {
	c := d.camera
	for began := time.Now(); ; {
		d.mutex.Lock()
		woken := d.woken
		d.woken = false
		d.mutex.Unlock()
		if woken {
			return false, unix.ECANCELED
		}

		c.mutex.Lock()
		now := monotonic()
		if *d.plugged {
			c.catchUp(now)
		}
		ready := !*d.plugged || c.user != d || !c.on || len(c.done) > 0 || len(c.failures) > 0
		wait := timeout - time.Since(began)
		if !ready && !c.Manual {
			wait = min(wait, time.Duration(c.next-now))
		}
		c.mutex.Unlock()
		if ready {
			return true, nil
		}
		if time.Since(began) >= timeout {
			return false, nil
		}
		d.timer.Reset(wait)
		select {
		case <-d.timer.C:
		case <-d.news:
		}
	}
}

// Now implements v4l2.Device.
func (d *device) Now(clock int32) int64 { return readClock(clock) }

// Mmap implements v4l2.Device.
func (d *device) Mmap(offset int64, length int) ([]byte, error) {
	c := d.camera
	c.mutex.Lock()
	defer c.mutex.Unlock()
	index := int(offset >> 12)
	if c.user != d || index >= len(c.memory) || length != len(c.memory[index]) {
		return nil, unix.EINVAL
	}
	return c.memory[index], nil
}

// Munmap implements v4l2.Device.
func (d *device) Munmap([]byte) error { return nil }

// Close implements v4l2.Device.
func (d *device) Close() error {
	c := d.camera
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.user == d {
		c.release()
	}
	return nil
}

// Ioctl implements v4l2.Device.
func (d *device) Ioctl(request uint32, argument unsafe.Pointer) error {
	c := d.camera
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !*d.plugged {
		return unix.ENODEV
	}
	if c.Driver != nil {
		return c.Driver(request, argument, func() error { return d.ioctl(request, argument) })
	}
	return d.ioctl(request, argument)
}

// ioctl answers a request while the camera's mutex is held.
func (d *device) ioctl(request uint32, argument unsafe.Pointer) error {
	c := d.camera
	switch request {
	case kernel.VIDIOC_QUERYCAP:
		c.describe((*kernel.Capability)(argument))
		return nil
	case kernel.VIDIOC_ENUM_FMT:
		return c.enumFormat((*kernel.FmtDesc)(argument))
	case kernel.VIDIOC_ENUM_FRAMESIZES:
		return c.enumSize((*kernel.FrmSizeEnum)(argument))
	case kernel.VIDIOC_ENUM_FRAMEINTERVALS:
		return c.enumInterval((*kernel.FrmIvalEnum)(argument))
	case kernel.VIDIOC_G_FMT:
		c.tellFormat(&(*kernel.Format)(argument).Pix)
		return nil
	case kernel.VIDIOC_S_FMT:
		if c.user != nil {
			return unix.EBUSY
		}
		c.setFormat(&(*kernel.Format)(argument).Pix)
		return nil
	case kernel.VIDIOC_G_PARM, kernel.VIDIOC_S_PARM:
		c.parameters((*kernel.StreamParm)(argument), request == kernel.VIDIOC_S_PARM)
		return nil
	case kernel.VIDIOC_QUERY_EXT_CTRL:
		return c.queryControl((*kernel.QueryExtCtrl)(argument))
	case kernel.VIDIOC_QUERYMENU:
		return c.queryMenu((*kernel.QueryMenu)(argument))
	case kernel.VIDIOC_S_CTRL:
		return c.setControl((*kernel.Control)(argument))
	}
	if c.user != nil && c.user != d {
		return unix.EBUSY
	}
	switch request {
	case kernel.VIDIOC_REQBUFS:
		d.request((*kernel.RequestBuffers)(argument))
		return nil
	case kernel.VIDIOC_QUERYBUF:
		buffer := (*kernel.Buffer)(argument)
		if int(buffer.Index) >= len(c.memory) {
			return unix.EINVAL
		}
		buffer.M, buffer.Length = uintptr(buffer.Index)<<12, uint32(len(c.memory[buffer.Index]))
		return nil
	case kernel.VIDIOC_QBUF:
		buffer := (*kernel.Buffer)(argument)
		if int(buffer.Index) >= len(c.memory) || slices.Contains(c.queued, int(buffer.Index)) {
			return unix.EINVAL
		}
		c.catchUp(monotonic())
		c.queued = append(c.queued, int(buffer.Index))
		return nil
	case kernel.VIDIOC_DQBUF:
		return c.dequeue((*kernel.Buffer)(argument))
	case kernel.VIDIOC_STREAMON:
		c.on, c.sequence, c.next = true, 0, monotonic()+int64(float64(time.Second)/c.rate)
		return nil
	case kernel.VIDIOC_STREAMOFF:
		c.on, c.queued, c.done = false, c.queued[:0], c.done[:0]
		return nil
	}
	return unix.ENOTTY
}

func (c *Camera) describe(capability *kernel.Capability) {
	copy(capability.Driver[:], "v4l2test")
	copy(capability.Card[:], c.Node.Name)
	copy(capability.BusInfo[:], c.Node.Port)
	capability.DeviceCaps = kernel.V4L2_CAP_META_CAPTURE | kernel.V4L2_CAP_STREAMING
	if len(c.Formats) > 0 {
		capability.DeviceCaps = kernel.V4L2_CAP_VIDEO_CAPTURE | kernel.V4L2_CAP_STREAMING
	}
	capability.Capabilities = capability.DeviceCaps | kernel.V4L2_CAP_VIDEO_CAPTURE | kernel.V4L2_CAP_DEVICE_CAPS
}

func (c *Camera) enumFormat(item *kernel.FmtDesc) error {
	var codes []v4l2.FourCC
	for _, f := range c.Formats {
		if !slices.Contains(codes, f.FourCC) {
			codes = append(codes, f.FourCC)
		}
	}
	if int(item.Index) >= len(codes) {
		return unix.EINVAL
	}
	item.PixelFormat = uint32(codes[item.Index])
	return nil
}

func (c *Camera) enumSize(item *kernel.FrmSizeEnum) error {
	var sizes []Format
	for _, f := range c.Formats {
		if f.FourCC == v4l2.FourCC(item.PixelFormat) {
			sizes = append(sizes, f)
		}
	}
	if int(item.Index) >= len(sizes) {
		return unix.EINVAL
	}
	item.Type = kernel.V4L2_FRMSIZE_TYPE_DISCRETE
	item.MinWidth, item.MaxWidth = uint32(sizes[item.Index].Width), uint32(sizes[item.Index].Height)
	return nil
}

func (c *Camera) enumInterval(item *kernel.FrmIvalEnum) error {
	for _, f := range c.Formats {
		if uint32(f.FourCC) == item.PixelFormat && f.Width == int(item.Width) && f.Height == int(item.Height) &&
			int(item.Index) < len(f.Rates) {
			item.Type, item.Min = kernel.V4L2_FRMIVAL_TYPE_DISCRETE, interval(f.Rates[item.Index])
			return nil
		}
	}
	return unix.EINVAL
}

func (c *Camera) tellFormat(pix *kernel.PixFormat) {
	f := c.format.laidOut()
	*pix = kernel.PixFormat{
		PixelFormat: uint32(f.FourCC), Width: uint32(f.Width), Height: uint32(f.Height),
		BytesPerLine: uint32(f.BytesPerLine), SizeImage: uint32(f.Size), Field: 1,
	}
}

// setFormat sets the nearest offered format, as drivers do.
func (c *Camera) setFormat(pix *kernel.PixFormat) {
	best, least := c.Formats[0], math.Inf(1)
	for _, f := range c.Formats {
		far := math.Abs(float64(f.Width)-float64(pix.Width)) + math.Abs(float64(f.Height)-float64(pix.Height))
		if uint32(f.FourCC) == pix.PixelFormat && far < least {
			best, least = f, far
		}
	}
	c.set(best)
	c.tellFormat(pix)
}

// parameters returns the rate, and sets the nearest offered one.
func (c *Camera) parameters(parameters *kernel.StreamParm, set bool) {
	if set && parameters.TimePerFrame.Numerator != 0 {
		wanted := float64(parameters.TimePerFrame.Denominator) / float64(parameters.TimePerFrame.Numerator)
		c.rate = slices.MinFunc(c.format.Rates, func(a, b float64) int {
			return int(math.Copysign(1, math.Abs(a-wanted)-math.Abs(b-wanted)))
		})
	}
	parameters.Capability, parameters.TimePerFrame = kernel.V4L2_CAP_TIMEPERFRAME, interval(c.rate)
}

func interval(rate float64) kernel.Fract {
	return kernel.Fract{Numerator: 1000, Denominator: uint32(math.Round(1000 * rate))}
}

// queryControl describes a control, or the next one.
func (c *Camera) queryControl(item *kernel.QueryExtCtrl) error {
	id := item.ID &^ kernel.V4L2_CTRL_FLAG_NEXT_CTRL
	var found *v4l2.Control
	for i, control := range c.Controls {
		if item.ID != id && control.ID > id && (found == nil || control.ID < found.ID) || control.ID == item.ID {
			found = &c.Controls[i]
		}
	}
	if found == nil {
		return unix.EINVAL
	}
	*item = kernel.QueryExtCtrl{
		ID: found.ID, Type: uint32(found.Type), Minimum: found.Min, Maximum: found.Max, Step: uint64(found.Step),
		DefaultValue: found.Default,
	}
	copy(item.Name[:], found.Label)
	if found.ReadOnly {
		item.Flags |= kernel.V4L2_CTRL_FLAG_READ_ONLY
	}
	if found.Inactive {
		item.Flags |= kernel.V4L2_CTRL_FLAG_INACTIVE
	}
	return nil
}

func (c *Camera) queryMenu(menu *kernel.QueryMenu) error {
	for _, control := range c.Controls {
		for _, item := range control.Menu {
			if control.ID == menu.ID && item.Index == int64(menu.Index) {
				copy(menu.Name[:], item.Text)
				return nil
			}
		}
	}
	return unix.EINVAL
}

func (c *Camera) setControl(setting *kernel.Control) error {
	for _, control := range c.Controls {
		if control.ID == setting.ID {
			if int64(setting.Value) < control.Min || int64(setting.Value) > control.Max {
				return unix.ERANGE
			}
			c.settings[control.ID] = int64(setting.Value)
			return nil
		}
	}
	return unix.EINVAL
}

// request allocates buffers, or frees them.
func (d *device) request(request *kernel.RequestBuffers) {
	c := d.camera
	c.release()
	if request.Count == 0 {
		return
	}
	c.user = d
	for range request.Count {
		c.memory = append(c.memory, make([]byte, c.format.laidOut().Size))
	}
	c.pictured = make([]bool, request.Count)
	c.queued = make([]int, 0, request.Count)
	c.done = make([]shot, 0, request.Count)
}

func (c *Camera) dequeue(buffer *kernel.Buffer) error {
	if len(c.failures) > 0 {
		err := c.failures[0]
		c.failures = c.failures[1:]
		return err
	}
	if !c.on {
		return unix.EINVAL
	}
	c.catchUp(monotonic())
	if len(c.done) == 0 {
		return unix.EAGAIN
	}
	shot := c.done[0]
	c.done = slices.Delete(c.done, 0, 1)
	buffer.Index, buffer.BytesUsed, buffer.Sequence = uint32(shot.index), uint32(shot.length), shot.sequence
	buffer.Timestamp = unix.NsecToTimeval(shot.stamp)
	buffer.Length = uint32(len(c.memory[shot.index]))
	buffer.Flags = kernel.V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | kernel.V4L2_BUF_FLAG_TSTAMP_SRC_SOE
	if shot.damaged {
		buffer.Flags |= kernel.V4L2_BUF_FLAG_ERROR
	}
	return nil
}
