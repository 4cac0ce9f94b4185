package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Store reads, lists and writes the objects at URLs. Its methods may be called by several goroutines. Errors wrap
// fs.ErrNotExist and fs.ErrPermission where they apply.
type Store interface {
	// Schemes returns the schemes of the URLs that the store knows.
	Schemes() []string
	// Get returns the bytes of an object from start to end. With a negative start it returns the last -start bytes; a
	// server without such ranges may return the first -start bytes, or all. Get fails with ErrReplaced if etag is not
	// empty and differs from the ETag of the object. A request whose error is Temporary is worth another attempt.
	Get(ctx context.Context, url, etag string, start, end int64) (*Body, error)
	// Stat describes an object. The error wraps errors.ErrUnsupported if the store can describe objects only by Get.
	Stat(ctx context.Context, url string) (*Object, error)
	// Any reports whether a folder, whose URL ends with a slash, is not empty.
	Any(ctx context.Context, folder string) (bool, error)
	// List calls add with each object and folder in a folder. The name is the rest of the key after the folder. Names
	// of folders end with a slash. An object that stands for the folder itself has the name "".
	List(ctx context.Context, folder string, add func(name string, o *Object)) error
	// Write makes or replaces a small object.
	Write(ctx context.Context, url string, content []byte) error
	// Remove deletes an object, if there is one.
	Remove(ctx context.Context, url string) error
}

// Object describes an object of a store, or a folder of objects.
type Object struct {
	Size     int64
	ETag     string
	Modified time.Time
	Folder   bool
}

// ErrReplaced is returned for an object that was replaced after it was opened.
var ErrReplaced = errors.New("the object was replaced while it was read; open it again")

// Temporary returns an error that wraps err. It marks a request that is worth another attempt.
func Temporary(err error) error { return temporaryError{err} }

type temporaryError struct{ error }

func (t temporaryError) Unwrap() error { return t.error }

// Body is the body of an answer with bytes of an object.
type Body struct {
	io.ReadCloser
	Start, End int64     // offsets of the bytes in the object
	Size       int64     // bytes of the object; -1: unknown
	ETag       string    // of the object
	Modified   time.Time // time of the object's last change
	Whole      bool      // the server has no ranges: the body has all bytes
}

// ParseRange sets Start, End and Size from the header Content-Range.
func (b *Body) ParseRange(header string) error {
	var last int64
	if _, err := fmt.Sscanf(header, "bytes %d-%d/%d", &b.Start, &last, &b.Size); err != nil || b.Start < 0 ||
		last < b.Start || b.Size <= last {
		return fmt.Errorf("the server returned the range %q", header)
	}
	b.End = last + 1
	return nil
}

// Range returns the header that requests the bytes from start to end; a negative start counts from the end of the
// object.
func Range(start, end int64) string {
	text := "bytes=" + strconv.FormatInt(start, 10)
	if start >= 0 {
		text += "-" + strconv.FormatInt(end-1, 10)
	}
	return text
}
