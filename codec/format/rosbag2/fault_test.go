package rosbag2

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/store"
)

func TestDiskErrors(t *testing.T) {
	f := disktest.Format{
		First: "a",
		Create: func(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error) {
			o.ChunkSize = 8000
			return Options{Storage: storageSQLite}.createOn(s, filepath.Join(t.TempDir(), path), o)
		},
		Open: func(t testing.TB, name string, content []byte) (codec.Reader, error) {
			path := filepath.Join(t.TempDir(), filepath.Base(name))
			require.NoError(t, os.WriteFile(path, content, 0o666))
			return openAlone(path)
		},
		Spared: func(path string) bool { return strings.Contains(path, metadataFile) },
	}
	c := &codec.Channel{Topic: "/a", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR}
	for i := range int64(40) {
		f.Messages = append(f.Messages, codec.Message{Channel: c, LogTime: i, Data: make([]byte, 2000)})
	}
	stride := int64(1)
	if testing.Short() {
		stride = 5
	}
	f.TestErrors(t, stride)
}

// Bags are written, read and overwritten only through codec.Disk, also with files that are compressed as a whole.
func TestOnADisk(t *testing.T) {
	for _, b := range []Options{
		{}, {CompressionMode: "file"}, {Storage: storageSQLite, CompressionMode: "file"},
		{Storage: storageSQLite, CompressionMode: "message"},
	} {
		t.Run(b.Storage+b.CompressionMode, func(t *testing.T) {
			t.Chdir(t.TempDir())
			disk := &disktest.Disk{}
			all := testMessages(20, testChannels()[0])
			for _, overwrite := range []bool{false, true} {
				w, err := b.Create("drive", codec.CreateOptions{Disk: disk, Overwrite: overwrite})
				require.NoError(t, err)
				for i := range all {
					if i == 10 && !overwrite {
						require.NoError(t, w.Split())
					}
					require.NoError(t, w.Write(&all[i]))
				}
				require.NoError(t, w.Close())
				r, err := Format.OpenFrom(store.On(disk), "drive")
				require.NoError(t, err)
				it, err := r.Read(codec.Query{})
				require.NoError(t, err)
				got, err := codectest.Collect(it)
				require.NoError(t, err)
				require.Len(t, got, len(all))
				require.Equal(t, all[19].Data, got[19].Data)
				require.NoError(t, r.Close())
				files := 3
				if overwrite {
					files = 2
				}
				require.Len(t, disk.Files(), files, "the files include metadata.yaml")
			}
			_, err := b.Create("drive", codec.CreateOptions{Disk: disk})
			require.ErrorIs(t, err, fs.ErrExist)
			entries, err := os.ReadDir(".")
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// A reader never panics, and never takes more memory than a database's content needs.
func FuzzDatabase(f *testing.F) {
	dir := f.TempDir()
	w, err := Options{Storage: storageSQLite}.Create(filepath.Join(dir, "a"), codec.CreateOptions{})
	require.NoError(f, err)
	c := &codec.Channel{Topic: "/a", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
		QoS: []codec.QoS{codec.DefaultQoS()}}
	for i := range 9 {
		require.NoError(f, w.Write(&codec.Message{Channel: c, LogTime: int64(-i), Data: make([]byte, 700*i)}))
	}
	require.NoError(f, w.Close())
	data, err := os.ReadFile(filepath.Join(dir, "a", "a_0.db3"))
	require.NoError(f, err)
	f.Add(data, 100, []byte{1}, false)
	f.Add(data, 16, []byte{2, 0}, true)
	f.Add(data, 4096, []byte{13, 0, 0, 0, 9}, true)
	f.Fuzz(func(t *testing.T, data []byte, at int, patch []byte, unfinished bool) {
		if at >= 0 && at < len(data) {
			copy(data[at:], patch)
		}
		path := filepath.Join(t.TempDir(), "a.db3")
		if unfinished {
			path += codec.ActiveSuffix
		}
		require.NoError(t, os.WriteFile(path, data, 0o666))
		r, err := openAlone(path)
		if err != nil {
			return
		}
		defer r.Close()
		if _, err := r.Info(); err != nil {
			return
		}
		it, err := r.Read(codec.Query{Start: -1 << 63, Damaged: func(error) {}})
		if err != nil {
			return
		}
		defer it.Close()
		n := 0
		for m, err := it.Next(); err == nil; m, err = it.Next() {
			require.NotNil(t, m.Channel)
			require.LessOrEqual(t, len(m.Data), len(data)+700*9)
			n++
		}
		require.LessOrEqual(t, n, len(data))
	})
}
