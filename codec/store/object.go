package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

const (
	tailSize  = 256 << 10 // bytes of the first request
	blockSize = 64 << 10
	mostFetch = 4 << 20 // bytes of a request; larger ranges are several parallel requests

	mostBreaks = 6 // consecutive breaks of a body without any byte
	shortPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// object is an object of a store, or a file of a web server, with open Files.
type object struct {
	cache  *cache
	path   string
	store  Store
	ctx    context.Context // of the object's requests
	cancel func()
	files  int // number of open Files; guarded by the cache

	opened   sync.Once
	err      error // error of opening
	size     int64
	tail     int64 // offset of the last block
	etag     string
	modified time.Time
	local    *os.File // a copy of the object if the server has no ranges; otherwise nil

	// The cache's mutex guards the fields below.
	blocks  map[int64]*block
	changed bool
}

func (o *object) info() *fileInfo {
	return &fileInfo{o.path, &Object{Size: o.size, ETag: o.etag, Modified: o.modified}}
}

// begin fetches the last bytes, the size and the ETag.
func (o *object) begin() {
	r := &resuming{object: o, off: -tailSize}
	defer r.close()
	o.err = r.request()
	if o.err != nil {
		return
	}
	b := r.body
	o.size, o.etag, o.modified = b.Size, b.ETag, b.Modified
	if b.Whole && (b.Size < 0 || b.Size > tailSize) {
		o.err = o.spool(b)
		return
	}
	// A server may have sent more than requested, or from the start.
	o.tail = max(0, o.size-tailSize)
	r.off, r.end = b.Start, b.End
	if b.Start != o.tail || b.End < o.size {
		if b.Start == 0 && b.End < o.size {
			o.tail = max(o.tail, b.End)
			for i := int64(0); (i+1)*blockSize <= b.End && o.err == nil; i++ {
				o.err = o.load(r, i) // most readers begin at the start
			}
		}
		r.close()
		r.off, r.end = o.tail, o.size
	}
	if o.err == nil {
		o.err = o.load(r, o.last())
	}
}

// load reads a block while the object is opened.
func (o *object) load(r *resuming, index int64) error {
	start, end := o.extent(index)
	b := &block{object: o, index: index, ready: make(chan struct{}), users: 1}
	b.allocate(int(end - start))
	_, err := io.ReadFull(r, b.data)
	if err == nil {
		o.cache.loaded(b)
	}
	return err
}

// spool fetches the object to a temporary file without a name.
func (o *object) spool(b *Body) error {
	file, err := os.CreateTemp("", "tapedeck-*")
	if err != nil {
		return err
	}
	o.local = file
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	n, err := io.Copy(file, b)
	if err == nil && o.size >= 0 && n != o.size {
		err = io.ErrUnexpectedEOF
	}
	o.size = n
	return err
}

// last returns the index of the last block, the tail. The blocks before it have blockSize bytes, except the one that
// ends at the tail.
func (o *object) last() int64 { return (o.tail + blockSize - 1) / blockSize }

// index returns the index of the block with the byte at off.
func (o *object) index(off int64) int64 {
	if off >= o.tail {
		return o.last()
	}
	return off / blockSize
}

// extent returns the offsets of a block's begin and end.
func (o *object) extent(index int64) (start, end int64) {
	if index == o.last() {
		return o.tail, o.size
	}
	return index * blockSize, min((index+1)*blockSize, o.tail)
}

// fetch fills blocks, which are adjacent.
func (o *object) fetch(blocks []*block) {
	r := &resuming{object: o}
	r.off, _ = o.extent(blocks[0].index)
	_, r.end = o.extent(blocks[len(blocks)-1].index)
	defer r.close()
	for i, b := range blocks {
		start, end := o.extent(b.index)
		b.allocate(int(end - start))
		if _, err := io.ReadFull(r, b.data); err != nil {
			o.cache.fail(blocks[i:], pathError("read", o.path, err))
			return
		}
		o.cache.loaded(b)
	}
}

// resuming reads a range of an object. It repeats requests that fail, and continues where a body was cut.
type resuming struct {
	*object
	off, end int64
	body     *Body
	breaks   int // number of breaks since the last byte
}

// request requests the rest of the range.
func (r *resuming) request() error {
	for {
		body, err := r.store.Get(r.ctx, r.path, r.etag, r.off, r.end)
		if err == nil {
			r.body = body
			return r.check()
		}
		if again := (temporaryError{}); !errors.As(err, &again) || !r.pause() {
			return err
		}
	}
}

// check returns an error if the answer does not match the request.
func (r *resuming) check() error {
	b := r.body
	switch {
	case r.off < 0: // the first request
		return nil
	case b.ETag != r.etag || b.Size != r.size || b.ETag == "" && !b.Modified.Equal(r.modified):
		return ErrReplaced
	case b.Start != r.off || b.End > r.end:
		return fmt.Errorf("the server returned bytes %d to %d instead of %d to %d", b.Start, b.End, r.off, r.end)
	}
	return nil
}

// pause waits before another attempt. It returns false if there may be no further attempt.
func (r *resuming) pause() bool {
	r.breaks++
	if r.breaks >= mostBreaks {
		return false
	}
	pause := min(r.cache.pause<<r.breaks, mostPause)
	select {
	case <-time.After(pause/2 + rand.N(pause/2)):
		return true
	case <-r.ctx.Done():
		return false
	}
}

func (r *resuming) Read(b []byte) (int, error) {
	for r.off < r.end {
		if r.body == nil {
			if err := r.request(); err != nil {
				return 0, err
			}
		}
		n, err := r.body.Read(b[:min(int64(len(b)), r.end-r.off)])
		r.off += int64(n)
		if n > 0 {
			r.breaks = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		r.close()
		if !r.pause() {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, fmt.Errorf("the connection broke %d times: %w", r.breaks, err)
		}
	}
	return 0, io.EOF
}

func (r *resuming) close() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}
