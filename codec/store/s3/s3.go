// Package s3 is a store of package store: S3, servers with its protocol, and Google's store by that protocol.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tapedeck/codec/store"
	"tapedeck/codec/store/internal/dial"
)

const (
	mostAttempts   = 6           // attempts for a request
	roleTimeout    = time.Second // time in which EC2 must return the credentials of its role
	googleEndpoint = "https://storage.googleapis.com"
)

// ErrAnonymous is returned if a store refuses requests without credentials, because none were found.
var ErrAnonymous = fmt.Errorf("%w: there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "+
	"AWS_PROFILE", fs.ErrPermission)

// Store reads and writes the objects at s3:// and gs:// URLs.
type Store struct {
	dialer *dial.Dialer

	mu      sync.Mutex
	clients map[string]*client // by scheme
}

var _ store.Store = (*Store)(nil)

// New returns a store that reads its settings from the environment at the first request.
func New() *Store { return &Store{dialer: dial.New(), clients: map[string]*client{}} }

// Over returns a store whose connections connect makes.
func Over(connect func(ctx context.Context, network, address string) (net.Conn, error)) *Store {
	s := New()
	s.dialer.Dial = connect
	return s
}

// Schemes implements store.Store.
func (s *Store) Schemes() []string { return []string{"s3", "gs"} }

// client sends requests. It includes the settings that it was made from.
type client struct {
	*s3.Client
	http *awshttp.BuildableClient
}

// location is the parsed form of a URL.
type location struct {
	client      *client
	store       *Store
	bucket, key string
}

// locate returns the location of a URL.
func (s *Store) locate(ctx context.Context, url string) (*location, error) {
	scheme, rest, _ := strings.Cut(url, "://")
	bucket, key, _ := strings.Cut(rest, "/")
	if bucket == "" {
		return nil, fmt.Errorf("%s names no bucket: write %s://BUCKET/KEY", url, scheme)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[scheme]
	if c == nil {
		var err error
		c, err = s.connect(ctx, scheme == "gs")
		if err != nil {
			return nil, err
		}
		s.clients[scheme] = c
	}
	return &location{client: c, store: s, bucket: bucket, key: key}, nil
}

// forgetAnonymous makes the next request search for credentials again.
func (s *Store) forgetAnonymous() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.clients, func(_ string, c *client) bool { return c.anonymous() })
}

// connect makes a client.
func (s *Store) connect(ctx context.Context, google bool) (*client, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(awshttp.NewBuildableClient()),
		config.WithLogger(logging.Nop{}))
	if err != nil {
		return nil, fmt.Errorf("read the settings of the store: %w", err)
	}
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	if cfg.RetryMaxAttempts == 0 {
		cfg.RetryMaxAttempts = mostAttempts
	}
	c := &client{http: cfg.HTTPClient.(*awshttp.BuildableClient)} // it has the certificates of the settings
	c.Client = s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = c.over(s.dialer)
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired // ranges have no checksum
		if google && o.BaseEndpoint == nil {
			o.BaseEndpoint = aws.String(googleEndpoint)
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.Interceptors.AddBeforeSigning(encoding{})
			o.Interceptors.AddAfterSigning(encoding{identity: true})
		}
		o.UsePathStyle = o.BaseEndpoint != nil
		if aws.IsCredentialsProvider(o.Credentials, (*ec2rolecreds.Provider)(nil)) {
			// No other source has credentials.
			ctx, cancel := context.WithTimeout(ctx, roleTimeout)
			defer cancel()
			if o.BaseEndpoint != nil {
				cancel() // a private store does not know the role
			}
			if _, err := o.Credentials.Retrieve(ctx); err != nil {
				o.Credentials = aws.AnonymousCredentials{}
			}
		}
	})
	return c, nil
}

// over returns an HTTP client that connects through the dialer.
func (c *client) over(d *dial.Dialer) aws.HTTPClient {
	return c.http.WithTransportOptions(func(t *http.Transport) {
		t.DialContext, t.MaxIdleConnsPerHost, t.IdleConnTimeout = d.DialContext, dial.Connections, dial.IdleTimeout
		t.ResponseHeaderTimeout = d.Answer
	}).Freeze()
}

// anonymous reports whether requests have no credentials.
func (c *client) anonymous() bool { return c.Options().Credentials == nil }

// encoding removes a header before a request is signed and sets it again afterwards: Google's store changes it.
type encoding struct{ identity bool }

func (e encoding) set(r any) {
	if r, ok := r.(*smithyhttp.Request); ok {
		r.Header.Del("Accept-Encoding")
		if e.identity {
			r.Header.Set("Accept-Encoding", "identity")
		}
	}
}

func (e encoding) BeforeSigning(_ context.Context, in *smithyhttp.InterceptorContext) error {
	e.set(in.Request)
	return nil
}

func (e encoding) AfterSigning(_ context.Context, in *smithyhttp.InterceptorContext) error {
	e.set(in.Request)
	return nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, url, etag string, start, end int64) (*store.Body, error) {
	l, err := s.locate(ctx, url)
	if err != nil {
		return nil, err
	}
	in := &s3.GetObjectInput{Bucket: &l.bucket, Key: &l.key, Range: aws.String(store.Range(start, end))}
	if etag != "" {
		in.IfMatch = &etag
	}
	out, err := l.client.GetObject(ctx, in)
	if start < 0 && isStatus(err, http.StatusRequestedRangeNotSatisfiable) { // the object is empty, or shorter
		in.Range = nil
		out, err = l.client.GetObject(ctx, in)
	}
	if err != nil {
		return nil, l.plain(err)
	}
	b := &store.Body{ReadCloser: out.Body, ETag: aws.ToString(out.ETag), Modified: aws.ToTime(out.LastModified)}
	b.Size = aws.ToInt64(out.ContentLength)
	b.End = b.Size
	if in.Range != nil {
		if err := b.ParseRange(aws.ToString(out.ContentRange)); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

func isStatus(err error, status int) bool {
	var response *smithyhttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() == status
}

// plain returns an error without the names of the SDK's operations.
func (l *location) plain(err error) error {
	var api smithy.APIError
	code, message := "", ""
	if errors.As(err, &api) {
		code, message = api.ErrorCode(), api.ErrorMessage()
	}
	switch {
	case err == nil:
		return nil
	case code == "NoSuchBucket":
		return fmt.Errorf("%w: there is no bucket %s", fs.ErrNotExist, l.bucket)
	case isStatus(err, http.StatusNotFound):
		return fs.ErrNotExist
	case isStatus(err, http.StatusPreconditionFailed):
		return store.ErrReplaced
	case isStatus(err, http.StatusForbidden) || isStatus(err, http.StatusUnauthorized):
		if l.client.anonymous() {
			l.store.forgetAnonymous()
			return ErrAnonymous
		}
		return fmt.Errorf("%w: %s", fs.ErrPermission, strings.TrimSpace(code+" "+message))
	case isStatus(err, http.StatusMovedPermanently):
		var response *smithyhttp.ResponseError
		errors.As(err, &response)
		return fmt.Errorf("the bucket %s is in another region: set AWS_REGION=%s", l.bucket,
			response.Response.Header.Get("X-Amz-Bucket-Region"))
	case code != "":
		return fmt.Errorf("%s: %s", code, message)
	}
	var sending *smithyhttp.RequestSendError // there is no status and no id, although the SDK's text names both
	if errors.As(err, &sending) {
		return sending.Err
	}
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		return operation.Err
	}
	return err
}

// Stat implements store.Store.
func (s *Store) Stat(ctx context.Context, url string) (*store.Object, error) {
	l, err := s.locate(ctx, url)
	if err != nil {
		return nil, err
	}
	out, err := l.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &l.bucket, Key: &l.key})
	if err != nil {
		return nil, l.plain(err)
	}
	return &store.Object{Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag),
		Modified: aws.ToTime(out.LastModified)}, nil
}

// Any implements store.Store.
func (s *Store) Any(ctx context.Context, folder string) (bool, error) {
	l, err := s.locate(ctx, folder)
	if err != nil {
		return false, err
	}
	out, err := l.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &l.bucket, Prefix: &l.key, MaxKeys: aws.Int32(1),
	})
	if err != nil {
		return false, l.plain(err)
	}
	return len(out.Contents) > 0, nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, folder string, add func(name string, o *store.Object)) error {
	l, err := s.locate(ctx, folder)
	if err != nil {
		return err
	}
	pages := s3.NewListObjectsV2Paginator(l.client, &s3.ListObjectsV2Input{
		Bucket: &l.bucket, Prefix: &l.key, Delimiter: aws.String("/"),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return l.plain(err)
		}
		for _, p := range page.CommonPrefixes {
			add(strings.TrimPrefix(aws.ToString(p.Prefix), l.key), &store.Object{Folder: true})
		}
		for _, o := range page.Contents {
			add(strings.TrimPrefix(aws.ToString(o.Key), l.key), &store.Object{Size: aws.ToInt64(o.Size),
				ETag: aws.ToString(o.ETag), Modified: aws.ToTime(o.LastModified)})
		}
	}
	return nil
}

// Write implements store.Store.
func (s *Store) Write(ctx context.Context, url string, content []byte) error {
	u, err := s.NewUploader(ctx, store.Dir(url), UploadOptions{Overwrite: true})
	if err != nil {
		return err
	}
	t := Transfer{Uploader: u, Key: store.Base(url), File: bytes.NewReader(content), Size: int64(len(content)),
		State: &TransferState{}}
	_, err = t.Run(ctx)
	return err
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, url string) error {
	l, err := s.locate(ctx, url)
	if err != nil {
		return err
	}
	_, err = l.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &l.bucket, Key: &l.key})
	return l.plain(err)
}
