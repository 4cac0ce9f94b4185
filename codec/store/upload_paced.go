package store

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

const (
	stallTimeout = time.Minute     // in which the body of a request must go on
	replyTimeout = 5 * time.Minute // for what the system holds of a body to be sent, and for the reply
	restarting   = 20              // pauses that a store may refuse connections before it ever answers
)

// patience says how long a client waits.
type patience struct {
	pause time.Duration // before a request is repeated
	idle  time.Duration // in which the body of an answer must go on
	role  time.Duration // after which a role that EC2 did not give credentials of is asked for again
}

func usualPatience() patience { return patience{100 * time.Millisecond, 30 * time.Second, time.Minute} }

var errStalled = errors.New("the connection to the store does not go on")

// paced sends requests, their bodies at most at a rate, and gives up those whose bodies do not go on. It reads the
// bodies of answers likewise.
type paced struct {
	next aws.HTTPClient
	rate *pace
	patience
	answered *atomic.Bool  // whether there was an answer, ever; clients of a store share it
	refused  *atomic.Int64 // when the first connection was refused, ns since the Unix epoch; 0: never; likewise
}

func newPaced(next aws.HTTPClient, p patience) *paced {
	return &paced{next, &pace{}, p, new(atomic.Bool), new(atomic.Int64)}
}

// absentError is an error of a request to a store that has no address or refuses connections, and never answered. It is
// not worth repeating: the name is wrong.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// RetryableError tells the SDK of AWS.
func (absentError) RetryableError() bool { return false }

// uploading returns a client for large bodies of requests.
func (p *paced) uploading(rate int64) *paced {
	next := p.next
	if c, ok := next.(*awshttp.BuildableClient); ok {
		// A slow connection takes long for what the system holds of the body.
		next = c.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = replyTimeout })
	}
	return &paced{next, &pace{rate: rate}, p.patience, p.answered, p.refused}
}

// Do implements aws.HTTPClient.
func (p *paced) Do(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stalled := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	r = r.WithContext(ctx)
	sends := r.Body != nil && r.Body != http.NoBody
	if sends {
		r.Body = &pacedBody{r.Body, p.rate, ctx, stalled}
	} else {
		stalled.Stop() // the transport has a time for each step
	}
	response, err := p.next.Do(r)
	refused := func() bool { return errors.Is(err, syscall.ECONNREFUSED) && !p.answered.Load() }
	for refused() && !sends && ctx.Err() == nil {
		p.refused.CompareAndSwap(0, time.Now().UnixNano())
		if time.Since(time.Unix(0, p.refused.Load())) > restarting*p.pause {
			break
		}
		time.Sleep(p.pause)
		response, err = p.next.Do(r)
	}
	stalled.Stop()
	if err != nil {
		err = stall(ctx, err)
		cancel(nil)
		var lookup *net.DNSError
		unknown := errors.As(err, &lookup) && lookup.IsNotFound && !p.answered.Load()
		if unknown || refused() {
			err = absentError{err}
		}
		return nil, err
	}
	p.answered.Store(true)
	response.Body = &pacedAnswer{response.Body, p.idle, ctx, cancel, stalled}
	return response, nil
}

// stall returns errStalled if that is why ctx ended, or err.
func stall(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
		return cause
	}
	return err
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

type pacedAnswer struct {
	io.ReadCloser
	idle    time.Duration
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stalled *time.Timer // runs while somebody reads
}

func (a *pacedAnswer) Read(p []byte) (int, error) {
	a.stalled.Reset(a.idle)
	n, err := a.ReadCloser.Read(p)
	if a.stalled.Stop(); err != nil && !errors.Is(err, io.EOF) {
		err = stall(a.ctx, err)
	}
	return n, err
}

func (a *pacedAnswer) Close() error {
	defer a.cancel(nil)
	a.stalled.Stop()
	return a.ReadCloser.Close()
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
