package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io/fs"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/device/v4l2"
	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/nodes/internal/hardware"
)

// camera publishes the images of a capture.
type camera struct {
	name        string
	frame       string // frame_id of messages
	options     *hardware.Camera
	qos         codec.QoS
	node        bridge.Node
	capture     capture
	calibration *calibration // nil: the camera is not calibrated

	topics              *rospub.Topics
	info, jpegs, pixels *rospub.Topic // nil: not advertised

	// Messages, reused: only stamps and data differ between images.
	cameraInfo sensor_msgs.CameraInfo
	compressed sensor_msgs.CompressedImage
	raw        sensor_msgs.Image

	format     v4l2.Format // format that the messages are prepared for
	conversion *conversion // conversion to raw images; nil: not published
	scratch    []byte      // buffer for a JPEG without Huffman tables
	canvas     *image.RGBA // buffer for a decoded JPEG
	mismatch   bool        // a calibration for another size was logged

	logged   string    // last logged error
	loggedAt time.Time // when it was logged

	publishing atomic.Uint64          // number of the image being published; 0: none
	unfit      atomic.Uint64          // number of images that could not be published
	trouble    atomic.Pointer[string] // why the last image was not published; nil: it was
}

// newCamera opens a camera, and advertises the topics that it certainly needs.
func newCamera(name string, c *hardware.Camera, o *options, node bridge.Node, system v4l2.System) (*camera, error) {
	a := &camera{name: name, frame: cmp.Or(c.FrameID, name+"_optical_frame"), options: c, node: node,
		topics: rospub.NewTopics(node, name)}
	var err error
	a.calibration, err = a.calibrate()
	if err != nil {
		return nil, err
	}
	a.capture, err = newCapture(c, o.Loop, system, a.logStatus, func(err error) {
		node.Log(bridge.Warn, "%s: skipping unusable images: %v", name, err)
	})
	if err != nil {
		return nil, err
	}
	a.qos = o.qos(a.fromFile())
	return a, a.prepareKnown()
}

// fromFile reports whether the images come from a folder or file, which ends, and not from a device.
func (a *camera) fromFile() bool {
	_, ok := a.capture.(*playback)
	return ok
}

// calibrate reads the calibration. It returns nil if there is none.
func (a *camera) calibrate() (*calibration, error) {
	file, err := calibrationPath(cmp.Or(a.options.Calibration, defaultCalibration), a.name)
	if err != nil {
		return nil, err
	}
	c, err := readCalibration(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && a.options.Calibration == "":
		a.node.Log(bridge.Info, "%s is not calibrated: %s does not exist", a.name, file)
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		a.node.Log(bridge.Warn, "%s is not calibrated: %v", a.name, err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	if c.name != "" && c.name != a.name {
		c.warnings = append(c.warnings, fmt.Sprintf("%s is a calibration of camera %s", file, c.name))
	}
	for _, text := range c.warnings {
		a.node.Log(bridge.Warn, "%s: calibration: %s", a.name, text)
	}
	return c, nil
}

// prepareKnown advertises the topics that are certainly needed, and checks the encoding.
func (a *camera) prepareKnown() error {
	jpegs, pixels := a.capture.carries()
	format := v4l2.MJPG
	d, isDevice := a.capture.(*device)
	if isDevice {
		format = d.FourCC
	}
	if jpegs && a.options.Encoding != "" || pixels && isDevice {
		if _, err := findConversion(format, a.options.Encoding, 1); err != nil {
			return config.Usagef("%w", err)
		}
	}
	err := a.advertise(&a.info, "camera_info", &a.cameraInfo)
	if err == nil && jpegs {
		err = a.advertise(&a.jpegs, "image_raw/compressed", &a.compressed)
	}
	if err == nil && (pixels || jpegs && a.options.Encoding != "") {
		err = a.advertise(&a.pixels, "image_raw", &a.raw)
	}
	return err
}

// advertise sets t to a topic for messages of the type of m.
func (a *camera) advertise(t **rospub.Topic, name string, m msgs.Message) (err error) {
	*t, err = a.topics.Topic(name, m, a.qos)
	return err
}

// run publishes until the images or ctx end, and closes the capture.
func (a *camera) run(ctx context.Context) error {
	defer a.capture.close()
	number := uint64(0)
	return a.capture.run(ctx, func(f *v4l2.Frame) {
		number++
		a.publishing.Store(number)
		err := a.publish(f)
		a.publishing.Store(0)
		if err == nil {
			a.trouble.Store(nil)
			return
		}
		if ctx.Err() != nil {
			return
		}
		a.unfit.Add(1)
		text := err.Error()
		a.trouble.Store(&text)
		// There may be many errors per second.
		if now := time.Now(); text != a.logged && now.Sub(a.loggedAt) >= troubleTime {
			a.logged, a.loggedAt = text, now
			a.node.Log(bridge.Error, "%s: %s", a.name, text)
		}
	})
}

// logStatus logs the state of a device.
func (a *camera) logStatus(s v4l2.Status) {
	if s.Err != nil {
		a.node.Log(bridge.Warn, "%s: %v; retrying", a.name, s.Err)
		return
	}
	a.node.Log(bridge.Info, "%s: %s at %s, %v, %g images/s", a.name, s.Card, s.Path, s.Format, s.Rate)
	if len(s.Rates) > 0 {
		a.node.Log(bridge.Warn, "%s: %g images/s is not supported, only %v", a.name, a.options.Rate, s.Rates)
	}
}

// publish publishes a frame.
func (a *camera) publish(f *v4l2.Frame) error {
	if f.Format != a.format {
		if err := a.prepare(f.Format); err != nil {
			return err
		}
		a.format = f.Format
	}
	if isJPEG(f.Format.FourCC) {
		return a.publishJPEG(f)
	}
	size, err := a.conversion.size(f)
	if err != nil {
		return err
	}
	if err := a.publishInfo(f); err != nil {
		return err
	}
	return a.publishPixels(f, size)
}

// prepare prepares topics and messages for frames with a format.
func (a *camera) prepare(f v4l2.Format) error {
	a.format, a.conversion = v4l2.Format{}, nil
	header := std_msgs.Header{FrameId: a.frame}
	a.cameraInfo = sensor_msgs.CameraInfo{Width: uint32(f.Width), Height: uint32(f.Height)}
	if a.calibration != nil {
		a.cameraInfo = a.calibration.info
		if info := &a.cameraInfo; !a.mismatch && (int(info.Width) != f.Width || int(info.Height) != f.Height) {
			a.mismatch = true
			a.node.Log(bridge.Warn, "%s: the calibration is for images of %d×%d pixels, not %d×%d; publishing it "+
				"unchanged", a.name, info.Width, info.Height, f.Width, f.Height)
		}
	}
	a.cameraInfo.Header = header
	if isJPEG(f.FourCC) {
		a.compressed = sensor_msgs.CompressedImage{Header: header, Format: "jpeg"}
		if err := a.advertise(&a.jpegs, "image_raw/compressed", &a.compressed); err != nil || a.options.Encoding == "" {
			return err
		}
	}
	var err error
	a.conversion, err = findConversion(f.FourCC, a.options.Encoding, a.options.DepthScale)
	if err != nil {
		return err
	}
	a.raw = sensor_msgs.Image{Header: header, Width: uint32(f.Width), Height: uint32(f.Height),
		Encoding: a.conversion.encoding, Step: uint32(f.Width * a.conversion.To.Bytes)}
	return a.advertise(&a.pixels, "image_raw", &a.raw)
}

// publishInfo publishes the calibration for a frame.
func (a *camera) publishInfo(f *v4l2.Frame) error {
	a.cameraInfo.Header.Stamp = builtin_interfaces.TimeAt(f.Stamp)
	return a.info.Send(&a.cameraInfo)
}

// publishJPEG publishes a JPEG unchanged, and decoded if there are subscribers.
func (a *camera) publishJPEG(f *v4l2.Frame) error {
	if !bytes.HasPrefix(f.Data, startOfImage) {
		return fmt.Errorf("not a JPEG, begins with %q", f.Data[:min(len(f.Data), 8)])
	}
	data := v4l2.AddHuffmanTables(a.scratch, f.Data)
	if len(data) > len(f.Data) {
		a.scratch = data
	}
	a.compressed.Header.Stamp, a.compressed.Data = builtin_interfaces.TimeAt(f.Stamp), data
	if err := errors.Join(a.publishInfo(f), a.jpegs.Send(&a.compressed)); err != nil {
		return err
	}
	if a.conversion == nil || a.pixels.Subscribers() == 0 {
		return nil
	}
	format, err := jpegFormat(data)
	if err != nil {
		return fmt.Errorf("decode image: %w", err)
	}
	if format.Width != f.Format.Width || format.Height != f.Format.Height {
		return fmt.Errorf("the JPEG has %d×%d pixels, not %d×%d", format.Width, format.Height, f.Format.Width,
			f.Format.Height)
	}
	picture, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("decode image: %w", err)
	}
	a.canvas = pixel.RGBA(picture, a.canvas)
	decoded := v4l2.Frame{Data: a.canvas.Pix, Format: f.Format, Stamp: f.Stamp}
	decoded.Format.BytesPerLine = a.canvas.Stride
	size, err := a.conversion.size(&decoded)
	if err != nil {
		return err
	}
	return a.publishPixels(&decoded, size)
}

// publishPixels publishes a raw image of a checked size, if there are subscribers.
func (a *camera) publishPixels(f *v4l2.Frame, size int) error {
	if a.pixels.Subscribers() == 0 {
		return nil
	}
	a.raw.Header.Stamp = builtin_interfaces.TimeAt(f.Stamp)
	return a.pixels.SendData(&a.raw, size, func(data []byte) { a.conversion.convert(data, f) })
}
