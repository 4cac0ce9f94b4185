package rosbag2

import (
	"io"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// iterator decompresses messages.
type iterator struct {
	codec.Iterator
	unpacker   *chunked.Unpacker
	compressed bool // all messages are compressed; otherwise, messages that look compressed
	msg        codec.Message
	err        error
}

// decompress returns an iterator that decompresses compressed messages of it. err is the error of making it.
func (r *Reader) decompress(it codec.Iterator, err error, q codec.Query) (codec.Iterator, error) {
	if err != nil || !r.compressedMessages && !r.databases { // package mcap decompresses payloads without a label
		return it, err
	}
	return &iterator{Iterator: it, unpacker: chunked.NewUnpacker(r.Path, q, r.compressedMessages),
		compressed: r.compressedMessages}, nil
}

func (it *iterator) Next() (*codec.Message, error) {
	for it.err == nil {
		m, err := it.Iterator.Next()
		if err != nil {
			it.err = err
			break
		}
		// Events that a writer adds after a disk error are not compressed.
		if (!it.compressed || codec.IsEvents(m.Channel)) && !chunked.Compressed(m) {
			return m, nil
		}
		it.msg = *m
		ok, err := it.unpacker.Unpack(&it.msg)
		if ok {
			return &it.msg, nil
		}
		it.err = err
	}
	return nil, it.err
}

func (it *iterator) Close() error {
	it.unpacker.Close()
	it.err = io.EOF
	return it.Iterator.Close()
}
