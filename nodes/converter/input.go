package main

import (
	"errors"
	"fmt"

	"tapedeck/codec"
)

// input is a recording opened for reading.
type input struct {
	path   string
	reader codec.Reader
	info   *codec.Info
}

func openInput(path string) (*input, error) {
	reader, err := codec.Open(path)
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

// window returns the times of the first and the last message; both are 0 without messages.
func (ins inputs) window() (start, end int64) {
	some := false
	for _, in := range ins {
		if in.info.MessageCount == 0 {
			continue
		}
		if !some || in.info.StartTime < start {
			start = in.info.StartTime
		}
		if !some || in.info.EndTime > end {
			end = in.info.EndTime
		}
		some = true
	}
	return start, end
}

// metadata returns what is kept with the recordings; where they disagree the earlier one counts.
func (ins inputs) metadata() map[string]string {
	all := map[string]string{}
	for _, in := range ins {
		for key, value := range in.info.Metadata {
			if _, ok := all[key]; !ok {
				all[key] = value
			}
		}
	}
	return all
}

// read returns the messages of all of them in the order of time.
func (ins inputs) read(q codec.Query) (codec.Iterator, error) {
	var its []codec.Iterator
	for _, in := range ins {
		it, err := in.reader.Read(q)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read %s: %w", in.path, err), codec.Merge(its...).Close())
		}
		its = append(its, it)
	}
	return codec.Merge(its...), nil
}

func (ins inputs) Close() error {
	var errs []error
	for _, in := range ins {
		errs = append(errs, in.Close())
	}
	return errors.Join(errs...)
}
