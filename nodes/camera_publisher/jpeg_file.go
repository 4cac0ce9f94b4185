package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/codec/encoding/pixel"
)

// jpegFile reads a file of concatenated JPEGs, with any bytes between them. It implements pictures.
type jpegFile struct {
	file    *os.File
	scanner *bufio.Scanner
	buffer  []byte
	damaged func(error)
}

// openJPEGFile opens a file of concatenated JPEGs. It calls damaged for each unusable one.
func openJPEGFile(path string, damaged func(error)) (pictures, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &jpegFile{file: f, buffer: make([]byte, 1<<20),
		damaged: func(err error) { damaged(fmt.Errorf("%s: %w", path, err)) }}
	s.scan()
	return s, nil
}

// scan begins to look for JPEGs at the present position in the file.
func (s *jpegFile) scan() {
	splitter := jpegSplitter{most: maxPicture, damaged: s.damaged}
	s.scanner = bufio.NewScanner(s.file)
	s.scanner.Buffer(s.buffer, 2*maxPicture)
	s.scanner.Split(splitter.split)
}

func (s *jpegFile) rewind() error {
	_, err := s.file.Seek(0, io.SeekStart)
	s.scan()
	return err
}

func (s *jpegFile) next(f *v4l2.Frame) (time.Duration, error) {
	for s.scanner.Scan() {
		f.Data = s.scanner.Bytes()
		format, err := jpegFormat(f.Data)
		if err == nil {
			f.Format = format
			return 0, nil
		}
		s.damaged(err)
	}
	if err := s.scanner.Err(); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

func (s *jpegFile) carries() (jpegs, pixels bool) { return true, false }

func (s *jpegFile) close() { s.file.Close() }

// startOfImage is the first bytes of a JPEG.
var startOfImage = []byte{0xff, 0xd8, 0xff}

// jpegFormat returns the format of a JPEG.
func jpegFormat(data []byte) (v4l2.Format, error) {
	m := pixel.Image{Encoding: "jpeg", Data: data}
	c, err := m.Config()
	return v4l2.Format{FourCC: v4l2.MJPG, Width: c.Width, Height: c.Height}, err
}

// jpegSplitter finds JPEGs among other bytes, for a bufio.Scanner.
type jpegSplitter struct {
	most    int         // maximum size of a JPEG in bytes; the scanner's buffer is larger
	damaged func(error) // is called for each skipped JPEG
}

// split implements bufio.SplitFunc.
func (p *jpegSplitter) split(data []byte, atEnd bool) (advance int, token []byte, err error) {
	at := 0
	for {
		i := bytes.Index(data[at:], startOfImage)
		if i < 0 {
			// The last bytes may be the first bytes of a JPEG.
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
