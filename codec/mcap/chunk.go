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
)

// segment is a part of a file that is loaded at once: a chunk, or a run of records outside of chunks.
type segment struct {
	offset      int64    // in the file, of the first record
	size        int64    // bytes in the file
	index       int64    // bytes of the message indexes behind the chunk, as far as they are known
	start, end  int64    // LogTime of the earliest and the latest message
	channels    []uint16 // of its messages; nil when that is not known
	chunk       bool
	cut         bool // the file ends within the chunk
	told        bool // what is damaged of it is in Reader.damage
	unsorted    bool // its messages do not follow each other by time, known when it was loaded
	compression mcap.CompressionFormat
}

func (s *segment) String() string {
	if s.chunk {
		return fmt.Sprintf("chunk at 0x%x", s.offset)
	}
	return fmt.Sprintf("messages at 0x%x", s.offset)
}

// chunkInfo is what a chunk record says before its records.
type chunkInfo struct {
	uncompressed uint64
	crc          uint32
	compression  mcap.CompressionFormat
	head         int // bytes before the records
	records      int64
}

// parseChunk reads how a chunk record of size bytes begins.
func parseChunk(content []byte, size int64) (chunkInfo, error) {
	var c chunkInfo
	if len(content) < chunkHead {
		return c, fmt.Errorf("a chunk of %d bytes", size)
	}
	c.uncompressed = binary.LittleEndian.Uint64(content[16:])
	c.crc = binary.LittleEndian.Uint32(content[24:])
	name := binary.LittleEndian.Uint32(content[28:])
	if name > maxName || chunkHead+int(name) > len(content) {
		return c, fmt.Errorf("a chunk with a compression's name of %d bytes", name)
	}
	c.compression = mcap.CompressionFormat(content[32 : 32+name])
	c.head = chunkHead + int(name)
	records := binary.LittleEndian.Uint64(content[32+name:])
	if rest := size - int64(c.head); rest < 0 || records > uint64(rest) {
		return c, fmt.Errorf("a chunk of %d bytes that claims to have %d bytes of records", size, records)
	}
	c.records = int64(records)
	return c, nil
}

// loader loads segments. It keeps what it needs for decompression.
type loader struct {
	file   io.ReaderAt
	define func(mcap.OpCode, []byte) error // is told of schemas and channels in chunks
	known  func(channel uint16) bool

	zstd *zstd.Decoder
	lz4  *lz4.Reader
	raw  []byte // a compressed chunk
}

func (l *loader) close() {
	if l.zstd != nil {
		l.zstd.Close()
	}
}

// broken says whether s cannot be loaded as a whole.
func (l *loader) broken(s segment, buf []byte) bool {
	_, err := l.read(&s, buf)
	return err != nil
}

// load returns the records of s, in buf if they fit there, beside errors that say what of them is damaged. The records
// are whole, and messages have at least the fields before the payload.
func (l *loader) load(s *segment, buf []byte) ([]byte, []error) {
	var errs []error
	records, err := l.read(s, buf)
	if err != nil && !s.cut {
		errs = append(errs, fmt.Errorf("%v: %w", s, err))
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
			s.unsorted = s.unsorted || messageTime(content) < last
			last = messageTime(content)
		}
		whole = next
	}
	if whole < len(records) && !s.cut {
		return l.salvage(s, records, errs)
	}
	return records[:whole], errs
}

// read returns the records of s, in buf if they fit there. With an error it returns as much of them as there is.
func (l *loader) read(s *segment, buf []byte) ([]byte, error) {
	if s.chunk {
		return l.chunk(s, buf)
	}
	buf = resize(buf, int(s.size))
	n, err := l.file.ReadAt(buf, s.offset)
	if n == len(buf) {
		return buf, nil
	}
	return buf[:n], unexpected(err)
}

// cutRecord returns the record at off and where the next one is, or -1 when it is not whole.
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

// salvage moves the whole ones of damaged records together.
func (l *loader) salvage(s *segment, records []byte, errs []error) ([]byte, []error) {
	w := walker{window: window{r: bytes.NewReader(records)}, to: int64(len(records)), known: l.known}
	s.unsorted = true // as far as is known
	n := 0
	for {
		r, err := w.next()
		if errors.Is(err, io.EOF) {
			return records[:n], errs
		}
		if err == nil && (r.op == mcap.OpSchema || r.op == mcap.OpChannel) {
			err = l.define(r.op, records[r.offset+recordHead:r.end()])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%v: %w of its content", s, err))
			continue
		}
		n += copy(records[n:], records[r.offset:r.end()])
	}
}

// chunk returns the uncompressed records of a chunk, in buf if they fit there. With an error it returns as much of them as
// there is.
func (l *loader) chunk(s *segment, buf []byte) ([]byte, error) {
	head := make([]byte, min(s.size, recordHead+chunkHead+maxName))
	if _, err := l.file.ReadAt(head, s.offset); err != nil {
		return nil, unexpected(err)
	}
	if len(head) < recordHead || mcap.OpCode(head[0]) != mcap.OpChunk {
		return nil, errors.New("there is no chunk")
	}
	size := int64(binary.LittleEndian.Uint64(head[1:]))
	if !s.cut && size != s.size-recordHead {
		return nil, fmt.Errorf("it has %d bytes where the index says %d", size, s.size-recordHead)
	}
	c, err := parseChunk(head[recordHead:], size)
	if err != nil {
		return nil, err
	}
	s.compression = c.compression
	offset := s.offset + recordHead + int64(c.head)
	stored := int(max(0, min(c.records, s.offset+s.size-offset)))
	if c.compression == mcap.CompressionNone {
		buf = resize(buf, stored)
		if _, err := l.file.ReadAt(buf, offset); err != nil {
			return nil, unexpected(err)
		}
	} else {
		l.raw = resize(l.raw, stored)
		if _, err := l.file.ReadAt(l.raw, offset); err != nil {
			return nil, unexpected(err)
		}
		if buf, err = l.decompress(c, l.raw, buf); err != nil {
			return buf, err
		}
	}
	if uint64(len(buf)) != c.uncompressed {
		return buf, fmt.Errorf("it holds %d bytes of records where it says %d", len(buf), c.uncompressed)
	}
	if c.crc != 0 && c.crc != crc32.ChecksumIEEE(buf) {
		return buf, errors.New("the checksum is wrong: some of its messages may be")
	}
	return buf, nil
}

// decompress returns the records of a chunk in dst, if they fit there. With an error it returns as much as there is.
func (l *loader) decompress(c chunkInfo, raw, dst []byte) ([]byte, error) {
	// What the best compression makes of a byte bounds the size that a damaged chunk can ask for.
	ratio := uint64(255)
	if c.compression == mcap.CompressionZSTD {
		ratio = 1 << 15
	}
	if c.uncompressed > maxChunk {
		return nil, fmt.Errorf("its %d bytes are more than this program holds at once", c.uncompressed)
	}
	dst = resize(dst, int(min(c.uncompressed, ratio*uint64(len(raw)))))
	switch c.compression {
	case mcap.CompressionZSTD:
		if l.zstd == nil {
			var err error
			l.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxChunk))
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
			// The end of the frame holds its checksum.
			_, err = io.ReadFull(l.lz4, make([]byte, 1))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return dst[:n], fmt.Errorf("decompress: %w", err)
		}
		return dst[:n], nil
	}
	return nil, fmt.Errorf("it is compressed with %q, which this program cannot read", c.compression)
}

// resize returns n bytes, in buf if they fit there.
func resize(buf []byte, n int) []byte {
	if n > cap(buf) {
		return make([]byte, n)
	}
	return buf[:n]
}

// unexpected turns the end of the file into an error.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
