package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
	"tapedeck/codec/store/storetest"
)

// content returns bytes that differ everywhere. Nobody may change them.
func content(n int) []byte { return most()[:n:n] }

var most = sync.OnceValue(func() []byte {
	b := make([]byte, 20<<20)
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	return b
})

// newStore starts an S3 server, whose clients wait for hardly anything.
func newStore(t *testing.T) *storetest.Server {
	s := storetest.New(t)
	store.Hurry(t, s.URL(""))
	return s
}

func TestOpen(t *testing.T) {
	files := store.New()
	s := newStore(t)
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

func TestRequests(t *testing.T) {
	files := store.New()
	s := newStore(t)
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
	require.Equal(t, 2, n, "the tail and the head, once for both")
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

// TestRandomReads reads more than the cache holds, so that memory is used again, while connections break.
func TestRandomReads(t *testing.T) {
	files := store.New()
	s := newStore(t)
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

// TestCloseWhileReading proves that memory is not used again as long as a reader copies from it.
func TestCloseWhileReading(t *testing.T) {
	files := store.New()
	s := newStore(t)
	whole := content(4 << 20)
	want := [][]byte{whole[:2<<20], whole[2<<20:]}
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

func TestChanged(t *testing.T) {
	files := store.New()
	s := newStore(t)
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

func TestUnavailable(t *testing.T) {
	files := store.New()
	s := newStore(t)
	s.Put("f", content(1000))
	left := 2
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if left--; left >= 0 {
			storetest.Unavailable(w)
			return
		}
		next.ServeHTTP(w, r)
	})
	b, err := files.ReadFile(s.URL("f"))
	require.NoError(t, err)
	require.Equal(t, content(1000), b)
}

// TestAbsentStore expects that a store which refuses connections is asked again only if it has ever answered.
func TestAbsentStore(t *testing.T) {
	files := store.New()
	s := newStore(t)
	s.Put("f", content(10))
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	repeated := func() int64 {
		before := store.Repeated.Load()
		_, err := files.Open(s.URL("f"))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		return store.Repeated.Load() - before
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	store.Hurry(t, s.URL(""))
	require.Zero(t, repeated())
	require.Zero(t, repeated())

	t.Setenv("AWS_ENDPOINT_URL", endpoint)
	store.Hurry(t, s.URL(""))
	f, err := files.Open(s.URL("f"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	s.Close()
	require.NotZero(t, repeated())

	// All clients return an error that says so.
	unknown := &net.DNSError{Name: "no.such.host.invalid", IsNotFound: true}
	synctest.Test(t, func(t *testing.T) {
		for _, down := range []error{syscall.ECONNREFUSED, unknown} {
			answers, answered := true, false
			client := store.Paced(func(*http.Request) (*http.Response, error) {
				if !answers {
					return nil, down
				}
				return &http.Response{Body: http.NoBody}, nil
			})
			for _, answers = range []bool{false, true, false} {
				response, err := client.Do(httptest.NewRequest(http.MethodGet, "/", nil))
				var retryable interface{ RetryableError() bool }
				final := errors.As(err, &retryable) && !retryable.RetryableError()
				require.Equal(t, !answered && err != nil, final)
				if err == nil {
					answered = true
					require.NoError(t, response.Body.Close())
				}
			}
		}
	})
}

// A store may be restarting when it is asked for the first time.
func TestRestartingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusals := 0
		client := store.Paced(func(*http.Request) (*http.Response, error) {
			if refusals++; refusals < 10 {
				return nil, syscall.ECONNREFUSED
			}
			return &http.Response{Body: http.NoBody}, nil
		})
		response, err := client.Do(httptest.NewRequest(http.MethodGet, "/", nil))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	})
}

func TestMissing(t *testing.T) {
	files := store.New()
	s := newStore(t)
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

func TestErrors(t *testing.T) {
	files := store.New()
	s := newStore(t)
	s.Put("dir/f", nil)
	for path, want := range map[string]string{"s3://": "names no bucket", "s3:///x": "names no bucket"} {
		_, err := files.Open(path)
		require.ErrorContains(t, err, want)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	_, err := files.Open(s.URL("dir/f"))
	require.ErrorIs(t, err, fs.ErrPermission)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, err = files.Open(s.URL("dir/f"))
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "there are no credentials")
	require.ErrorContains(t, err, "if nothing is there")
}

// A role without credentials is asked for again.
func TestRole(t *testing.T) {
	var known, asked atomic.Bool
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !known.Load():
			asked.Store(true)
			http.NotFound(w, r)
		case r.Method == http.MethodPut:
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
			_, _ = io.WriteString(w, "token")
		case strings.HasSuffix(r.URL.Path, "/robot"):
			_, _ = io.WriteString(w, `{"Code":"Success","AccessKeyId":"a","SecretAccessKey":"b","Token":"c",`+
				`"Expiration":"2100-01-01T00:00:00Z"}`)
		default:
			_, _ = io.WriteString(w, "robot")
		}
	}))
	defer metadata.Close()
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL, "AWS_CONFIG_FILE": "/dev/null", "AWS_ENDPOINT_URL": "",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "",
	} {
		t.Setenv(name, value)
	}
	// EC2 may be too late on a busy machine.
	require.Eventually(t, func() bool { store.Hurry(t, "s3://bucket"); return asked.Load() }, time.Minute,
		time.Millisecond)
	known.Store(true)
	anonymous := func() bool {
		store.Hurry(t, "s3://bucket")
		client, _, _, err := store.S3(t.Context(), "s3://bucket/key")
		require.NoError(t, err)
		return client.Options().Credentials == nil
	}
	require.Eventually(t, func() bool { return !anonymous() }, time.Minute, time.Millisecond)
}

func TestFolders(t *testing.T) {
	files := store.New()
	s := newStore(t)
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

// What cannot be a path is an error, beside which the rest is there.
func TestKeysThatAreNoPaths(t *testing.T) {
	files := store.New()
	s := newStore(t)
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

func TestWeb(t *testing.T) {
	files := store.New()
	want := content(3 << 20)
	modified := time.Unix(1e9, 0)
	plain := func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", modified, bytes.NewReader(want))
	}
	for name, handler := range map[string]http.HandlerFunc{
		"ranges": plain,
		"no ranges": func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Range")
			plain(w, r)
		},
		"no suffix ranges": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
				r.Header.Del("Range")
			}
			plain(w, r)
		},
		"length unknown": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(want)
		},
		"etag": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"x"`)
			plain(w, r)
		},
		"weak etag": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `W/"x"`)
			plain(w, r)
		},
		"often unavailable": func() http.HandlerFunc {
			var n atomic.Int64
			return func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1)%2 == 1 {
					storetest.Unavailable(w)
					return
				}
				plain(w, r)
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			store.Hurry(t, server.URL)
			f, err := files.Open(server.URL + "/x?y")
			require.NoError(t, err)
			defer f.Close()
			sum := sha256.New()
			_, err = io.Copy(sum, f)
			require.NoError(t, err)
			expected := sha256.Sum256(want)
			require.Equal(t, expected[:], sum.Sum(nil))
		})
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := files.Open(server.URL + "/x")
	require.ErrorIs(t, err, fs.ErrNotExist)

	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const size = int64(math.MaxInt64)
		if !strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", size-256<<10, size-1, size))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(make([]byte, 256<<10))
	}))
	defer liar.Close()
	_, err = files.ReadFile(liar.URL + "/x")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// The body of an answer may take long, as long as it goes on.
func TestSlowBody(t *testing.T) {
	for pause, want := range map[time.Duration]string{
		20 * time.Second: "", time.Hour: "the connection to the store does not go on",
	} {
		synctest.Test(t, func(t *testing.T) {
			client := store.Paced(func(r *http.Request) (*http.Response, error) {
				return &http.Response{Body: &slowBody{r.Context(), pause, 10}}, nil
			})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host", nil)
			require.NoError(t, err)
			answer, err := client.Do(r)
			require.NoError(t, err)
			got, err := io.ReadAll(answer.Body)
			require.NoError(t, answer.Body.Close())
			if want != "" {
				require.EqualError(t, err, want)
				return
			}
			require.NoError(t, err)
			require.Len(t, got, 10)
		})
	}
}

// slowBody has a byte after each pause.
type slowBody struct {
	ctx   context.Context
	pause time.Duration
	left  int
}

func (s *slowBody) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(s.pause):
		s.left--
		return 1, nil
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

func (s *slowBody) Close() error { return nil }

func TestReadPages(t *testing.T) {
	files := store.New()
	s := newStore(t)
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
	require.LessOrEqual(t, n, int64(len(offs)*size), "pages alone are fetched")
}
