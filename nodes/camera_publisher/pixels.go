package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/codec/encoding/pixel"
)

// format is a pixel format of V4L2 that can be published.
type format struct {
	code      v4l2.FourCC
	pixels    string   // name of the encoding in codec/encoding/pixel
	encodings []string // encodings of a sensor_msgs/msg/Image; the first one is the default
}

// formats are the pixel formats that can be published.
var formats = []format{
	{v4l2.YUYV, "yuv422_yuy2", []string{"yuv422_yuy2", "rgb8", "bgr8", "mono8"}},
	{v4l2.UYVY, "yuv422", []string{"yuv422", "rgb8", "bgr8", "mono8"}},
	{v4l2.NV12, "nv12", []string{"rgb8", "bgr8", "mono8"}},
	{v4l2.RGB3, "rgb8", []string{"rgb8", "bgr8"}},
	{v4l2.BGR3, "bgr8", []string{"bgr8", "rgb8"}},
	{v4l2.GREY, "mono8", []string{"mono8"}},
	{v4l2.Y16, "mono16", []string{"mono16", "16UC1"}},
	{v4l2.Z16, "mono16", []string{"16UC1", "mono16"}},
	{v4l2.MJPG, "rgba8", []string{"rgb8", "bgr8"}}, // decoded
	{v4l2.FourCC('B' | 'A'<<8 | '8'<<16 | '1'<<24), "bayer_bggr8", []string{"bayer_bggr8"}},
	{v4l2.FourCC('G' | 'B'<<8 | 'R'<<16 | 'G'<<24), "bayer_gbrg8", []string{"bayer_gbrg8"}},
	{v4l2.FourCC('G' | 'R'<<8 | 'B'<<16 | 'G'<<24), "bayer_grbg8", []string{"bayer_grbg8"}},
	{v4l2.FourCC('R' | 'G'<<8 | 'G'<<16 | 'B'<<24), "bayer_rggb8", []string{"bayer_rggb8"}},
}

// conversion converts a frame to a sensor_msgs/msg/Image.
type conversion struct {
	pixel.Conversion
	encoding string  // encoding of the Image
	scale    float64 // factor for depth; 0: depth is not scaled
}

// isJPEG reports whether frames are JPEGs.
func isJPEG(f v4l2.FourCC) bool { return f == v4l2.MJPG || f == v4l2.JPEG }

// findConversion returns the conversion to an encoding, "" for the default. Depth is multiplied by scale.
func findConversion(from v4l2.FourCC, encoding string, scale float64) (*conversion, error) {
	code := from
	if isJPEG(from) {
		code = v4l2.MJPG
	}
	i := slices.IndexFunc(formats, func(f format) bool { return f.code == code })
	if i < 0 {
		var known []string
		for _, f := range formats {
			known = append(known, f.code.String())
		}
		return nil, fmt.Errorf("pixel format %v cannot be published; choose one of %s", from, strings.Join(known, ", "))
	}
	f := &formats[i]
	if encoding == "" {
		encoding = f.encodings[0]
	}
	if !slices.Contains(f.encodings, encoding) {
		return nil, fmt.Errorf("pixel format %v cannot be published as %s, only as %s; choose another encoding or "+
			"format", from, encoding, strings.Join(f.encodings, ", "))
	}
	c := &conversion{encoding: encoding}
	if from == v4l2.Z16 && scale != 1 {
		c.scale = scale
	}
	var err error
	c.Conversion, err = pixel.FindConversion(f.pixels, encoding)
	return c, err
}

// image returns the pixels of a frame.
func (c *conversion) image(f *v4l2.Frame) pixel.Image {
	return pixel.Image{Encoding: c.From.Name, Data: f.Data, Width: f.Format.Width, Height: f.Format.Height,
		Step: f.Format.BytesPerLine}
}

// size returns the size of the Image's data in bytes. It fails if the frame is not complete.
func (c *conversion) size(f *v4l2.Frame) (int, error) {
	m := c.image(f)
	return c.Size(&m)
}

// convert writes the Image's data, without the padding of the frame's rows. dst has the length that size returned.
func (c *conversion) convert(dst []byte, f *v4l2.Frame) {
	m := c.image(f)
	c.Convert(dst, &m)
	if c.scale != 0 {
		scaleDepth(dst, c.scale)
	}
}

// scaleDepth multiplies 16-bit numbers by scale. 0, which means no measurement, stays 0. Overflow becomes 65535.
func scaleDepth(pixels []byte, scale float64) {
	for i := 0; i+1 < len(pixels); i += 2 {
		v := math.Round(float64(binary.LittleEndian.Uint16(pixels[i:])) * scale)
		binary.LittleEndian.PutUint16(pixels[i:], uint16(min(v, math.MaxUint16)))
	}
}
