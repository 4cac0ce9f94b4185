package child

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/hdf5/internal/h5"
	"tapedeck/codec/format/hdf5/internal/h5type"
)

// TestMain makes a child spin, hang or crash on requests with these names.
func TestMain(m *testing.M) {
	if IsHelper() {
		before = func(r *request) {
			switch r.Name {
			case "spin":
				for i := 0; ; i++ {
					runtime.KeepAlive(i)
				}
			case "hang":
				select {}
			case "crash":
				*(*int)(nil) = 1
			}
		}
		Main(h5.Open, h5.Create)
	}
	Test = "/proc/self/exe"
	os.Exit(m.Run())
}

// newFile returns an acquired file with a few objects, and with the objects that put adds.
func newFile(t *testing.T, put func(f *Writer)) *File {
	path := filepath.Join(t.TempDir(), "a.hdf5")
	w, err := Create(path)
	require.NoError(t, err)
	require.NoError(t, w.MakeGroup("/a"))
	require.NoError(t, Put(w, "/a/x", []float64{1, math.Inf(-1), 3}, 3))
	require.NoError(t, Put(w, "/a/i", []int64{-5, math.MaxInt64}, 2))
	require.NoError(t, Put(w, "/a/none", []float64{}, 0, 6))
	require.NoError(t, w.SetAttribute("/a", "real", 2.5))
	require.NoError(t, w.SetAttribute("/a", "integer", int64(math.MaxInt64)))
	require.NoError(t, w.SetAttribute("/a", "text", "Grüße"))
	if put != nil {
		put(w)
	}
	require.NoError(t, w.Close())
	f := New(path, path)
	require.NoError(t, f.Acquire())
	t.Cleanup(func() {
		for f.users > 0 {
			f.Release()
		}
		f.Close()
		require.Nil(t, f.process)
	})
	return f
}

func TestFile(t *testing.T) {
	long := make([]byte, 3<<20)
	long[len(long)-1] = 7
	f := newFile(t, func(w *Writer) {
		d, err := w.CreateSequences("/s", 2)
		require.NoError(t, err)
		require.NoError(t, d.WriteSequences(0, [][]byte{long}))
	})
	require.Equal(t, []h5type.ObjectType{h5type.GroupObject, h5type.DatasetObject, h5type.NoObject},
		[]h5type.ObjectType{f.Type("/a"), f.Type("/a/x"), f.Type("/b")})
	names, err := f.List("/a")
	require.NoError(t, err)
	require.Equal(t, []string{"i", "none", "x"}, names)
	for name, want := range map[string]any{"real": 2.5, "integer": int64(math.MaxInt64), "text": "Grüße", "b": nil} {
		require.Equal(t, want, f.Attribute("/a", name))
	}
	d, err := f.Dataset("/a/x")
	require.NoError(t, err)
	values, err := d.Doubles()
	require.NoError(t, err)
	require.Equal(t, []float64{1, math.Inf(-1), 3}, values)
	row, err := d.Row(2, []byte{9})
	require.NoError(t, err)
	require.Equal(t, []byte{9, 0, 0, 0, 0, 0, 0, 8, 64}, row)
	_, err = d.Integers()
	require.EqualError(t, err, "read /a/x: not integers")
	_, err = d.Row(3, nil)
	require.EqualError(t, err, "read /a/x: no row 3")
	require.NoError(t, d.Close())
	d, err = f.Dataset("/a/i")
	require.NoError(t, err)
	integers, err := d.Integers()
	require.NoError(t, err)
	require.Equal(t, []int64{-5, math.MaxInt64}, integers)
	d, err = f.Dataset("/a/none")
	require.NoError(t, err)
	require.Equal(t, []int{0, 6}, d.Dims)
	values, err = d.Doubles()
	require.NoError(t, err)
	require.Empty(t, values)
	d, err = f.Dataset("/s")
	require.NoError(t, err)
	got, err := d.Sequence(0, []byte{1})
	require.NoError(t, err)
	require.Equal(t, append([]byte{1}, long...), got)
	_, err = f.Dataset("/b")
	require.ErrorContains(t, err, "open /b: ")
	require.NoError(t, f.Err())

	// The file stays open until the last user releases it.
	require.NoError(t, f.Acquire())
	f.Release()
	require.Equal(t, h5type.GroupObject, f.Type("/a"))
	f.Release()
	_, err = f.Dataset("/a/x")
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, os.Truncate(f.path, 100))
	require.EqualError(t, f.Acquire(), "open "+f.path+": the file changed since it was first opened")
	require.ErrorIs(t, New(f.path+"x", "x").Acquire(), os.ErrNotExist)
	require.ErrorContains(t, New(f.path, f.path).Acquire(), "open "+f.path+": ")
}

// The child of a file without users waits for the next user until another file is released.
func TestIdleChild(t *testing.T) {
	f, other := newFile(t, nil), newFile(t, nil)
	p := f.process
	f.Release()
	require.NoError(t, f.Acquire())
	require.NoError(t, f.Acquire())
	require.Same(t, p, f.process)
	other.Release()
	require.NotNil(t, f.process, "the file has users")
	f.Release()
	f.Release()
	require.Nil(t, other.process)
	require.NoError(t, other.Acquire())
	other.Release()
	require.Nil(t, f.process)

	other.Close()
	require.Nil(t, other.process)
	require.NoError(t, f.Acquire())
	f.Close()
	require.Equal(t, h5type.GroupObject, f.Type("/a"), "the closed file has a user")
	f.Release()
	require.Nil(t, f.process)
}

// After a child has ended for any reason, each request is an error until the file is opened again.
func TestEndOfChild(t *testing.T) {
	defaultTime := maxTime
	t.Cleanup(func() { maxTime = defaultTime })
	maxTime = 0
	f := newFile(t, nil)
	for name, want := range map[string]string{
		"crash": "panic: runtime error: invalid memory address or nil pointer dereference; the file is damaged, or " +
			"takes more than 2048 MiB of memory",
		"spin": "reading took more than 0 s of processor time; the file is damaged",
	} {
		require.Nil(t, f.Attribute("/a", name))
		want = fmt.Sprintf("read /a of %s: libhdf5 failed: %s: use another copy of the file, or convert its source "+
			"again", f.path, want)
		require.EqualError(t, f.Err(), want)
		_, err := f.List("/a")
		require.EqualError(t, err, want)
		f.Release()
		require.NoError(t, f.Acquire())
		require.NoError(t, f.Err())
		require.Equal(t, "Grüße", f.Attribute("/a", "text"))
	}
	require.NoError(t, f.process.command.Process.Kill())
	_, err := f.List("/a")
	require.ErrorContains(t, err, "libhdf5 failed: signal: killed; ")
}

// A child ends when its parent ends, even if libhdf5 does not return. The test closes the lifeline as if the parent
// ended.
func TestEndOfParent(t *testing.T) {
	f := newFile(t, nil)
	require.NoError(t, f.process.send(&request{Op: opAttribute, Path: "/a", Name: "hang"}))
	require.Empty(t, f.process.end())
	require.Equal(t, 0, f.process.command.ProcessState.ExitCode())
}

// A file of 500 kB has an image of 144 MB. The child can read it, frees the memory afterwards, and has a limit of
// memory.
func TestLargeImage(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes more memory, and minutes")
	}
	f := newFile(t, func(w *Writer) {
		d, err := CreateRows[uint8](w, "/images", true, 1, 12_000, 12_000)
		require.NoError(t, err)
		require.NoError(t, d.WriteRow(0, make([]byte, 144_000_000)))
		require.NoError(t, Put(w, "/numbers", make([]uint8, 70_000_000), 70_000_000))
	})
	stat, err := os.Stat(f.path)
	require.NoError(t, err)
	require.Less(t, stat.Size(), int64(500_000))
	read := func(path string) (int, error) {
		d, err := f.Dataset(path)
		require.NoError(t, err)
		data, err := d.Row(0, nil)
		return len(data), errors.Join(err, d.Close())
	}
	n, err := read("/images")
	require.NoError(t, err)
	require.Equal(t, 144_000_000, n)
	var rss int64 // resident pages of the child while it is idle
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", f.process.command.Process.Pid))
	require.NoError(t, err)
	_, err = fmt.Sscan(string(text), new(int64), &rss)
	require.NoError(t, err)
	require.Less(t, rss*int64(os.Getpagesize()), int64(100<<20))
	d, err := f.Dataset("/numbers")
	require.NoError(t, err)
	_, err = d.Doubles()
	require.EqualError(t, err, "read /numbers: 534 MiB at once are more than the 512 MiB that this program reads: "+
		"divide the data into smaller episodes or images")
	f.Release()
	f.endUnused()
	defaultMemory := maxMemory
	t.Cleanup(func() { maxMemory = defaultMemory })
	maxMemory = 256 << 20
	require.NoError(t, f.Acquire())
	_, err = read("/images")
	require.ErrorContains(t, err, "read /images", "an error of libhdf5, or a crash of the child")
	if f.Err() != nil {
		require.ErrorContains(t, err, "; the file is damaged, or takes more than 256 MiB of memory: use ")
	}
}

// The error of a write that the child still did when WriteRow returned is returned by all later methods.
func TestErrorOfWrite(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a.hdf5"))
	require.NoError(t, err)
	d, err := CreateRows[uint8](w, "/images", false, 2, 3)
	require.NoError(t, err)
	require.NoError(t, d.WriteRow(0, []byte{1, 2, 3}))
	require.NoError(t, d.WriteRow(5, []byte{1, 2, 3}))
	require.Equal(t, h5type.NoObject, w.Type("/images"))
	const want = "write /images: row 5 of 2, 3 bytes of 3"
	require.EqualError(t, d.WriteRow(1, []byte{1, 2, 3}), want)
	require.EqualError(t, d.Close(), want)
	require.EqualError(t, w.Close(), want)
	require.NoError(t, w.Close())
}
