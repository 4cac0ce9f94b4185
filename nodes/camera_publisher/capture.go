package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/config"
	"tapedeck/nodes/internal/hardware"
)

// capture captures the images of a camera: a device, or a playback of files.
type capture interface {
	// run calls give with each image until there are no more, or ctx ends. An image is valid during the call.
	run(ctx context.Context, give func(*v4l2.Frame)) error

	// carries reports whether JPEGs will certainly come, and whether raw images will.
	carries() (jpegs, pixels bool)

	// Status returns the state of the capture. Any goroutine may call it at any time.
	Status() v4l2.Status
	// Stats returns the counts of the capture. The Window begins at the previous call. Any goroutine may call it at any
	// time.
	Stats() v4l2.Stats

	close()
}

// newCapture returns the capture of a camera. It calls event with each new state of a device, and warn with errors of
// damaged files.
func newCapture(o *hardware.Camera, loop bool, system v4l2.System, event func(v4l2.Status),
	warn func(error)) (capture, error) {
	info, err := os.Stat(o.Device)
	switch {
	case err != nil && (!strings.Contains(o.Device, "/") || strings.HasPrefix(o.Device, "/dev/")):
		return newDevice(o, system, event)
	case err != nil:
		return nil, err
	case info.IsDir():
		return newPlayback(o.Device, o.Rate, loop, warn, openFolder)
	case info.Mode().IsRegular():
		return newPlayback(o.Device, o.Rate, loop, warn, openJPEGFile)
	case info.Mode()&fs.ModeDevice != 0:
		return newDevice(o, system, event)
	}
	return nil, fmt.Errorf("%s is not a device, folder or file", o.Device)
}

// device is a V4L2 device.
type device struct{ v4l2.Camera }

// newDevice returns a device with the options of a camera. It does not open the device.
func newDevice(o *hardware.Camera, system v4l2.System, event func(v4l2.Status)) (*device, error) {
	d := &device{v4l2.Camera{
		System: system, Device: o.Device, Width: o.Width, Height: o.Height, Rate: o.Rate, Silence: o.Silence,
		Event: event,
	}}
	if o.Silence == 0 {
		d.Silence = -1 // no limit
	}
	if o.Serial != "" {
		d.Device = o.Serial
	}
	if o.Format != "" {
		var err error
		d.FourCC, err = v4l2.ParseFourCC(o.Format)
		if err != nil {
			return nil, config.Usagef("%w", err)
		}
	}
	for _, text := range o.Controls {
		s, err := v4l2.ParseSetting(text)
		if err != nil {
			return nil, config.Usagef("%w", err)
		}
		d.Controls = append(d.Controls, s)
	}
	return d, nil
}

func (d *device) run(ctx context.Context, give func(*v4l2.Frame)) error {
	d.Frame = give
	err := d.Run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (d *device) carries() (jpegs, pixels bool) {
	return isJPEG(d.FourCC), d.FourCC != 0 && !isJPEG(d.FourCC)
}

// key identifies a device by path, or by serial number and format, because a camera may have a device file for each
// format.
func (d *device) key() string {
	if !strings.Contains(d.Device, "/") {
		return fmt.Sprint(d.Device, " ", d.FourCC)
	}
	path, err := filepath.EvalSymlinks(d.Device)
	if err != nil {
		return d.Device
	}
	return path
}

func (d *device) close() {}
