package mcap

import (
	"bytes"
	"fmt"

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
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		return packer{compression: mcap.CompressionZSTD, zstd: encoder}, err
	case "lz4":
		// Readers need buffers of the block's size.
		writer := lz4.NewWriter(nil)
		return packer{compression: mcap.CompressionLZ4, lz4: writer}, writer.Apply(lz4.BlockSizeOption(lz4.Block256Kb))
	}
	return packer{}, fmt.Errorf("MCAP has no compression %q; it has none, lz4 and zstd", compression)
}

// pack compresses a chunk whose records begin behind bareChunk bytes. In what it returns they begin behind as many bytes
// and the name of the compression. What does not become smaller is returned as it is.
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
}

// reset empties the chunk, which keeps its memory.
func (c *chunk) reset() {
	c.records, c.span = c.records[:bareChunk], output.Span{}
	for id, entries := range c.indexes {
		c.indexes[id] = entries[:0]
	}
}
