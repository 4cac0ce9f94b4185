// Package pixel handles the image encodings of sensor_msgs/image_encodings.hpp. It describes how pixels lie in memory,
// limits the size of images, converts between encodings, and detects, decodes and encodes JPEG and PNG.
package pixel

import (
	"fmt"
	"strings"
)

// Limits of an image. No camera reaches them, and their products do not overflow.
const (
	MaxSide   = 1 << 16      // pixels of a row, and rows
	MaxPixels = 1 << 28      // pixels in all
	MaxStep   = 16 * MaxSide // bytes from a row to the next
)

// CheckSize returns an error if an image is empty or exceeds MaxSide or MaxPixels. Call it before allocating memory for
// an image.
func CheckSize(width, height int) error {
	if width <= 0 || height <= 0 || width > MaxSide || height > MaxSide || width > MaxPixels/height {
		return fmt.Errorf("invalid image size %d×%d", width, height)
	}
	return nil
}

type family int

const (
	gray family = iota
	gray16
	meters // little-endian float32 of a distance in m; NaN is unknown
	trueColor
	yuv422
	yuv420 // a plane of luma and a plane of pairs of U and V
	bayer
)

// Encoding is how the pixels of an image lie in memory.
type Encoding struct {
	Name  string
	Alias string // another name of the encoding
	Bytes int    // of a pixel in a row; for yuv420, in the plane of luma

	family family
	// first is the offset of red in a pixel of colours, of the first Y in a pair of pixels of yuv422, and of blue in a
	// cell of two rows of a Bayer mosaic.
	first int
}

// encodings lists all encodings of pixels; "jpeg" and "png" are no encodings of pixels.
var encodings = []Encoding{
	{"mono8", "8UC1", 1, gray, 0},
	{"mono16", "16UC1", 2, gray16, 0}, // little-endian
	{"32FC1", "", 4, meters, 0},
	{"rgb8", "", 3, trueColor, 0},
	{"bgr8", "8UC3", 3, trueColor, 2},
	{"rgba8", "", 4, trueColor, 0},
	{"bgra8", "8UC4", 4, trueColor, 2},
	{"yuv422_yuy2", "yuyv", 2, yuv422, 0}, // Y0 U Y1 V
	{"yuv422", "uyvy", 2, yuv422, 1},      // U Y0 V Y1
	{"nv12", "", 1, yuv420, 0},            // 4:2:0
	{"bayer_bggr8", "", 1, bayer, 0},
	{"bayer_gbrg8", "", 1, bayer, 1},
	{"bayer_grbg8", "", 1, bayer, 2},
	{"bayer_rggb8", "", 1, bayer, 3},
}

// Lookup returns an encoding by its name or alias, nil if it is unknown.
func Lookup(name string) *Encoding {
	for i := range encodings {
		if e := &encodings[i]; name == e.Name || name == e.Alias && name != "" {
			return e
		}
	}
	return nil
}

// Gray reports whether pixels have a brightness of 8 bits and no colour.
func (e *Encoding) Gray() bool { return e.family == gray }

// Deep reports whether pixels have 16 bits of brightness, or are distances, which are converted to mm of 16 bits.
func (e *Encoding) Deep() bool { return e.family == gray16 || e.family == meters }

// Rows reports whether each row of an image can be shown without other rows.
func (e *Encoding) Rows() bool { return e.family != yuv420 && e.family != bayer }

// pairs reports whether two pixels share their colour.
func (e *Encoding) pairs() bool { return e.family == yuv422 }

// decodable returns the encoding with this name. It fails unless its images can be decoded and encoded as PNG.
func decodable(name string) (*Encoding, error) {
	if e := Lookup(name); e != nil && e.family != yuv420 && e.family != bayer {
		return e, nil
	}
	known := []string{"jpeg", "png"}
	for _, e := range encodings {
		if e.family != yuv420 && e.family != bayer {
			known = append(known, e.Name)
		}
	}
	return nil, fmt.Errorf("unsupported image encoding %.40q: want one of %s", name, strings.Join(known, ", "))
}
