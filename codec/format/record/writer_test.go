package record

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/internal/output"
)

func create(path string, o codec.CreateOptions) (*output.Recording, error) {
	return createOn(codec.OS{}, path, o)
}

func reopen(t testing.TB, path string) (*reader, []byte) {
	r, err := open(nil, path)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return r, b
}

// newFile creates the writer of a single file, without a recording around it, and its encoder.
func newFile(t testing.TB, path string, o codec.CreateOptions) (output.FileWriter, *encoder) {
	e := newEncoder(path, o)
	w, err := output.NewSeries(codec.OS{}).NewChunkWriter(formatName, path, e, o, nil)
	require.NoError(t, err)
	return w, e
}

func TestHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	r, b := reopen(t, path+codec.ActiveSuffix)
	require.Len(t, b, firstSection)
	require.Equal(t, byte('0'), b[sectionSize+r.headerLength(b)])
	require.Zero(t, bytes.Count(b[sectionSize+r.headerLength(b)+1:], []byte{'0'}))
	require.EqualValues(t, 16<<20, r.header.GetChunkRawSize())
	require.EqualValues(t, time.Second, r.header.GetChunkInterval())
	require.True(t, r.unfinished())

	c := &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf}
	for i := range 3 {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: int64(10 - i), Data: []byte("abc")}))
		require.NoError(t, w.Sync())
	}
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Write(&codec.Message{Channel: c}), fs.ErrClosed)
	require.ErrorIs(t, w.Declare(&codec.Channel{Topic: "/b"}), fs.ErrClosed)
	require.NoError(t, w.Sync())

	r, b = reopen(t, path)
	h := &r.header
	require.EqualValues(t, 10, h.GetBeginTime()) // of the chunk that was written first
	require.EqualValues(t, 8, h.GetEndTime())
	require.EqualValues(t, 3, h.GetChunkNumber())
	require.EqualValues(t, 3, h.GetMessageNumber())
	require.EqualValues(t, 1, h.GetChannelNumber())
	require.EqualValues(t, len(b), h.GetSize())
	require.EqualValues(t, 1, h.GetIsComplete())
	require.Equal(t, indexSection, parseSection(b[h.GetIndexPosition():]).typ)
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.EqualValues(t, 8, info.StartTime)
	require.EqualValues(t, 10, info.EndTime)
}

func (r *reader) headerLength(b []byte) int { return int(parseSection(b).size) }

// A killed writer leaves whole chunks, none larger or longer than requested.
func TestChunks(t *testing.T) {
	for _, test := range []struct {
		name   string
		o      codec.CreateOptions
		size   int
		step   time.Duration
		chunks []uint64
	}{
		{"by size", codec.CreateOptions{ChunkSize: 1000}, 300, time.Millisecond, []uint64{4, 4}},
		{"by time", codec.CreateOptions{ChunkDuration: 50 * time.Millisecond}, 10, 20 * time.Millisecond,
			[]uint64{4, 4}},
		{"default time", codec.CreateOptions{}, 10, 300 * time.Millisecond, []uint64{5, 5}},
		{"larger than a chunk", codec.CreateOptions{ChunkSize: 1000}, 2 << 20, time.Millisecond,
			[]uint64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.record")
			w, _ := newFile(t, path, test.o)
			path += codec.ActiveSuffix
			c := &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf}
			data := bytes.Repeat([]byte("x"), test.size)
			written := uint64(0)
			for i := range 10 {
				require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: int64(i) * int64(test.step),
					Data: data}))
				// At most the open chunk is missing.
				r, err := open(nil, path)
				require.NoError(t, err)
				all, err := readAll(t, r, codec.Query{})
				require.NoError(t, err)
				require.NoError(t, r.Close())
				require.EqualValues(t, w.Info().MessageCount, len(all))
				written = uint64(len(all))
			}
			r, _ := reopen(t, path)
			require.False(t, r.shallow.cut)
			var chunks []uint64
			for _, p := range r.shallow.pieces {
				chunks = append(chunks, p.count)
			}
			require.Equal(t, test.chunks, chunks)
			require.NotZero(t, written)
		})
	}
}

// Tiny messages do not make a chunk exceed its memory.
func TestTinyMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record")
	w, e := newFile(t, path, codec.CreateOptions{ChunkSize: 1 << 20})
	c := &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf}
	const count = 500_000
	for i := range count {
		if err := w.Write(&codec.Message{Channel: c, LogTime: int64(i)}); err != nil {
			require.NoError(t, err)
		}
	}
	require.LessOrEqual(t, cap(e.chunk.body.Buf), 2*output.PieceSize)
	require.NoError(t, w.Complete(false))
	r, _ := reopen(t, path)
	info, err := r.Info()
	require.NoError(t, err)
	require.EqualValues(t, count, info.MessageCount)
	require.Greater(t, len(r.shallow.pieces), 2)
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.record")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<20), 0o644))
	_, err := codec.Formats{Format}.Create(path, codec.CreateOptions{})
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = create(path, codec.CreateOptions{})
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = create(path, codec.CreateOptions{Compression: "lz4", Overwrite: true})
	require.ErrorContains(t, err, "has no compression")
	_, err = create(filepath.Join(dir, "none", "a.record"), codec.CreateOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = create(dir, codec.CreateOptions{Overwrite: true})
	require.ErrorContains(t, err, dir)

	w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{Overwrite: true})
	require.NoError(t, err)
	require.ErrorContains(t, w.Declare(&codec.Channel{}), "a topic without a name")
	long := &codec.Channel{Topic: strings.Repeat("x", 5000)}
	require.ErrorContains(t, w.Declare(long), "a topic has a name of 5000 bytes")
	require.NoError(t, w.Close())
	r, b := reopen(t, path)
	require.EqualValues(t, len(b), r.header.GetSize())
	all, err := readAll(t, r, codec.Query{})
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]bool{
		"a.record": true, "a.record.00000": true, "a.record.00012.20260514114049": true, "a.record.split": true,
		"a.record.00000.recover": true, "record": false, "a.records": false, "a.record.1": false, "a.mcap": false,
	} {
		require.Equal(t, want, names.MatchString(name), name)
	}
}

func TestSyncBesideWrite(t *testing.T) {
	codectest.SyncBesideWrite(t, Format, &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf})
}
