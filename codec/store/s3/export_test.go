package s3

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/store/internal/dial"
)

// Hurried returns a store with the present settings for s3:// URLs. It repeats requests without a pause, and soon gives
// up an absent server and a body that stalls.
func Hurried(t testing.TB, body time.Duration) *Store {
	d := dial.New()
	d.Pause, d.Body = time.Millisecond, body
	s := New()
	s.dialer = d
	l, err := s.locate(t.Context(), "s3://bucket")
	require.NoError(t, err)
	settings := l.client.Options()
	settings.ExpressCredentials = nil
	l.client.Client = s3.New(settings, func(o *s3.Options) { o.Retryer = atOnce{o.Retryer.(aws.RetryerV2)} })
	return s
}

// atOnce is a backoff that repeats requests without a pause.
type atOnce struct{ aws.RetryerV2 }

func (atOnce) RetryDelay(int, error) (time.Duration, error) {
	Repeated.Add(1)
	return 0, nil
}

// Repeated returns the number of repeated requests.
var Repeated atomic.Int64

// Client returns the client for a URL.
func (s *Store) Client(t testing.TB, url string) *s3.Client {
	l, err := s.locate(t.Context(), url)
	require.NoError(t, err)
	return l.client.Client
}

// ForgetAnonymous makes the store search for credentials again, as after a refused request.
func (s *Store) ForgetAnonymous() { s.forgetAnonymous() }

// SetPartSize sets the size of parts. Larger files are sent in several parts.
func (u *Uploader) SetPartSize(bytes int64) { u.part = bytes }
