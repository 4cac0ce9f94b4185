package rosbag2

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

func pack(t testing.TB, data []byte) []byte {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return encoder.EncodeAll(data, nil)
}

func TestCompressedFiles(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere")) // decompression must need no temporary files
	dir, want := writeSplitBag(t)
	var last []byte
	for i := range 12 {
		path := filepath.Join(dir, fmt.Sprintf("bag_%d.mcap", i))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		last = pack(t, data)
		require.NoError(t, os.WriteFile(path+".zstd", last, 0o666))
	}
	text, err := os.ReadFile(filepath.Join(dir, metadataFile))
	require.NoError(t, err)
	// rosbag2 lists the compressed files in relative_file_paths, and writes the mode in capitals.
	text = bytes.ReplaceAll(text, []byte(".mcap\n"), []byte(".mcap.zstd\n"))
	text = bytes.Replace(text, []byte(`compression_format: ""`), []byte("compression_format: zstd"), 1)
	text = bytes.Replace(text, []byte(`compression_mode: ""`), []byte("compression_mode: FILE"), 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, metadataFile), text, 0o666))
	r := open(t, dir)
	requireMessages(t, want, read(t, r, codec.Query{}))
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, "FILE", info.Extra.(Extra).CompressionMode)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "bag_11.mcap.zstd"), last[:len(last)-20], 0o666))
	r = open(t, dir)
	info, err = r.Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.Contains(t, info.Events[0].Text, "decompress "+filepath.Join(dir, "bag_11.mcap.zstd"))
	require.GreaterOrEqual(t, len(read(t, r, codec.Query{})), len(want)-12)
}

func TestCompressedMessages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bag")
	want := testMessages(20, testChannels()[0])
	packed := slices.Clone(want)
	for i := range packed {
		packed[i].Data = pack(t, want[i].Data)
	}
	packed[7].Data = []byte("not compressed")
	w, err := Options{}.Create(dir, codec.CreateOptions{})
	require.NoError(t, err)
	for i := range packed {
		require.NoError(t, w.Write(&packed[i]))
	}
	require.NoError(t, w.Close())
	text, err := os.ReadFile(filepath.Join(dir, metadataFile))
	require.NoError(t, err)
	m, err := parseMetadata(text)
	require.NoError(t, err)
	m.Mode, m.Compression = "MESSAGE", "zstd"
	require.NoError(t, m.save(codec.OS{}, dir))
	r := open(t, dir)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	for range 7 {
		_, err = it.Next()
		require.NoError(t, err)
	}
	_, err = it.Next()
	require.ErrorContains(t, err, "message on /chatter at 1700000000700000000 ns: decompress: ")
	require.NoError(t, it.Close())
	reports := 0
	got := read(t, r, codec.Query{Damaged: func(error) { reports++ }})
	require.Equal(t, 1, reports)
	requireMessages(t, slices.Delete(slices.Clone(want), 7, 8), got)

	m.Compression = "brotli"
	require.NoError(t, m.save(codec.OS{}, dir))
	_, err = codec.Formats{Format}.Open(dir)
	require.ErrorContains(t, err, `compressed with "brotli"; only zstd is supported`)

	// An unusable metadata.yaml is ignored: messages are decompressed if they look compressed.
	require.NoError(t, os.WriteFile(filepath.Join(dir, metadataFile),
		[]byte("rosbag2_bagfile_information: {version: 9, ros_distro: jazzy}"), 0o666))
	r = open(t, dir)
	want[7].Data = packed[7].Data
	requireMessages(t, want, read(t, r, codec.Query{}))
	info, err := r.Info()
	require.NoError(t, err)
	require.Empty(t, info.Metadata)
}

// No message is lost if the recorder is killed before metadata.yaml lists the last file, whether the folder has the
// last file uncompressed, compressed, or both.
func TestKilledWhileCompressing(t *testing.T) {
	channel := &codec.Channel{Topic: "/a", Type: "std_msgs/msg/UInt8", Encoding: codec.EncodingCDR}
	for _, storage := range []string{"mcap", "sqlite3"} {
		dir := filepath.Join(t.TempDir(), "bag")
		w, err := Options{CompressionMode: "file", Storage: storage}.Create(dir, codec.CreateOptions{})
		require.NoError(t, err)
		name := filepath.Join(dir, metadataFile)
		write := func(stamp int64) {
			require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: stamp, Data: []byte{0, 1, 0, 0, 1}}))
		}
		write(1)
		require.NoError(t, w.Split())
		write(2)
		require.NoError(t, w.Split())
		require.NoError(t, w.Sync()) // all files before the present one are complete
		listed, err := os.ReadFile(name)
		require.NoError(t, err)
		write(3)
		last := w.File()
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(name, listed, 0o666))
		count := func() uint64 {
			info, err := open(t, dir).Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			return info.MessageCount
		}
		require.EqualValues(t, 3, count(), "compressed")
		p, err := unpack(nil, last, maxPacked)
		require.NoError(t, err)
		data := make([]byte, p.size)
		_, err = p.ReadAt(data, 0)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(unpackedName(last), data, 0o666))
		require.EqualValues(t, 3, count(), "both")
		require.NoError(t, os.Remove(last))
		require.EqualValues(t, 3, count(), "not compressed")
	}
}
