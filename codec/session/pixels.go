package session

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// pixels says how pixels of an encoding lie in memory, and what becomes of them in a PNG.
type pixels struct {
	names    []string              // as sensor_msgs/msg/Image has them
	bytes    int                   // of a pixel
	color    byte                  // PNG's colour type
	depth    byte                  // PNG's bits of a channel
	channels int                   // in the PNG
	pairs    bool                  // two pixels share their colour
	row      func(dst, src []byte) // turns a row into that of a PNG
}

// encodings are those of which PNGs are made.
var encodings = []pixels{
	{[]string{"mono8", "8UC1"}, 1, 0, 8, 1, false, copyRow},
	{[]string{"mono16", "16UC1"}, 2, 0, 16, 1, false, swapBytes},
	{[]string{"rgb8"}, 3, 2, 8, 3, false, copyRow},
	{[]string{"bgr8", "8UC3"}, 3, 2, 8, 3, false, swapBGR},
	{[]string{"rgba8"}, 4, 6, 8, 4, false, copyRow},
	{[]string{"bgra8", "8UC4"}, 4, 6, 8, 4, false, swapBGRA},
	{[]string{"yuv422_yuy2", "yuyv"}, 2, 2, 8, 3, true, func(dst, src []byte) { yuvRow(dst, src, 0, 1, 2, 3) }},
	{[]string{"yuv422", "uyvy"}, 2, 2, 8, 3, true, func(dst, src []byte) { yuvRow(dst, src, 1, 0, 3, 2) }},
}

// pixelsOf returns the pixels of an encoding.
func pixelsOf(encoding string) (*pixels, error) {
	var known []string
	for i := range encodings {
		if p := &encodings[i]; slices.Contains(p.names, encoding) {
			return p, nil
		} else {
			known = append(known, p.names[0])
		}
	}
	return nil, fmt.Errorf("pixels of the encoding %.40q cannot be written as PNG; jpeg, png, %s can", encoding, strings.Join(known, ", "))
}

func copyRow(dst, src []byte) { copy(dst, src) }

// swapBytes turns little-endian numbers into PNG's big-endian ones.
func swapBytes(dst, src []byte) {
	for i := 0; i+1 < len(src) && i+1 < len(dst); i += 2 {
		binary.BigEndian.PutUint16(dst[i:], binary.LittleEndian.Uint16(src[i:]))
	}
}

func swapBGR(dst, src []byte) {
	for len(src) >= 3 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = src[2], src[1], src[0]
		dst, src = dst[3:], src[3:]
	}
}

func swapBGRA(dst, src []byte) {
	for len(src) >= 4 && len(dst) >= 4 {
		dst[0], dst[1], dst[2], dst[3] = src[2], src[1], src[0], src[3]
		dst, src = dst[4:], src[4:]
	}
}

// yuvRow turns pairs of pixels of ITU-R BT.601 in studio range into RGB. y0, u, y1 and v are where a pair has them.
func yuvRow(dst, src []byte, y0, u, y1, v int) {
	for len(src) >= 4 && len(dst) >= 3 {
		cb, cr := int32(src[u])-128, int32(src[v])-128
		r, g, b := 409*cr+128, -100*cb-208*cr+128, 516*cb+128
		for _, at := range [2]int{y0, y1} {
			if len(dst) < 3 {
				return
			}
			y := 298 * (int32(src[at]) - 16)
			dst[0], dst[1], dst[2] = clamp(y+r), clamp(y+g), clamp(y+b)
			dst = dst[3:]
		}
		src = src[4:]
	}
}

// clamp returns v/256 as a byte.
func clamp(v int32) byte { return byte(min(max(v>>8, 0), 255)) }
