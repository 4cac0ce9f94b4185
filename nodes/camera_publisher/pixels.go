package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"tapedeck/bridge/v4l2"
)

// conversion makes a sensor_msgs/msg/Image of a frame's rows.
type conversion struct {
	from     v4l2.FourCC
	encoding string // of the Image, as sensor_msgs/image_encodings.hpp has them; the first one of a FourCC is taken if none is asked for
	in, out  int    // bytes of a pixel in a row of the frame and of the Image
	pairs    bool   // pixels come in pairs, which share their colour

	// row makes a row. uv is the row of colours, if the frame has them apart.
	row func(dst, src, uv []byte)
}

// conversions are those that there are.
var conversions = []conversion{
	{v4l2.YUYV, "yuv422_yuy2", 2, 2, true, copyRow},
	{v4l2.YUYV, "rgb8", 2, 3, true, func(dst, src, _ []byte) { yuvRow(dst, src, 0, 1, 3, 0) }},
	{v4l2.YUYV, "bgr8", 2, 3, true, func(dst, src, _ []byte) { yuvRow(dst, src, 0, 1, 3, 2) }},
	{v4l2.YUYV, "mono8", 2, 1, true, func(dst, src, _ []byte) { every(dst, src, 0, 2) }},
	{v4l2.UYVY, "yuv422", 2, 2, true, copyRow},
	{v4l2.UYVY, "rgb8", 2, 3, true, func(dst, src, _ []byte) { yuvRow(dst, src, 1, 0, 2, 0) }},
	{v4l2.UYVY, "bgr8", 2, 3, true, func(dst, src, _ []byte) { yuvRow(dst, src, 1, 0, 2, 2) }},
	{v4l2.UYVY, "mono8", 2, 1, true, func(dst, src, _ []byte) { every(dst, src, 1, 2) }},
	{v4l2.NV12, "rgb8", 1, 3, true, func(dst, src, uv []byte) { planesRow(dst, src, uv, 0) }},
	{v4l2.NV12, "bgr8", 1, 3, true, func(dst, src, uv []byte) { planesRow(dst, src, uv, 2) }},
	{v4l2.NV12, "mono8", 1, 1, true, copyRow},
	{v4l2.RGB3, "rgb8", 3, 3, false, copyRow},
	{v4l2.RGB3, "bgr8", 3, 3, false, swapRow},
	{v4l2.BGR3, "bgr8", 3, 3, false, copyRow},
	{v4l2.BGR3, "rgb8", 3, 3, false, swapRow},
	{v4l2.GREY, "mono8", 1, 1, false, copyRow},
	{v4l2.Y16, "mono16", 2, 2, false, copyRow},
	{v4l2.Y16, "16UC1", 2, 2, false, copyRow},
	{v4l2.Z16, "16UC1", 2, 2, false, copyRow},
	{v4l2.Z16, "mono16", 2, 2, false, copyRow},
	{v4l2.MJPG, "rgb8", 4, 3, false, func(dst, src, _ []byte) { rgbaRow(dst, src, 0) }}, // decoded, to RGBA
	{v4l2.MJPG, "bgr8", 4, 3, false, func(dst, src, _ []byte) { rgbaRow(dst, src, 2) }},
	{v4l2.FourCC('B' | 'A'<<8 | '8'<<16 | '1'<<24), "bayer_bggr8", 1, 1, false, copyRow},
	{v4l2.FourCC('G' | 'B'<<8 | 'R'<<16 | 'G'<<24), "bayer_gbrg8", 1, 1, false, copyRow},
	{v4l2.FourCC('G' | 'R'<<8 | 'B'<<16 | 'G'<<24), "bayer_grbg8", 1, 1, false, copyRow},
	{v4l2.FourCC('R' | 'G'<<8 | 'G'<<16 | 'B'<<24), "bayer_rggb8", 1, 1, false, copyRow},
}

// isJPEG says whether frames are JPEGs.
func isJPEG(f v4l2.FourCC) bool { return f == v4l2.MJPG || f == v4l2.JPEG }

// findConversion returns the one to an encoding, "" for the first. Depth is multiplied with scale.
func findConversion(from v4l2.FourCC, encoding string, scale float64) (conversion, error) {
	lookFor := from
	if isJPEG(from) {
		lookFor = v4l2.MJPG
	}
	var can []string
	for _, c := range conversions {
		if c.from != lookFor {
			continue
		}
		if encoding == "" || encoding == c.encoding {
			if from == v4l2.Z16 && scale != 1 {
				c.row = func(dst, src, _ []byte) { scaleRow(dst, src, scale) }
			}
			return c, nil
		}
		can = append(can, c.encoding)
	}
	if can == nil {
		var known []string
		for _, c := range conversions {
			known = append(known, c.from.String())
		}
		return conversion{}, fmt.Errorf("pictures of format %v cannot be published, but those of %s; choose another format", from, strings.Join(slices.Compact(known), ", "))
	}
	return conversion{}, fmt.Errorf("pictures of format %v cannot be published as %s, but as %s; choose another encoding or format", from, encoding, strings.Join(can, ", "))
}

// size returns how many bytes of pixels the Image has, after checking that the frame has them all.
func (c *conversion) size(f *v4l2.Frame) (int, error) {
	const most = 1 << 15 // pixels, so that no product overflows
	w, h, line := f.Format.Width, f.Format.Height, stepOf(f, c)
	switch {
	case w <= 0 || h <= 0 || w > most || h > most:
		return 0, fmt.Errorf("%d×%d pixels are no picture", w, h)
	case c.pairs && w%2 != 0:
		return 0, fmt.Errorf("%d pixels %v cannot be a row, they come in pairs", w, c.from)
	case line < w*c.in || line > 16*most:
		return 0, fmt.Errorf("rows of %d pixels %v have %d bytes, not %d", w, c.from, w*c.in, line)
	}
	need := line*(h-1) + w*c.in
	if c.from == v4l2.NV12 {
		need = line*(h+(h+1)/2-1) + w
	}
	if len(f.Data) < need {
		return 0, fmt.Errorf("a picture of %d×%d pixels %v has %d bytes, not %d", w, h, c.from, need, len(f.Data))
	}
	return w * c.out * h, nil
}

// stepOf returns how many bytes there are from a row of the frame to the next one.
func stepOf(f *v4l2.Frame, c *conversion) int {
	if f.Format.BytesPerLine > 0 {
		return f.Format.BytesPerLine
	}
	return f.Format.Width * c.in
}

// convert makes the pixels of the Image, without the padding of the frame's rows. dst has the size that size returned.
func (c *conversion) convert(dst []byte, f *v4l2.Frame) {
	w, h, line := f.Format.Width, f.Format.Height, stepOf(f, c)
	for y := range h {
		var uv []byte
		if c.from == v4l2.NV12 {
			uv = f.Data[line*(h+y/2):][:w]
		}
		c.row(dst[y*w*c.out:][:w*c.out], f.Data[y*line:][:w*c.in], uv)
	}
}

func copyRow(dst, src, _ []byte) { copy(dst, src) }

func swapRow(dst, src, _ []byte) {
	for len(src) >= 3 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = src[2], src[1], src[0]
		dst, src = dst[3:], src[3:]
	}
}

// every takes one byte of each n.
func every(dst, src []byte, from, n int) {
	for i := range dst {
		dst[i] = src[from+i*n]
	}
}

// rgbaRow leaves out the transparency. red is where red goes: 0 for RGB, 2 for BGR.
func rgbaRow(dst, src []byte, red int) {
	for len(src) >= 4 && len(dst) >= 3 {
		dst[red], dst[1], dst[2-red] = src[0], src[1], src[2]
		dst, src = dst[3:], src[4:]
	}
}

// scaleRow multiplies 16 bit numbers. What has no measure stays 0, what is too far becomes 65535.
func scaleRow(dst, src []byte, scale float64) {
	for i := 0; i+1 < len(src) && i+1 < len(dst); i += 2 {
		v := math.Round(float64(binary.LittleEndian.Uint16(src[i:])) * scale)
		binary.LittleEndian.PutUint16(dst[i:], uint16(min(v, math.MaxUint16)))
	}
}

// yuvRow makes colours of pairs of pixels. y0, u and v are where a pair has them, its other Y is 2 behind y0. red is where red goes.
func yuvRow(dst, src []byte, y0, u, v, red int) {
	for len(src) >= 4 && len(dst) >= 6 {
		r, g, b := chroma(src[u], src[v])
		shade(dst, src[y0], r, g, b, red)
		shade(dst[3:], src[y0+2], r, g, b, red)
		dst, src = dst[6:], src[4:]
	}
}

// planesRow does the same with U and V in a row of their own.
func planesRow(dst, src, uv []byte, red int) {
	for len(src) >= 2 && len(uv) >= 2 && len(dst) >= 6 {
		r, g, b := chroma(uv[0], uv[1])
		shade(dst, src[0], r, g, b, red)
		shade(dst[3:], src[1], r, g, b, red)
		dst, src, uv = dst[6:], src[2:], uv[2:]
	}
}

// chroma returns what U and V add to the colours, times 256, by ITU-R BT.601 in studio range, which V4L2 has cameras send.
func chroma(u, v byte) (r, g, b int32) {
	cb, cr := int32(u)-128, int32(v)-128
	return 409*cr + 128, -100*cb - 208*cr + 128, 516*cb + 128
}

// shade sets a pixel to colours at a brightness.
func shade(dst []byte, y byte, r, g, b int32, red int) {
	light := 298 * (int32(y) - 16)
	dst[red&2], dst[1], dst[2-red&2] = clamp(light+r), clamp(light+g), clamp(light+b)
}

// clamp returns v/256 as a byte.
func clamp(v int32) byte { return byte(min(max(v>>8, 0), 255)) }
