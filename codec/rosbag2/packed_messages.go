package rosbag2

import (
	"fmt"
	"io"

	"tapedeck/codec"
	"tapedeck/codec/internal/compressed"
)

// iterator decompresses messages.
type iterator struct {
	codec.Iterator
	path       string
	unpacker   compressed.Unpacker
	compressed bool // all messages are, by metadata.yaml; without it, those that look so
	query      codec.Query
	labels     compressed.Labels
	msg        codec.Message
	err        error
}

// decompress returns an iterator that decompresses the messages of it that are compressed. err is that of making it.
func (r *Reader) decompress(it codec.Iterator, err error, q codec.Query) (codec.Iterator, error) {
	if err != nil || !r.compressedMessages && !r.databases { // package mcap decompresses payloads without a label
		return it, err
	}
	return &iterator{Iterator: it, path: r.Path, compressed: r.compressedMessages, query: q,
		labels: compressed.Labels{}}, nil
}

func (it *iterator) Next() (*codec.Message, error) {
	for it.err == nil {
		m, err := it.Iterator.Next()
		if err != nil {
			it.err = err
			break
		}
		// What a writer notes of a failing disk is not compressed.
		plain := !it.compressed || codec.IsEvents(m.Channel)
		if plain && (!compressed.Is(m.Data) || m.Channel.Encoding != codec.EncodingCDR) {
			return m, nil
		}
		data, err := it.unpacker.Unpack(m.Channel, m.Data)
		if err == nil {
			if !it.compressed {
				it.labels.Tell(it.path, m.Channel, &it.query)
			}
			it.msg = *m
			it.msg.Data, it.msg.Buffer = data, nil
			return &it.msg, nil
		}
		err = fmt.Errorf("read %s: message on %s at %d ns: %w", it.path, m.Channel.Topic, m.LogTime, err)
		it.err = it.query.Damage(err)
	}
	return nil, it.err
}

func (it *iterator) Close() error {
	it.unpacker.Close()
	it.err = io.EOF
	return it.Iterator.Close()
}
