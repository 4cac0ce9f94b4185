package store

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"
)

// Hurry has the clients for the URLs of a store or host wait for hardly anything, in the present environment, but as
// long as usual for the body of an answer: a busy machine sends it late.
func Hurry(t testing.TB, url string) { HurryBodies(t, url, usualPatience().idle) }

// HurryBodies is Hurry with clients that give up the body of an answer if it does not go on for so long.
func HurryBodies(t testing.TB, url string, idle time.Duration) {
	p := patience{time.Millisecond, idle, time.Millisecond}
	root := split(url).root
	var err error
	switch scheme, _, _ := strings.Cut(root, "://"); scheme {
	case "s3":
		_, err = s3Clients.get(scheme, func() (*s3.Client, error) {
			client, err := newClient(t.Context(), false, p)
			if err != nil {
				return nil, err
			}
			settings := client.Options()
			settings.ExpressCredentials = nil
			return s3.New(settings, func(o *s3.Options) { o.Retryer = atOnce{o.Retryer.(aws.RetryerV2)} }), nil
		})
	default:
		_, err = webClients.get(root, func() (*paced, error) { return newWebClient(p), nil })
	}
	require.NoError(t, err)
}

// atOnce repeats requests without a pause.
type atOnce struct{ aws.RetryerV2 }

func (atOnce) RetryDelay(int, error) (time.Duration, error) {
	Repeated.Add(1)
	return 0, nil
}

// Repeated counts the requests to S3 that were repeated.
var Repeated atomic.Int64

// Paced returns a client for web servers that sends requests by do.
func Paced(do smithyhttp.ClientDoFunc) aws.HTTPClient { return newPaced(do, usualPatience()) }

// LimitCache has the cache hold so many bytes.
func (f *Files) LimitCache(bytes int64) { f.cache.limit = bytes }

// SetPartSize has larger files sent in parts of so many bytes.
func (u *Uploader) SetPartSize(bytes int64) { u.part = bytes }
