// Package http is a store of package store: the files of web servers.
package http

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"tapedeck/codec/store"
	"tapedeck/codec/store/internal/dial"
)

// Store reads the files at http:// and https:// URLs.
type Store struct{ client *http.Client }

var _ store.Store = (*Store)(nil)

// New returns a store of all web servers.
func New() *Store { return over(dial.New()) }

func over(d *dial.Dialer) *Store {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext, t.MaxIdleConnsPerHost, t.IdleConnTimeout = d.DialContext, dial.Connections, dial.IdleTimeout
	t.ResponseHeaderTimeout, t.DisableCompression = d.Answer, true
	return &Store{&http.Client{Transport: t}}
}

// Schemes implements store.Store.
func (s *Store) Schemes() []string { return []string{"http", "https"} }

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, url, etag string, start, end int64) (*store.Body, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Range", store.Range(start, end))
	if etag != "" && !strings.HasPrefix(etag, "W/") {
		request.Header.Set("If-Match", etag)
	}
	response, err := s.client.Do(request) //nolint:bodyclose // the body is the caller's
	var absent *dial.AbsentError
	if errors.As(err, &absent) {
		return nil, err
	}
	if err != nil {
		return nil, store.Temporary(err)
	}
	b := &store.Body{ReadCloser: response.Body, ETag: response.Header.Get("ETag"), Size: response.ContentLength}
	b.End = b.Size
	b.Modified, _ = http.ParseTime(response.Header.Get("Last-Modified"))
	switch status := response.StatusCode; {
	case start < 0 && (status == http.StatusBadRequest || status >= 500): // Azurite's answer to a range from the end
		b.Close()
		return s.Get(ctx, url, etag, 0, -start)
	case status == http.StatusPartialContent:
		err = b.ParseRange(response.Header.Get("Content-Range"))
		if err == nil {
			return b, nil
		}
	case status == http.StatusOK && start < 0 && b.Size > -start && response.Header.Get("Accept-Ranges") == "bytes":
		b.Close() // the server has ranges, but not from the end
		return s.Get(ctx, url, etag, b.Size+start, b.Size)
	case status == http.StatusOK:
		b.Whole = true
		return b, nil
	case status == http.StatusRequestedRangeNotSatisfiable && start < 0: // the file is empty, or shorter
		b.Close()
		return s.Get(ctx, url, etag, 0, -start)
	case status == http.StatusRequestedRangeNotSatisfiable && start == 0:
		b.Close()
		return &store.Body{ReadCloser: http.NoBody, ETag: b.ETag, Modified: b.Modified}, nil
	case status == http.StatusNotFound || status == http.StatusGone:
		err = fs.ErrNotExist
	case status == http.StatusPreconditionFailed:
		err = store.ErrReplaced
	case refused(status):
		err = fmt.Errorf("%w: the server answers %s", fs.ErrPermission, response.Status)
	case status >= 500 || status == http.StatusTooManyRequests:
		err = store.Temporary(errors.New("the server answers " + response.Status))
	default:
		err = errors.New("the server answers " + response.Status)
	}
	b.Close()
	return nil, err
}

func refused(status int) bool {
	return status == http.StatusForbidden || status == http.StatusUnauthorized
}

// Stat implements store.Store.
func (*Store) Stat(context.Context, string) (*store.Object, error) { return nil, errors.ErrUnsupported }

// Any implements store.Store. Web servers have no folders.
func (*Store) Any(context.Context, string) (bool, error) { return false, fs.ErrNotExist }

// List implements store.Store. Web servers have no folders.
func (*Store) List(context.Context, string, func(string, *store.Object)) error { return fs.ErrNotExist }

// Write implements store.Store.
func (*Store) Write(_ context.Context, url string, _ []byte) error { return store.CanUpload(url) }

// Remove implements store.Store.
func (*Store) Remove(_ context.Context, url string) error { return store.CanUpload(url) }
