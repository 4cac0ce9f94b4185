package main

import (
	"errors"
	"math"
	"time"

	"tapedeck/codec"
)

// input is a recording opened for reading.
type input struct {
	path   string
	reader codec.Reader
	info   *codec.Info
}

func openInput(path string) (*input, error) {
	reader, err := known.Open(path)
	if err != nil {
		return nil, err
	}
	return newInput(path, reader)
}

// newInput takes the reader over and closes it after an error.
func newInput(path string, reader codec.Reader) (*input, error) {
	info, err := reader.Info()
	if err != nil {
		reader.Close()
		return nil, err
	}
	return &input{path: path, reader: reader, info: info}, nil
}

func (i *input) Close() error { return i.reader.Close() }

// inputs are several recordings that are read as one.
type inputs []*input

func openInputs(paths []string) (inputs, error) {
	var ins inputs
	for _, path := range paths {
		in, err := openInput(path)
		if err != nil {
			ins.Close()
			return nil, err
		}
		ins = append(ins, in)
	}
	return ins, nil
}

func (ins inputs) infos() []*codec.Info {
	var infos []*codec.Info
	for _, in := range ins {
		infos = append(infos, in.info)
	}
	return infos
}

func (ins inputs) Close() error {
	var errs []error
	for _, in := range ins {
		errs = append(errs, in.Close())
	}
	return errors.Join(errs...)
}

// span is the duration of a recording, 0 when it has none.
func span(info *codec.Info) time.Duration {
	if info.EndTime <= info.StartTime {
		return 0
	}
	d := info.EndTime - info.StartTime
	if d < 0 { // more than 292 years, from damaged times
		return math.MaxInt64
	}
	return time.Duration(d)
}
