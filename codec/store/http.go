package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
)

// webClients read http:// and https:// URLs, one those of a host.
var webClients clients[*paced]

// webTransport has the connections of all web clients.
var webTransport = sync.OnceValue(func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout, t.DisableCompression = idleConns, headerTimeout, true
	return t
})

func newWebClient(p patience) *paced {
	return newPaced(&http.Client{Transport: webTransport()}, p)
}

// webSource reads a file of a web server.
type webSource struct {
	client *paced
	url    string
}

func newWebSource(url string) (source, error) {
	client, err := webClients.get(split(url).root, func() (*paced, error) { return newWebClient(usualPatience()), nil })
	return webSource{client, url}, err
}

func (s webSource) waits() patience { return s.client.patience }

func (s webSource) get(ctx context.Context, etag string, start, end int64) (*body, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Range", *rangeOf(start, end))
	if etag != "" && !strings.HasPrefix(etag, "W/") {
		request.Header.Set("If-Match", etag)
	}
	response, err := s.client.Do(request) //nolint:bodyclose // the body is the caller's
	if absent := (absentError{}); errors.As(err, &absent) {
		return nil, err
	} else if err != nil {
		return nil, temporary{err}
	}
	b := &body{ReadCloser: response.Body, etag: response.Header.Get("ETag"), size: response.ContentLength}
	b.end = b.size
	b.modified, _ = http.ParseTime(response.Header.Get("Last-Modified"))
	switch status := response.StatusCode; {
	case start < 0 && (status == http.StatusBadRequest || status >= 500): // as Azurite answers a range from the end
		b.Close()
		return s.get(ctx, etag, 0, -start)
	case status == http.StatusPartialContent:
		if err = b.parse(response.Header.Get("Content-Range")); err == nil {
			return b, nil
		}
	case status == http.StatusOK && start < 0 && b.size > -start && response.Header.Get("Accept-Ranges") == "bytes":
		b.Close() // it has ranges, but none that count from the end
		return s.get(ctx, etag, b.size+start, b.size)
	case status == http.StatusOK:
		b.whole = true
		return b, nil
	case status == http.StatusRequestedRangeNotSatisfiable && start < 0: // it is empty, or shorter
		b.Close()
		return s.get(ctx, etag, 0, -start)
	case status == http.StatusRequestedRangeNotSatisfiable && start == 0:
		b.Close()
		return &body{ReadCloser: http.NoBody, etag: b.etag, modified: b.modified}, nil
	case status == http.StatusNotFound || status == http.StatusGone:
		err = fs.ErrNotExist
	case status == http.StatusPreconditionFailed:
		err = errChanged
	case refused(status):
		err = fmt.Errorf("%w: the server answers %s", fs.ErrPermission, response.Status)
	case status >= 500 || status == http.StatusTooManyRequests:
		err = temporary{errors.New("the server answers " + response.Status)}
	default:
		err = errors.New("the server answers " + response.Status)
	}
	b.Close()
	return nil, err
}

func refused(status int) bool {
	return status == http.StatusForbidden || status == http.StatusUnauthorized
}

// temporary is an error of a request that is worth repeating.
type temporary struct{ error }

func (t temporary) Unwrap() error { return t.error }
