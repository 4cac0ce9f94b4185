package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
)

// chunkInfo is the head of a chunk record.
type chunkInfo struct {
	uncompressed uint64
	crc          uint32
	compression  mcap.CompressionFormat
	head         int // bytes before the records
	records      int64
}

// parseChunk parses the beginning of a chunk record of size bytes.
func parseChunk(content []byte, size int64) (chunkInfo, error) {
	var c chunkInfo
	if len(content) < chunkHead {
		return c, fmt.Errorf("a chunk of %s", plural.Count(size, "byte"))
	}
	c.uncompressed = binary.LittleEndian.Uint64(content[16:])
	c.crc = binary.LittleEndian.Uint32(content[24:])
	name := binary.LittleEndian.Uint32(content[28:])
	if name > maxName || chunkHead+int(name) > len(content) {
		return c, fmt.Errorf("a chunk whose compression has a name of %s", plural.Count(name, "byte"))
	}
	c.compression = mcap.CompressionFormat(content[32 : 32+name])
	c.head = chunkHead + int(name)
	records := binary.LittleEndian.Uint64(content[32+name:])
	if rest := size - int64(c.head); rest < 0 || records > uint64(rest) || records == 0 && rest > 0 {
		return c, fmt.Errorf("a chunk of %s that claims to have %s of records", plural.Count(size, "byte"),
			plural.Count(records, "byte"))
	}
	c.records = int64(records)
	return c, nil
}

// readChunkHead reads and parses the beginning of the chunk s.
func readChunkHead(file io.ReaderAt, s *chunked.Segment) (chunkInfo, error) {
	head := make([]byte, min(s.Size, recordHead+chunkHead+maxName))
	if _, err := file.ReadAt(head, s.Offset); err != nil {
		return chunkInfo{}, chunked.Unexpected(err)
	}
	if len(head) < recordHead || mcap.OpCode(head[0]) != mcap.OpChunk {
		return chunkInfo{}, errors.New("there is no chunk")
	}
	size := int64(binary.LittleEndian.Uint64(head[1:]))
	if !s.Cut && size != s.Size-recordHead {
		return chunkInfo{}, fmt.Errorf("%s where the index says %d", plural.Count(size, "byte"), s.Size-recordHead)
	}
	return parseChunk(head[recordHead:], size)
}

// loader implements chunked.Loader. It keeps its decompressors.
type loader struct {
	chunked.Plain
	file   io.ReaderAt
	define func(mcap.OpCode, []byte) error // is called with each schema and channel in a chunk
	known  func(channel uint16) bool

	unwanted []bool // by channel: messages that Load omits if that is cheaper

	zstd *zstd.Decoder
	lz4  *lz4.Reader
	raw  []byte // a compressed chunk, or a piece of an uncompressed one
}

func (l *loader) Skip(unwanted []bool) { l.unwanted = unwanted }

func (l *loader) Close() {
	if l.zstd != nil {
		l.zstd.Close()
	}
}

// broken reports whether loading s finds damage.
func (l *loader) broken(s chunked.Segment, buf []byte) bool {
	_, err := l.read(&s, buf)
	return err != nil
}

// Load implements chunked.Loader. The records that it returns are whole, and messages have at least the fields before
// the payload.
func (l *loader) Load(s *chunked.Segment, buf []byte) ([]byte, []error) {
	var errs []error
	records, err := l.read(s, buf)
	if err != nil && !s.Cut {
		errs = append(errs, fmt.Errorf("%v: %w", s, err))
		if records == nil {
			return l.loadWithoutHead(s, buf, errs)
		}
	}
	whole, last := 0, int64(math.MinInt64)
	for whole < len(records) {
		op, content, next := cutRecord(records, whole)
		if next < 0 || op == mcap.OpReserved || op == mcap.OpMessage && len(content) < messageHead {
			break
		}
		if op == mcap.OpSchema || op == mcap.OpChannel {
			if l.define(op, content) != nil {
				break
			}
		}
		if op == mcap.OpMessage {
			s.Unsorted = s.Unsorted || messageTime(content) < last
			last = messageTime(content)
		}
		whole = next
	}
	if whole < len(records) {
		return l.salvage(s, records, errs)
	}
	return records[:whole], errs
}

// read returns the records of s, in buf if they fit. With an error it returns the readable beginning.
func (l *loader) read(s *chunked.Segment, buf []byte) ([]byte, error) {
	if s.Chunk {
		return l.chunk(s, buf)
	}
	buf = chunked.Resize(buf, int(s.Size))
	n, err := l.file.ReadAt(buf, s.Offset)
	if n == len(buf) {
		return buf, nil
	}
	return buf[:n], chunked.Unexpected(err)
}

// cutRecord returns the record at off and the offset of the next one, or -1 if the record is not whole.
func cutRecord(records []byte, off int) (mcap.OpCode, []byte, int) {
	rest := records[off:]
	if len(rest) < recordHead {
		return 0, nil, -1
	}
	size := binary.LittleEndian.Uint64(rest[1:])
	if size > uint64(len(rest)-recordHead) {
		return 0, nil, -1
	}
	end := recordHead + int(size)
	return mcap.OpCode(rest[0]), rest[recordHead:end], off + end
}

func (l *loader) Cut(records []byte, off int, m *chunked.Message) int {
	op, content, next := cutRecord(records, off)
	m.Channel = chunked.None
	switch {
	case op != mcap.OpMessage || next < 0:
		return next
	case len(content) < messageHead:
		return -1
	}
	m.Channel = int(messageChannel(content))
	m.Time, m.Publish = messageTime(content), int64(binary.LittleEndian.Uint64(content[14:]))
	m.Data = content[messageHead:]
	return next
}

// salvage moves the whole records among damaged records together and returns them.
func (l *loader) salvage(s *chunked.Segment, records []byte, errs []error) ([]byte, []error) {
	size := int64(len(records))
	w := walker{
		Window: chunked.Window{File: bytes.NewReader(records), Size: size}, to: size, known: l.known, last: s.Start,
	}
	s.Unsorted = true // the order is unknown
	n := 0
	for {
		r, err := w.next()
		if errors.Is(err, io.EOF) {
			return records[:n], errs
		}
		if err == nil && (r.op == mcap.OpSchema || r.op == mcap.OpChannel) {
			err = l.define(r.op, records[r.offset+recordHead:r.end()])
		}
		if s.Cut && errors.Is(err, chunked.ErrCut) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%v: %w of its content", s, err))
			continue
		}
		n += copy(records[n:], records[r.offset:r.end()])
	}
}

// loadWithoutHead returns the readable records of a chunk whose head is damaged. It returns no records if the chunk
// seems to be compressed.
func (l *loader) loadWithoutHead(s *chunked.Segment, buf []byte, errs []error) ([]byte, []error) {
	if !s.Chunk || s.Size <= recordHead || s.Size > maxChunk {
		return nil, errs
	}
	buf = chunked.Resize(buf, int(s.Size-recordHead))
	if _, err := l.file.ReadAt(buf, s.Offset+recordHead); err != nil {
		return nil, append(errs, chunked.Unexpected(err))
	}
	begin := buf[:min(len(buf), 2*chunkHead)]
	for _, magic := range [][]byte{{0x04, 0x22, 0x4d, 0x18}, {0x28, 0xb5, 0x2f, 0xfd}} {
		if bytes.Contains(begin, magic) {
			return nil, errs
		}
	}
	return l.salvage(s, buf, errs)
}

// chunk returns the uncompressed records of a chunk, in buf if they fit. With an error it returns the readable
// beginning.
func (l *loader) chunk(s *chunked.Segment, buf []byte) ([]byte, error) {
	c, err := readChunkHead(l.file, s)
	if err != nil {
		return nil, err
	}
	s.Compression = c.compression.String()
	offset := s.Offset + recordHead + int64(c.head)
	stored := int(max(0, min(c.records, s.Offset+s.Size-offset)))
	var sum uint32
	if l.unwanted != nil && c.compression == mcap.CompressionNone && uint64(stored) == c.uncompressed {
		if records, ok := l.wanted(c, offset, buf); ok {
			return records, nil
		}
	}
	if c.compression == mcap.CompressionNone {
		buf = chunked.Resize(buf, stored)
		if c.crc == 0 {
			_, err = l.file.ReadAt(buf, offset)
		} else {
			_, sum, err = chunked.ReadSum(l.file, buf, offset)
		}
		if err != nil {
			return nil, chunked.Unexpected(err)
		}
	} else {
		l.raw = chunked.Resize(l.raw, stored)
		if _, err := l.file.ReadAt(l.raw, offset); err != nil {
			return nil, chunked.Unexpected(err)
		}
		buf, err = l.decompress(c, l.raw, buf)
		if err != nil {
			return buf, err
		}
		if c.crc != 0 {
			sum = crc32.ChecksumIEEE(buf)
		}
	}
	if uint64(len(buf)) != c.uncompressed {
		return buf, fmt.Errorf("%s of records where the head of the chunk says %d", plural.Count(len(buf), "byte"),
			c.uncompressed)
	}
	if c.crc != sum {
		return buf, errors.New("the checksum is wrong: some of its messages may be damaged")
	}
	return buf, nil
}

// wanted returns the records of an uncompressed chunk without unwanted messages, in buf if they fit. To verify the
// checksum it reads everything, in pieces that stay in the CPU cache. It returns false if the chunk is damaged in any
// way.
func (l *loader) wanted(c chunkInfo, offset int64, buf []byte) ([]byte, bool) {
	const least = recordHead + 2 // enough to hold the channel of a message
	l.raw = chunked.Resize(l.raw, least+chunked.WindowSize)
	var (
		sum     uint32
		carried int    // bytes of a record's head at the end of the last piece
		left    uint64 // bytes of a record that are in the next piece
		skip    bool   // the record of left is unwanted
	)
	buf = buf[:0]
	for end := offset + int64(c.uncompressed); offset < end; {
		n := int(min(chunked.WindowSize, end-offset))
		b := l.raw[:carried+n]
		if _, err := l.file.ReadAt(b[carried:], offset); err != nil {
			return nil, false
		}
		offset += int64(n)
		sum = crc32.Update(sum, crc32.IEEETable, b[carried:])
		for len(b) > 0 {
			if left == 0 && len(b) < least {
				break
			}
			if left == 0 {
				size := binary.LittleEndian.Uint64(b[1:])
				if size < 2 || size > c.uncompressed {
					return nil, false
				}
				left = recordHead + size
				channel := int(messageChannel(b[recordHead:]))
				skip = mcap.OpCode(b[0]) == mcap.OpMessage && channel < len(l.unwanted) && l.unwanted[channel]
			}
			piece := b[:min(uint64(len(b)), left)]
			if !skip {
				buf = append(buf, piece...)
			}
			left -= uint64(len(piece))
			b = b[len(piece):]
		}
		carried = copy(l.raw, b)
	}
	return buf, carried == 0 && left == 0 && (c.crc == 0 || c.crc == sum)
}

// decompress returns the records of a chunk, in dst if they fit. With an error it returns the readable beginning.
func (l *loader) decompress(c chunkInfo, raw, dst []byte) ([]byte, error) {
	// The best compression ratio limits the memory that a damaged chunk can request.
	ratio := uint64(255)
	if c.compression == mcap.CompressionZSTD {
		ratio = 1 << 15
	}
	if c.uncompressed > maxChunk {
		return nil, fmt.Errorf("%d bytes exceed the largest chunk that this program reads", c.uncompressed)
	}
	dst = chunked.Resize(dst, int(min(c.uncompressed, ratio*uint64(len(raw)))))
	switch c.compression {
	case mcap.CompressionZSTD:
		if l.zstd == nil {
			var err error
			l.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
				zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxChunk))
			if err != nil {
				return nil, err
			}
		}
		dst, err := l.zstd.DecodeAll(raw, dst[:0])
		if err != nil {
			return dst, fmt.Errorf("decompress: %w", err)
		}
		return dst, nil
	case mcap.CompressionLZ4:
		if l.lz4 == nil {
			l.lz4 = lz4.NewReader(nil)
		}
		l.lz4.Reset(bytes.NewReader(raw))
		n, err := io.ReadFull(l.lz4, dst)
		if err == nil {
			// The end of the frame has its checksum.
			_, err = io.ReadFull(l.lz4, make([]byte, 1))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return dst[:n], fmt.Errorf("decompress: %w", err)
		}
		return dst[:n], nil
	}
	return nil, fmt.Errorf("compressed with %q, which this program cannot read", c.compression)
}

// maxIndex is the maximum size of a chunk's message indexes, which are read at once.
const maxIndex = 64 << 20

// Find implements chunked.Loader, by the message indexes behind a chunk.
func (l *loader) Find(s *chunked.Segment, found func(channel int, time, off int64)) bool {
	if s.IndexSize <= 0 || s.IndexSize > maxIndex {
		return false
	}
	b := make([]byte, s.IndexSize)
	if _, err := l.file.ReadAt(b, s.Offset+s.Size); err != nil {
		return false
	}
	const fields, entry = 2 + 4, 8 + 8
	for pass := range 2 { // the first pass only checks the index
		for off := 0; off < len(b); {
			op, content, next := cutRecord(b, off)
			if next < 0 || op != mcap.OpMessageIndex || len(content) < fields {
				return false
			}
			id, entries := messageChannel(content), content[fields:]
			if uint64(binary.LittleEndian.Uint32(content[2:])) != uint64(len(entries)) || len(entries)%entry != 0 {
				return false
			}
			for ; pass == 1 && len(entries) > 0; entries = entries[entry:] {
				found(int(id), int64(binary.LittleEndian.Uint64(entries)),
					int64(binary.LittleEndian.Uint64(entries[8:])))
			}
			off = next
		}
	}
	return true
}
