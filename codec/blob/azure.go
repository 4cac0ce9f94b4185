package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

const azureDomain = "blob.core.windows.net"

// azureFolder is the metadata of blobs that stand for folders, in accounts with a hierarchical namespace and where
// Hadoop wrote them.
const azureFolder = "hdi_isfolder"

var azureClients clients[*azureContainer]

// azureContainer is a container of Azure Blob Storage.
type azureContainer struct {
	client    *container.Client
	name      string
	anonymous bool
	patience  patience
}

func (c *azureContainer) waits() patience { return c.patience }

// newAzureContainer takes account, credentials and endpoint from the environment.
func newAzureContainer(name string, p patience) (*azureContainer, error) {
	c := &azureContainer{name: name, patience: p}
	options := &container.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: newWebClient(p),
		Retry:     policy.RetryOptions{MaxRetries: mostAttempts - 1, RetryDelay: p.pause, MaxRetryDelay: mostPause},
	}}
	if text := os.Getenv("AZURE_STORAGE_CONNECTION_STRING"); text != "" {
		var err error
		if c.client, err = container.NewClientFromConnectionString(text, name, options); err != nil {
			return nil, fmt.Errorf("AZURE_STORAGE_CONNECTION_STRING: %w", err)
		}
		return c, nil
	}
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	endpoint := os.Getenv("AZURE_STORAGE_SERVICE_ENDPOINT")
	switch domain := cmp.Or(os.Getenv("AZURE_STORAGE_DOMAIN"), azureDomain); {
	case account == "" && (endpoint == "" || key != ""):
		return nil, errors.New("set AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING")
	case endpoint != "":
	case strings.HasPrefix(domain, "localhost") || strings.HasPrefix(domain, "127.0.0.1"): // an emulator
		endpoint = "http://" + domain + "/" + account
	default:
		endpoint = "https://" + account + "." + domain
	}
	endpoint = strings.TrimRight(endpoint, "/") + "/" + name
	var err error
	if key != "" {
		credential, bad := container.NewSharedKeyCredential(account, key)
		if bad != nil {
			return nil, fmt.Errorf("AZURE_STORAGE_KEY: %w", bad)
		}
		c.client, err = container.NewClientWithSharedKeyCredential(endpoint, credential, options)
		return c, err
	}
	token := strings.TrimPrefix(os.Getenv("AZURE_STORAGE_SAS_TOKEN"), "?")
	if c.anonymous = token == ""; !c.anonymous {
		endpoint += "?" + token
	}
	c.client, err = container.NewClientWithNoCredential(endpoint, options)
	return c, err
}

// azureSource reads a blob of Azure.
type azureSource struct {
	*azureContainer
	key string
}

func newAzureSource(url string) (source, error) {
	p := split(url)
	name := strings.TrimPrefix(p.root, "azblob://")
	if name == "" {
		return nil, fmt.Errorf("%s names no container: write azblob://CONTAINER/KEY", url)
	}
	c, err := azureClients.get(name, func() (*azureContainer, error) {
		return newAzureContainer(name, usualPatience())
	})
	return azureSource{c, p.key}, err
}

func (s azureSource) get(ctx context.Context, etag string, start, end int64) (*body, error) {
	in := &azblob.DownloadStreamOptions{Range: azblob.HTTPRange{Offset: start, Count: end - start}}
	if start < 0 { // Azure has no ranges that count from the end; the beginning is needed, too, and tells the size
		in.Range = azblob.HTTPRange{Count: -start}
	}
	if etag != "" {
		in.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{
			IfMatch: (*azcore.ETag)(&etag)}}
	}
	client := s.client.NewBlobClient(s.key)
	out, err := client.DownloadStream(ctx, in)
	if start < 0 && bloberror.HasCode(err, bloberror.InvalidRange) { // it is empty
		in.Range = azblob.HTTPRange{}
		out, err = client.DownloadStream(ctx, in)
	}
	if err != nil {
		return nil, s.plain(err)
	}
	b := &body{ReadCloser: out.Body, size: value(out.ContentLength), etag: string(value(out.ETag)),
		modified: value(out.LastModified)}
	b.end = b.size
	switch {
	case isAzureFolder(out.Metadata):
		err = fs.ErrNotExist
	case in.Range != azblob.HTTPRange{}:
		err = b.parse(value(out.ContentRange))
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (s azureSource) stat(ctx context.Context) (*fileInfo, error) {
	out, err := s.client.NewBlobClient(s.key).GetProperties(ctx, nil)
	switch {
	case err != nil:
		return nil, s.plain(err)
	case isAzureFolder(out.Metadata):
		return nil, fs.ErrNotExist
	}
	return &fileInfo{size: value(out.ContentLength), etag: string(value(out.ETag)),
		modified: value(out.LastModified)}, nil
}

func (s azureSource) probe(ctx context.Context, prefix string) (bool, error) {
	one := int32(1)
	pages := s.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix, MaxResults: &one})
	for pages.More() { // pages may be empty
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, s.plain(err)
		}
		if len(page.Segment.BlobItems) > 0 {
			return true, nil
		}
	}
	return false, nil
}

func (s azureSource) list(ctx context.Context, prefix string, add func(key string, i *fileInfo)) error {
	pages := s.client.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{
		Prefix: &prefix, Include: container.ListBlobsInclude{Metadata: true},
	})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return s.plain(err)
		}
		for _, p := range page.Segment.BlobPrefixes {
			add(value(p.Name), &fileInfo{dir: true})
		}
		for _, b := range page.Segment.BlobItems {
			if p := b.Properties; !isAzureFolder(b.Metadata) {
				add(value(b.Name), &fileInfo{size: value(p.ContentLength), modified: value(p.LastModified),
					etag: `"` + strings.Trim(string(value(p.ETag)), `"`) + `"`})
			}
		}
	}
	return nil
}

func isAzureFolder(metadata map[string]*string) bool {
	for name, v := range metadata {
		if strings.EqualFold(name, azureFolder) {
			return value(v) == "true"
		}
	}
	return false
}

// value returns what p points to, or nothing.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// plain returns an error without the requests that the SDK describes, which may have a SAS token.
func (s azureSource) plain(err error) error {
	const credentials = "AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING"
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		if request := (*url.Error)(nil); errors.As(err, &request) {
			return request.Err
		}
		return err
	}
	code := cmp.Or(answer.ErrorCode, http.StatusText(answer.StatusCode))
	switch status := answer.StatusCode; {
	case code == string(bloberror.ContainerNotFound):
		return fmt.Errorf("%w: there is no container %s", fs.ErrNotExist, s.name)
	case code == "ResourceNotFound" && s.anonymous:
		return fmt.Errorf("%w, or it is not public: set "+credentials, fs.ErrNotExist)
	case status == http.StatusNotFound:
		return fs.ErrNotExist
	case status == http.StatusPreconditionFailed:
		return errChanged
	case s.anonymous && (code == "PublicAccessNotPermitted" || refused(status)):
		return fmt.Errorf("%w: there are no credentials; set "+credentials, fs.ErrPermission)
	case refused(status):
		return fmt.Errorf("%w: the store answers %s; check "+credentials, fs.ErrPermission, code)
	}
	return errors.New("the store answers " + code)
}

func refused(status int) bool {
	return status == http.StatusForbidden || status == http.StatusUnauthorized
}
