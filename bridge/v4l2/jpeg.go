package v4l2

import (
	"bytes"
	"encoding/binary"
)

// Markers of JPEG pictures, ITU-T T.81 table B.1, after their 0xff.
const (
	markerDHT = 0xc4 // Huffman tables
	markerRST = 0xd0 // to 0xd7, in the picture's data
	markerSOI = 0xd8 // start of image
	markerEOI = 0xd9 // end of image
	markerSOS = 0xda // start of scan: the picture's data follow
	markerTEM = 0x01
)

var startOfImage = []byte{0xff, markerSOI}

// AddHuffmanTables returns a JPEG picture that any decoder takes. Cameras that send Motion-JPEG may leave out the
// Huffman tables, as those of ITU-T T.81 annex K.3 are meant then, but decoders refuse such pictures. A picture that
// has tables is returned as it is; otherwise one with the tables is appended to buffer[:0] and returned. What is not a
// JPEG picture is returned as it is.
func AddHuffmanTables(buffer, jpeg []byte) []byte {
	if !bytes.HasPrefix(jpeg, startOfImage) {
		return jpeg
	}
	for at := len(startOfImage); ; {
		marker, end, whole, ok := segment(jpeg, at)
		switch {
		case !whole || !ok || marker == markerDHT || marker == markerEOI:
			return jpeg
		case marker == markerSOS:
			buffer = append(buffer[:0], jpeg[:at]...)
			buffer = append(buffer, huffmanTables...)
			return append(buffer, jpeg[at:]...)
		}
		at = end
	}
}

// TrimJPEG returns a JPEG picture without what follows its end: cameras pad frames. A picture without an end is
// returned as it is.
func TrimJPEG(jpeg []byte) []byte {
	if end, whole, ok := JPEGEnd(jpeg); whole && ok {
		return jpeg[:end]
	}
	return jpeg
}

// JPEGEnd returns where the JPEG picture at the beginning of data ends. whole is false if data end before, ok if it is
// damaged or there is none.
func JPEGEnd(data []byte) (end int, whole, ok bool) {
	if !bytes.HasPrefix(data, startOfImage) {
		return 0, true, false
	}
	for at := len(startOfImage); ; {
		marker, end, whole, ok := segment(data, at)
		switch {
		case !whole || !ok || marker == markerEOI:
			return end, whole, ok
		case marker == markerSOI:
			return 0, true, false
		case marker == markerSOS:
			if end, whole = scanEnd(data, end); !whole {
				return 0, false, true
			}
		}
		at = end
	}
}

// segment returns the marker at a place, and where the segment behind it ends. whole is false if data end before, ok if
// there is no marker.
func segment(data []byte, at int) (marker byte, end int, whole, ok bool) {
	if at < len(data) && data[at] != 0xff {
		return 0, 0, true, false
	}
	for at+1 < len(data) && data[at+1] == 0xff {
		at++ // markers may be filled up with any number of 0xff
	}
	if at+2 > len(data) {
		return 0, 0, false, true
	}
	marker, end = data[at+1], at+2
	if marker == markerTEM || marker >= markerRST && marker <= markerEOI {
		return marker, end, true, true // it has no segment
	}
	if end+2 > len(data) {
		return 0, 0, false, true
	}
	length := int(binary.BigEndian.Uint16(data[end:]))
	return marker, end + length, end+length <= len(data), length >= 2 && marker != 0
}

// scanEnd returns where the marker behind the picture's data is, which begin at a place.
func scanEnd(data []byte, at int) (end int, whole bool) {
	for {
		next := bytes.IndexByte(data[at:], 0xff)
		if next < 0 || at+next+1 >= len(data) {
			return 0, false
		}
		at += next
		// A 0xff of the data is followed by 0, restarts are in the data, and 0xff 0xff is one 0xff more before a marker.
		switch b := data[at+1]; {
		case b == 0xff:
			at++
		case b == 0 || b >= markerRST && b < markerSOI:
			at += 2
		default:
			return at, true
		}
	}
}
