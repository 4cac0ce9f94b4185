package v4l2

// FourCC is the four-character code of a pixel format, as in videodev2.h.
type FourCC uint32

// Pixel formats that cameras often have. Any other can be had with ParseFourCC.
const (
	MJPG FourCC = 'M' | 'J'<<8 | 'P'<<16 | 'G'<<24 // a JPEG image a frame, perhaps without Huffman tables, see AddHuffmanTables
	JPEG FourCC = 'J' | 'P'<<8 | 'E'<<16 | 'G'<<24 // a JPEG image a frame
	H264 FourCC = 'H' | '2'<<8 | '6'<<16 | '4'<<24 // H.264 with start codes
	YUYV FourCC = 'Y' | 'U'<<8 | 'Y'<<16 | 'V'<<24 // YUV 4:2:2: Y0 U Y1 V
	UYVY FourCC = 'U' | 'Y'<<8 | 'V'<<16 | 'Y'<<24 // YUV 4:2:2: U Y0 V Y1
	NV12 FourCC = 'N' | 'V'<<8 | '1'<<16 | '2'<<24 // YUV 4:2:0: a plane of Y, a plane of U V pairs
	YU12 FourCC = 'Y' | 'U'<<8 | '1'<<16 | '2'<<24 // YUV 4:2:0: a plane each of Y, U and V
	RGB3 FourCC = 'R' | 'G'<<8 | 'B'<<16 | '3'<<24 // R G B, 8 bits each
	BGR3 FourCC = 'B' | 'G'<<8 | 'R'<<16 | '3'<<24 // B G R, 8 bits each
	GREY FourCC = 'G' | 'R'<<8 | 'E'<<16 | 'Y'<<24 // grey, 8 bits
	Y16  FourCC = 'Y' | '1'<<8 | '6'<<16 | ' '<<24 // grey, 16 bits, little endian
	Z16  FourCC = 'Z' | '1'<<8 | '6'<<16 | ' '<<24 // distance, 16 bits, little endian; a RealSense counts millimetres unless told otherwise
)

// ParseFourCC reads a code such as "YUYV" or "Z16 ". Spaces at its end may be left out, and a name that v4l2-ctl or ROS drivers
// take for one of the formats above is understood: "mjpeg", "jpeg", "yuyv", "rgb24", "bgr24", "mono8", "mono16".
func ParseFourCC(s string) (FourCC, error) { panic("not yet written") }

// String returns the four characters, without spaces at the end: "Z16". Characters that cannot be printed are escaped.
func (f FourCC) String() string { panic("not yet written") }
