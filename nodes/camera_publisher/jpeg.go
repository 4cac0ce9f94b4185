package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"image/jpeg"

	"tapedeck/bridge/v4l2"
)

// Markers of JPEG behind their 0xff, ITU-T T.81 table B.1.
const (
	markerTEM  = 0x01
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
)

// startOfImage is how a JPEG begins.
var startOfImage = []byte{0xff, markerSOI, 0xff}

// nextMarker returns the marker at pos, and where the segment behind it ends. whole is false if data ends before, ok if there is no
// marker.
func nextMarker(data []byte, pos int) (marker byte, end int, whole, ok bool) {
	if pos < len(data) && data[pos] != 0xff {
		return 0, 0, true, false
	}
	for pos+1 < len(data) && data[pos+1] == 0xff { // fill bytes
		pos++
	}
	if pos+2 > len(data) {
		return 0, 0, false, true
	}
	marker, end = data[pos+1], pos+2
	if marker == markerTEM || marker >= markerRST0 && marker <= markerEOI {
		return marker, end, true, true
	}
	if end+2 > len(data) {
		return 0, 0, false, true
	}
	length := int(binary.BigEndian.Uint16(data[end:]))
	return marker, end + length, end+length <= len(data), length >= 2 && marker != 0
}

// jpegEnd returns where the JPEG at the beginning of data ends. whole is false if data ends before, ok if it is damaged.
func jpegEnd(data []byte) (end int, whole, ok bool) {
	for pos := len(startOfImage) - 1; ; {
		marker, end, whole, ok := nextMarker(data, pos)
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
		pos = end
	}
}

// scanEnd returns where the marker behind compressed pixels is.
func scanEnd(data []byte, pos int) (end int, whole bool) {
	for {
		i := bytes.IndexByte(data[pos:], 0xff)
		if i < 0 || pos+i+1 >= len(data) {
			return 0, false
		}
		pos += i
		switch next := data[pos+1]; {
		case next == 0xff:
			pos++
		case next == 0 || next >= markerRST0 && next <= markerRST7:
			pos += 2
		default:
			return pos, true
		}
	}
}

// jpegFormat returns the format of a JPEG.
func jpegFormat(data []byte) (v4l2.Format, error) {
	c, err := jpeg.DecodeConfig(bytes.NewReader(data))
	return v4l2.Format{FourCC: v4l2.MJPG, Width: c.Width, Height: c.Height}, cmp.Or(err, checkPixels(c.Width, c.Height))
}

// jpegSplitter finds the JPEGs that follow each other in a stream, whatever is between them, for a bufio.Scanner.
type jpegSplitter struct {
	most    int         // bytes of a JPEG; the buffer of the scanner is larger
	damaged func(error) // is told of JPEGs that are left out
}

// split is a bufio.SplitFunc.
func (p *jpegSplitter) split(data []byte, atEnd bool) (advance int, token []byte, err error) {
	at := 0
	for {
		i := bytes.Index(data[at:], startOfImage)
		if i < 0 {
			// What may be the beginning of one stays.
			return max(at, len(data)-len(startOfImage)+1), nil, nil
		}
		at += i
		end, whole, ok := jpegEnd(data[at:])
		switch {
		case whole && ok:
			return at + end, data[at : at+end], nil
		case !whole && !atEnd && len(data)-at <= p.most:
			return at, nil, nil
		case whole:
			p.damaged(errors.New("a JPEG is damaged"))
		case atEnd:
			p.damaged(errors.New("a JPEG is cut off"))
		default:
			p.damaged(fmt.Errorf("a JPEG has no end within %d bytes", p.most))
		}
		at += 2
	}
}
