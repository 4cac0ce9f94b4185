package mp4

import (
	"encoding/binary"

	"tapedeck/codec/encoding/pixel"
)

// Frames go to ffmpeg as Matroska (RFC 9559), which holds the time of each frame: one cluster a frame. Sizes of
// elements are written in 8 bytes, as EBML (RFC 8794) allows.

// element returns an element. id includes its length marker.
func element(id uint32, content ...byte) []byte {
	return append(begin(id, uint64(len(content))), content...)
}

// begin returns the id and size of an element with size bytes of content.
func begin(id uint32, size uint64) (b []byte) {
	for shift := 24; shift >= 0; shift -= 8 {
		if v := byte(id >> shift); v != 0 || b != nil {
			b = append(b, v)
		}
	}
	return binary.BigEndian.AppendUint64(b, 1<<56|size)
}

// number returns an element with a number.
func number(id uint32, v uint64) []byte {
	return element(id, binary.BigEndian.AppendUint64(nil, v)...)
}

// text returns an element with a text.
func text(id uint32, s string) []byte { return element(id, []byte(s)...) }

// master returns an element that consists of other elements.
func master(id uint32, elements ...[]byte) []byte {
	var content []byte
	for _, e := range elements {
		content = append(content, e...)
	}
	return element(id, content...)
}

// unknownSize is the size of an element that ends where the data ends.
const unknownSize = 1<<56 - 1

// microsecond is the unit of times in the Matroska data, in ns.
const microsecond = 1000

// nominalPeriod is the period of 30 frames a second, in ns. Encoders want a rate; it does not change times of frames.
const nominalPeriod = 33333333

// fourcc maps encodings of pixels to their names in Matroska.
var fourcc = map[string]string{
	"rgb8": "RGB\x18", "bgr8": "BGR\x18", "rgba8": "RGBA", "bgra8": "BGRA", "mono8": "Y800", "yuv422_yuy2": "YUY2",
	"yuv422": "UYVY", "bayer_bggr8": "\xbaBG\x08", "bayer_rggb8": "\xbaRG\x08", "bayer_gbrg8": "\xbaGB\x08",
	"bayer_grbg8": "\xbaGR\x08",
}

// header returns the Matroska data before the first frame, for frames with the encoding and size of m.
func header(m *pixel.Image) []byte {
	video := [][]byte{number(0xb0, uint64(m.Width)), number(0xba, uint64(m.Height))}
	track := [][]byte{number(0xd7, 1), number(0x73c5, 1), number(0x83, 1), number(0x9c, 0),
		number(0x23e383, nominalPeriod)}
	switch m.Encoding {
	case "jpeg":
		track = append(track, text(0x86, "V_MJPEG"))
	case "png": // by a BITMAPINFOHEADER
		private := binary.LittleEndian.AppendUint32(nil, 40)
		private = binary.LittleEndian.AppendUint32(private, uint32(m.Width))
		private = binary.LittleEndian.AppendUint32(private, uint32(m.Height))
		private = append(private, 1, 0, 24, 0, 'M', 'P', 'N', 'G')
		private = append(private, make([]byte, 20)...)
		track = append(track, text(0x86, "V_MS/VFW/FOURCC"), element(0x63a2, private...))
	default:
		track = append(track, text(0x86, "V_UNCOMPRESSED"))
		video = append(video, text(0x2eb524, fourcc[m.Encoding]))
	}
	track = append(track, master(0xe0, video...))
	b := master(0x1a45dfa3, text(0x4282, "matroska"), number(0x4287, 4), number(0x4285, 2))
	b = append(b, begin(0x18538067, unknownSize)...)
	b = append(b, master(0x1549a966, number(0x2ad7b1, microsecond), text(0x4d80, "tapedeck"),
		text(0x5741, "tapedeck"))...)
	return append(b, master(0x1654ae6b, master(0xae, track...))...)
}

// cluster returns the bytes before a frame of size bytes. at is the time of the frame in µs since the first frame.
func cluster(at int64, size int) []byte {
	// A key frame of track 1 at the time of the cluster.
	block := append(begin(0xa3, uint64(size+4)), 0x81, 0, 0, 0x80)
	head := number(0xe7, uint64(at))
	b := begin(0x1f43b675, uint64(len(head)+len(block)+size))
	return append(append(b, head...), block...)
}
