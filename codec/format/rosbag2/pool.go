package rosbag2

import (
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// maxOpen bounds the files that a bag has open: it may have thousands.
const maxOpen = 64

// content is an open file.
type content interface {
	codec.File
	length() (int64, error) // in bytes
	weight() int64          // what it takes of the pool's limit
}

// plain is a file as it is on the disk.
type plain struct{ store.File }

func (plain) weight() int64 { return 1 }

func (p plain) length() (int64, error) {
	stat, err := p.Stat()
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}

// pool keeps files open until they are too many, and then closes the one that was not read for the longest time.
type pool struct {
	limit int64
	open  []*file // the one that was read last is the last
}

// file is a file of a bag. It is open while it is read, and longer as the pool has it.
type file struct {
	pool    *pool
	begin   func() (content, error) // opens it
	content content                 // nil: it is not open
}

// use has the file open.
func (f *file) use() error {
	open := f.pool.open
	switch {
	case f.content == nil:
		c, err := f.begin()
		if err != nil {
			return err
		}
		f.content = c
		f.pool.open = append(open, f)
		f.pool.shrink()
	case open[len(open)-1] != f:
		i := slices.Index(open, f)
		f.pool.open = append(slices.Delete(open, i, i+1), f)
	}
	return nil
}

// size returns its length in bytes.
func (f *file) size() (int64, error) {
	if err := f.use(); err != nil {
		return 0, err
	}
	return f.content.length()
}

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	if err := f.use(); err != nil {
		return 0, err
	}
	return f.content.ReadAt(b, off)
}

// Prefetch is store.Prefetch.
func (f *file) Prefetch(off, n int64) {
	if f.use() == nil {
		if p, ok := f.content.(plain); ok {
			store.Prefetch(p.File, off, n)
		}
	}
}

// Close implements io.Closer. The file can be read again.
func (f *file) Close() error {
	if f.content == nil {
		return nil
	}
	i := slices.Index(f.pool.open, f)
	f.pool.open = slices.Delete(f.pool.open, i, i+1)
	err := f.content.Close()
	f.content = nil
	return err
}

// shrink closes files, but not the one that is read.
func (p *pool) shrink() {
	var weight int64
	for _, f := range p.open {
		weight += f.content.weight()
	}
	for len(p.open) > 1 && weight > p.limit {
		weight -= p.open[0].content.weight()
		_ = p.open[0].Close()
	}
}
