// Package compressed knows payloads that a recorder compressed one by one, as rosbag2's compression mode MESSAGE does,
// and that are labelled as CDR nevertheless.
package compressed

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"tapedeck/codec"
	"tapedeck/msgs/plural"
)

// maxMessage is the largest message that is decompressed, in bytes.
const maxMessage = 1 << 30

// The first bytes of compressed payloads. No CDR begins like that: its first byte is 0.
var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	lz4Magic  = []byte{0x04, 0x22, 0x4d, 0x18}
	lz4Legacy = []byte{0x02, 0x21, 0x4c, 0x18}
)

// IsZstd reports whether b begins with what zstd compressed.
func IsZstd(b []byte) bool { return bytes.HasPrefix(b, zstdMagic) }

// Is reports whether a payload that is labelled as CDR is compressed.
func Is(payload []byte) bool {
	return len(payload) >= 4 && payload[0] != 0 &&
		(IsZstd(payload) || bytes.HasPrefix(payload, lz4Magic) || bytes.HasPrefix(payload, lz4Legacy))
}

// Unpacker decompresses payloads. The zero Unpacker is ready for use.
type Unpacker struct {
	zstd *zstd.Decoder // nil before the first payload
	buf  []byte
}

// Unpack returns what a payload was before it was compressed, valid until the next call. The error says why it cannot
// be known.
func (u *Unpacker) Unpack(c *codec.Channel, payload []byte) ([]byte, error) {
	if bytes.HasPrefix(payload, lz4Magic) || bytes.HasPrefix(payload, lz4Legacy) {
		return nil, fmt.Errorf("it is compressed with LZ4, not %s as the recording says", c.Encoding)
	}
	var head zstd.Header
	if err := head.Decode(payload); err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	// No compression makes more than 32 KiB of a byte: such a size is damage, and not asked of the system.
	if head.HasFCS && head.FrameContentSize > uint64(len(payload))<<15 {
		return nil, fmt.Errorf("decompress: %s cannot hold %d", plural.Count(len(payload), "byte"),
			head.FrameContentSize)
	}
	if u.zstd == nil {
		var err error
		u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMessage))
		if err != nil {
			return nil, err
		}
	}
	var err error
	u.buf, err = u.zstd.DecodeAll(payload, u.buf[:0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("decompress: %w", err)
	case c.Encoding == codec.EncodingCDR && Is(u.buf):
		return nil, errors.New("it is compressed more than once")
	}
	return u.buf, nil
}

// Close frees what u holds.
func (u *Unpacker) Close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
	*u = Unpacker{}
}

// LabelError tells that messages of a topic are compressed although nothing in the recording says so. They are read
// nevertheless. It is given to Query.Mislabelled.
type LabelError struct {
	Path    string // of the recording
	Channel *codec.Channel
}

func (e *LabelError) Error() string {
	return fmt.Sprintf("read %s: messages of %s are called %s and are compressed with zstd, one by one, as by "+
		"rosbag2's compression mode MESSAGE; they are decompressed", e.Path, e.Channel.Topic, e.Channel.Encoding)
}

// Labels reports a LabelError for each topic once.
type Labels map[*codec.Channel]bool

// Tell reports that messages of a channel are compressed.
func (l Labels) Tell(path string, c *codec.Channel, q *codec.Query) {
	if !l[c] {
		q.Mislabel(&LabelError{path, c})
	}
	l[c] = true
}
