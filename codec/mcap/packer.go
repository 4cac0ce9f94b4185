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

// pack compresses a chunk whose records begin behind bareChunk bytes. In what it returns they begin behind as many
// bytes and the name of the compression. What does not become smaller is returned as it is.
func (p *packer) pack(chunk []byte) ([]byte, mcap.CompressionFormat, error) {
	records := chunk[bareChunk:]
	head := bareChunk + len(p.compression)
	switch {
	case p.zstd != nil:
		p.packed = p.zstd.EncodeAll(records, append(p.packed[:0], make([]byte, head)...))
	case p.lz4 != nil:
		out := bytes.NewBuffer(append(p.packed[:0], make([]byte, head)...))
		p.lz4.Reset(out)
		if _, err := p.lz4.Write(records); err != nil {
			return nil, "", err
		}
		if err := p.lz4.Close(); err != nil {
			return nil, "", err
		}
		p.packed = out.Bytes()
	default:
		return chunk, "", nil
	}
	if len(p.packed) >= len(chunk) {
		return chunk, "", nil
	}
	return p.packed, p.compression, nil
}

// chunk is a chunk that is to be written.
type chunk struct {
	records []byte   // bareChunk bytes, then the records
	indexes [][]byte // entries of the message indexes, by channel
	first   int64    // LogTime of the first message
	span    output.Span

	// Set when the chunk is closed:
	encoder *encoder
	reserve int64
	profile string           // of the file
	index   *mcap.ChunkIndex // nil without messages
}

// Span returns the messages of the chunk.
func (c *chunk) Span() output.Span { return c.span }

// Encode returns the chunk with its indexes, and the file's header if that must be written again.
func (c *chunk) Encode(offset int64) (output.Block, error) {
	b := output.Block{Reserve: c.reserve}
	data, err := c.pack(offset)
	b.Parts = [][]byte{data}
	if err == nil && c.profile != c.encoder.headerProfile {
		c.encoder.headerProfile = c.profile
		b.Patch, b.PatchAt = header(c.profile), int64(len(mcap.Magic))
	}
	return b, err
}

// pack returns the chunk as it is in the file at offset and sets its entry in the index. Without messages there is no
// chunk, for it would have no time, but bare records.
func (c *chunk) pack(offset int64) ([]byte, error) {
	c.index = nil
	records := c.records[bareChunk:]
	if c.span.Messages == 0 {
		return records, nil
	}
	index := &mcap.ChunkIndex{
		MessageStartTime: uint64(c.span.Start), MessageEndTime: uint64(c.span.End), ChunkStartOffset: uint64(offset),
		MessageIndexOffsets: map[uint16]uint64{}, UncompressedSize: uint64(len(records)),
	}
	crc := crc32.ChecksumIEEE(records)
	data, compression, err := c.encoder.packer.pack(c.records)
	if err != nil {
		return nil, err
	}
	index.Compression = compression
	index.CompressedSize = uint64(len(data) - bareChunk - len(compression))
	index.ChunkLength = uint64(len(data))
	b := append(data[:0], byte(mcap.OpChunk))
	b = binary.LittleEndian.AppendUint64(b, index.ChunkLength-recordHead)
	b = binary.LittleEndian.AppendUint64(b, index.MessageStartTime)
	b = binary.LittleEndian.AppendUint64(b, index.MessageEndTime)
	b = binary.LittleEndian.AppendUint64(b, index.UncompressedSize)
	b = binary.LittleEndian.AppendUint32(b, crc)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(compression))), compression...)
	_ = binary.LittleEndian.AppendUint64(b, index.CompressedSize)
	for id, entries := range c.indexes {
		if len(entries) == 0 {
			continue
		}
		index.MessageIndexOffsets[uint16(id)] = index.ChunkStartOffset + uint64(len(data))
		data = append(data, byte(mcap.OpMessageIndex))
		data = binary.LittleEndian.AppendUint64(data, uint64(2+4+len(entries)))
		data = binary.LittleEndian.AppendUint16(data, uint16(id))
		data = binary.LittleEndian.AppendUint32(data, uint32(len(entries)))
		data = append(data, entries...)
	}
	index.MessageIndexLength = uint64(len(data)) - index.ChunkLength
	if compression == "" {
		c.records = data // it may have grown
	} else {
		c.encoder.packer.packed = data
	}
	c.index = index
	return data, nil
}

// Keep adds the chunk to the index.
func (c *chunk) Keep() error {
	if c.index == nil {
		return nil
	}
	w := c.encoder
	record, err := w.encode(func() error { return w.encoder.WriteChunkIndex(c.index) })
	if err != nil {
		return err
	}
	w.summary.chunks = append(w.summary.chunks, record...)
	w.chunks++
	return nil
}

// Release empties the chunk and keeps it for later.
func (c *chunk) Release() {
	c.reset()
	if c != c.encoder.chunk {
		c.encoder.spare = c
	}
}

// reset empties the chunk, which keeps its memory.
func (c *chunk) reset() {
	c.records, c.span = c.records[:bareChunk], output.Span{}
	for id, entries := range c.indexes {
		c.indexes[id] = entries[:0]
	}
}
