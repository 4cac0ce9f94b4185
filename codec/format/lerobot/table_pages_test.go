package lerobot

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/episode"
)

// TestPageHeads reads pages whose heads claim more memory than a page may take, or more bytes than the file has.
func TestPageHeads(t *testing.T) {
	check := func(size, values int32, data string) error {
		b, err := thrift.Marshal(new(thrift.CompactProtocol), &format.PageHeader{
			Type: format.DataPage, UncompressedPageSize: size, CompressedPageSize: 4,
			DataPageHeader: &format.DataPageHeader{NumValues: values, Encoding: format.Plain},
		})
		require.NoError(t, err)
		b = append(b, data...)
		return checkPages(bytes.NewReader(b), &format.ColumnMetaData{TotalCompressedSize: int64(len(b))})
	}
	require.NoError(t, check(1<<20, 1<<20, "data"))
	require.EqualError(t, check(1000, 100, "dat"), "page 0: EOF")
	require.EqualError(t, check(1<<30, 100, "data"), "page 0: 4 bytes, 1073741824 uncompressed, and 100 values, "+
		"but this program reads at most 268435456 bytes and 16777216 values: write the table with smaller pages")
	require.ErrorContains(t, check(1000, 1<<30, "data"), "and 1073741824 values")
	require.ErrorContains(t, check(-1, 100, "data"), "-1 uncompressed")
}

// TestLongColumn reads a constant column, which takes a few bytes of the file and too much memory. Reading must return
// an error.
func TestLongColumn(t *testing.T) {
	defaultColumn := maxColumn
	t.Cleanup(func() { maxColumn = defaultColumn })
	maxColumn = 8 << 20
	rows := maxColumn/8 + 1
	path := filepath.Join(t.TempDir(), "a.parquet")
	file, err := os.Create(path)
	require.NoError(t, err)
	type row struct {
		N int64 `parquet:"n,dict"`
	}
	w := parquet.NewGenericWriter[row](file, parquet.PageBufferSize(1<<20), parquet.Compression(&parquet.Zstd))
	group := make([]row, 1<<16)
	for n := 0; n < rows; n += len(group) {
		_, err := w.Write(group)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	stat, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, stat.Size(), int64(2000))
	table, err := openTable(nil, path)
	require.NoError(t, err)
	defer table.close()
	_, err = table.numbers("n", 1)
	require.EqualError(t, err, "read "+path+": column n takes more than 8 MiB of memory: divide the table")
}

// TestFooter opens files whose footers claim impossible lengths. Opening must return an error.
func TestFooter(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"long": {"PAR1\x00\xff\xff\xff\x7fPAR1", "a footer of 2147483647 bytes in a file of 13"},
		"list": {"PAR1\x29\xfc\xff\xff\xff\xff\x07\x07\x00\x00\x00PAR1", "the footer is damaged"},
		"nested": {"PAR1\x19" + string(bytes.Repeat([]byte{0x19}, 99)) + "\x64\x00\x00\x00PAR1",
			"the footer is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.parquet")
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o666))
			_, err := openTable(nil, path)
			require.EqualError(t, err, "read "+path+": "+c.want)
		})
	}
}

// TestLargeTIFF decodes a TIFF that claims more pixels than there is memory. Decoding must return an error.
func TestLargeTIFF(t *testing.T) {
	data, err := encodeTIFF(&episode.Frame{Encoding: "16UC1", Data: make([]byte, 2*3*5), Width: 3, Height: 5, Step: 6})
	require.NoError(t, err)
	for _, tag := range []byte{0, 1} { // ImageWidth, ImageLength
		at := bytes.Index(data, []byte{tag, 1, 3, 0, 1, 0, 0, 0})
		require.Positive(t, at)
		copy(data[at+8:], []byte{0xff, 0xff})
	}
	_, err = decodeTIFF(nil, data)
	require.EqualError(t, err, "invalid image size 65535×65535")
}
