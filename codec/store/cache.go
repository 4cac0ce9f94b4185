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
	sequences = 4        // places at which a File is read in order
	window    = 16 << 20 // bytes that are read ahead of a sequence
	slack     = 1 << 20  // bytes that a read in order may skip
	overlap   = 4 << 10  // bytes that a read in order may read twice
)

// cache holds the blocks of the open objects of a Files value.
type cache struct {
	mu      sync.Mutex
	objects map[string]*object // open objects by URL
	recent  list.List          // of *block: blocks with data, the last used first
	size    int64              // bytes of recent
	ahead   int64              // bytes of blocks that were read ahead and not used yet, at most half of limit
	limit   int64              // maximum of size
	pause   time.Duration      // before a request is repeated; longer each time
}

// block is a range of an object. Its data does not change while it has users: the cache, its fetch, and readers. After
// the last user its memory is reused: the first touch of fresh memory takes longer than all copies of it.
type block struct {
	object *object
	index  int64
	ready  chan struct{} // closed when data or err is set
	data   []byte
	memory *[blockSize]byte // array of data; nil for the tail, which is larger
	err    error

	// The cache's mutex guards the fields below.
	users int
	ahead bool          // the block was read ahead and not used yet
	asked bool          // Prefetch was called for the block
	place *list.Element // in cache.recent; nil while it is fetched
}

// memories are *[blockSize]byte.
var memories = sync.Pool{New: func() any { return new([blockSize]byte) }}

// open returns the object at a URL. The caller must call release.
func (f *Files) open(path string) (*object, error) {
	s, err := f.store(path)
	if err != nil {
		return nil, err
	}
	o := f.cache.object(path, s)
	o.opened.Do(o.begin)
	if o.err != nil {
		f.cache.release(o)
		return nil, o.err
	}
	return o, nil
}

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

// release ends the use of o by a File.
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

// drop removes a block.
func (c *cache) drop(b *block) {
	if b.object.blocks[b.index] == b {
		delete(b.object.blocks, b.index)
	}
	c.used(b)
	if b.place != nil {
		c.recent.Remove(b.place)
		c.size -= int64(len(b.data))
		b.place = nil
		b.leave()
	}
}

// allocate sets data to n bytes.
func (b *block) allocate(n int) {
	if n > blockSize {
		b.data = make([]byte, n)
		return
	}
	b.memory = memories.Get().(*[blockSize]byte)
	b.data = b.memory[:n]
}

// leave ends a use of b.
func (b *block) leave() {
	b.users--
	if b.users == 0 && b.memory != nil {
		memories.Put(b.memory)
		b.memory, b.data = nil, nil
	}
}

// used is called when a block is used or dropped.
func (c *cache) used(b *block) {
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
		b.leave()
		return
	}
	b.object.blocks[b.index] = b
	b.place = c.recent.PushFront(b)
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
		b.leave()
		close(b.ready)
	}
}

// want starts to fetch the missing blocks between two offsets.
func (c *cache) want(o *object, from, to int64, ahead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request(o, from, to, ahead)
}

// take returns the block with the byte at off, and starts to fetch it if it is missing. The caller must call done.
func (c *cache) take(o *object, off int64) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request(o, off, off+1, false)
	b := o.blocks[o.index(off)]
	c.used(b)
	if b.place != nil {
		c.recent.MoveToFront(b.place)
	}
	b.users++
	return b
}

// done ends the use of a block that take returned.
func (c *cache) done(b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.leave()
}

// request is want. mu is held.
func (c *cache) request(o *object, from, to int64, ahead bool) {
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
		if size >= mostFetch {
			flush()
		}
	}
	flush()
}

// ask starts to fetch the missing blocks between two offsets, for Prefetch.
func (c *cache) ask(o *object, from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request(o, from, to, true)
	for i := o.index(from); i <= o.index(to-1); i++ {
		if b := o.blocks[i]; b != nil {
			b.asked = true
		}
	}
}

// asked reports whether ask was called for the byte at off.
func (c *cache) asked(o *object, off int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := o.blocks[o.index(off)]
	return b != nil && b.asked
}

// handle is a File of an object.
type handle struct {
	*io.SectionReader
	object *object

	mu        sync.Mutex
	closed    bool
	sequences [sequences]sequence // the last used first
}

// sequence is a place at which a File is read in order.
type sequence struct {
	next  int64 // where reading continues
	read  int64 // bytes that were read in order
	ahead int64 // where reading ahead ends
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
	if end := min(off+n, o.size); off < end && o.local == nil && h.alive() == nil {
		o.cache.ask(o, off, end)
	}
}

func (h *handle) alive() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return &fs.PathError{Op: "read", Path: h.object.path, Err: fs.ErrClosed}
	}
	return nil
}

// readAt reads len(b) bytes, which the object has.
func (h *handle) readAt(b []byte, off int64) (int, error) {
	if err := h.alive(); err != nil {
		return 0, err
	}
	o := h.object
	if o.local != nil {
		return o.local.ReadAt(b, off)
	}
	end := off + int64(len(b))
	if !o.cache.asked(o, end-1) { // otherwise the reader fetches ahead itself
		h.readAhead(off, end)
	}
	for pos, wanted := off, off; pos < end; {
		if wanted-pos < window/2 && wanted < end {
			wanted = min(pos+window, end)
			o.cache.want(o, pos, wanted, false)
		}
		block := o.cache.take(o, pos)
		<-block.ready
		if block.err == nil {
			start, _ := o.extent(block.index)
			pos += int64(copy(b[pos-off:], block.data[pos-start:]))
		}
		o.cache.done(block)
		if block.err != nil {
			return int(pos - off), block.err
		}
	}
	return len(b), nil
}

// readAhead starts to fetch the following bytes if the bytes from off to end continue a sequence. It fetches several
// times as much as was read in order until now, because a round trip costs as much as megabytes.
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
		o.cache.want(o, s.ahead, to, true)
		s.ahead = to
	}
	h.sequences[0] = s
}
