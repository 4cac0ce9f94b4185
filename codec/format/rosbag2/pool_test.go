package rosbag2

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// A seek opens the files that cover the time. The number of open files is limited.
func TestFewFilesAreOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bag")
	w, err := Options{}.Create(dir, codec.CreateOptions{})
	require.NoError(t, err)
	const splits = maxOpen + maxOpen/2
	c := testChannels()[0]
	for i := range int64(splits) {
		for j := range int64(4) { // the last times belong in the next file
			require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 100 + 10*i + 3*j,
				Data: []byte{0, 1, 0, 0, byte(i)}}))
		}
		if i < splits-1 {
			require.NoError(t, w.Split())
		}
	}
	require.NoError(t, w.Close())

	r, err := Open(nil, dir)
	require.NoError(t, err)
	defer r.Close()
	require.Len(t, r.Files, splits)
	require.Len(t, read(t, r, codec.Query{}), 4*splits)
	require.LessOrEqual(t, len(r.plain.open), maxOpen)
	for _, begin := range []int64{3, splits / 2, splits - 2} {
		for len(r.plain.open) > 0 {
			require.NoError(t, r.plain.open[0].Close())
		}
		at := 100 + 10*begin
		it, err := r.Read(codec.Query{Start: at})
		require.NoError(t, err)
		m, err := it.Next()
		require.NoError(t, err)
		require.Equal(t, at, m.LogTime)
		require.LessOrEqual(t, len(r.plain.open), 2)

		it, err = r.Read(codec.Query{End: at, Last: func(*codec.Channel) int { return 1 }})
		require.NoError(t, err)
		m, err = it.Next()
		require.NoError(t, err)
		require.Equal(t, at-1, m.LogTime)
		_, err = it.Next()
		require.ErrorIs(t, err, io.EOF)
		require.LessOrEqual(t, len(r.plain.open), 4)
	}
}

func TestPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 3*blockSize+12345)
	for i := range data {
		data[i] = byte(random.IntN(7))
	}
	path := filepath.Join(t.TempDir(), "bag.mcap.zstd")
	compressed := pack(t, data)
	require.NoError(t, os.WriteFile(path, compressed, 0o666))
	p, err := unpack(nil, path, maxPacked)
	require.NoError(t, err)
	require.EqualValues(t, len(data), p.size)
	want := bytes.NewReader(data)
	for range 200 {
		off := random.Int64N(p.size + 10)
		a, b := make([]byte, random.IntN(2*blockSize)), make([]byte, 2*blockSize)
		b = b[:len(a)]
		n, err := p.ReadAt(a, off)
		wantN, wantErr := want.ReadAt(b, off)
		if len(a) > 0 {
			require.Equal(t, wantErr, err)
		}
		require.Equal(t, wantN, n)
		require.True(t, bytes.Equal(b[:n], a[:n]))
	}
	_, err = p.ReadAt(make([]byte, 1), -1)
	require.Error(t, err)

	_, err = unpack(nil, path, p.memory-1)
	require.ErrorContains(t, err, "decompress it first: zstd -d "+path)

	require.NoError(t, os.WriteFile(path, compressed[:len(compressed)/2], 0o666))
	p, err = unpack(nil, path, maxPacked)
	require.ErrorIs(t, err, errPartial)
	part := make([]byte, p.size)
	_, err = p.ReadAt(part, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data[:p.size], part))

	for name, content := range map[string][]byte{"empty": nil, "not compressed": data, "a cut head": compressed[:3]} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, content, 0o666))
			_, err := unpack(nil, path, maxPacked)
			if len(content) > 0 {
				require.ErrorContains(t, err, "decompress "+path)
			}
		})
	}
}

// Compressed files that together exceed the memory limit are decompressed again.
func TestPackedTakeTurns(t *testing.T) {
	dir, want := writeSplitBag(t)
	for i := range 12 {
		path := filepath.Join(dir, fmt.Sprintf("bag_%d.mcap", i))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.WriteFile(path+".zstd", pack(t, data), 0o666))
	}
	require.NoError(t, os.Remove(filepath.Join(dir, metadataFile)))
	r, err := Open(nil, dir)
	require.NoError(t, err)
	defer r.Close()
	require.Len(t, r.packed.open, 12)
	r.packed.limit = 2 * r.packed.open[0].content.weight()
	r.packed.shrink()
	for range 2 {
		requireMessages(t, want, read(t, r, codec.Query{}))
		require.LessOrEqual(t, len(r.packed.open), 2)
	}
}

// TestBombs reads files and messages that decompress to unusually much.
func TestBombs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bag.mcap.zstd")
	var frame bytes.Buffer
	w, err := zstd.NewWriter(&frame)
	require.NoError(t, err)
	const size = 8 << 20
	_, err = w.Write(make([]byte, size))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	packed := bytes.Repeat(frame.Bytes(), mostUnpacked/size+1)
	require.Less(t, len(packed), 100_000)
	require.NoError(t, os.WriteFile(path, packed, 0o666))
	_, err = unpack(nil, path, maxPacked)
	require.EqualError(t, err, "decompress "+path+": it takes more than 4096 MiB of memory, or more than 1000 times "+
		"its size; decompress it first: zstd -d "+path)
}
