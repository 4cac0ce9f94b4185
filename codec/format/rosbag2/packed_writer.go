package rosbag2

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

// packedSuffix ends the names of files that rosbag2 compresses as a whole.
const packedSuffix = ".zstd"

// wrapper is a FileWriter that compresses for another FileWriter.
type wrapper interface{ inner() output.FileWriter }

// packedMessages compresses each message.
type packedMessages struct {
	output.FileWriter
	zstd *zstd.Encoder
	msg  codec.Message
	buf  []byte
}

// fastest are options of encoders. rosbag2 uses level 1, too.
var fastest = []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)}

func newPackedMessages(w output.FileWriter) (*packedMessages, error) {
	// rosbag2 requires the size of the content in each frame.
	encoder, err := zstd.NewWriter(nil, append(slices.Clip(fastest), zstd.WithSingleSegment(true),
		zstd.WithZeroFrames(true))...)
	return &packedMessages{FileWriter: w, zstd: encoder}, err
}

func (p *packedMessages) inner() output.FileWriter { return p.FileWriter }

func (p *packedMessages) Write(m *codec.Message) error {
	p.buf = p.zstd.EncodeAll(m.Data, p.buf[:0])
	p.msg = *m
	p.msg.Data = p.buf
	return p.FileWriter.Write(&p.msg)
}

// packedFile compresses a file once it is complete. Until the compressed file is complete, too, both exist.
type packedFile struct {
	output.FileWriter
	system    codec.Disk
	files     *output.Series
	overwrite bool
	packed    string // path of the compressed file, once it is complete
	size      int64  // bytes of the compressed file
}

func (p *packedFile) inner() output.FileWriter { return p.FileWriter }

func (p *packedFile) Complete(durable bool) error {
	err := p.FileWriter.Complete(durable)
	info := p.FileWriter.Info()
	if !info.Complete {
		return err
	}
	if packErr := p.pack(info.Path, durable); packErr != nil {
		err = errors.Join(err, fmt.Errorf("compress %s: %w; the file is complete nevertheless", info.Path, packErr))
	}
	return err
}

// pack replaces the file at path by a compressed file.
func (p *packedFile) pack(path string, durable bool) error {
	in, err := p.system.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := p.files.Create(path+packedSuffix, p.overwrite)
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(file, fastest...)
	if err == nil {
		_, err = io.Copy(encoder, in)
		err = cmp.Or(err, encoder.Close())
	}
	if err != nil {
		file.Discard()
		return err
	}
	size := file.Size()
	if err := file.Complete(durable); err != nil {
		return err
	}
	p.packed, p.size = path+packedSuffix, size
	return p.system.Remove(path)
}

func (p *packedFile) Info() *codec.Info {
	info := p.FileWriter.Info()
	if p.packed != "" {
		info.Path, info.Size = p.packed, p.size
		info.Files[0].Path, info.Files[0].Size = p.packed, p.size
	}
	return info
}
