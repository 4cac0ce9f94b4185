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
	tailSize   = 256 << 10 // bytes of the first request
	blockSize  = 64 << 10  // bytes of a block
	maxRequest = 4 << 20   // bytes of a request; larger ranges are several parallel requests

	maxBreaks  = 6                      // failures of requests and bodies in sequence, without any byte
	firstPause = 100 * time.Millisecond // pause before the first repetition of a request; doubled each time
	maxPause   = 5 * time.Second
)

// object is an object of a store, or a file of a web server, with open Files.
type object struct {
	cache  *cache
	path   string
	store  Store
	ctx    context.Context // of the object's requests
	cancel func()
	files  int // number of open Files; guarded by the cache's mutex

	opened   sync.Once
	err      error // error of opening
	size     int64
	tail     int64 // offset of the last block
	etag     string
	modified time.Time
	local    *os.File // a copy of the object if the server has no ranges; otherwise nil

	// The cache's mutex guards the fields below.
	blocks  map[int64]*block
	changed bool // the object was replaced after it was opened
}

func (o *object) info() *fileInfo {
	return &fileInfo{o.path, &Object{Size: o.size, ETag: o.etag, Modified: o.modified}}
}

// open fetches the last bytes, the size and the ETag. It sets err.
func (o *object) open() {
	r := &resumingReader{object: o, off: -tailSize}
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
		o.err = o.load(r, o.tailIndex())
	}
}

// load reads a block while the object is opened.
func (o *object) load(r *resumingReader, index int64) error {
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
	file, err := Unnamed("")
	if err != nil {
		return err
	}
	o.local = file
	n, err := io.Copy(file, b)
	if err == nil && o.size >= 0 && n != o.size {
		err = io.ErrUnexpectedEOF
	}
	o.size = n
	return err
}

// tailIndex returns the index of the last block, the tail. All other blocks have blockSize bytes, but the block before
// the tail may be shorter.
func (o *object) tailIndex() int64 { return (o.tail + blockSize - 1) / blockSize }

// index returns the index of the block with the byte at off.
func (o *object) index(off int64) int64 {
	if off >= o.tail {
		return o.tailIndex()
	}
	return off / blockSize
}

// extent returns the offsets of a block's begin and end.
func (o *object) extent(index int64) (start, end int64) {
	if index == o.tailIndex() {
		return o.tail, o.size
	}
	return index * blockSize, min((index+1)*blockSize, o.tail)
}

// fetch reads the data of adjacent blocks and wakes their readers.
func (o *object) fetch(blocks []*block) {
	r := &resumingReader{object: o}
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

// resumingReader reads a range of an object. It repeats requests that fail, and continues where a body was cut.
type resumingReader struct {
	*object
	off, end int64 // the rest of the range
	body     *Body // body of the current request; nil: none
	breaks   int   // number of failures since the last byte
}

// request requests the rest of the range.
func (r *resumingReader) request() error {
	for {
		body, err := r.store.Get(r.ctx, r.path, r.etag, r.off, r.end)
		if err == nil {
			r.body = body
			return r.check()
		}
		if temporary := (temporaryError{}); !errors.As(err, &temporary) || !r.pause() {
			return err
		}
	}
}

// check returns an error if the answer does not match the request.
func (r *resumingReader) check() error {
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

// pause waits before another attempt. It returns false after too many failures, or if the object was closed.
func (r *resumingReader) pause() bool {
	r.breaks++
	if r.breaks >= maxBreaks {
		return false
	}
	pause := min(r.cache.pause<<r.breaks, maxPause)
	select {
	case <-time.After(pause/2 + rand.N(pause/2)):
		return true
	case <-r.ctx.Done():
		return false
	}
}

func (r *resumingReader) Read(b []byte) (int, error) {
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

func (r *resumingReader) close() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}
