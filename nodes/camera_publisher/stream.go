package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"tapedeck/bridge/v4l2"
)

// stream is a file with JPEGs one behind the other, whatever else is between them. It implements pictures.
type stream struct {
	file    *os.File
	scanner *bufio.Scanner
	buffer  []byte
	damaged func(error)
}

func openStream(path string, damaged func(error)) (pictures, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &stream{file: f, buffer: make([]byte, 1<<20),
		damaged: func(err error) { damaged(fmt.Errorf("%s: %w", path, err)) }}
	s.scan()
	return s, nil
}

// scan looks for JPEGs from where the file is.
func (s *stream) scan() {
	splitter := jpegSplitter{most: maxPicture, damaged: s.damaged}
	s.scanner = bufio.NewScanner(s.file)
	s.scanner.Buffer(s.buffer, 2*maxPicture)
	s.scanner.Split(splitter.split)
}

func (s *stream) rewind() error {
	_, err := s.file.Seek(0, io.SeekStart)
	s.scan()
	return err
}

func (s *stream) next(f *v4l2.Frame) (time.Duration, error) {
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

func (s *stream) carries() (jpegs, pixels bool) { return true, false }

func (s *stream) close() { s.file.Close() }
