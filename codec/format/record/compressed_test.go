package record

import (
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// Compressed payloads that are labelled as CDR are decompressed, and reported once.
func TestCompressedPayloads(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	plain := "\x00\x01\x00\x00\x05"
	packed := string(encoder.EncodeAll([]byte(plain), nil))
	cdr := &codec.Channel{Topic: "/cdr", Type: "std_msgs/msg/UInt8", Encoding: codec.EncodingCDR}
	proto := &codec.Channel{Topic: "/proto", Type: "a.B", Encoding: codec.EncodingProtobuf}
	path := filepath.Join(t.TempDir(), "a.record")
	w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	lz4 := "\x04\x22\x4d\x18\x64\x40\xa7\x00\x00\x00\x00"
	for i, m := range []codec.Message{
		{Channel: cdr, Data: []byte(plain)},
		{Channel: cdr, Data: []byte(packed)},
		{Channel: cdr, Data: []byte(lz4)},
		{Channel: proto, Data: []byte(packed)},
		{Channel: cdr, Data: []byte(packed)},
	} {
		m.LogTime = int64(i) + 1
		require.NoError(t, w.Write(&m))
	}
	require.NoError(t, w.Close())

	r := openAt(t, path)
	_, err = readAll(t, r, codec.Query{})
	require.ErrorContains(t, err,
		"message on /cdr at 3 ns: the payload is compressed with LZ4, not cdr as the recording says")
	var damage, labels []error
	all, err := readAll(t, r, codec.Query{Damaged: func(err error) { damage = append(damage, err) },
		Mislabelled: func(err error) { labels = append(labels, err) }})
	require.NoError(t, err)
	require.Len(t, damage, 1)
	require.Len(t, labels, 1)
	require.ErrorContains(t, labels[0], "messages of /cdr are called cdr and are compressed with zstd")
	var payloads []string
	for _, m := range all {
		payloads = append(payloads, m.data)
	}
	require.Equal(t, []string{plain, plain, packed, plain}, payloads)
}
