package chunked

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"tapedeck/codec"
	"tapedeck/codec/text/plural"
)

// maxMessage is the largest message that is decompressed, in bytes.
const maxMessage = 1 << 30

// The first bytes of compressed payloads. The first byte of CDR is always 0.
var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	lz4Magic  = []byte{0x04, 0x22, 0x4d, 0x18}
	lz4Legacy = []byte{0x02, 0x21, 0x4c, 0x18}
)

// IsZstd reports whether b begins like a zstd frame.
func IsZstd(b []byte) bool { return bytes.HasPrefix(b, zstdMagic) }

// Compressed reports whether the payload of m is compressed although it is labelled as CDR, as rosbag2's compression
// mode MESSAGE does.
func Compressed(m *codec.Message) bool {
	return looksCompressed(m.Data) && m.Channel.Encoding == codec.EncodingCDR
}

func looksCompressed(payload []byte) bool {
	return len(payload) >= 4 && payload[0] != 0 &&
		(IsZstd(payload) || bytes.HasPrefix(payload, lz4Magic) || bytes.HasPrefix(payload, lz4Legacy))
}

// Unpacker decompresses payloads of a recording that a recorder compressed one by one.
type Unpacker struct {
	path     string
	query    codec.Query
	known    bool                    // the recording says that its payloads are compressed
	reported map[*codec.Channel]bool // channels whose unlabelled compression was reported
	zstd     *zstd.Decoder           // nil before the first payload
	buf      []byte
}

// NewUnpacker returns an Unpacker for the messages that q selects of the recording at path. known reports that the
// recording says that payloads are compressed.
func NewUnpacker(path string, q codec.Query, known bool) *Unpacker {
	return &Unpacker{path: path, query: q, known: known, reported: map[*codec.Channel]bool{}}
}

// Unpack decompresses the payload of m. The new payload is valid until the next call. A payload that cannot be
// decompressed is damage: then Unpack returns false and the result of Query.Damage.
func (u *Unpacker) Unpack(m *codec.Message) (bool, error) {
	data, err := u.unpack(m)
	if err != nil {
		return false, u.query.Damage(fmt.Errorf("read %s: message on %s at %d ns: %w", u.path, m.Channel.Topic,
			m.LogTime, err))
	}
	if !u.known && !u.reported[m.Channel] {
		u.reported[m.Channel] = true
		u.query.Mislabel(fmt.Errorf("read %s: messages of %s are called %s and are compressed with zstd, one by one, "+
			"as by rosbag2's compression mode MESSAGE; they are decompressed", u.path, m.Channel.Topic,
			m.Channel.Encoding))
	}
	m.Data, m.Buffer = data, nil
	return true, nil
}

func (u *Unpacker) unpack(m *codec.Message) ([]byte, error) {
	payload := m.Data
	if bytes.HasPrefix(payload, lz4Magic) || bytes.HasPrefix(payload, lz4Legacy) {
		return nil, fmt.Errorf("the payload is compressed with LZ4, not %s as the recording says", m.Channel.Encoding)
	}
	var head zstd.Header
	if err := head.Decode(payload); err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	// A byte never decompresses to more than 32 KiB: a larger size is damage, and must not be allocated.
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
	case m.Channel.Encoding == codec.EncodingCDR && looksCompressed(u.buf):
		return nil, errors.New("the payload is compressed more than once")
	}
	return u.buf, nil
}

// Close frees the decoder and the buffer.
func (u *Unpacker) Close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
	u.zstd, u.buf = nil, nil
}
