package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	mostAttempts   = 6                // of a request that fails
	headerTimeout  = 30 * time.Second // in which a store must begin to answer
	roleTimeout    = time.Second      // in which EC2 must answer with the credentials of its role
	idleConns      = pageStreams
	googleEndpoint = "https://storage.googleapis.com"
)

// clients are the clients of stores by what of the environment they depend on, as their credentials are worth keeping.
var clients struct {
	sync.Mutex
	of map[string]*s3.Client
}

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
	settings := scheme
	environ := os.Environ()
	slices.Sort(environ)
	for _, e := range environ {
		if strings.HasPrefix(e, "AWS_") || strings.HasPrefix(e, "HOME=") {
			settings += "\n" + e
		}
	}
	clients.Lock()
	defer clients.Unlock()
	if c := clients.of[settings]; c != nil {
		return c, bucket, p.key, nil
	}
	c, err := newClient(ctx, scheme == "gs")
	if err != nil {
		return nil, "", "", err
	}
	if clients.of == nil {
		clients.of = map[string]*s3.Client{}
	}
	clients.of[settings] = c
	return c, bucket, p.key, nil
}

func newClient(ctx context.Context, google bool) (*s3.Client, error) {
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout = idleConns, headerTimeout
	})
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport))
	if err != nil {
		return nil, fmt.Errorf("read the settings of the store: %w", err)
	}
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	if cfg.RetryMaxAttempts == 0 {
		cfg.RetryMaxAttempts = mostAttempts
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
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
		if s.client.Options().Credentials == nil { // requests are anonymous
			return fmt.Errorf("%w: there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "+
				"AWS_PROFILE", fs.ErrPermission)
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
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		return operation.Err
	}
	return err
}

// stat describes the object at a URL by one request.
func stat(path string) (*fileInfo, error) {
	src, err := newSource(path)
	if err != nil {
		return nil, err
	}
	s, ok := src.(s3Source)
	if !ok {
		o, err := open(path)
		if err != nil {
			return nil, err
		}
		defer store.release(o)
		return o.info(), nil
	}
	out, err := s.client.HeadObject(context.Background(), &s3.HeadObjectInput{Bucket: &s.bucket, Key: &s.key})
	if err != nil {
		return nil, s.plain(err)
	}
	return &fileInfo{
		path: path, size: aws.ToInt64(out.ContentLength), etag: aws.ToString(out.ETag),
		modified: aws.ToTime(out.LastModified),
	}, nil
}

// probe returns an error unless anything is in the folder at a URL.
func probe(path string) error {
	s, prefix, err := newLister(path)
	if err != nil {
		return err
	}
	out, err := s.client.ListObjectsV2(context.Background(), &s3.ListObjectsV2Input{
		Bucket: &s.bucket, Prefix: &prefix, MaxKeys: aws.Int32(1),
	})
	if err != nil {
		return s.plain(err)
	}
	if len(out.Contents) == 0 && prefix != "" {
		return fs.ErrNotExist
	}
	return nil
}

// newLister returns how to list the folder at a URL, and the beginning of its keys.
func newLister(path string) (s s3Source, prefix string, err error) {
	src, err := newSource(path)
	if err != nil {
		return s3Source{}, "", err
	}
	s, ok := src.(s3Source)
	if !ok {
		return s3Source{}, "", fs.ErrNotExist // web servers have no folders
	}
	if prefix = s.key; prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return s, prefix, nil
}

// readFolder returns the entries of the folder at a URL.
func readFolder(path string) ([]fs.DirEntry, error) {
	s, prefix, err := newLister(path)
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	add := func(i *fileInfo, key *string) {
		if name := strings.Trim(strings.TrimPrefix(aws.ToString(key), prefix), "/"); name != "" {
			i.path = Join(path, name)
			entries = append(entries, i)
		}
	}
	found := false
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{
		Bucket: &s.bucket, Prefix: &prefix, Delimiter: aws.String("/"),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			return nil, s.plain(err)
		}
		found = found || len(page.Contents)+len(page.CommonPrefixes) > 0
		for _, p := range page.CommonPrefixes {
			add(&fileInfo{dir: true}, p.Prefix)
		}
		for _, o := range page.Contents {
			add(newInfo(o), o.Key)
		}
	}
	if !found && prefix != "" {
		return nil, fs.ErrNotExist
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func newInfo(o types.Object) *fileInfo {
	return &fileInfo{size: aws.ToInt64(o.Size), etag: aws.ToString(o.ETag), modified: aws.ToTime(o.LastModified)}
}
