package s3_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	aws "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/store/storetest"
)

// hurried returns a store that waits only for the bodies of answers: a busy machine sends them late.
func hurried(t *testing.T) *s3.Store { return s3.Hurried(t, 30*time.Second) }

// testPart is the size of parts. Real stores do not allow such small parts.
const testPart = 80_000

func random(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = source.Read(b)
	return b
}

func newUploader(t *testing.T, s *storetest.Server, o s3.UploadOptions) *s3.Uploader {
	o.Attempts = 1
	u, err := hurried(t).NewUploader(t.Context(), s.URL("fleet/car"), o)
	require.NoError(t, err)
	u.SetPartSize(testPart)
	return u
}

func transfer(u *s3.Uploader, key string, content []byte, state *s3.TransferState) *s3.Transfer {
	return &s3.Transfer{Uploader: u, Key: key, File: bytes.NewReader(content), Size: int64(len(content)),
		State: state}
}

// sent counts the successful uploads that the server saw, by kind: "part" and "object".
func sent(s *storetest.Server) (requests map[string]int) {
	requests = map[string]int{}
	for _, r := range s.Requests() {
		if r.Status != 0 && r.Status != http.StatusOK {
			continue
		}
		switch {
		case r.Method == http.MethodPut && strings.Contains(r.Query, "partNumber="):
			requests["part"]++
		case r.Method == http.MethodPut:
			requests["object"]++
		case r.Method == http.MethodPost && strings.Contains(r.Query, "uploadId="):
			requests["object"]++
		}
	}
	return requests
}

func TestUpload(t *testing.T) {
	for name, size := range map[string]int{"empty": 0, "small": 1000, "a part": testPart, "parts": 5 * testPart / 2} {
		for _, parallel := range []int{1, 4} {
			t.Run(name, func(t *testing.T) {
				s := storetest.New(t)
				var done atomic.Int64
				u := newUploader(t, s, s3.UploadOptions{Parallel: parallel, Progress: func(n int64) { done.Add(n) }})
				content := random(size)
				sum, err := transfer(u, "a/b", content, &s3.TransferState{}).Run(t.Context())
				require.NoError(t, err)
				got, ok := s.Content("fleet/car/a/b")
				require.True(t, ok)
				require.True(t, bytes.Equal(content, got))
				require.EqualValues(t, size, done.Load())
				require.Equal(t, 1, sent(s)["object"])

				again, err := transfer(u, "a/b", content, &s3.TransferState{}).Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, sum, again)
				require.Equal(t, 1, sent(s)["object"], "it is not sent twice")

				if size > 0 {
					content[size-1]++
					_, err = transfer(u, "a/b", content, &s3.TransferState{}).Run(t.Context())
					require.ErrorIs(t, err, s3.ErrDiffers)
					u.Overwrite = true
					_, err = transfer(u, "a/b", content, &s3.TransferState{}).Run(t.Context())
					require.NoError(t, err)
					got, _ = s.Content("fleet/car/a/b")
					require.True(t, bytes.Equal(content, got))
				}
			})
		}
	}
}

// An object that another program makes while parts are sent is not replaced.
func TestUploadBesideAnother(t *testing.T) {
	s := storetest.New(t)
	theirs := []byte("theirs")
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
			s.Put("fleet/car/a/b", theirs)
		}
		next.ServeHTTP(w, r)
	})
	u := newUploader(t, s, s3.UploadOptions{Parallel: 1})
	_, err := transfer(u, "a/b", random(2*testPart), &s3.TransferState{}).Run(t.Context())
	require.ErrorIs(t, err, s3.ErrDiffers)
	got, _ := s.Content("fleet/car/a/b")
	require.Equal(t, theirs, got)
}

// Nothing is sent while Hold waits.
func TestUploadHeld(t *testing.T) {
	s := storetest.New(t)
	free, held := make(chan struct{}), make(chan struct{}, 10)
	u := newUploader(t, s, s3.UploadOptions{Hold: func(ctx context.Context) {
		held <- struct{}{}
		select {
		case <-free:
		case <-ctx.Done():
		}
	}})
	content := random(5 * testPart / 2)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := transfer(u, "a", content, &s3.TransferState{}).Run(ctx)
		failed <- err
	}()
	<-held
	free <- struct{}{}
	<-held
	require.Equal(t, 1, sent(s)["part"])
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	close(free)
	_, err := transfer(u, "a", content, &s3.TransferState{}).Run(t.Context())
	require.NoError(t, err)
	got, _ := s.Content("fleet/car/a")
	require.True(t, bytes.Equal(content, got))
}

// An interrupted upload continues. Parts that the store has are sent again only if they differ.
func TestUploadResumes(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(s *storetest.Server, content []byte, state *s3.TransferState)
		parts     int // number of parts that are sent after the interruption
	}{
		"as it was":  {func(*storetest.Server, []byte, *s3.TransferState) {}, 1},
		"other file": {func(_ *storetest.Server, content []byte, _ *s3.TransferState) { content[0]++ }, 2},
		"lost id":    {func(_ *storetest.Server, _ []byte, state *s3.TransferState) { state.UploadID = "" }, 3},
		"id of the unborn": {func(_ *storetest.Server, _ []byte, state *s3.TransferState) {
			state.UploadID = "7"
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.New(t)
			u := newUploader(t, s, s3.UploadOptions{})
			content := random(5 * testPart / 2)
			s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if strings.Contains(r.URL.RawQuery, "partNumber=3") {
					storetest.Unavailable(w)
					return
				}
				next.ServeHTTP(w, r)
			})
			var state s3.TransferState
			_, err := transfer(u, "a", content, &state).Run(t.Context())
			require.Error(t, err)
			require.Empty(t, s.Keys())
			require.NotEmpty(t, state.UploadID)

			s.Intercept(nil)
			s.Reset()
			c.meanwhile(s, content, &state)
			_, err = transfer(u, "a", content, &state).Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.parts, sent(s)["part"])
			got, _ := s.Content("fleet/car/a")
			require.True(t, bytes.Equal(content, got))
			require.Empty(t, uploads(t, s), "uploads whose id was lost are aborted")
		})
	}
}

// uploads returns the answer to a listing of unfinished uploads.
func uploads(t *testing.T, s *storetest.Server) []string {
	bucket := storetest.Bucket
	out, err := s3.New().Client(t, s.URL("")).ListMultipartUploads(t.Context(),
		&aws.ListMultipartUploadsInput{Bucket: &bucket})
	require.NoError(t, err)
	var keys []string
	for _, u := range out.Uploads {
		keys = append(keys, *u.Key)
	}
	return keys
}

// An upload fails if the store returns other bytes than were sent.
func TestUploadToAStoreThatLies(t *testing.T) {
	for _, size := range []int{1000, 5 * testPart / 2} {
		s := storetest.New(t)
		u := newUploader(t, s, s3.UploadOptions{})
		s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodHead {
				foreign := &foreignETag{ResponseWriter: w}
				defer foreign.end()
				w = foreign
			}
			if r.Method == http.MethodGet {
				w = &flipped{ResponseWriter: w}
			}
			next.ServeHTTP(w, r)
		})
		content := random(size)
		_, err := transfer(u, "a", content, &s3.TransferState{}).Run(t.Context())
		require.ErrorIs(t, err, s3.ErrUnproven)
		_, err = transfer(u, "a", content, &s3.TransferState{}).Run(t.Context())
		require.ErrorIs(t, err, s3.ErrDiffers)
	}
}

// An object in a store without checksums is read back.
func TestUploadIsReadBack(t *testing.T) {
	s := storetest.New(t)
	u := newUploader(t, s, s3.UploadOptions{})
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodHead {
			foreign := &foreignETag{ResponseWriter: w}
			defer foreign.end()
			w = foreign
		}
		next.ServeHTTP(w, r)
	})
	_, err := transfer(u, "a", random(1000), &s3.TransferState{}).Run(t.Context())
	require.NoError(t, err)
	var gets int
	for _, r := range s.Requests() {
		if r.Method == http.MethodGet {
			gets++
		}
	}
	require.Equal(t, 1, gets)
}

// foreignETag changes answers to those of a store without checksums, whose ETag is not an MD5.
type foreignETag struct {
	http.ResponseWriter
	begun bool
}

func (w *foreignETag) WriteHeader(status int) {
	w.begun = true
	if w.Header().Get("ETag") != "" {
		w.Header().Set("ETag", `"1-2-3"`)
	}
	for name := range w.Header() {
		if strings.HasPrefix(strings.ToLower(name), "x-amz-checksum") {
			w.Header().Del(name)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *foreignETag) end() {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
}

// flipped changes the first byte of an answer.
type flipped struct {
	http.ResponseWriter
	begun bool
}

func (w *flipped) Write(b []byte) (int, error) {
	b = bytes.Clone(b)
	if !w.begun && len(b) > 0 {
		w.begun = true
		b[0]++
	}
	return w.ResponseWriter.Write(b)
}

// A lost answer leads neither to a second object nor to an error when the request is repeated.
func TestUploadWithoutAnAnswer(t *testing.T) {
	for _, c := range []struct{ size, attempts int }{
		{1000, 1}, {5 * testPart / 2, 1}, {1000, 2}, {5 * testPart / 2, 2},
	} {
		s := storetest.New(t)
		u, err := hurried(t).NewUploader(t.Context(), s.URL("fleet/car"), s3.UploadOptions{Attempts: c.attempts})
		require.NoError(t, err)
		u.SetPartSize(testPart)
		var lost atomic.Bool
		s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			makes := r.Method == http.MethodPut && !strings.Contains(r.URL.RawQuery, "partNumber") ||
				strings.Contains(r.URL.RawQuery, "uploadId") && r.Method == http.MethodPost
			if makes && lost.CompareAndSwap(false, true) {
				next.ServeHTTP(discard{http.Header{}}, r)
				panic(http.ErrAbortHandler)
			}
			if makes && r.Method == http.MethodPost { // as real stores answer
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, "<Error><Code>NoSuchUpload</Code></Error>")
				return
			}
			next.ServeHTTP(w, r)
		})
		content := random(c.size)
		var state s3.TransferState
		_, err = transfer(u, "a", content, &state).Run(t.Context())
		if err != nil && c.attempts == 1 {
			_, err = transfer(u, "a", content, &state).Run(t.Context())
		}
		require.NoError(t, err)
		require.True(t, lost.Load())
		got, _ := s.Content("fleet/car/a")
		require.True(t, bytes.Equal(content, got))
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func TestUploadOfAFileThatShrinks(t *testing.T) {
	s := storetest.New(t)
	u := newUploader(t, s, s3.UploadOptions{})
	for _, size := range []int64{1000, 5 * testPart / 2} {
		tr := transfer(u, "a", nil, &s3.TransferState{})
		tr.File, tr.Size = bytes.NewReader(random(int(size)-1)), size
		_, err := tr.Run(t.Context())
		require.ErrorIs(t, err, s3.ErrChanged)
	}
	require.Empty(t, s.Keys())
}

func TestUploadRate(t *testing.T) {
	s := storetest.New(t)
	u := newUploader(t, s, s3.UploadOptions{Rate: 4 * testPart, Parallel: 2})
	began := time.Now()
	_, err := transfer(u, "a", random(2*testPart), &s3.TransferState{}).Run(t.Context())
	require.NoError(t, err)
	require.Greater(t, time.Since(began), 400*time.Millisecond)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = transfer(u, "b", random(8*testPart), &s3.TransferState{}).Run(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// After a refusal, requests have the store's time.
func TestUploadWithAWrongClock(t *testing.T) {
	s := storetest.New(t)
	const ahead = 2 * time.Hour
	s.Intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		now := time.Now().Add(ahead)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		sent, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil || sent.Sub(now).Abs() > 15*time.Minute {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	u := newUploader(t, s, s3.UploadOptions{})
	require.ErrorIs(t, u.Holds(t.Context(), "a", s3.Proof{}), fs.ErrPermission)
	require.ErrorIs(t, u.Holds(t.Context(), "a", s3.Proof{}), fs.ErrNotExist)
}

// A body of an answer that stalls does not block forever.
func TestStalled(t *testing.T) {
	stall := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet {
			foreign := &foreignETag{ResponseWriter: w}
			defer foreign.end()
			next.ServeHTTP(foreign, r)
			return
		}
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "<a>")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	s := storetest.New(t)
	s.Intercept(stall)
	stored := s3.Hurried(t, time.Second)
	u, err := stored.NewUploader(t.Context(), s.URL("fleet/car"), s3.UploadOptions{Attempts: 1})
	require.NoError(t, err)
	failed := make(chan error)
	actions := []func() error{
		func() error {
			_, err := transfer(u, "a", random(1000), &s3.TransferState{}).Run(t.Context())
			return err
		},
		func() error { _, err := u.Get(t.Context(), "a"); return err },
		func() error { _, err := store.New(stored).ReadDir(s.URL("")); return err },
	}
	for _, act := range actions {
		go func() { failed <- act() }()
	}
	for range actions {
		require.ErrorContains(t, <-failed, "the connection to the store does not go on")
	}
}
