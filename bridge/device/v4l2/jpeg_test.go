package v4l2_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/v4l2"
)

// colours returns a JPEG picture, and how it decodes.
func colours(t testing.TB) ([]byte, image.Image) {
	rgba := image.NewRGBA(image.Rect(0, 0, 40, 24))
	for i := range rgba.Pix {
		rgba.Pix[i] = uint8(i * i / 7)
	}
	rgba.Set(3, 3, color.White)
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, rgba, nil))
	decoded, err := jpeg.Decode(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	return b.Bytes(), decoded
}

// withoutTables cuts the DHT segments out of a picture.
func withoutTables(picture []byte) []byte {
	at := bytes.Index(picture, []byte{0xff, 0xc4})
	length := int(picture[at+2])<<8 | int(picture[at+3])
	return append(picture[:at:at], picture[at+2+length:]...)
}

func TestAddHuffmanTables(t *testing.T) {
	whole, want := colours(t)
	bare := withoutTables(whole)
	_, err := jpeg.Decode(bytes.NewReader(bare))
	require.Error(t, err)

	buffer := make([]byte, 0, 2*len(whole))
	added := v4l2.AddHuffmanTables(buffer, bare)
	require.Same(t, &buffer[:1][0], &added[0])
	picture, err := jpeg.Decode(bytes.NewReader(added))
	require.NoError(t, err)
	require.Equal(t, want, picture)
	require.Zero(t, testing.AllocsPerRun(10, func() { added = v4l2.AddHuffmanTables(added, bare) }))

	// With an AVI1 segment and a restart interval, as cameras have them, and 0xff before markers.
	head := []byte{0xff, 0xd8, 0xff, 0xe0, 0, 6, 'A', 'V', 'I', '1', 0xff, 0xff, 0xff, 0xdd, 0, 4, 0, 0}
	avi := append(head, bare[2:]...)
	picture, err = jpeg.Decode(bytes.NewReader(v4l2.AddHuffmanTables(nil, avi)))
	require.NoError(t, err)
	require.Equal(t, want, picture)

	for _, same := range [][]byte{whole, nil, {0xff}, {0xff, 0xd8}, {0xff, 0xd8, 0xff, 0xd9}, []byte("\x89PNG"),
		bare[:100],
		{0xff, 0xd8, 0xff, 0xdb, 0xff, 0xff}, {0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff}} {
		require.Equal(t, same, v4l2.AddHuffmanTables(buffer, same))
	}
}

func TestTrimJPEG(t *testing.T) {
	whole, _ := colours(t)
	thumbnail := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 6, 0xff, 0xd9, 0xff, 0xd9}, whole[2:]...)
	// Data with a stuffed 0xff, a restart, and 0xff before the end.
	data := []byte{0xff, 0xd8, 0xff, 0xda, 0, 2, 1, 0xff, 0, 0xd9, 0xff, 0xd3, 2, 0xff, 0xff, 0xff, 0xd9}
	scans := []byte{0xff, 0xd8, 0xff, 0xda, 0, 2, 1, 2, 0xff, 0xc4, 0, 4, 0xff, 0xd9, 0xff, 0xda, 0, 2, 0xff, 0, 0xff,
		0xd9}
	for _, picture := range [][]byte{whole, thumbnail, data, scans, {0xff, 0xd8, 0xff, 0xd9},
		{0xff, 0xd8, 0xff, 0x01, 0xff, 0xd9}} {
		for _, garbage := range []string{"", "\x00", "\x00\x00\x00\x00", "\xff", "\xff\xd9", "\xff\xd8\xff\xd9",
			"\xff\xff\xff\xff"} {
			require.Equal(t, picture, v4l2.TrimJPEG(append(bytes.Clone(picture), garbage...)), "%x", garbage)
		}
	}
	for length := range len(data) {
		require.Equal(t, data[:length], v4l2.TrimJPEG(data[:length]))
	}
	for length := range len(whole) {
		require.Equal(t, whole[:length], v4l2.TrimJPEG(whole[:length]))
	}
}

func FuzzJPEG(f *testing.F) {
	whole, _ := colours(f)
	f.Add(whole)
	f.Add(withoutTables(whole))
	f.Add(append(bytes.Clone(whole), 0, 0, 0))
	f.Add([]byte{0xff, 0xd8, 0xff, 0xda, 0, 2, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		trimmed := v4l2.TrimJPEG(data)
		require.True(t, bytes.HasPrefix(data, trimmed))
		if len(trimmed) < len(data) {
			require.True(t, bytes.HasSuffix(trimmed, []byte{0xff, 0xd9}))
		}
		require.Equal(t, trimmed, v4l2.TrimJPEG(trimmed))
		added := v4l2.AddHuffmanTables(nil, data)
		if len(added) != len(data) {
			require.Len(t, added, len(data)+420)
		}
		require.Equal(t, added, v4l2.AddHuffmanTables(nil, added))

		// A JPEG that decodes still decodes to an equal image when trimmed. Tables alone do not make it decodable:
		// image/jpeg checks the other segments, too.
		if picture, err := jpeg.Decode(bytes.NewReader(data)); err == nil {
			again, err := jpeg.Decode(bytes.NewReader(trimmed))
			require.NoError(t, err)
			require.Equal(t, picture, again)
		}
	})
}
