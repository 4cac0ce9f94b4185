package s3_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/store/storetest"
)

func TestUnavailable(t *testing.T) {
	s := storetest.New(t)
	content := random(1000)
	s.Put("f", content)
	left := 2
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		left--
		if left >= 0 {
			storetest.Unavailable(w)
			return
		}
		next.ServeHTTP(w, r)
	})
	b, err := store.New(hurried(t)).ReadFile(s.URL("f"))
	require.NoError(t, err)
	require.Equal(t, content, b)
}

// TestAbsentStore expects further attempts at a store that refuses connections only if it has answered before.
func TestAbsentStore(t *testing.T) {
	s := storetest.New(t)
	s.Put("f", random(10))
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	repeated := func(files *store.Files) int64 {
		before := s3.Repeated.Load()
		_, err := files.Open(s.URL("f"))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		return s3.Repeated.Load() - before
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	files := store.New(hurried(t))
	require.Zero(t, repeated(files))
	require.Zero(t, repeated(files))

	t.Setenv("AWS_ENDPOINT_URL", endpoint)
	files = store.New(hurried(t))
	f, err := files.Open(s.URL("f"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	s.Close()
	require.NotZero(t, repeated(files))
}

func TestErrors(t *testing.T) {
	s := storetest.New(t)
	s.Put("dir/f", nil)
	for path, want := range map[string]string{"s3://": "names no bucket", "s3:///x": "names no bucket"} {
		_, err := s.Files().Open(path)
		require.ErrorContains(t, err, want)
	}
	key, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	_, err := s.Files().Open(s.URL("dir/f"))
	require.ErrorIs(t, err, fs.ErrPermission)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	files := s.Files()
	_, err = files.Open(s.URL("dir/f"))
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "there are no credentials")
	require.ErrorContains(t, err, "if the object does not exist")

	// Credentials may be set later.
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	f, err := files.Open(s.URL("dir/f"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// A role without credentials is requested again after a refused request.
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
	const url = "s3://bucket/key"
	s := s3.New()
	anonymous := func() bool {
		credentials := s.Client(t, url).Options().Credentials
		s.ForgetAnonymous()
		return credentials == nil
	}
	// EC2 may be too late on a busy machine.
	require.Eventually(t, func() bool { return anonymous() && asked.Load() }, time.Minute, time.Millisecond)
	known.Store(true)
	require.Eventually(t, func() bool { return !anonymous() }, time.Minute, time.Millisecond)
}
