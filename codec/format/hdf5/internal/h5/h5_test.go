package h5

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/hdf5/internal/h5type"
)

// newFile creates a file in a temporary folder.
func newFile(t *testing.T) *File {
	f, err := Create(filepath.Join(t.TempDir(), "a.hdf5"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// reopen closes f and opens its path for reading.
func reopen(t *testing.T, f *File) *File {
	require.NoError(t, f.Close())
	f, err := Open(f.Path())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func TestNumbers(t *testing.T) {
	f := newFile(t)
	require.NoError(t, f.MakeGroup("/a/b"))
	require.NoError(t, f.MakeGroup("/a/b/c"))
	require.NoError(t, Put(f, "/a/b/f4", []float32{1, 2, 3, 4, 5, 6}, 3, 2))
	require.NoError(t, Put(f, "/a/b/i8", []int64{-1, 1 << 62}, 2))
	require.NoError(t, Put(f, "/a/none", []float64{}, 0, 6))
	f = reopen(t, f)

	for _, err := range []error{f.MakeGroup("/d"), Put(f, "/x", []int64{1}, 1), f.PutStrings("/x", nil),
		f.SetAttribute("/", "x", true), f.LinkSoft("/a", "/x")} {
		require.Error(t, err, "the file is open for reading")
	}
	_, err := f.CreateSequences("/x", 1)
	require.ErrorContains(t, err, "open for reading")
	require.Equal(t, h5type.GroupObject, f.Type("/a/b/c"))
	require.Equal(t, h5type.DatasetObject, f.Type("/a/none"))
	require.Equal(t, h5type.NoObject, f.Type("/a/more/than/there"))
	names, err := f.List("/a/b")
	require.NoError(t, err)
	require.Equal(t, []string{"c", "f4", "i8"}, names)

	d, err := f.Dataset("/a/b/f4")
	require.NoError(t, err)
	require.Equal(t, []int{3, 2}, d.Dims)
	values, err := d.Doubles()
	require.NoError(t, err)
	require.Equal(t, []float64{1, 2, 3, 4, 5, 6}, values)
	_, err = d.Integers()
	require.ErrorContains(t, err, "/a/b/f4: not integers")
	d, err = f.Dataset("/a/b/i8")
	require.NoError(t, err)
	integers, err := d.Integers()
	require.NoError(t, err)
	require.Equal(t, []int64{-1, 1 << 62}, integers)
	d, err = f.Dataset("/a/none")
	require.NoError(t, err)
	require.Equal(t, []int{0, 6}, d.Dims)
	values, err = d.Doubles()
	require.NoError(t, err)
	require.Empty(t, values)
	_, err = f.Dataset("/a/b")
	require.ErrorContains(t, err, "open /a/b: ")
}

func TestInvalidShapes(t *testing.T) {
	f := newFile(t)
	require.ErrorContains(t, Put(f, "/a", []float32{1, 2, 3}, 2, 2), "write /a: 3 numbers for a shape of [2 2]")
	require.Error(t, Put(f, "/a", []float32{1}))
	require.Error(t, Put(f, "/a", []float32{1}, -1, -1))
	_, err := CreateRows[uint8](f, "/r", false, 2, 0, 3)
	require.Error(t, err)

	s, err := f.CreateSequences("/s", 2)
	require.NoError(t, err)
	require.ErrorContains(t, s.WriteSequences(1, make([][]byte, 2)), "write /s: sequences 1 to 3 of 2")
	require.Error(t, s.WriteSequences(-1, make([][]byte, 1)))
	require.Error(t, s.WriteRow(0, make([]byte, 16)))
	r, err := CreateRows[uint8](f, "/r", false, 2, 3)
	require.NoError(t, err)
	require.ErrorContains(t, r.WriteRow(0, make([]byte, 4)), "write /r: row 0 of 2, 4 bytes of 3")
	require.Error(t, r.WriteRow(2, make([]byte, 3)))
	require.Error(t, r.WriteSequences(0, make([][]byte, 1)))
	require.ErrorContains(t, f.SetAttribute("/", "a", 5), "int")
}

func TestSequencesAndRows(t *testing.T) {
	f := newFile(t)
	s, err := f.CreateSequences("/s", 4)
	require.NoError(t, err)
	require.NoError(t, s.WriteSequences(0, [][]byte{{1, 0, 2}, {}}))
	long := make([]byte, 100_000)
	long[99_999] = 7
	require.NoError(t, s.WriteSequences(2, [][]byte{long}))
	r, err := CreateRows[uint16](f, "/r", true, 2, 2, 2)
	require.NoError(t, err)
	require.NoError(t, r.WriteRow(1, []byte{1, 0, 2, 0, 3, 0, 4, 1}))
	require.NoError(t, f.PutStrings("/strings", []string{"", "Grüße", `{"a":1}`}))
	require.NoError(t, f.PutStrings("/no strings", nil))
	f = reopen(t, f) // closes s and r

	s, err = f.Dataset("/s")
	require.NoError(t, err)
	require.Equal(t, h5type.Bytes, s.Kind)
	for i, want := range [][]byte{{9, 1, 0, 2}, {9}, append([]byte{9}, long...), {9}} {
		got, err := s.Sequence(i, []byte{9})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = s.Sequence(4, nil)
	require.Error(t, err)
	_, err = s.Row(0, nil)
	require.Error(t, err)
	r, err = f.Dataset("/r")
	require.NoError(t, err)
	row, err := r.Row(1, []byte{9})
	require.NoError(t, err)
	require.Equal(t, []byte{9, 1, 0, 2, 0, 3, 0, 4, 1}, row)
	for path, want := range map[string]int{"/strings": 3, "/no strings": 0} {
		d, err := f.Dataset(path)
		require.NoError(t, err)
		require.Equal(t, h5type.String, d.Kind)
		require.Equal(t, []int{want}, d.Dims)
	}
}

func TestAttributes(t *testing.T) {
	f := newFile(t)
	require.NoError(t, Put(f, "/x", []uint8{1}, 1))
	want := map[string]any{"text": "Grüße", "empty": "", "integer": int64(-5), "real": 2.5}
	for _, path := range []string{"/", "/x"} {
		for name, value := range want {
			require.NoError(t, f.SetAttribute(path, name, value))
		}
		require.NoError(t, f.SetAttribute(path, "yes", true))
	}
	require.Error(t, f.SetAttribute("/y", "a", "b"))
	f = reopen(t, f)
	for _, path := range []string{"/", "/x"} {
		for name, value := range want {
			require.Equal(t, value, f.Attribute(path, name), name)
		}
		require.Equal(t, int64(1), f.Attribute(path, "yes"))
		require.Nil(t, f.Attribute(path, "none"))
	}
	require.Nil(t, f.Attribute("/y", "text"))
}

func TestLinks(t *testing.T) {
	f := newFile(t)
	require.NoError(t, f.MakeGroup("/a"))
	require.NoError(t, Put(f, "/a/x", []int64{5}, 1))
	require.NoError(t, f.LinkSoft("/a/x", "/a/y"))
	require.NoError(t, f.LinkSoft("/nowhere", "/dangling"))
	require.NoError(t, f.Close())

	index, err := Create(filepath.Join(filepath.Dir(f.Path()), "index.hdf5"))
	require.NoError(t, err)
	require.NoError(t, index.LinkExternal("a.hdf5", "/a", "/there"))
	require.NoError(t, index.LinkExternal("gone.hdf5", "/a", "/gone"))
	require.NoError(t, index.LinkExternal("pipe", "/a", "/pipe"))
	require.NoError(t, syscall.Mkfifo(filepath.Join(filepath.Dir(f.Path()), "pipe"), 0o600))
	t.Chdir(t.TempDir())
	index = reopen(t, index)
	require.Equal(t, h5type.DatasetObject, index.Type("/there/y"))
	require.Equal(t, h5type.NoObject, index.Type("/gone"))
	require.Equal(t, h5type.NoObject, index.Type("/pipe"), "a link to a pipe without a writer")
	names, err := index.List("/there")
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, names, "names without soft links")
	d, err := index.Dataset("/there/y")
	require.NoError(t, err)
	integers, err := d.Integers()
	require.NoError(t, err)
	require.Equal(t, []int64{5}, integers)
	require.NoError(t, d.Close())
	require.NoError(t, d.Close(), "a second Close of a dataset")
}

func TestErrorTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.hdf5")
	_, err := Open(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 5000)), 0o644))
	_, err = Open(path)
	require.EqualError(t, err, "open "+path+": file signature not found")
	_, err = Create(filepath.Join(path, "b"))
	require.ErrorIs(t, err, syscall.ENOTDIR)
}

// Writing to a full disk is an error, and later files can be written. A limit of file sizes simulates the full disk.
func TestFullDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	folder := t.TempDir()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	for i := range 20 {
		full, err := Create(filepath.Join(folder, "full"))
		require.NoError(t, err)
		s, err := full.CreateSequences("/s", 10)
		require.NoError(t, err)
		require.NoError(t, s.WriteSequences(0, [][]byte{make([]byte, 100_000)}))
		small := limit
		small.Cur = uint64(100_000 + 1000*i)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small))
		err = s.WriteSequences(1, [][]byte{make([]byte, 100_000)})
		closeErr := full.Close()
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		require.ErrorIs(t, errors.Join(err, closeErr), syscall.EFBIG)

		f := newFile(t)
		require.NoError(t, Put(f, "/a", make([]float64, 100_000), 100_000))
		require.NoError(t, f.Close())
	}
}

// Several goroutines write files at a time, although libhdf5 keeps errors per thread and other state for all threads.
func TestGoroutines(t *testing.T) {
	folder := t.TempDir()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			f, err := Create(filepath.Join(folder, string(rune('a'+i))))
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 50 {
				name := "/" + strings.Repeat("x", j+1)
				if err := Put(f, name, []int64{int64(i), int64(j)}, 2); err != nil {
					t.Error(err)
				}
				if f.Type("/missing") != h5type.NoObject {
					t.Error("a missing object has a type")
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}
