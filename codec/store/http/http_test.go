package http_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
	web "tapedeck/codec/store/http"
)

func random(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(b)
	return b
}

func TestWeb(t *testing.T) {
	files := store.New(web.New())
	want := random(3 << 20)
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
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				plain(w, r)
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
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

// TestHTTP2 reads from an HTTP/2 server: all requests share a connection.
func TestHTTP2(t *testing.T) {
	want := random(9 << 20)
	var protocols sync.Map
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocols.Store(r.Proto, true)
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(want))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	certificate := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(block), 0o666))
	t.Setenv("SSL_CERT_FILE", certificate) // no other test of the package needs certificates before
	got, err := store.New(web.New()).ReadFile(server.URL + "/x")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	_, found := protocols.Load("HTTP/2.0")
	require.True(t, found)
}
