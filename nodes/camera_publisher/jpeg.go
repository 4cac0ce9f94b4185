package main

import (
	"bytes"
	"errors"
	"fmt"

	"tapedeck/bridge/v4l2"
	"tapedeck/codec/pixel"
)

// startOfImage is how a JPEG begins.
var startOfImage = []byte{0xff, 0xd8, 0xff}

// jpegFormat returns the format of a JPEG.
func jpegFormat(data []byte) (v4l2.Format, error) {
	m := pixel.Image{Encoding: "jpeg", Data: data}
	c, err := m.Config()
	return v4l2.Format{FourCC: v4l2.MJPG, Width: c.Width, Height: c.Height}, err
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
		end, whole, ok := v4l2.JPEGEnd(data[at:])
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
