package record

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "drive.record.00000")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf}
	for i := range int64(40) {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 100 + i - i%7, Data: []byte{byte(i)}}))
		if i%10 == 9 {
			require.NoError(t, w.Split())
		}
	}
	require.NoError(t, w.Close())
	// These do not belong to the recording.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.record.00000.recover"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "drive2.record.x"), nil, 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "drive.record.00009"), 0o777))

	open := func(path string) (codec.Reader, *codec.Info) {
		r, err := codec.Formats{Format}.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { r.Close() })
		info, err := r.Info()
		require.NoError(t, err)
		return r, info
	}
	for _, name := range []string{"", "drive", "drive.record"} {
		r, info := open(filepath.Join(dir, name))
		require.Equal(t, "record", info.Format)
		require.True(t, info.Complete)
		require.EqualValues(t, 40, info.MessageCount)
		require.Len(t, info.Topics, 1)
		require.Len(t, info.Files, 5)
		all, err := readAll(t, r, codec.Query{Start: 104})
		require.NoError(t, err)
		require.Len(t, all, 33)
		for i := 1; i < len(all); i++ {
			require.LessOrEqual(t, all[i-1].time, all[i].time)
		}
		got, want := readLatest(t, r, codec.Query{End: 120}, func(*codec.Channel) int { return 9 })
		require.Equal(t, want, got)
		require.Len(t, got, 9)
	}
	_, info := open(path)
	require.EqualValues(t, 10, info.MessageCount)

	// The converter does not number the first file.
	first := filepath.Join(dir, "drive.record")
	require.NoError(t, os.Rename(path, first))
	_, info = open(filepath.Join(dir, "drive"))
	require.EqualValues(t, 40, info.MessageCount)
	require.Equal(t, first, info.Files[0].Path)
	require.NoError(t, os.Rename(first, path))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "alone.record"), nil, 0o644))
	_, err = codec.Formats{Format}.Open(filepath.Join(dir, "alone"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Remove(filepath.Join(dir, "alone.record")))

	// One file is missing, one is not finished, one is not a record file.
	require.NoError(t, os.Remove(filepath.Join(dir, "drive.record.00001")))
	b, err := os.ReadFile(filepath.Join(dir, "drive.record.00003"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.record.00003"), b[:len(b)-20], 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.record.00007"), []byte("no record"), 0o644))
	r, info := open(filepath.Join(dir, "drive"))
	require.False(t, info.Complete)
	require.NotEmpty(t, info.Events)
	require.Equal(t, codec.Event{Kind: codec.EventMissing, Text: "drive.record.00001 is missing"}, info.Events[0])
	require.Equal(t, codec.Event{Kind: codec.EventMissing, Text: "drive.record.00005 to 00006 are missing"},
		info.Events[1])
	require.Contains(t, info.Events[2].Text, "drive.record.00007: not a record file")
	all, err := readAll(t, r, codec.Query{Damaged: func(error) {}})
	require.NoError(t, err)
	require.Len(t, all, 30)

	_, err = codec.Formats{Format}.Open(filepath.Join(dir, "other"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
