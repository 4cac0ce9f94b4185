package rosbag2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"tapedeck/codec/store"
)

const (
	// maxPacked is the maximum memory for files that are compressed as a whole. They take about as much there as on the
	// disk.
	maxPacked = 4 << 30

	// maxWindow is the largest window of a compressed file, in bytes. A window of minWindow is always accepted. A
	// larger one must not exceed mostRatio times the size of the file, because its size may be damaged.
	maxWindow = 1 << 30
	minWindow = 8 << 20

	blockSize    = 256 << 10
	cachedBlocks = 16

	// A file with more than mostUnpacked bytes of content must not be compressed by more than mostRatio: recordings are
	// far below, because their messages have heads.
	mostUnpacked = 256 << 20
	mostRatio    = 1000
)

// packed is a file that is compressed as a whole, in memory. Each of its blocks is compressed by itself, so that it can
// be read at any offset.
type packed struct {
	blocks [][]byte // compressed with S2; each has blockSize bytes of content, the last one less
	size   int64    // bytes of the content
	memory int64    // bytes of blocks
	cache  [cachedBlocks]struct {
		number int
		data   []byte // nil: not used yet
	}
	next int // index in cache of the next block to replace
}

// errPartial is wrapped by the error of unpack for a damaged file whose beginning was read.
var errPartial = errors.New("read up to there")

// unpack decompresses the file at path into at most limit bytes of memory. With an error that wraps errPartial it
// returns the beginning of the content.
func unpack(files *store.Files, path string, limit int64) (*packed, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, err
	}
	window := min(max(minWindow, mostRatio*stat.Size()), maxWindow)
	decoder, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(uint64(window)))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	p := &packed{}
	block, encoded := make([]byte, blockSize), make([]byte, s2.MaxEncodedLen(blockSize))
	for err == nil {
		n := 0
		for n < len(block) && err == nil {
			var more int
			more, err = decoder.Read(block[n:])
			n += more
		}
		if n == 0 {
			break
		}
		b := bytes.Clone(s2.Encode(encoded, block[:n]))
		p.blocks, p.size, p.memory = append(p.blocks, b), p.size+int64(n), p.memory+int64(cap(b))
		if p.memory > limit || p.size > mostUnpacked && p.size > mostRatio*stat.Size() {
			return nil, fmt.Errorf("decompress %s: it takes more than %d MiB of memory, or more than %d times its "+
				"size; decompress it first: zstd -d %[1]s", path, limit>>20, mostRatio)
		}
	}
	var pathError *fs.PathError
	switch {
	case errors.Is(err, io.EOF):
		return p, nil
	case p.size == 0 || errors.As(err, &pathError):
		return nil, fmt.Errorf("decompress %s: %w", path, err)
	}
	return p, fmt.Errorf("decompress %s: %w; %w", path, err, errPartial)
}

func (p *packed) length() (int64, error) { return p.size, nil }
func (p *packed) weight() int64          { return p.memory }

func (p *packed) Close() error { return nil }

func (p *packed) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read at %d", off)
	}
	n := 0
	for n < len(b) && off < p.size {
		block, err := p.block(int(off / blockSize))
		if err != nil {
			return n, err
		}
		k := copy(b[n:], block[off%blockSize:])
		n, off = n+k, off+int64(k)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// block returns a block, uncompressed.
func (p *packed) block(number int) ([]byte, error) {
	for _, c := range p.cache {
		if c.number == number && c.data != nil {
			return c.data, nil
		}
	}
	c := &p.cache[p.next]
	p.next = (p.next + 1) % len(p.cache)
	data, err := s2.Decode(c.data, p.blocks[number])
	if err != nil {
		return nil, err
	}
	c.number, c.data = number, data
	return data, nil
}
