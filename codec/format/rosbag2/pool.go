package rosbag2

import (
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// maxOpen is the maximum number of open files: a bag may have thousands.
const maxOpen = 64

// content is an open file.
type content interface {
	codec.File
	length() (int64, error) // in bytes
	weight() int64          // its share of the pool's limit
}

// plain is a file that is read from the disk.
type plain struct{ store.File }

func (plain) weight() int64 { return 1 }

func (p plain) length() (int64, error) {
	stat, err := p.Stat()
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}

// pool keeps files open. If they exceed limit, it closes the least recently read file.
type pool struct {
	limit int64   // of the sum of weights
	open  []*file // in the order of their last use
}

// file is a file of a bag. It is opened when it is read, and closed by its pool.
type file struct {
	pool    *pool
	begin   func() (content, error) // opens the file
	content content                 // nil: the file is not open
}

// use opens the file, if it is not open, and marks it as used last.
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

// size returns the length of the file in bytes.
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

// shrink closes the least recently used files until the rest is within the limit. It keeps the last used file open.
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
