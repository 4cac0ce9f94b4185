package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	mostAttempts   = 6                // of a request that fails
	headerTimeout  = 30 * time.Second // in which a store must begin to answer
	roleTimeout    = time.Second      // in which EC2 must answer with the credentials of its role
	idleConns      = pageStreams
	googleEndpoint = "https://storage.googleapis.com"
)

var s3Clients clients[*s3.Client]

// ErrAnonymous is returned if a store refuses requests that are anonymous because no credentials were found.
var ErrAnonymous = fmt.Errorf("%w: there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "+
	"AWS_PROFILE", fs.ErrPermission)

// S3 returns the client for an s3:// or gs:// URL, which takes its settings from the environment, and the URL's bucket
// and key.
func S3(ctx context.Context, url string) (client *s3.Client, bucket, key string, err error) {
	p := split(url)
	scheme, bucket, _ := strings.Cut(p.root, "://")
	if !IsURL(url) || scheme != "s3" && scheme != "gs" {
		return nil, "", "", fmt.Errorf("%s is not a URL of S3", url)
	}
	if bucket == "" {
		return nil, "", "", fmt.Errorf("%s names no bucket: write %s://BUCKET/KEY", url, scheme)
	}
	client, err = s3Clients.get(scheme, func() (*s3.Client, error) {
		return newClient(ctx, scheme == "gs", usualPatience())
	})
	return client, bucket, p.key, err
}

func newClient(ctx context.Context, google bool, p patience) (*s3.Client, error) {
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout = idleConns, headerTimeout
	})
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport), config.WithLogger(logging.Nop{}))
	if err != nil {
		return nil, fmt.Errorf("read the settings of the store: %w", err)
	}
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	if cfg.RetryMaxAttempts == 0 {
		cfg.RetryMaxAttempts = mostAttempts
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = newPaced(o.HTTPClient, p)
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired // ranges have no checksum
		if google && o.BaseEndpoint == nil {
			o.BaseEndpoint = aws.String(googleEndpoint)
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.Interceptors.AddBeforeSigning(encoding{})
			o.Interceptors.AddAfterSigning(encoding{identity: true})
		}
		o.UsePathStyle = o.BaseEndpoint != nil
		if aws.IsCredentialsProvider(o.Credentials, (*ec2rolecreds.Provider)(nil)) {
			// Nothing else has credentials.
			ctx, cancel := context.WithTimeout(ctx, roleTimeout)
			defer cancel()
			if o.BaseEndpoint != nil {
				cancel() // a store of one's own does not know the role
			}
			if _, err := o.Credentials.Retrieve(ctx); err != nil {
				o.Credentials = aws.AnonymousCredentials{}
				time.AfterFunc(p.role, s3Clients.clear)
			}
		}
	})
	return client, nil
}

// encoding takes a header out before a request is signed and sets it afterwards: Google's store changes it.
type encoding struct{ identity bool }

func (e encoding) set(r any) {
	if r, ok := r.(*smithyhttp.Request); ok {
		if r.Header.Del("Accept-Encoding"); e.identity {
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

// s3Source reads an object of an S3 store.
type s3Source struct {
	client      *s3.Client
	bucket, key string
}

func newS3Source(url string) (source, error) {
	client, bucket, key, err := S3(context.Background(), url)
	return s3Source{client, bucket, key}, err
}

func (s s3Source) waits() patience { return s.client.Options().HTTPClient.(*paced).patience }

func (s s3Source) get(ctx context.Context, etag string, start, end int64) (*body, error) {
	in := &s3.GetObjectInput{Bucket: &s.bucket, Key: &s.key, Range: rangeOf(start, end)}
	if etag != "" {
		in.IfMatch = &etag
	}
	out, err := s.client.GetObject(ctx, in)
	if start < 0 && isStatus(err, http.StatusRequestedRangeNotSatisfiable) { // it is empty, or shorter
		in.Range = nil
		out, err = s.client.GetObject(ctx, in)
	}
	if err != nil {
		return nil, s.plain(err)
	}
	b := &body{ReadCloser: out.Body, etag: aws.ToString(out.ETag), modified: aws.ToTime(out.LastModified)}
	b.size = aws.ToInt64(out.ContentLength)
	b.end = b.size
	if in.Range != nil {
		if err := b.parse(aws.ToString(out.ContentRange)); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// rangeOf returns the header for the bytes from start to end; a negative start counts from the end of the object.
func rangeOf(start, end int64) *string {
	text := "bytes=" + strconv.FormatInt(start, 10)
	if start >= 0 {
		text += "-" + strconv.FormatInt(end-1, 10)
	}
	return &text
}

func isStatus(err error, status int) bool {
	var response *smithyhttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() == status
}

// plain returns an error without the names of the SDK's operations.
func (s s3Source) plain(err error) error {
	var api smithy.APIError
	code, message := "", ""
	if errors.As(err, &api) {
		code, message = api.ErrorCode(), api.ErrorMessage()
	}
	switch {
	case err == nil:
		return nil
	case code == "NoSuchBucket":
		return fmt.Errorf("%w: there is no bucket %s", fs.ErrNotExist, s.bucket)
	case isStatus(err, http.StatusNotFound):
		return fs.ErrNotExist
	case isStatus(err, http.StatusPreconditionFailed):
		return errChanged
	case isStatus(err, http.StatusForbidden) || isStatus(err, http.StatusUnauthorized):
		if s.client.Options().Credentials == nil {
			return ErrAnonymous
		}
		return fmt.Errorf("%w: %s", fs.ErrPermission, strings.TrimSpace(code+" "+message))
	case isStatus(err, http.StatusMovedPermanently):
		var response *smithyhttp.ResponseError
		errors.As(err, &response)
		return fmt.Errorf("the bucket %s is in another region: set AWS_REGION=%s", s.bucket,
			response.Response.Header.Get("X-Amz-Bucket-Region"))
	case code != "":
		return fmt.Errorf("%s: %s", code, message)
	}
	var sending *smithyhttp.RequestSendError // it has no status and no id, though the SDK's text names both
	if errors.As(err, &sending) {
		return sending.Err
	}
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		return operation.Err
	}
	return err
}

func (s s3Source) stat(ctx context.Context) (*fileInfo, error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &s.key})
	if err != nil {
		return nil, s.plain(err)
	}
	return &fileInfo{size: aws.ToInt64(out.ContentLength), etag: aws.ToString(out.ETag),
		modified: aws.ToTime(out.LastModified)}, nil
}

func (s s3Source) probe(ctx context.Context, prefix string) (bool, error) {
	out, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &s.bucket, Prefix: &prefix, MaxKeys: aws.Int32(1),
	})
	if err != nil {
		return false, s.plain(err)
	}
	return len(out.Contents) > 0, nil
}

func (s s3Source) list(ctx context.Context, prefix string, add func(key string, i *fileInfo)) error {
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{
		Bucket: &s.bucket, Prefix: &prefix, Delimiter: aws.String("/"),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return s.plain(err)
		}
		for _, p := range page.CommonPrefixes {
			add(aws.ToString(p.Prefix), &fileInfo{dir: true})
		}
		for _, o := range page.Contents {
			add(aws.ToString(o.Key), &fileInfo{size: aws.ToInt64(o.Size), etag: aws.ToString(o.ETag),
				modified: aws.ToTime(o.LastModified)})
		}
	}
	return nil
}
