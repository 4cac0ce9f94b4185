// Package storetest runs an S3 server in the process of a test. It counts requests, and can answer late, slowly,
// wrongly or not at all.
package storetest

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
	web "tapedeck/codec/store/http"
	"tapedeck/codec/store/s3"
)

// Bucket is the bucket that every server has.
const Bucket = "test"

// burst is the time for which sending may exceed the rate after a pause, because sleeps take too long.
const burst = 5 * time.Millisecond

const (
	accessKey = "AKIATEST"
	secretKey = "secretsecret"
)

// Server is an S3 server. It checks ETags, If-Match, If-None-Match, multipart uploads and signatures.
type Server struct {
	Endpoint string       // http://127.0.0.1:PORT
	Close    func()       // stops the server, so that it refuses connections
	Handler  http.Handler // handles the requests, for servers on other connections

	t       testing.TB
	backend *s3mem.Backend

	mu        sync.Mutex
	requests  []*Request
	objects   map[string]object // of Serve, by key
	intercept func(w http.ResponseWriter, r *http.Request, next http.Handler)
	delay     time.Duration
	rate      int64     // bytes a second; 0: no limit
	free      time.Time // time at which all written bytes are sent at the rate
}

// Request is a request that reached the server.
type Request struct {
	Method string
	Key    string // of the object; "" for others, such as listings
	Range  string // the header
	Query  string
	Status int   // of the answer
	Bytes  int64 // of the answer's body

	begun, ended time.Time
}

// object is an object that is not in memory.
type object struct {
	content io.ReaderAt
	size    int64
	etag    string
}

// New starts an S3 server until the test ends, and sets Environment for this process and its children.
func New(t testing.TB) *Server {
	s := Start(t)
	for _, variable := range s.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return s
}

// Start starts an S3 server until the test ends. Processes with Environment use it.
func Start(t testing.TB) *Server {
	s := &Server{t: t, backend: s3mem.New(), objects: map[string]object{}}
	require.NoError(t, s.backend.CreateBucket(context.Background(), Bucket))
	fake := gofakes3.New(s.backend, gofakes3.WithV4Auth(map[string]string{accessKey: secretKey}))
	s.Handler = s.handler(fake.Server())
	server := httptest.NewServer(s.Handler)
	t.Cleanup(server.Close)
	s.Endpoint, s.Close = server.URL, server.Close
	return s
}

// Environment returns the environment variables from which clients read their settings, as NAME=VALUE.
func (s *Server) Environment() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + s.Endpoint, "AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey,
		"AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE=/dev/null",
	}
}

// Files returns local files and the files of the server and of web servers.
func (s *Server) Files() *store.Files { return store.New(s3.New(), web.New()) }

// URL returns the URL of a key in the bucket.
func (s *Server) URL(key string) string { return "s3://" + Bucket + "/" + key }

// Put stores an object.
func (s *Server) Put(key string, content []byte) {
	_, err := s.backend.PutObject(context.Background(), Bucket, key, map[string]string{}, bytes.NewReader(content),
		int64(len(content)))
	require.NoError(s.t, err)
}

// Remove deletes an object.
func (s *Server) Remove(key string) {
	_, err := s.backend.DeleteObject(context.Background(), Bucket, key)
	require.NoError(s.t, err)
}

// Content returns the content of an object, and whether it exists.
func (s *Server) Content(key string) ([]byte, bool) {
	o, err := s.backend.GetObject(context.Background(), Bucket, key, nil)
	if gofakes3.HasErrorCode(err, gofakes3.ErrNoSuchKey) {
		return nil, false
	}
	require.NoError(s.t, err)
	defer o.Contents.Close()
	b, err := io.ReadAll(o.Contents)
	require.NoError(s.t, err)
	return b, true
}

// Keys returns the keys of all objects that are stored, in order.
func (s *Server) Keys() []string {
	list, err := s.backend.ListBucket(context.Background(), Bucket, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	require.NoError(s.t, err)
	var keys []string
	for _, o := range list.Contents {
		keys = append(keys, o.Key)
	}
	return keys
}

// Serve serves an object that is not in memory. Listings omit it.
func (s *Server) Serve(key string, content io.ReaderAt, size int64, etag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = object{content, size, `"` + etag + `"`}
}

// Slow delays each answer, and limits all answers together to rate bytes a second; 0: no limit.
func (s *Server) Slow(delay time.Duration, rate int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay, s.rate = delay, rate
}

// Intercept makes f handle each request. f may call next, or answer itself. Intercept(nil) ends it.
func (s *Server) Intercept(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// Unavailable answers with 503, for Intercept.
func Unavailable(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }

// Cut sends the first n bytes of the body of an answer and closes the connection, for Intercept.
func Cut(w http.ResponseWriter, r *http.Request, next http.Handler, n int) {
	next.ServeHTTP(&cutWriter{w, n}, r)
}

type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(b []byte) (int, error) {
	if len(b) <= w.left {
		w.left -= len(b)
		return w.ResponseWriter.Write(b)
	}
	_, _ = w.ResponseWriter.Write(b[:w.left])
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// Requests returns the requests since the start or the last call of Reset.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for _, r := range s.requests {
		all = append(all, *r)
	}
	return all
}

// Count returns the number of requests since the start or the last Reset, and the bytes of their answers.
func (s *Server) Count() (requests int, bytes int64) {
	all := s.Requests()
	for _, r := range all {
		bytes += r.Bytes
	}
	return len(all), bytes
}

// RoundTrips returns the length of the longest chain of requests since the start or the last Reset in which each began
// after the end of the previous one.
func (s *Server) RoundTrips() int {
	all := s.Requests()
	slices.SortFunc(all, func(a, b Request) int { return a.ended.Compare(b.ended) })
	n, last := 0, time.Time{}
	for _, r := range all {
		if !r.ended.IsZero() && !r.begun.Before(last) {
			n, last = n+1, r.ended
		}
	}
	return n
}

// Reset forgets the requests.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

func (s *Server) handler(fake http.Handler) http.Handler {
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		o, ok := s.objects[key(r)]
		s.mu.Unlock()
		if !ok {
			o, ok = s.short(r)
		}
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
			fake.ServeHTTP(w, r)
			return
		}
		w.Header().Set("ETag", o.etag)
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(o.content, 0, o.size))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		intercept, delay := s.intercept, s.delay
		s.mu.Unlock()
		begun := time.Now()
		time.Sleep(delay)
		request := &Request{begun: begun, Method: r.Method, Key: key(r), Range: r.Header.Get("Range"),
			Query: r.URL.RawQuery}
		s.mu.Lock()
		s.requests = append(s.requests, request)
		s.mu.Unlock()
		counted := &countingWriter{w, s, request}
		if intercept != nil {
			intercept(counted, r, serve)
		} else {
			serve.ServeHTTP(counted, r)
		}
		s.mu.Lock()
		request.ended = time.Now()
		if request.Status == 0 {
			request.Status = http.StatusOK // an answer without a body
		}
		s.mu.Unlock()
	})
}

// short returns the object of a request for more bytes from its end than it has: real stores return all of it, gofakes3
// refuses the request.
func (s *Server) short(r *http.Request) (o object, ok bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(r.Header.Get("Range"), "bytes=-"), 10, 64)
	if err != nil {
		return o, false
	}
	head, err := s.backend.HeadObject(r.Context(), Bucket, key(r))
	if err != nil || head.Size == 0 || head.Size >= n {
		return o, false
	}
	return object{stored{s, key(r)}, head.Size, strconv.Quote(hex.EncodeToString(head.Hash))}, true
}

// stored reads an object without copying all of it.
type stored struct {
	server *Server
	key    string
}

func (f stored) ReadAt(b []byte, off int64) (int, error) {
	o, err := f.server.backend.GetObject(context.Background(), Bucket, f.key,
		&gofakes3.ObjectRangeRequest{Start: off, End: off + int64(len(b)) - 1})
	if err != nil {
		return 0, err
	}
	defer o.Contents.Close()
	return io.ReadFull(o.Contents, b)
}

func key(r *http.Request) string {
	key, _ := strings.CutPrefix(r.URL.Path, "/"+Bucket)
	return strings.TrimPrefix(key, "/")
}

// countingWriter counts the bytes that are sent, and limits the rate.
type countingWriter struct {
	http.ResponseWriter
	server  *Server
	request *Request
}

func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *countingWriter) WriteHeader(status int) {
	w.server.mu.Lock()
	w.request.Status = status
	w.server.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w *countingWriter) Write(b []byte) (int, error) {
	time.Sleep(w.count(len(b)))
	return w.ResponseWriter.Write(b)
}

// count counts n bytes, and returns the time that sending them takes at the rate.
func (w *countingWriter) count(n int) time.Duration {
	s, now := w.server, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w.request.Bytes += int64(n)
	if w.request.Status == 0 {
		w.request.Status = http.StatusOK
	}
	if s.rate == 0 {
		return 0
	}
	if earliest := now.Add(-burst); s.free.Before(earliest) {
		s.free = earliest
	}
	s.free = s.free.Add(time.Duration(int64(n) * int64(time.Second) / s.rate))
	return s.free.Sub(now)
}
