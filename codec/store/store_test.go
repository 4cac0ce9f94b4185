package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
	"tapedeck/codec/store/storetest"
)

// content returns the first n bytes of patternBytes. Callers must not change them.
func content(n int) []byte { return patternBytes()[:n:n] }

// patternBytes returns 20 MiB of bytes in which no 8 bytes repeat.
var patternBytes = sync.OnceValue(func() []byte {
	b := make([]byte, 20<<20)
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	return b
})

// TestOpen opens files of several sizes, and compares name, size and content. Closed files must refuse reads.
func TestOpen(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	for _, size := range []int{0, 1, 5000, 256 << 10, 256<<10 + 1, 1<<20 - 1, 9 << 20} {
		want := content(size)
		s.Put("a b/ü?#%20.bin", want)
		s.Reset()
		f, err := files.Open(s.URL("a b/ü?#%20.bin"))
		require.NoError(t, err)
		info, err := f.Stat()
		require.NoError(t, err)
		require.Equal(t, int64(size), info.Size())
		require.Equal(t, "ü?#%20.bin", info.Name())
		require.NotEmpty(t, store.ETag(info))
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
		if size < 10_000 {
			_, err = f.Seek(0, io.SeekStart)
			require.NoError(t, err)
			require.NoError(t, iotest.TestReader(f, want))
		}
		require.NoError(t, f.Close())
		require.ErrorIs(t, f.Close(), fs.ErrClosed)
		_, err = f.ReadAt(make([]byte, 1), 0)
		if size > 0 {
			require.ErrorIs(t, err, fs.ErrClosed)
		}
	}
}

// TestRequests counts the requests of two Files of one URL. They must share blocks, and reads after Prefetch must make
// no further request.
func TestRequests(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	want := content(20 << 20)
	s.Put("f", want)
	f, err := files.Open(s.URL("f"))
	require.NoError(t, err)
	g, err := files.Open(s.URL("f"))
	require.NoError(t, err)
	defer g.Close()
	b := make([]byte, 4096)
	for _, f := range []store.File{f, g} {
		_, err = f.ReadAt(b, 0)
		require.NoError(t, err)
		require.Equal(t, want[:4096], b)
		_, err = f.ReadAt(b, 20<<20-4096)
		require.NoError(t, err)
		require.Equal(t, want[20<<20-4096:], b)
	}
	require.NoError(t, f.Close())
	n, size := s.Count()
	require.Equal(t, 2, n, "one request for the tail and one for the head")
	require.LessOrEqual(t, size, int64(512<<10))

	store.Prefetch(g, 10<<20, 3<<20)
	for off := 10 << 20; off < 13<<20; off += 4096 {
		_, err = g.ReadAt(b, int64(off))
		require.NoError(t, err)
		require.Equal(t, want[off:off+4096], b)
		if n, _ := s.Count(); off == 10<<20 {
			require.Equal(t, 3, n)
		}
	}
}

// TestRandomReads reads more than the cache holds from several goroutines, while connections break. All bytes must be
// right although memory is reused.
func TestRandomReads(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	files.LimitCache(12 << 20)
	want := content(17<<20 + 77)
	s.Put("f", want)
	var calls atomic.Int64
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if calls.Add(1)%9 == 0 {
			storetest.Cut(w, r, next, 100_000)
			return
		}
		next.ServeHTTP(w, r)
	})
	f, err := files.Open(s.URL("f"))
	require.NoError(t, err)
	defer f.Close()
	var group sync.WaitGroup
	for i := range uint64(4) {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, i))
			pos := 0
			for range 40 {
				if random.IntN(4) == 0 {
					pos = random.IntN(len(want))
				}
				b := make([]byte, random.IntN(400_000))
				n, err := f.ReadAt(b, int64(pos))
				if err != nil && (err != io.EOF || pos+n != len(want)) {
					t.Errorf("read %d at %d: %v", len(b), pos, err)
					return
				}
				if !bytes.Equal(b[:n], want[pos:pos+n]) {
					t.Errorf("read %d at %d: wrong bytes", len(b), pos)
					return
				}
				pos = (pos + n) % len(want)
			}
		})
	}
	group.Wait()
}

// TestCloseWhileReading tests that memory is not reused as long as a reader copies from it.
func TestCloseWhileReading(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	want := [][]byte{content(4 << 20)[:2<<20], content(4 << 20)[2<<20:]}
	for i, name := range []string{"0", "1"} {
		s.Serve(name, bytes.NewReader(want[i]), int64(len(want[i])), name)
	}
	var group sync.WaitGroup
	for i, name := range []string{"0", "1"} {
		read := func(f store.File, n int) error {
			b := make([]byte, n)
			n, err := f.ReadAt(b, 0)
			if !bytes.Equal(want[i][:n], b[:n]) {
				t.Error("wrong bytes")
			}
			return err
		}
		group.Go(func() {
			for range 20 {
				f, err := files.Open(s.URL(name))
				if err != nil {
					t.Error(err)
					return
				}
				var readers sync.WaitGroup
				for range 3 {
					readers.Go(func() { _ = read(f, len(want[i])) })
				}
				if err := errors.Join(read(f, 1<<20), f.Close()); err != nil {
					t.Error(err)
				}
				readers.Wait()
			}
		})
	}
	group.Wait()
}

// TestChanged replaces an open object. Reading the open File must fail; opening again must read the new object.
func TestChanged(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	s.Put("f", content(4<<20))
	f, err := files.Open(s.URL("f"))
	require.NoError(t, err)
	defer f.Close()
	s.Put("f", content(5<<20))
	_, err = f.ReadAt(make([]byte, 10), 1<<20)
	require.ErrorContains(t, err, s.URL("f"))
	require.ErrorContains(t, err, "replaced while it was read")
	g, err := files.Open(s.URL("f"))
	require.NoError(t, err)
	defer g.Close()
	_, err = g.ReadAt(make([]byte, 10), 1<<20)
	require.NoError(t, err)
}

// TestMissing opens URLs of objects, folders and buckets that do not exist. The error must be fs.ErrNotExist.
func TestMissing(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	s.Put("dir/f", nil)
	for _, path := range []string{
		s.URL("missing"), s.URL("di"), strings.ReplaceAll(s.URL("x"), storetest.Bucket, "other"), s.URL("missing/"),
		"file:///no/such/file",
	} {
		_, err := files.Open(path)
		require.ErrorIs(t, err, fs.ErrNotExist, path)
		_, err = files.Stat(path)
		require.ErrorIs(t, err, fs.ErrNotExist, path)
		_, err = files.ReadDir(path)
		require.ErrorIs(t, err, fs.ErrNotExist, path)
		_, err = files.ReadFile(path)
		require.ErrorIs(t, err, fs.ErrNotExist, path)
	}
}

// TestWithoutStores uses Files without stores. Local files must work. URLs must be errors, not names of local files.
func TestWithoutStores(t *testing.T) {
	for name, files := range map[string]*store.Files{"nil": nil, "none": store.New()} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			require.NoError(t, files.WriteFile(t.Context(), path, []byte("x")))
			content, err := files.ReadFile("file://" + path)
			require.NoError(t, err)
			require.Equal(t, "x", string(content))
			require.NoError(t, files.Remove(t.Context(), path))
			require.NoFileExists(t, path)
			t.Chdir(t.TempDir())
			for _, url := range []string{"s3://bucket/key", "https://host/path"} {
				_, openErr := files.Open(url)
				_, statErr := files.Stat(url)
				_, dirErr := files.ReadDir(url)
				_, globErr := files.Glob(url, "*")
				for _, err := range []error{openErr, statErr, dirErr, globErr,
					files.WriteFile(t.Context(), url, nil), files.Remove(t.Context(), url)} {
					require.ErrorContains(t, err, url)
					require.ErrorContains(t, err, "only local files are read here")
				}
			}
			entries, err := os.ReadDir(".")
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// TestFolders walks the same files in a local folder and in a store. Paths and contents must be equal.
func TestFolders(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	local := t.TempDir()
	for _, key := range []string{"d/a.txt", "d/sub/b.txt", "d/sub/deep/c.txt", "d.x", "d/z"} {
		s.Put(key, []byte(key))
		path := filepath.Join(local, key)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(key), 0o666))
	}
	tree := func(root string) []string {
		var found []string
		require.NoError(t, files.WalkDir(store.Join(root, "d"), func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			kind := "/"
			if !info.IsDir() {
				text, err := files.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, int64(len(text)), info.Size())
				kind = "=" + string(text)
			}
			found = append(found, strings.TrimPrefix(path, root)+kind)
			if d.Name() == "deep" {
				return fs.SkipDir
			}
			return nil
		}))
		return found
	}
	require.Equal(t, tree(local), tree(store.Clean(s.URL(""))))
}

// TestKeysThatAreNoPaths reads a folder with a key that cannot be a path. ReadDir and WalkDir must return an error and
// all other keys.
func TestKeysThatAreNoPaths(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	for _, key := range []string{"d//b", "d/./b", "d/../b", "d/.."} {
		s.Put("d/a", nil)
		s.Put("d/", nil)
		s.Put(key, nil)
		_, err := files.ReadDir(s.URL("d"))
		require.ErrorContains(t, err, "cannot be a path", key)
		var found []string
		var failed error
		require.NoError(t, files.WalkDir(s.URL("d"), func(path string, _ fs.DirEntry, err error) error {
			found, failed = append(found, path), errors.Join(failed, err)
			return nil
		}))
		require.ErrorContains(t, failed, "cannot be a path", key)
		require.Equal(t, []string{s.URL("d"), s.URL("d"), s.URL("d/a")}, found, key)
		s.Remove(key)
	}
	entries, err := files.ReadDir(s.URL("d"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// TestNames checks Base, Dir and Join for URLs and local paths, and which texts are URLs.
func TestNames(t *testing.T) {
	for _, c := range []struct{ path, base, dir, joined string }{
		{"s3://b", "b", "s3://b", "s3://b/x/y"},
		{"s3://b/k", "k", "s3://b", "s3://b/k/x/y"},
		{"s3://b/a//k?x#/", "k?x#", "s3://b/a", "s3://b/a//k?x#/x/y"},
		{"https://h:1/a/k%20l?sig=/", "k l", "https://h:1/a?sig=/", "https://h:1/a/k%20l/x/y?sig=/"},
		{"https://h/a/..%2f..%2fk", "..%2f..%2fk", "https://h/a", "https://h/a/..%2f..%2fk/x/y"},
		{"file:///a%20b/c", "c", "/a b", "/a b/c/x/y"},
		{"a/b", "b", "a", "a/b/x/y"},
	} {
		require.Equal(t, c.base, store.Base(c.path), c.path)
		require.Equal(t, c.dir, store.Dir(c.path), c.path)
		require.Equal(t, c.joined, store.Join(c.path, "x", "y"), c.path)
	}
	require.Equal(t, "s3://b/k/y", store.Join("s3://b/k", "../../x/..", "y"))
	require.Equal(t, "https://h/a%20b%3F", store.Join("https://h", "a b?"))
	require.False(t, store.IsURL(store.Join(".", "https://evil/x")))
	require.False(t, store.IsURL("s3:/b/k"))
	require.False(t, store.IsURL("x://y"))
	require.False(t, store.IsURL("./s3://b"))
	require.Equal(t, "s3://b/k", store.Clean("s3://b/k//"))
}

func TestCanUpload(t *testing.T) {
	for url, want := range map[string]string{
		"s3://bucket": "", "gs://bucket/a": "", "s3://": "names no bucket", "s3:/bucket": "no URL of a store",
		"https://host/a": "no URL of a store", "bucket": "no URL of a store",
	} {
		err := store.CanUpload(url)
		if want == "" {
			require.NoError(t, err, url)
		} else {
			require.ErrorContains(t, err, want, url)
		}
	}
}

// TestReadPages reads pages of a local and a remote file. The bytes must be right, and only the pages may be fetched.
func TestReadPages(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	files.Hurry()
	const size = 1000
	want := content(10 << 20)
	s.Put("f", want)
	remote, err := files.Open(s.URL("f"))
	require.NoError(t, err)
	defer remote.Close()
	var offs []int64
	for i := range int64(100) {
		offs = append(offs, i*size, i*100_000, int64(len(want))-size)
	}
	s.Reset()
	for _, f := range []io.ReaderAt{bytes.NewReader(want), remote} {
		n := 0
		require.NoError(t, store.ReadPages(f, offs, size, func(off int64, page []byte) error {
			require.Equal(t, offs[n], off)
			require.Equal(t, want[off:off+size], page)
			n++
			return nil
		}))
		require.Len(t, offs, n)
		require.Error(t, store.ReadPages(f, []int64{int64(len(want))}, size, func(int64, []byte) error { return nil }))
	}
	_, n := s.Count()
	require.LessOrEqual(t, n, int64(len(offs)*size), "fetched bytes must not exceed the pages")
}
