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

// AddHuffmanTables returns a JPEG picture that any decoder takes. Cameras that send Motion-JPEG may leave out the Huffman tables, as
// those of ITU-T T.81 annex K.3 are meant then, but decoders refuse such pictures. A picture that has tables is returned as it is;
// otherwise one with the tables is appended to buffer[:0] and returned. What is not a JPEG picture is returned as it is.
func AddHuffmanTables(buffer, jpeg []byte) []byte {
	scan := -1
	walk(jpeg, func(marker byte, at int) bool {
		if marker == markerSOS {
			scan = at
		}
		return marker != markerSOS && marker != markerDHT
	})
	if scan < 0 {
		return jpeg
	}
	buffer = append(buffer[:0], jpeg[:scan]...)
	buffer = append(buffer, huffmanTables...)
	return append(buffer, jpeg[scan:]...)
}

// TrimJPEG returns a JPEG picture without what follows its end: cameras pad frames. A picture without an end is returned as it is.
func TrimJPEG(jpeg []byte) []byte {
	end := len(jpeg)
	walk(jpeg, func(marker byte, at int) bool {
		if marker == markerEOI {
			end = at + 2
		}
		return marker != markerEOI
	})
	return jpeg[:end]
}

// walk calls visit with each marker of a picture, and where it is, until visit returns false, the picture's end, or what is not JPEG.
// Markers in the picture's data, and the start of the image, are left out.
func walk(jpeg []byte, visit func(marker byte, at int) bool) {
	if !bytes.HasPrefix(jpeg, startOfImage) {
		return
	}
	for at := 2; ; {
		for at+2 < len(jpeg) && jpeg[at] == 0xff && jpeg[at+1] == 0xff {
			at++ // markers may be filled up with any number of 0xff
		}
		if at+2 > len(jpeg) || jpeg[at] != 0xff {
			return
		}
		marker := jpeg[at+1]
		if !visit(marker, at) {
			return
		}
		at += 2
		if marker == markerTEM || marker >= markerRST && marker <= markerEOI {
			continue // it has no segment
		}
		if at+2 > len(jpeg) {
			return
		}
		at += max(2, int(binary.BigEndian.Uint16(jpeg[at:])))
		if marker == markerSOS {
			at = data(jpeg, at)
		}
	}
}

// data returns where the picture's data that begin at a place end: at the next marker which is not of them.
func data(jpeg []byte, at int) int {
	for at < len(jpeg) {
		next := bytes.IndexByte(jpeg[at:], 0xff)
		if next < 0 || at+next+1 >= len(jpeg) {
			break
		}
		at += next
		// A 0xff of the data is followed by 0, restarts are in the data, and 0xff 0xff is one 0xff more before a marker.
		if b := jpeg[at+1]; b != 0 && b != 0xff && (b < markerRST || b >= markerSOI) {
			return at
		}
		at++
	}
	return len(jpeg)
}
