package rosbag2

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"tapedeck/codec"
)

// maxMessage is the largest message that is decompressed, and the largest window of a compressed file.
const maxMessage = 1 << 30

// zstdMagic begins what zstd compressed; no CDR begins like that.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// iterator yields the messages of files that follow each other in time one after the other, and merges those that overlap.
type iterator struct {
	q          codec.Query
	zstd       *zstd.Decoder // of messages, nil when they are not compressed
	compressed bool          // all messages are, by metadata.yaml; without it, those that look so
	pending    []*part       // by start
	current    codec.Iterator
	err        error
}

func newIterator(r *Reader, q codec.Query) *iterator {
	it := &iterator{q: q, compressed: r.compressedMessages}
	if q.Topics != nil {
		// Each file has channels of its own for what is one of the bag.
		wanted := map[*codec.Channel]bool{}
		for _, t := range r.topics {
			wanted[t.Channel] = q.Topics(t.Channel)
		}
		it.q.Topics = func(c *codec.Channel) bool { return wanted[c] }
	}
	if r.compressedMessages || r.metadata == nil {
		it.zstd, it.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMessage))
	}
	it.pending = slices.Clone(r.parts)
	slices.SortStableFunc(it.pending, func(a, b *part) int { return cmp.Compare(a.info.StartTime, b.info.StartTime) })
	return it
}

// Next implements codec.Iterator.
func (it *iterator) Next() (*codec.Message, error) {
	for it.err == nil {
		if it.current == nil {
			if it.err = it.open(); it.err != nil {
				break
			}
		}
		m, err := it.current.Next()
		if err == nil {
			return m, nil
		}
		if closeErr := it.current.Close(); errors.Is(err, io.EOF) {
			err = closeErr
		}
		it.current, it.err = nil, err
	}
	return nil, it.err
}

// open opens the next file and those that begin before it ends.
func (it *iterator) open() error {
	if len(it.pending) == 0 {
		return io.EOF
	}
	var its []codec.Iterator
	end := it.pending[0].info.EndTime
	for len(it.pending) > 0 && (len(its) == 0 || it.pending[0].info.StartTime <= end) {
		p := it.pending[0]
		it.pending = it.pending[1:]
		end = max(end, p.info.EndTime)
		q := it.q
		if q.Topics != nil {
			q.Topics = func(c *codec.Channel) bool { return it.q.Topics(cmp.Or(p.channels[c], c)) }
		}
		from, err := p.reader.Read(q)
		if err != nil {
			return err
		}
		its = append(its, &partIterator{Iterator: from, part: p, zstd: it.zstd, compressed: it.compressed, damaged: it.q.Damaged})
	}
	it.current = codec.Merge(its...)
	return nil
}

// Close implements codec.Iterator.
func (it *iterator) Close() error {
	it.err = io.EOF
	if it.zstd != nil {
		it.zstd.Close()
	}
	if it.current != nil {
		return it.current.Close()
	}
	return nil
}

// partIterator makes messages of a file those of the bag.
type partIterator struct {
	codec.Iterator
	part       *part
	zstd       *zstd.Decoder
	compressed bool
	damaged    func(error)
	from       *codec.Channel // the channel of the last message, and that of the bag
	to         *codec.Channel
	msg        codec.Message
	buf        []byte
}

func (it *partIterator) Next() (*codec.Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil {
			return nil, err
		}
		if m.Channel != it.from {
			it.from, it.to = m.Channel, cmp.Or(it.part.channels[m.Channel], m.Channel)
		}
		it.msg = *m
		it.msg.Channel = it.to
		if it.zstd == nil || !it.compressed && !bytes.HasPrefix(m.Data, zstdMagic) {
			return &it.msg, nil
		}
		if err = it.decompress(); err == nil {
			return &it.msg, nil
		}
		err = fmt.Errorf("read %s: message on %s at %d ns: decompress: %w", it.part.path, m.Channel.Topic, m.LogTime, err)
		if it.damaged == nil {
			return nil, err
		}
		it.damaged(err)
	}
}

// decompress decompresses the payload.
func (it *partIterator) decompress() error {
	var head zstd.Header
	if err := head.Decode(it.msg.Data); err != nil {
		return err
	}
	// No compression makes more than 32 KiB of a byte: such a size is damage, and not asked of the system.
	if head.HasFCS && head.FrameContentSize > uint64(len(it.msg.Data))<<15 {
		return fmt.Errorf("%d bytes cannot hold %d", len(it.msg.Data), head.FrameContentSize)
	}
	var err error
	it.buf, err = it.zstd.DecodeAll(it.msg.Data, it.buf[:0])
	it.msg.Data = it.buf
	return err
}
