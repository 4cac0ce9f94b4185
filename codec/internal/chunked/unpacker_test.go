package chunked

import (
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

func TestUnpack(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	pack := func(b []byte) []byte { return encoder.EncodeAll(b, nil) }
	payload := []byte("\x00\x01\x00\x00\x07")
	c := &codec.Channel{Topic: "/a", Encoding: codec.EncodingCDR}
	message := func(payload []byte) *codec.Message { return &codec.Message{Channel: c, Data: payload} }
	u := NewUnpacker("file", codec.Query{}, false)
	defer u.Close()
	for range 2 {
		m := message(pack(payload))
		ok, err := u.Unpack(m)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, payload, m.Data)
	}
	require.False(t, Compressed(message(payload)))
	require.False(t, Compressed(message(nil)))
	claim := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0} // 1 TiB
	large := pack(make([]byte, 1<<20))
	for want, packed := range map[string][]byte{
		"cannot hold 1099511627776":                   claim,
		"the payload is compressed with LZ4, not cdr": []byte("\x04\x22\x4d\x18\x64\x40\xa7\x00\x00\x00\x00"),
		"the payload is compressed more than once":    pack(pack(payload)),
		"decompress: unexpected EOF":                  large[:len(large)-1],
	} {
		require.True(t, Compressed(message(packed)), want)
		ok, err := u.Unpack(message(packed))
		require.False(t, ok)
		require.ErrorContains(t, err, "read file: message on /a at 0 ns: ")
		require.ErrorContains(t, err, want)
	}
}
