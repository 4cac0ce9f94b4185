package rosbag

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/dsnet/compress/bzip2"
	"github.com/pierrec/lz4/v4"

	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
)

const (
	maxChunk = 1 << 30 // bytes of the longest chunk, uncompressed

	// crcField is our field in the header of a chunk: the CRC-32 (IEEE) of its records. ROS's tools ignore it.
	crcField = "tapedeck_crc"
)

// loader implements chunked.Loader. A loader reuses its decompressors.
type loader struct {
	chunked.Plain
	file   io.ReaderAt
	reader *reader // gets the connections and definitions in chunks
	window chunked.Window
	lz4    *lz4.Reader
	bzip2  *bzip2.Reader // twice as fast as the standard library
	raw    []byte        // buffer for a compressed chunk

	conn   uint32 // connection of the last message
	number int    // channel number of conn; None: conn is not set
}

// Load implements chunked.Loader. The returned records are whole, and messages have a connection and a time.
func (l *loader) Load(s *chunked.Segment, buf []byte) ([]byte, []error) {
	var errs []error
	records, err := l.readRecords(s, buf)
	if err != nil && !s.Cut {
		errs = append(errs, fmt.Errorf("%v: %w", s, err))
	}
	whole := 0 // bytes of the whole records so far
	last := int64(math.MinInt64)
	for whole < len(records) {
		if m, ok := cutMessage(records, whole); ok {
			s.Unsorted = s.Unsorted || m.time < last
			last, whole = m.time, m.next
			continue
		}
		h, data, next := cutRecord(records, whole)
		if next < 0 || !hasRequiredFields(&h) {
			break
		}
		if h.op == opMessage {
			s.Unsorted = s.Unsorted || h.time < last
			last = h.time
		} else {
			other := h // keeps h on the stack
			err := l.reader.define(&other, data)
			if err != nil {
				errs = append(errs, fmt.Errorf("%v: %w", s, err))
			}
		}
		whole = next
	}
	if whole < len(records) && !s.Cut {
		return l.salvage(s, records, errs)
	}
	return records[:whole], errs
}

// isDamaged reports whether loading s finds damage.
func (l *loader) isDamaged(s chunked.Segment, buf []byte) bool {
	_, errs := l.Load(&s, buf)
	return len(errs) > 0
}

// readRecords returns the records of s, in buf if they fit. With an error it returns the readable beginning.
func (l *loader) readRecords(s *chunked.Segment, buf []byte) ([]byte, error) {
	if s.Chunk {
		return l.readChunk(s, buf)
	}
	return l.readAt(buf, s.Offset, s.Size)
}

// readAt returns size bytes at off, in buf if they fit. With an error it returns the readable beginning.
func (l *loader) readAt(buf []byte, off, size int64) ([]byte, error) {
	buf = chunked.Resize(buf, int(size))
	n, err := l.file.ReadAt(buf, off)
	if n == len(buf) {
		return buf, nil
	}
	return buf[:n], chunked.Unexpected(err)
}

// Cut implements chunked.Loader.
func (l *loader) Cut(records []byte, off int, m *chunked.Message) int {
	if c, ok := cutMessage(records, off); ok {
		if c.conn != l.conn || l.number == chunked.None {
			l.conn, l.number = c.conn, l.reader.channelNumber(c.conn)
		}
		m.Channel, m.Time, m.Data = l.number, c.time, c.data
		return c.next
	}
	h, data, next := cutRecord(records, off)
	m.Channel = chunked.None
	switch {
	case h.op != opMessage || next < 0:
		return next
	case !h.isMessage():
		return -1
	}
	m.Channel, m.Time, m.Data = l.reader.messageChannel(&h), h.time, data
	return next
}

// salvage moves the whole messages among damaged records together and returns them.
func (l *loader) salvage(s *chunked.Segment, records []byte, errs []error) ([]byte, []error) {
	w := walker{Window: chunked.Window{File: bytes.NewReader(records), Size: int64(len(records))},
		to: int64(len(records))}
	s.Unsorted = true // the order is unknown
	n := 0
	for {
		r, err := w.next()
		if errors.Is(err, io.EOF) {
			return records[:n], errs
		}
		if r.op == opChunk && string(r.get("compression")) == "none" {
			w.off = r.data // the wrong size of the chunk covers other records
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%v: %w of its content", s, err))
			continue
		}
		if r.op == opMessage {
			n += copy(records[n:], records[r.offset:r.end()])
		} else {
			_ = l.reader.define(&r.header, records[r.data:r.end()]) // the chunk is damaged anyway
		}
	}
}

// readChunk returns the uncompressed records of a chunk, in buf if they fit. With an error it returns the readable
// beginning.
func (l *loader) readChunk(s *chunked.Segment, buf []byte) ([]byte, error) {
	l.window.Reset(l.file, l.reader.Size)
	w := walker{Window: l.window, off: s.Offset, to: s.Offset + s.Size}
	r, whole := w.record(s.Offset)
	l.window = w.Window
	if w.Err != nil {
		return nil, chunked.Unexpected(w.Err)
	}
	if r.op != opChunk {
		return l.readMisplaced(&w, s, buf)
	}
	size := min(r.end(), w.to) - r.data
	if r.size == 0 && s.Cut {
		size = w.to - r.data // the writer was killed before it wrote the size
	}
	compression := string(r.get("compression"))
	uncompressed, _ := r.uint32("size")
	crc, checked := r.uint32(crcField)
	packed := compression == "bz2" || compression == "lz4"
	if size > maxChunk || packed && uncompressed > maxChunk {
		return nil, fmt.Errorf("%d bytes exceed the largest chunk that this program reads",
			max(int64(uncompressed), size))
	}
	var err error
	var sum uint32
	if n := int64(uncompressed); !packed && !s.Cut && n > size && n <= w.to-r.data {
		size, whole = n, false // one of the two sizes is wrong
	}
	switch {
	case !packed && checked:
		var n int
		buf = chunked.Resize(buf, int(size))
		n, sum, err = chunked.ReadSum(l.file, buf, r.data)
		buf, err = buf[:n], chunked.Unexpected(err)
	case !packed:
		buf, err = l.readAt(buf, r.data, size)
	default:
		l.raw, err = l.readAt(l.raw, r.data, size)
		if err == nil {
			if s.Cut {
				uncompressed = maxChunk
			}
			buf, err = l.decompress(compression, l.raw, buf, int(uncompressed))
			if checked {
				sum = crc32.ChecksumIEEE(buf)
			}
		}
	}
	if err == nil && !packed && compression != "none" { // or the name is damaged
		err = fmt.Errorf("compressed with %q, which this program cannot read", compression)
	}
	switch {
	case err != nil:
		return buf, err
	case s.Cut:
		return buf, nil
	case !whole:
		return buf, fmt.Errorf("the size is %s, expected %d", plural.Count(r.size, "byte"), size)
	case uint64(len(buf)) != uint64(uncompressed):
		return buf, fmt.Errorf("%s of records where the head of the chunk says %d", plural.Count(len(buf), "byte"),
			uncompressed)
	case checked && crc != sum:
		return buf, errors.New("the checksum is wrong: some of its messages may be damaged")
	}
	return buf, nil
}

// readMisplaced returns the records of a chunk that is not at the offset of s.
func (l *loader) readMisplaced(w *walker, s *chunked.Segment, buf []byte) ([]byte, error) {
	err := errors.New("there is no chunk")
	at := w.behindChunk(s.Offset + 1)
	if r, _ := w.record(at); r.op == opChunk {
		buf, _ = l.readChunk(&chunked.Segment{Offset: at, Size: w.to - at, Chunk: true}, buf)
		return buf, fmt.Errorf("%w, but at 0x%x", err, at)
	}
	if s.Size > maxChunk {
		return nil, err
	}
	buf, _ = l.readAt(buf, s.Offset, s.Size) // perhaps only the chunk header is damaged
	return buf, err
}

// decompress returns at most size bytes of records, in dst if they fit. With an error it returns the readable
// beginning.
func (l *loader) decompress(compression string, raw, dst []byte, size int) ([]byte, error) {
	if compression == "bz2" {
		if l.bzip2 == nil {
			l.bzip2 = new(bzip2.Reader)
		}
		if err := l.bzip2.Reset(bytes.NewReader(raw)); err != nil {
			return nil, err
		}
		dst, err := expand(l.bzip2, len(raw), dst, size)
		if err != nil {
			l.bzip2 = nil // Reset does not clear the state after an error
		}
		return dst, err
	}
	if l.lz4 == nil {
		l.lz4 = lz4.NewReader(nil)
	}
	l.lz4.Reset(bytes.NewReader(raw))
	dst, err := expand(l.lz4, len(raw), dst, size)
	if len(dst) < size {
		dst = salvageLZ4(raw, dst, size)
	}
	return dst, err
}

// expand returns at most size bytes of records from r, in dst if they fit. r decompresses the given number of packed
// bytes. With an error expand returns the readable beginning.
func expand(r io.Reader, packed int, dst []byte, size int) ([]byte, error) {
	// The size may be wrong: allocate memory step by step.
	dst = dst[:0]
	for len(dst) < size {
		if len(dst) == cap(dst) {
			more := make([]byte, len(dst), max(2*cap(dst), min(size, 8*packed+chunked.WindowSize)))
			copy(more, dst)
			dst = more
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), size)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, fmt.Errorf("decompress: %w", err)
		}
	}
	// Read on: the decompressor checks the checksum at the end of the frame.
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return dst, fmt.Errorf("more than the %s of records that the header says", plural.Count(size, "byte"))
	case !errors.Is(err, io.EOF):
		return dst, fmt.Errorf("decompress: %w", err)
	}
	return dst, nil
}

// Numbers of the LZ4 frame format.
const (
	lz4Magic       = 0x184d2204
	lz4Independent = 1 << 5 // flags of a frame
	lz4BlockSum    = 1 << 4
	lz4Size        = 1 << 3
	lz4Dictionary  = 1
	lz4Stored      = 1 << 31 // flag in a block's size: the block is not compressed

	maxRatio = 255 // highest ratio of a block's size to its compressed size
)

// salvageLZ4 returns the content of a broken LZ4 frame, at most size bytes, in dst if they fit. Zeros replace broken
// blocks.
func salvageLZ4(raw, dst []byte, size int) []byte {
	dst = dst[:0]
	if len(raw) < 7 || le.Uint32(raw) != lz4Magic {
		return dst
	}
	flags, block := raw[4], 1<<(8+2*(raw[5]>>4&7)) // the maximum size of a block
	head := 7
	if flags&lz4Size != 0 {
		head += 8
	}
	if flags&lz4Dictionary != 0 || block < 64<<10 {
		return dst
	}
	size = min(size, maxRatio*len(raw)+block)
	for rest := raw[min(head, len(raw)):]; len(rest) >= 4 && len(dst) < size; {
		n := le.Uint32(rest)
		stored := n&lz4Stored != 0
		n &^= lz4Stored
		rest = rest[4:]
		if n == 0 || uint64(n) > uint64(len(rest)) {
			break
		}
		off := len(dst)
		dst = append(dst, make([]byte, min(block, size-off))...)
		var got int
		var err error
		if stored {
			got = copy(dst[off:], rest[:n])
		} else {
			got, err = lz4.UncompressBlock(rest[:n], dst[off:])
		}
		if err != nil {
			if flags&lz4Independent == 0 {
				return dst[:off]
			}
			clear(dst[off:])
			got = len(dst) - off
		}
		dst, rest = dst[:off+got], rest[n:]
		if flags&lz4BlockSum != 0 {
			rest = rest[min(4, len(rest)):]
		}
	}
	return dst
}

// Find implements chunked.Loader. It uses the index records after the chunk.
func (l *loader) Find(s *chunked.Segment, found func(channel int, time, off int64)) bool {
	if !s.Chunk || s.Cut {
		return false
	}
	l.window.Reset(l.file, l.reader.Size)
	w := walker{Window: l.window, to: s.Offset + s.Size}
	chunk, whole := w.record(s.Offset)
	l.window = w.Window
	size := s.Offset + s.Size - chunk.end()
	if !whole || chunk.op != opChunk || size > maxOtherData {
		return false
	}
	b, err := l.readAt(nil, chunk.end(), size)
	if err != nil {
		return false
	}
	seen := map[int]bool{}
	for pass := range 2 { // the first pass only checks the index
		for off := 0; off < len(b); {
			h, entries, next := cutRecord(b, off)
			version, _ := h.uint32("ver")
			count, _ := h.uint32("count")
			if next < 0 || h.op != opIndex || h.has&hasConn == 0 || version != 1 ||
				len(entries) != int(count)*indexEntry {
				return false
			}
			channel := l.reader.channelNumber(h.conn)
			seen[channel] = true
			for ; pass == 1 && len(entries) > 0; entries = entries[indexEntry:] {
				found(channel, parseTime(entries), int64(le.Uint32(entries[8:])))
			}
			off = next
		}
		for _, channel := range s.Channels {
			if !seen[channel] {
				return false
			}
		}
	}
	return true
}
