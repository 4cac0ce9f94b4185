package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/store"
)

const (
	// maxHeads is the maximum number of messages of a segment: their heads take 16 MiB.
	maxHeads = 1 << 19
	// headBytes is the size of a head: LogTime, PublishTime, the position and size of the payload, and the channel.
	headBytes = 8 + 8 + 8 + 4 + 4
	// splitSize is the size above which the loader splits a chunk into pieces. Our writer's chunks are smaller.
	splitSize = 32 << 20
	// prefetchSize is the number of bytes fetched at once of a file in a store.
	prefetchSize = 16 << 20
)

// errIndex is returned if messages contradict the headers of chunks or the index.
var errIndex = errors.New("the index is wrong")

// loader implements chunked.Loader. It loads heads of messages, in the order of the file, and reads a payload when the
// payload is needed. Nothing is compressed, so this is much faster for one topic among large messages and for a seek.
// It takes a few MB of memory, also for chunks of 200 MB, Apollo's default.
type loader struct {
	chunked.Plain
	reader   *reader
	layout   *layout
	contents *chunked.Contents // gets channels that only messages name
	query    codec.Query
	unwanted []bool         // by channel; missing entries are wanted channels
	sparse   bool           // only messages at places are loaded
	places   []int64        // positions of the messages to load if sparse, in the order of the file
	scan     chunked.Window // for heads
	data     *windows       // for payloads
	fetched  int64          // end of the bytes that were fetched ahead
	found    singleMessage  // the message that was read last
	present  []bool         // by channel: heads found a message in this segment
}

// Skip implements chunked.Loader.
func (l *loader) Skip(unwanted []bool) { l.unwanted = unwanted }

// Load implements chunked.Loader.
func (l *loader) Load(s *chunked.Segment, buf []byte) ([]byte, []error) {
	pieces := l.layout.within(s)
	var errs []error
	if l.query.Verify || l.query.Sound {
		sound, err := l.verify(pieces[0].chunk)
		if err != nil {
			return nil, []error{&chunked.StopError{Err: err}}
		}
		if !sound {
			errs = append(errs, &damage{pos: l.layout.bodies[pieces[0].chunk].start, chunk: pieces[0].chunk,
				text: wrongSum})
		}
	}
	var heads []byte
	var err error
	if l.sparse {
		heads, err = l.placed(s, buf[:0])
	} else {
		heads, err = l.heads(s, pieces, buf[:0])
	}
	if err != nil {
		return nil, []error{&chunked.StopError{Err: err}}
	}
	return heads, errs
}

// heads appends the heads of messages in the pieces of s.
func (l *loader) heads(s *chunked.Segment, pieces []piece, heads []byte) ([]byte, error) {
	m := &l.found
	whole, last := true, int64(math.MinInt64)
	clear(l.present)
	for i := range pieces {
		p := &pieces[i]
		if !p.overlaps(l.query) {
			whole = false
			continue
		}
		var smaller layout
		large := !p.exact && p.end-p.start > splitSize
		count := uint64(0)
		for pos := p.start; pos < p.end; pos = m.end {
			l.prefetch(p.end, pos)
			if err := l.read(p, pos); err != nil {
				return nil, err
			}
			if m.time < p.min || m.time > p.max { // the header is wrong
				p.min, p.max = min(p.min, m.time), max(p.max, m.time)
				s.Start, s.End = min(s.Start, m.time), max(s.End, m.time)
				l.layout.contents = nil
			}
			count++
			if large {
				smaller.add(m, p.chunk)
			}
			channel := l.reader.find(m.name)
			if channel >= len(l.present) {
				l.present = append(l.present, make([]bool, channel+1-len(l.present))...)
			}
			l.present[channel] = true
			if channel < len(l.unwanted) && l.unwanted[channel] || !l.query.Covers(m.time) {
				continue
			}
			if len(heads) == maxHeads*headBytes {
				return nil, errIndex // the caller falls back to reading the whole file
			}
			s.Unsorted = s.Unsorted || m.time < last
			last = m.time
			heads = l.append(heads, channel)
		}
		if count < p.count {
			return nil, errIndex
		}
		if large {
			l.layout.replace(p.start, smaller.pieces)
		}
	}
	l.contents.Channels = l.reader.channels
	if whole && s.Channels == nil {
		s.Channels = []int{}
		for channel, met := range l.present {
			if met {
				s.Channels = append(s.Channels, channel)
			}
		}
	}
	return heads, nil
}

// findPlaces makes the loader load only the messages at known positions, if all wanted positions are known.
func (l *loader) findPlaces() {
	for i, c := range l.reader.channels {
		if l.query.Depth(c) == 0 {
			continue
		}
		if !l.layout.knowsPlaces(i) {
			return
		}
		l.places = append(l.places, l.layout.places[i]...)
	}
	slices.Sort(l.places)
	l.sparse = true
}

// placed appends the heads of the messages at places in s.
func (l *loader) placed(s *chunked.Segment, heads []byte) ([]byte, error) {
	m := &l.found
	i, _ := slices.BinarySearch(l.places, s.Offset)
	last := int64(math.MinInt64)
	for _, pos := range l.places[i:] {
		if pos >= s.Offset+s.Size {
			break
		}
		err := readMessage(&l.scan, pos, m)
		if err != nil && !isProblem(err) {
			return nil, fmt.Errorf("read %s: at %#x: %w", l.reader.path, pos, codec.Pathless(err))
		}
		if err != nil || m.end > s.Offset+s.Size {
			return nil, errIndex
		}
		channel := l.reader.find(m.name)
		if _, there := slices.BinarySearch(l.layout.places[channel], pos); !there {
			return nil, errIndex
		}
		s.Unsorted = s.Unsorted || m.time < last
		last = m.time
		heads = l.append(heads, channel)
	}
	return heads, nil
}

// append appends the head of the message in found.
func (l *loader) append(heads []byte, channel int) []byte {
	m, le := &l.found, binary.LittleEndian
	heads = slices.Grow(heads, headBytes)
	head := heads[len(heads) : len(heads)+headBytes]
	le.PutUint64(head, uint64(m.time))
	le.PutUint64(head[8:], uint64(m.publish))
	le.PutUint64(head[16:], uint64(m.content))
	le.PutUint32(head[24:], uint32(m.size))
	le.PutUint32(head[28:], uint32(channel))
	return heads[:len(heads)+headBytes]
}

// Cut implements chunked.Loader.
func (l *loader) Cut(heads []byte, off int, m *chunked.Message) int {
	head, le := heads[off:off+headBytes:off+headBytes], binary.LittleEndian
	m.Time, m.Publish = int64(le.Uint64(head)), int64(le.Uint64(head[8:]))
	m.Data, m.Channel = head[16:], int(le.Uint32(head[28:]))
	return off + headBytes
}

// Payload implements chunked.Loader.
func (l *loader) Payload(head []byte) ([]byte, error) {
	at, size := int64(binary.LittleEndian.Uint64(head)), int(binary.LittleEndian.Uint32(head[8:]))
	data, err := l.data.read(at, size)
	if err != nil {
		return nil, fmt.Errorf("read %s: message at %#x: %w", l.reader.path, at, codec.Pathless(err))
	}
	return data, nil
}

// read reads the message of p at pos into found.
func (l *loader) read(p *piece, pos int64) error {
	err := readMessage(&l.scan, pos, &l.found)
	if err == nil && l.found.end > p.end {
		err = errOverrun
	}
	if err == nil {
		return nil
	}
	if isProblem(err) && !p.exact {
		return errIndex
	}
	return fmt.Errorf("read %s: chunk %d at %#x: %w", l.reader.path, p.chunk, pos, codec.Pathless(err))
}

// prefetch starts to fetch the bytes from pos to end, so that reading them does not take a request for each message.
func (l *loader) prefetch(end, pos int64) {
	if pos > l.fetched || pos < l.fetched-2*prefetchSize {
		l.fetched = pos
	}
	if n := min(end-l.fetched, prefetchSize); n > 0 && l.fetched < pos+prefetchSize/2 {
		store.Prefetch(l.reader.file, l.fetched, n)
		l.fetched += n
	}
}

// verify reports whether a chunk has no checksum, or the right one.
func (l *loader) verify(chunk int) (sound bool, err error) {
	b, ok := l.layout.bodies[chunk]
	if !ok {
		return true, nil
	}
	sound, ok = l.reader.sums[chunk]
	if ok {
		return sound, nil
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(l.reader.file, b.start, b.end-b.start)); err != nil {
		return false, fmt.Errorf("read %s: chunk %d at %#x: %w", l.reader.path, chunk, b.start, codec.Pathless(err))
	}
	sound = sum.Sum32() == b.sum
	l.reader.sums[chunk] = sound
	return sound, nil
}

// windows holds several windows of one file, for reading at several places in turn.
type windows struct {
	small [8]chunked.Window
	last  int            // index of the small window used last
	order [8]int         // value of time at the last use of each small window
	time  int            // count of uses
	large chunked.Window // for reads of more than chunked.WindowSize
}

func newWindows(file io.ReaderAt, size int64) *windows {
	w := &windows{large: chunked.Window{File: file, Size: size}}
	for i := range w.small {
		w.small[i] = w.large
	}
	return w
}

// read returns the n bytes of the file at pos. The bytes are valid until the next call.
func (w *windows) read(pos int64, n int) ([]byte, error) {
	from := &w.small[w.last]
	if !from.Holds(pos, int64(n)) {
		from = w.pick(pos, n)
	}
	b, err := from.View(pos, n)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, fmt.Errorf("the file shrank while it was read: %w", io.ErrUnexpectedEOF)
	}
	return b[:n:n], nil
}

// pick returns the window to read through: a window that holds the bytes, or else a window that ends close before the
// bytes, or else the least recently used window.
func (w *windows) pick(pos int64, n int) *chunked.Window {
	if n > chunked.WindowSize {
		return &w.large
	}
	w.time++
	i := slices.IndexFunc(w.small[:], func(s chunked.Window) bool { return s.Holds(pos, int64(n)) })
	if i < 0 {
		i = slices.IndexFunc(w.small[:], func(s chunked.Window) bool { return s.Near(pos) })
	}
	if i < 0 {
		i = slices.Index(w.order[:], slices.Min(w.order[:]))
	}
	w.last, w.order[i] = i, w.time
	return &w.small[i]
}
