package v4l2

import (
	"fmt"
	"strings"
)

// FourCC is the four-character code of a pixel format, as in videodev2.h.
type FourCC uint32

// Pixel formats of many cameras. ParseFourCC returns others.
const (
	// one JPEG per frame, possibly without Huffman tables, see AddHuffmanTables.
	MJPG FourCC = 'M' | 'J'<<8 | 'P'<<16 | 'G'<<24
	JPEG FourCC = 'J' | 'P'<<8 | 'E'<<16 | 'G'<<24 // one JPEG per frame
	H264 FourCC = 'H' | '2'<<8 | '6'<<16 | '4'<<24 // H.264 with start codes
	HEVC FourCC = 'H' | 'E'<<8 | 'V'<<16 | 'C'<<24 // H.265 with start codes
	YUYV FourCC = 'Y' | 'U'<<8 | 'Y'<<16 | 'V'<<24 // YUV 4:2:2: Y0 U Y1 V
	UYVY FourCC = 'U' | 'Y'<<8 | 'V'<<16 | 'Y'<<24 // YUV 4:2:2: U Y0 V Y1
	NV12 FourCC = 'N' | 'V'<<8 | '1'<<16 | '2'<<24 // YUV 4:2:0: a plane of Y, a plane of U V pairs
	YU12 FourCC = 'Y' | 'U'<<8 | '1'<<16 | '2'<<24 // YUV 4:2:0: a plane each of Y, U and V
	RGB3 FourCC = 'R' | 'G'<<8 | 'B'<<16 | '3'<<24 // R G B, 8 bits each
	BGR3 FourCC = 'B' | 'G'<<8 | 'R'<<16 | '3'<<24 // B G R, 8 bits each
	GREY FourCC = 'G' | 'R'<<8 | 'E'<<16 | 'Y'<<24 // grey, 8 bits
	Y16  FourCC = 'Y' | '1'<<8 | '6'<<16 | ' '<<24 // grey, 16 bits, little endian
	// distance, 16 bits, little endian; in millimetres by default on a RealSense.
	Z16 FourCC = 'Z' | '1'<<8 | '6'<<16 | ' '<<24
)

// bigEndian marks the big-endian variant of a format.
const bigEndian FourCC = 1 << 31

// ParseFourCC reads a code such as "YUYV" or "Z16 ", or "Y16 -BE" of the big-endian variant. Spaces at the code's end
// may be left out.
func ParseFourCC(s string) (FourCC, error) {
	if s, found := strings.CutSuffix(s, "-BE"); found {
		f, err := ParseFourCC(s)
		return f | bigEndian, err
	}
	if len(s) == 0 || len(s) > 4 {
		return 0, fmt.Errorf("pixel format %q: want up to four characters, such as MJPG, YUYV or Z16", s)
	}
	var f FourCC
	for i, b := range []byte((s + "   ")[:4]) {
		if b < ' ' || b > '~' {
			return 0, fmt.Errorf("pixel format %q: want printable characters, such as MJPG, YUYV or Z16", s)
		}
		f |= FourCC(b) << (8 * i)
	}
	return f, nil
}

// String returns the four characters, without trailing spaces: "Z16", or "Y16-BE"; a number for a code with unprintable
// characters.
func (f FourCC) String() string {
	if little := f &^ bigEndian; little != f && little.printable() {
		return little.String() + "-BE"
	}
	if !f.printable() {
		return fmt.Sprintf("0x%08x", uint32(f))
	}
	return strings.TrimRight(string([]byte{byte(f), byte(f >> 8), byte(f >> 16), byte(f >> 24)}), " ")
}

func (f FourCC) printable() bool {
	for range 4 {
		if b := byte(f); b < ' ' || b > '~' {
			return false
		}
		f >>= 8
	}
	return true
}

// Compressed reports whether frames vary in length and are not rows of pixels.
func (f FourCC) Compressed() bool {
	switch f {
	case MJPG, JPEG, H264, HEVC, code("AVC1"), code("M264"), code("MVC "), code("H263"), code("MPG1"), code("MPG2"),
		code("MPG4"), code("MPEG"),
		code("XVID"), code("VP80"), code("VP90"), code("PJPG"), code("dvsd"):
		return true
	}
	return false
}

// bits returns the bits per pixel in the first plane and in all planes; 0 for an unknown format, whose layout the
// driver decides.
func (f FourCC) bits() (first, all int) {
	switch f {
	case YUYV, UYVY, Y16, Z16, code("YVYU"), code("VYUY"), code("Y8I "), code("Y10 "), code("Y12 "), code("RGBP"),
		code("RGBO"),
		code("BG10"), code("GB10"), code("BA10"), code("RG10"), code("BG12"), code("GB12"), code("BA12"), code("RG12"):
		return 16, 16
	case RGB3, BGR3:
		return 24, 24
	case code("AR24"), code("XR24"), code("BA24"), code("BX24"), code("AB24"), code("XB24"), code("BGR4"), code("RGB4"):
		return 32, 32
	case GREY, code("BA81"), code("GBRG"), code("GRBG"), code("RGGB"):
		return 8, 8
	case NV12, YU12, code("NV21"), code("YV12"):
		return 8, 12
	case code("NV16"), code("NV61"):
		return 8, 16
	}
	return 0, 0
}

// code returns the FourCC of four characters.
func code(s string) FourCC {
	return FourCC(s[0]) | FourCC(s[1])<<8 | FourCC(s[2])<<16 | FourCC(s[3])<<24
}
