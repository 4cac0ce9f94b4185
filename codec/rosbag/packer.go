package rosbag

import (
	"bytes"
	"fmt"
	"io"

	"github.com/dsnet/compress/bzip2"
	"github.com/pierrec/lz4/v4"
)

// packer compresses chunks.
type packer struct {
	compression string
	writer      interface {
		io.WriteCloser
		reset(io.Writer) error
	}
	packed bytes.Buffer
}

type lz4Writer struct{ *lz4.Writer }

func (w lz4Writer) reset(to io.Writer) error {
	w.Reset(to)
	return nil
}

type bzip2Writer struct{ *bzip2.Writer }

func (w bzip2Writer) reset(to io.Writer) error { return w.Reset(to) }

func newPacker(compression string) (packer, error) {
	switch compression {
	case "", "none":
		return packer{compression: "none"}, nil
	case "lz4":
		// ROS takes frames of independent blocks with a checksum of the content, and nothing else.
		w := lz4.NewWriter(nil)
		return packer{compression: compression, writer: lz4Writer{w}},
			w.Apply(lz4.BlockSizeOption(lz4.Block256Kb), lz4.ChecksumOption(true))
	case "bz2":
		w, err := bzip2.NewWriter(nil, &bzip2.WriterConfig{Level: bzip2.BestCompression})
		return packer{compression: compression, writer: bzip2Writer{w}}, err
	}
	return packer{}, fmt.Errorf("a bag has no compression %q; it has none, lz4 and bz2", compression)
}

// pack compresses the records of a chunk. What it returns is valid until the next call.
func (p *packer) pack(records []byte) ([]byte, error) {
	if p.writer == nil {
		return records, nil
	}
	p.packed.Reset()
	if err := p.writer.reset(&p.packed); err != nil {
		return nil, err
	}
	if _, err := p.writer.Write(records); err != nil {
		return nil, err
	}
	if err := p.writer.Close(); err != nil {
		return nil, err
	}
	return p.packed.Bytes(), nil
}
