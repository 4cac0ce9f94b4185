package v4l2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Camera captures from a device, also after it was unplugged and plugged in again. Fields are set before Run.
type Camera struct {
	// System is where the device is. Nil is Kernel.
	System System

	// Device is a path as "/dev/video0" or "/dev/v4l/by-id/…", or the USB serial number or name of the camera. A camera
	// with several nodes, found by serial number or name, is captured from at the first one that offers FourCC.
	Device string

	// Pixel format and size; the device chooses those that are 0.
	FourCC        FourCC
	Width, Height int

	// Rate is in frames per second; 0 lets the device choose. An unsupported rate becomes the nearest one: see Status.
	Rate float64

	// Controls are set each time the device is opened.
	Controls []Setting

	// Buffers is how many frames the driver can capture ahead; 0 is 4.
	Buffers int

	// Retry is the period at which a missing device is looked for; 0 is one second.
	Retry time.Duration

	// Silence is how long a device may send nothing before it is reopened; 0 is 10 s, less than 0 is no limit, as for a
	// camera that waits for a trigger.
	Silence time.Duration

	// Frame is called with each frame by the goroutine of Run. The frame's buffer returns to the driver afterwards.
	Frame func(*Frame)

	// Event, if not nil, is called by the goroutine of Run each time the device starts to stream (Status.Err is nil),
	// is lost, or cannot be opened for a new reason. It is not called again while a lost device is missing.
	Event func(Status)

	count Counter

	mutex  sync.Mutex
	status Status
}

// Run captures until the context ends, and returns its error. Invalid fields are an error at once. Errors of the device
// go to Event, and Run retries.
func (c *Camera) Run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	c.count.Begin(time.Now())
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-retry.C:
		}
		err := c.capture(ctx)
		if ctx.Err() != nil {
			c.set(func(s *Status) { s.Streaming = false })
			return ctx.Err()
		}
		c.lost(err)
		retry.Reset(cmp.Or(c.Retry, time.Second))
	}
}

func (c *Camera) check() error {
	switch {
	case c.Device == "":
		return errors.New("a camera needs a device: a path such as /dev/video0, or a serial number")
	case c.Frame == nil:
		return fmt.Errorf("camera %s: Frame is not set", c.Device)
	case c.Buffers < 0 || c.Buffers > maxItems || c.Retry < 0:
		return fmt.Errorf("camera %s: invalid buffer count %d or retry interval %v", c.Device, c.Buffers, c.Retry)
	case c.Width < 0 || c.Height < 0 || c.Width > maxSide || c.Height > maxSide:
		return fmt.Errorf("camera %s: invalid size %dx%d", c.Device, c.Width, c.Height)
	case c.Rate < 0 || math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0):
		return fmt.Errorf("camera %s: invalid rate of %g frames per second", c.Device, c.Rate)
	}
	return nil
}

// capture captures from the device until it fails or the context ends.
func (c *Camera) capture(ctx context.Context) error {
	device, node, err := c.open()
	if err != nil {
		return err
	}
	defer device.Close()
	status := Status{Streaming: true, Path: node.Path, Card: device.Card(), Serial: node.Serial}
	status.Format, err = device.SetFormat(c.FourCC, c.Width, c.Height)
	if err != nil {
		return err
	}
	status.Rate, err = device.SetRate(c.Rate)
	if err != nil {
		return err
	}
	if c.Rate != 0 && math.Abs(status.Rate-c.Rate) > 0.01*c.Rate {
		status.Rates, err = device.Rates(status.Format.FourCC, status.Format.Width,
			status.Format.Height)
		if err != nil {
			return err
		}
	}
	if err := device.Set(c.Controls); err != nil {
		return err
	}
	capture, err := device.Start(cmp.Or(c.Buffers, 4), &c.count)
	if err != nil {
		return err
	}
	c.count.Change(func(s *Stats) { s.Opened++ })
	c.set(func(s *Status) { *s = status })
	c.event(status)
	return capture.Run(ctx, cmp.Or(c.Silence, 10*time.Second), c.Frame)
}

// open opens the device.
func (c *Camera) open() (*CaptureDevice, Node, error) {
	system := c.System
	if system == nil {
		system = Kernel{}
	}
	if strings.Contains(c.Device, "/") {
		device, err := Open(system, c.Device)
		return device, Node{Path: c.Device}, err
	}
	nodes, err := system.Nodes()
	if err != nil {
		return nil, Node{}, fmt.Errorf("camera %s: %w", c.Device, err)
	}
	nodes, err = choose(nodes, c.Device)
	if err != nil {
		return nil, Node{}, err
	}
	var offers []FourCC
	for _, node := range nodes {
		device, err := Open(system, node.Path)
		if errors.Is(err, errNotCapture) {
			continue
		}
		if err != nil {
			return nil, Node{}, err
		}
		formats, err := device.Formats()
		if err != nil {
			device.Close()
			return nil, Node{}, err
		}
		wanted := c.FourCC == 0
		for _, format := range formats {
			wanted = wanted || format.FourCC == c.FourCC
			offers = append(offers, format.FourCC)
		}
		if wanted {
			return device, node, nil
		}
		device.Close()
	}
	if len(offers) == 0 {
		return nil, Node{}, fmt.Errorf("camera %s: %w", c.Device, errNotCapture)
	}
	return nil, Node{}, notOffered(c.Device, c.FourCC, list(offers))
}

// choose returns the nodes of the camera with this serial number or name.
func choose(nodes []Node, device string) ([]Node, error) {
	var chosen []Node
	for _, node := range nodes {
		if node.Serial == device {
			chosen = append(chosen, node)
		}
	}
	if chosen == nil {
		for _, node := range nodes {
			if fold(node.Name) == fold(device) {
				chosen = append(chosen, node)
			}
		}
	}
	if chosen == nil {
		return nil, fmt.Errorf("camera %s: %w%s", device, ErrNotFound, present(nodes))
	}
	if i := slices.IndexFunc(chosen, func(node Node) bool { return node.Port != chosen[0].Port }); i > 0 {
		return nil, fmt.Errorf("camera %s: %s and %s both match; name one by its path in /dev/v4l/by-path",
			device, chosen[0].Path, chosen[i].Path)
	}
	return chosen, nil
}

// present lists the connected cameras, for an error.
func present(nodes []Node) string {
	var cameras []string
	for _, node := range nodes {
		if camera := strings.TrimSpace(node.Serial + " " + strconv.Quote(node.Name)); !slices.Contains(cameras,
			camera) {
			cameras = append(cameras, camera)
		}
	}
	if cameras == nil {
		return "; no cameras are connected"
	}
	return "; connected: " + list(cameras)
}

// lost keeps the reason why the device does not stream, and reports a new one.
func (c *Camera) lost(err error) {
	before := c.Status()
	c.set(func(s *Status) { s.Streaming, s.Err = false, err })
	switch {
	case before.Streaming, before.Err == nil:
	case gone(err) && gone(before.Err), err.Error() == before.Err.Error():
		return
	}
	c.event(c.Status())
}

func (c *Camera) event(status Status) {
	if c.Event != nil {
		c.Event(status)
	}
}

func (c *Camera) set(change func(*Status)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	change(&c.status)
}

// Status returns the current state. It may be called at any time, by any goroutine.
func (c *Camera) Status() Status {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.status
}

// Stats returns the counts, and begins a new Window. It may be called at any time, by any goroutine.
func (c *Camera) Stats() Stats { return c.count.Take(time.Now()) }
