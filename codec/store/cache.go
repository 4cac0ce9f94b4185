package store

import (
	"container/list"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"
)

const (
	cacheSize = 96 << 20 // bytes of blocks, without blocks that are being fetched
	sequences = 4        // greatest number of places at which a File is read in order
	window    = 16 << 20 // greatest number of bytes that are read ahead at a place
	slack     = 1 << 20  // greatest number of bytes that a read in order skips
	overlap   = 4 << 10  // greatest number of bytes that a read in order repeats
)

// cache holds the blocks of the open objects of a Files value.
type cache struct {
	mu      sync.Mutex
	objects map[string]*object // open objects by URL
	recent  list.List          // *block with data, the last used first
	size    int64              // bytes of the blocks in recent
	ahead   int64              // bytes of blocks that were read ahead and not used yet, at most half of limit
	limit   int64              // greatest size
	pause   time.Duration      // pause before the first repetition of a request
}

// block is a range of an object. Users of a block are the cache, the goroutine that fetches it, and readers. The data
// does not change while the block has users. After the last release, other blocks reuse the memory, because the first
// access to fresh memory takes longer than all copies of the data.
type block struct {
	object *object
	index  int64
	ready  chan struct{} // closed when data or err is set
	data   []byte
	memory *[blockSize]byte // array of data; nil for a tail larger than blockSize
	err    error

	// The cache's mutex guards the fields below.
	users      int
	ahead      bool          // the block was read ahead and not used yet
	prefetched bool          // Prefetch was called for the block
	element    *list.Element // element of cache.recent; nil while the block is fetched
}

// blockPool holds *[blockSize]byte.
var blockPool = sync.Pool{New: func() any { return new([blockSize]byte) }}

// open returns the object at a URL. The caller must call release.
func (f *Files) open(path string) (*object, error) {
	s, err := f.store(path)
	if err != nil {
		return nil, err
	}
	o := f.cache.object(path, s)
	o.opened.Do(o.open)
	if o.err != nil {
		f.cache.release(o)
		return nil, o.err
	}
	return o, nil
}

// object returns the open object at a URL, or a new one if there is none or it was replaced. It counts a File.
func (c *cache) object(path string, s Store) *object {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.objects[path]
	if o == nil || o.changed {
		o = &object{cache: c, path: path, store: s, blocks: map[int64]*block{}}
		o.ctx, o.cancel = context.WithCancel(context.Background())
		c.objects[path] = o
	}
	o.files++
	return o
}

// release ends the use of o by a File. After the last File it frees the object.
func (c *cache) release(o *object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.files--
	if o.files > 0 {
		return
	}
	o.cancel()
	if c.objects[o.path] == o {
		delete(c.objects, o.path)
	}
	for _, b := range o.blocks {
		c.drop(b)
	}
	if o.local != nil {
		o.local.Close()
	}
}

// drop removes a block from the cache. c.mu is held.
func (c *cache) drop(b *block) {
	if b.object.blocks[b.index] == b {
		delete(b.object.blocks, b.index)
	}
	c.markUsed(b)
	if b.element != nil {
		c.recent.Remove(b.element)
		c.size -= int64(len(b.data))
		b.element = nil
		b.release()
	}
}

// allocate sets data to n bytes of memory.
func (b *block) allocate(n int) {
	if n > blockSize {
		b.data = make([]byte, n)
		return
	}
	b.memory = blockPool.Get().(*[blockSize]byte)
	b.data = b.memory[:n]
}

// release ends a use of b. The cache's mutex is held.
func (b *block) release() {
	b.users--
	if b.users == 0 && b.memory != nil {
		blockPool.Put(b.memory)
		b.memory, b.data = nil, nil
	}
}

// markUsed marks a block as no longer read ahead, because it is used or dropped. c.mu is held.
func (c *cache) markUsed(b *block) {
	if b.ahead {
		start, end := b.object.extent(b.index)
		c.ahead -= end - start
		b.ahead = false
	}
}

// loaded is called when a block has its data. It moves the block from its only user to the cache, and drops the least
// recently used blocks.
func (c *cache) loaded(b *block) {
	defer close(b.ready)
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.object.files == 0 {
		b.release()
		return
	}
	b.object.blocks[b.index] = b
	b.element = c.recent.PushFront(b)
	c.size += int64(len(b.data))
	for c.size > c.limit && c.recent.Len() > 1 {
		c.drop(c.recent.Back().Value.(*block))
	}
}

// fail is called when blocks cannot be fetched. The next read fetches them again.
func (c *cache) fail(blocks []*block, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range blocks {
		b.data, b.err = nil, err
		b.object.changed = b.object.changed || errors.Is(err, ErrReplaced)
		c.drop(b)
		b.release()
		close(b.ready)
	}
}

// startFetch starts to fetch the missing blocks between two offsets. ahead reports whether nobody waits for them.
func (c *cache) startFetch(o *object, from, to int64, ahead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startFetchLocked(o, from, to, ahead)
}

// acquire returns the block with the byte at off, and starts to fetch it if it is missing. The caller must call
// releaseBlock.
func (c *cache) acquire(o *object, off int64) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startFetchLocked(o, off, off+1, false)
	b := o.blocks[o.index(off)]
	c.markUsed(b)
	if b.element != nil {
		c.recent.MoveToFront(b.element)
	}
	b.users++
	return b
}

// releaseBlock ends the use of a block that acquire returned.
func (c *cache) releaseBlock(b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.release()
}

// startFetchLocked is startFetch. c.mu is held.
func (c *cache) startFetchLocked(o *object, from, to int64, ahead bool) {
	var run []*block
	size := int64(0)
	flush := func() {
		if len(run) > 0 {
			go o.fetch(run)
		}
		run, size = nil, 0
	}
	for i := o.index(from); i <= o.index(to-1); i++ {
		if o.blocks[i] != nil {
			flush()
			continue
		}
		start, end := o.extent(i)
		if ahead && c.ahead+end-start > c.limit/2 {
			break
		}
		b := &block{object: o, index: i, ready: make(chan struct{}), ahead: ahead, users: 1}
		if ahead {
			c.ahead += end - start
		}
		o.blocks[i] = b
		run, size = append(run, b), size+end-start
		if size >= maxRequest {
			flush()
		}
	}
	flush()
}

// prefetch starts to fetch the missing blocks between two offsets, and marks all blocks between them as prefetched.
func (c *cache) prefetch(o *object, from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startFetchLocked(o, from, to, true)
	for i := o.index(from); i <= o.index(to-1); i++ {
		if b := o.blocks[i]; b != nil {
			b.prefetched = true
		}
	}
}

// prefetched reports whether prefetch was called for the block with the byte at off.
func (c *cache) prefetched(o *object, off int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := o.blocks[o.index(off)]
	return b != nil && b.prefetched
}

// handle is an open File of an object. It implements File.
type handle struct {
	*io.SectionReader
	object *object

	mu        sync.Mutex
	closed    bool
	sequences [sequences]sequence // the last used first
}

// sequence is a place at which a File is read in order.
type sequence struct {
	next  int64 // offset at which reading continues
	read  int64 // number of bytes that were read in order
	ahead int64 // offset at which reading ahead ends
}

// continues reports whether a read at off continues the sequence.
func (s *sequence) continues(off int64) bool {
	return s.read > 0 && off >= s.next-overlap && off <= s.next+slack
}

func newHandle(o *object) *handle {
	h := &handle{object: o}
	h.SectionReader = io.NewSectionReader(readerAt(h.readAt), 0, o.size)
	return h
}

// readerAt implements io.ReaderAt by a function.
type readerAt func(b []byte, off int64) (int, error)

func (f readerAt) ReadAt(b []byte, off int64) (int, error) { return f(b, off) }

func (h *handle) Stat() (fs.FileInfo, error) { return h.object.info(), nil }

func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return &fs.PathError{Op: "close", Path: h.object.path, Err: fs.ErrClosed}
	}
	h.closed = true
	h.object.cache.release(h.object)
	return nil
}

// Prefetch implements the interface that the function Prefetch looks for.
func (h *handle) Prefetch(off, n int64) {
	o := h.object
	off, n = max(off, 0), min(n, cacheSize/4)
	if end := min(off+n, o.size); off < end && o.local == nil && h.checkOpen() == nil {
		o.cache.prefetch(o, off, end)
	}
}

// checkOpen returns an error if h is closed.
func (h *handle) checkOpen() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return &fs.PathError{Op: "read", Path: h.object.path, Err: fs.ErrClosed}
	}
	return nil
}

// readAt reads len(b) bytes at off. The object must have these bytes.
func (h *handle) readAt(b []byte, off int64) (int, error) {
	if err := h.checkOpen(); err != nil {
		return 0, err
	}
	o := h.object
	if o.local != nil {
		return o.local.ReadAt(b, off)
	}
	end := off + int64(len(b))
	if !o.cache.prefetched(o, end-1) { // a caller of Prefetch knows better what to fetch
		h.readAhead(off, end)
	}
	for pos, wanted := off, off; pos < end; {
		if wanted-pos < window/2 && wanted < end {
			wanted = min(pos+window, end)
			o.cache.startFetch(o, pos, wanted, false)
		}
		block := o.cache.acquire(o, pos)
		<-block.ready
		if block.err == nil {
			start, _ := o.extent(block.index)
			pos += int64(copy(b[pos-off:], block.data[pos-start:]))
		}
		o.cache.releaseBlock(block)
		if block.err != nil {
			return int(pos - off), block.err
		}
	}
	return len(b), nil
}

// readAhead starts to fetch the following bytes if the bytes from off to end continue a sequence. It fetches up to four
// times as many bytes as the sequence has read, because a round trip takes as long as the transfer of megabytes.
func (h *handle) readAhead(off, end int64) {
	o := h.object
	h.mu.Lock()
	defer h.mu.Unlock()
	i := 0
	for i < sequences-1 && !h.sequences[i].continues(off) {
		i++
	}
	s := h.sequences[i]
	copy(h.sequences[1:i+1], h.sequences[:i])
	inOrder := s.continues(off)
	if !inOrder {
		s = sequence{next: off}
	}
	s.read += max(0, end-max(off, s.next))
	s.next, s.ahead = max(s.next, end), max(s.ahead, end)
	size := min(4*s.read, window)
	if to := min(end+size, o.tail); inOrder && size > blockSize && s.ahead < min(end+size/2, to) {
		o.cache.startFetch(o, s.ahead, to, true)
		s.ahead = to
	}
	h.sequences[0] = s
}
