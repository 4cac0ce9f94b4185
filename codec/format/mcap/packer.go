package mcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"tapedeck/codec/internal/output"
)

// packer compresses chunks.
type packer struct {
	compression mcap.CompressionFormat
	zstd        *zstd.Encoder
	lz4         *lz4.Writer
	records     []byte // of a chunk in several blocks
	packed      []byte
}

func newPacker(compression string) (packer, error) {
	switch compression {
	case "", "none":
		return packer{}, nil
	case "zstd":
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false))
		return packer{compression: mcap.CompressionZSTD, zstd: encoder}, err
	case "lz4":
		// Readers need buffers of the block's size.
		writer := lz4.NewWriter(nil)
		return packer{compression: mcap.CompressionLZ4, lz4: writer}, writer.Apply(lz4.BlockSizeOption(lz4.Block256Kb))
	}
	return packer{}, fmt.Errorf("MCAP has no compression %q; it has none, lz4 and zstd", compression)
}

// pack compresses records. It returns the records uncompressed if compression does not make them smaller, or if they
// are too large for readers.
func (p *packer) pack(records []byte) ([]byte, mcap.CompressionFormat, error) {
	switch {
	case len(records) > maxChunk:
		return records, "", nil
	case p.zstd != nil:
		p.packed = p.zstd.EncodeAll(records, p.packed[:0])
	case p.lz4 != nil:
		out := bytes.NewBuffer(p.packed[:0])
		p.lz4.Reset(out)
		if _, err := p.lz4.Write(records); err != nil {
			return nil, "", err
		}
		if err := p.lz4.Close(); err != nil {
			return nil, "", err
		}
		p.packed = out.Bytes()
	default:
		return records, "", nil
	}
	if len(p.packed) >= len(records) {
		return records, "", nil
	}
	return p.packed, p.compression, nil
}

// chunk has records that are not yet written.
type chunk struct {
	body    output.Body // the records
	indexes [][]byte    // entries of the message indexes, by place.slot
	span    output.Span
	rest    []byte // the message indexes
	encoder *encoder
	group   int   // number of the group
	waiting int64 // bytes that groups.waiting includes
	full    bool  // the chunk must be written

	// Set when the chunk is closed:
	channels []uint16 // group.channels
	reserve  int64
	profile  string           // of the file
	index    *mcap.ChunkIndex // nil without messages
	sum      dataSum          // encoder.sum if the chunk is written
}

func (c *chunk) Span() output.Span { return c.span }
func (c *chunk) Group() int        { return c.group }

// Body returns the body of the chunk, unless it is compressed.
func (c *chunk) Body() *output.Body {
	if c.encoder.packer.compression != "" {
		return nil
	}
	return &c.body
}

// Encode returns the chunk with its indexes, and the file's header if the header changed.
func (c *chunk) Encode(offset int64) (output.Block, error) {
	var b output.Block
	err := c.encode(offset, &b)
	b.Reserve = c.reserve
	if err == nil && c.profile != c.encoder.headerProfile {
		c.encoder.headerProfile = unknownProfile // until Keep
		b.Patch, b.PatchAt = header(c.profile), int64(len(mcap.Magic))
	}
	return b, err
}

// encode sets the bytes of b at offset, and the chunk's entry in the index. Without messages it writes bare records
// instead of a chunk, because the chunk would have no time.
func (c *chunk) encode(offset int64, b *output.Block) error {
	c.index, c.sum = nil, c.encoder.sum
	p := &c.encoder.packer
	size, sum, stored, compression := c.body.Size(), c.body.Sum(), c.body.Size(), mcap.CompressionNone
	var records []byte
	if p.compression != "" {
		records = c.body.Bytes(&p.records)
		sum = crc32.ChecksumIEEE(records)
	}
	if c.span.Messages == 0 {
		c.sum.join(sum, size)
		if p.compression != "" {
			b.Data = [][]byte{records}
		}
		return nil
	}
	if p.compression != "" {
		var err error
		records, compression, err = p.pack(records)
		if err != nil {
			return err
		}
		stored = int64(len(records))
	}
	head := appendChunkHead(nil, c.span, size, sum, compression, stored)
	index := &mcap.ChunkIndex{
		MessageStartTime: uint64(c.span.Start), MessageEndTime: uint64(c.span.End), ChunkStartOffset: uint64(offset),
		ChunkLength: uint64(len(head)) + uint64(stored), MessageIndexOffsets: map[uint16]uint64{},
		Compression: compression, CompressedSize: uint64(stored), UncompressedSize: uint64(size),
	}
	rest := c.rest[:0]
	for slot, entries := range c.indexes {
		if len(entries) == 0 {
			continue
		}
		id := c.channels[slot]
		index.MessageIndexOffsets[id] = index.ChunkStartOffset + index.ChunkLength + uint64(len(rest))
		rest = append(rest, byte(mcap.OpMessageIndex))
		rest = binary.LittleEndian.AppendUint64(rest, uint64(2+4+len(entries)))
		rest = binary.LittleEndian.AppendUint16(rest, id)
		rest = binary.LittleEndian.AppendUint32(rest, uint32(len(entries)))
		rest = append(rest, entries...)
	}
	index.MessageIndexLength = uint64(len(rest))
	c.sum.add(head)
	if compression == mcap.CompressionNone {
		c.sum.join(sum, stored)
	} else {
		c.sum.add(records)
	}
	c.sum.add(rest)
	c.rest, c.index = rest, index
	if p.compression != "" {
		b.Data = [][]byte{head, records, rest}
	} else {
		b.Head, b.Data = head, [][]byte{rest}
	}
	return nil
}

// appendChunkHead appends the bytes of a chunk before its records.
func appendChunkHead(b []byte, s output.Span, size int64, sum uint32, compression mcap.CompressionFormat,
	stored int64) []byte {
	b = append(b, byte(mcap.OpChunk))
	b = binary.LittleEndian.AppendUint64(b, uint64(chunkHead+len(compression))+uint64(stored))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Start))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.End))
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(compression))), compression...)
	return binary.LittleEndian.AppendUint64(b, uint64(stored))
}

func (c *chunk) Keep() error {
	w := c.encoder
	w.sum, w.headerProfile = c.sum, c.profile
	if c.index == nil {
		return nil
	}
	record, err := encode(w, w.encoder.WriteChunkIndex, c.index)
	if err != nil {
		return err
	}
	w.summary.chunks = append(w.summary.chunks, record...)
	w.chunks++
	return nil
}

// Release implements output.Chunk.
func (c *chunk) Release() { c.encoder.release(c) }

// reset empties the chunk and keeps the memory.
func (c *chunk) reset() {
	c.body.Reset()
	c.span, c.waiting, c.full = output.Span{}, 0, false
	for slot, entries := range c.indexes {
		c.indexes[slot] = entries[:0]
	}
}
