package rosbag2

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"tapedeck/codec"
	"tapedeck/msgs/plural"
)

// maxMessage is the largest message that is decompressed, and the largest window of a compressed file.
const maxMessage = 1 << 30

// zstdMagic begins what zstd compressed; no CDR begins like that.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// iterator decompresses messages.
type iterator struct {
	codec.Iterator
	path       string
	zstd       *zstd.Decoder
	compressed bool // all messages are, by metadata.yaml; without it, those that look so
	damaged    func(error)
	msg        codec.Message
	buf        []byte
	err        error
}

// decompress returns an iterator that decompresses the messages of it that are compressed. err is that of making it.
func (r *Reader) decompress(it codec.Iterator, err error, q codec.Query) (codec.Iterator, error) {
	if err != nil || !r.compressedMessages && r.metadata != nil {
		return it, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMessage))
	if err != nil {
		return nil, errors.Join(err, it.Close())
	}
	return &iterator{Iterator: it, path: r.Path, zstd: decoder, compressed: r.compressedMessages, damaged: q.Damaged},
		nil
}

func (it *iterator) Next() (*codec.Message, error) {
	for it.err == nil {
		m, err := it.Iterator.Next()
		if err != nil {
			it.err = err
			break
		}
		// What a writer notes of a failing disk is not compressed.
		if (!it.compressed || codec.IsEvents(m.Channel)) && !bytes.HasPrefix(m.Data, zstdMagic) {
			return m, nil
		}
		it.msg = *m
		if err = it.unpack(); err == nil {
			return &it.msg, nil
		}
		err = fmt.Errorf("read %s: message on %s at %d ns: decompress: %w", it.path, m.Channel.Topic, m.LogTime, err)
		if it.damaged == nil {
			it.err = err
			break
		}
		it.damaged(err)
	}
	return nil, it.err
}

// unpack decompresses the payload.
func (it *iterator) unpack() error {
	var head zstd.Header
	if err := head.Decode(it.msg.Data); err != nil {
		return err
	}
	// No compression makes more than 32 KiB of a byte: such a size is damage, and not asked of the system.
	if head.HasFCS && head.FrameContentSize > uint64(len(it.msg.Data))<<15 {
		return fmt.Errorf("%s cannot hold %d", plural.Count(len(it.msg.Data), "byte"), head.FrameContentSize)
	}
	var err error
	it.buf, err = it.zstd.DecodeAll(it.msg.Data, it.buf[:0])
	it.msg.Data = it.buf
	return err
}

func (it *iterator) Close() error {
	if it.zstd != nil {
		it.zstd.Close()
		it.zstd = nil
	}
	it.err = io.EOF
	return it.Iterator.Close()
}
