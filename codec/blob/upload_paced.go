package blob

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

const (
	stallTimeout = time.Minute     // in which a body must go on
	replyTimeout = 5 * time.Minute // for what the system holds of a body to be sent, and for the reply
)

var errStalled = errors.New("the connection to the store does not go on")

// paced sends the bodies of requests at most at a rate, and gives up those that do not go on.
type paced struct {
	next aws.HTTPClient
	rate *pace
}

func newPaced(next aws.HTTPClient, rate int64) *paced {
	if c, ok := next.(*awshttp.BuildableClient); ok {
		// A slow connection takes long for what the system holds of the body.
		next = c.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = replyTimeout })
	}
	return &paced{next, &pace{rate: rate}}
}

// Do implements aws.HTTPClient.
func (p *paced) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return p.next.Do(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stalled := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	defer stalled.Stop()
	r = r.WithContext(ctx)
	r.Body = &pacedBody{r.Body, p.rate, ctx, stalled}
	response, err := p.next.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	response.Body = &cancelling{response.Body, cancel}
	return response, nil
}

type pacedBody struct {
	io.ReadCloser
	pace    *pace
	ctx     context.Context
	stalled *time.Timer
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:b.pace.most(len(p))])
	b.stalled.Reset(replyTimeout)
	if waited := b.pace.take(b.ctx, n); waited != nil {
		return n, waited
	}
	if err == nil {
		b.stalled.Reset(stallTimeout)
	}
	return n, err
}

type cancelling struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (c *cancelling) Close() error {
	defer c.cancel(nil)
	return c.ReadCloser.Close()
}

// pace limits the bytes a second of all who take from it.
type pace struct {
	rate int64 // 0: none

	mu   sync.Mutex
	next time.Time // when more may be taken
}

// most returns how many of n bytes are taken at once: those of a tenth of a second, so that they go evenly.
func (p *pace) most(n int) int {
	if p.rate == 0 {
		return n
	}
	return int(min(int64(n), max(p.rate/10, 1)))
}

// take waits until n more bytes may be sent, or ctx is done.
func (p *pace) take(ctx context.Context, n int) error {
	if p.rate == 0 {
		return nil
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	wait := p.next.Sub(now)
	p.mu.Unlock()
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
