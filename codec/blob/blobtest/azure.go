package blobtest

import (
	"context"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/stretchr/testify/require"
)

// modified is when all blobs were.
var modified = time.Unix(1e9, 0).UTC()

// NewAzure is New for a server of Azure. A blob that is empty, and whose name with a slash begins others, is the folder
// of a hierarchical namespace.
func NewAzure(t testing.TB) *Server {
	s := newServer(t, "azblob")
	s.start(http.HandlerFunc(s.azure))
	setenv(t, map[string]string{
		"AZURE_STORAGE_SERVICE_ENDPOINT": s.Endpoint, "AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": "a2V5",
		"AZURE_STORAGE_SAS_TOKEN": "", "AZURE_STORAGE_CONNECTION_STRING": "", "AZURE_STORAGE_DOMAIN": "",
	})
	return s
}

func (s *Server) azure(w http.ResponseWriter, r *http.Request) {
	container, _, _ := strings.Cut(r.URL.Path[1:], "/")
	head, err := s.backend.HeadObject(r.Context(), Bucket, key(r))
	switch query := r.URL.Query(); {
	case container != Bucket:
		Refuse(w, http.StatusNotFound, "ContainerNotFound")
	case query.Get("comp") == "list":
		w.Header().Set("Content-Type", "application/xml")
		page := s.list(query.Get("prefix"), query.Get("delimiter"), query.Get("marker"))
		require.NoError(s.t, xml.NewEncoder(w).Encode(page))
	case gofakes3.HasErrorCode(err, gofakes3.ErrNoSuchKey):
		Refuse(w, http.StatusNotFound, "BlobNotFound")
	case head.Size == 0 && r.Header.Get("Range") != "":
		Refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
	default:
		if s.isFolder(key(r), head.Size) {
			w.Header().Set("X-Ms-Meta-Hdi_isfolder", "true")
		}
		w.Header().Set("ETag", strconv.Quote(hex.EncodeToString(head.Hash)))
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", modified, io.NewSectionReader(stored{s, key(r)}, 0, head.Size))
	}
}

// stored reads a blob without copying all of it.
type stored struct {
	server *Server
	key    string
}

func (f stored) ReadAt(b []byte, off int64) (int, error) {
	o, err := f.server.backend.GetObject(context.Background(), Bucket, f.key,
		&gofakes3.ObjectRangeRequest{Start: off, End: off + int64(len(b)) - 1})
	if err != nil {
		return 0, err
	}
	defer o.Contents.Close()
	return io.ReadFull(o.Contents, b)
}

// Refuse answers with an error of Azure.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Ms-Error-Code", code)
	w.WriteHeader(status)
}

func (s *Server) isFolder(key string, size int64) bool {
	return size == 0 && len(s.list(key+"/", "", "1").Blobs) > 0
}

// enumeration is a page of a listing.
type enumeration struct {
	XMLName    xml.Name `xml:"EnumerationResults"`
	Blobs      []listed `xml:"Blobs>Blob"`
	Prefixes   []prefix `xml:"Blobs>BlobPrefix"`
	NextMarker string
}

type prefix struct{ Name string }

type listed struct {
	Name     string
	Modified string `xml:"Properties>Last-Modified"`
	Etag     string `xml:"Properties>Etag"`
	Size     int64  `xml:"Properties>Content-Length"`
	IsFolder bool   `xml:"Metadata>hdi_isfolder"`
}

// list returns an empty page, as Azure may, and then all there is.
func (s *Server) list(start, delimiter, marker string) enumeration {
	if marker == "" {
		return enumeration{NextMarker: "1"}
	}
	page := enumeration{}
	all, err := s.backend.ListBucket(context.Background(), Bucket, &gofakes3.Prefix{HasPrefix: true, Prefix: start,
		HasDelimiter: delimiter != "", Delimiter: delimiter}, gofakes3.ListBucketPage{})
	require.NoError(s.t, err)
	for _, p := range all.CommonPrefixes {
		page.Prefixes = append(page.Prefixes, prefix{p.Prefix})
	}
	for _, o := range all.Contents {
		page.Blobs = append(page.Blobs, listed{o.Key, modified.Format(http.TimeFormat), strings.Trim(o.ETag, `"`),
			o.Size, delimiter != "" && s.isFolder(o.Key, o.Size)})
	}
	return page
}
