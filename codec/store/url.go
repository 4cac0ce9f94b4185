package store

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// schemes are the schemes of URLs of stores.
var schemes = []string{"s3", "gs", "http", "https"}

// IsURL reports whether path is a URL of a store: it begins with s3://, gs://, http:// or https://. A result of
// filepath.Clean never does, because its slashes are single. A file:// URL is a local path, see Local.
func IsURL(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && slices.Contains(schemes, scheme)
}

// CanUpload returns an error unless url names a store that can be written to.
func CanUpload(url string) error {
	scheme, _, _ := strings.Cut(url, "://")
	switch root := split(url).root; {
	case !IsURL(url) || escaped(scheme):
		return fmt.Errorf("%s is no URL of a store that can be written to, such as s3://bucket/folder", url)
	case root == scheme+"://":
		return fmt.Errorf("%s names no bucket: write %s://BUCKET/FOLDER", url, scheme)
	}
	return nil
}

// Local returns the path of a file:// URL, and every other path unchanged.
func Local(path string) string {
	rest, ok := strings.CutPrefix(path, "file://")
	if !ok {
		return path
	}
	rest = strings.TrimPrefix(rest, "localhost")
	if !strings.HasPrefix(rest, "/") {
		return path // on another host: no such file
	}
	if local, err := url.PathUnescape(rest); err == nil {
		return local
	}
	return rest
}

// urlFields are root, key and query of a URL: "s3://bucket", "a/b", or "https://host:80", "a/b", "?query".
type urlFields struct{ root, key, query string }

// split divides a URL into root, key and query.
func split(path string) urlFields {
	var p urlFields
	scheme, rest, _ := strings.Cut(path, "://")
	if escaped(scheme) {
		if i := strings.IndexAny(rest, "?#"); i >= 0 {
			rest, p.query = rest[:i], rest[i:]
		}
	}
	host, key, _ := strings.Cut(rest, "/")
	p.root, p.key = scheme+"://"+host, key
	return p
}

// escaped reports whether keys are escaped in URLs with a scheme. In URLs of other schemes, keys are as in the store.
func escaped(scheme string) bool { return scheme == "http" || scheme == "https" }

func (p urlFields) String() string {
	if p.key == "" {
		return p.root + p.query
	}
	return p.root + "/" + p.key + p.query
}

// Join is filepath.Join for a path that may be a URL. The elements never lead out of a URL, whatever .. is in them.
func Join(base string, elements ...string) string {
	if !IsURL(base) {
		return filepath.Join(append([]string{Local(base)}, elements...)...)
	}
	p := split(base)
	below := path.Join("/", path.Join(elements...))[1:]
	if scheme, _, _ := strings.Cut(base, "://"); escaped(scheme) {
		below = (&url.URL{Path: below}).EscapedPath()
	}
	p.key = strings.TrimRight(p.key, "/")
	if p.key != "" && below != "" {
		p.key += "/"
	}
	p.key += below
	return p.String()
}

// Dir is filepath.Dir for a path that may be a URL. Dir of a bucket or a host is the bucket or host.
func Dir(name string) string {
	if !IsURL(name) {
		return filepath.Dir(Local(name))
	}
	p := split(name)
	p.key = strings.TrimRight(p.key, "/")
	p.key = strings.TrimRight(p.key[:strings.LastIndexByte(p.key, '/')+1], "/")
	return p.String()
}

// Base is filepath.Base for a path that may be a URL: the last element of its key, or the bucket or host.
func Base(name string) string {
	if !IsURL(name) {
		return filepath.Base(Local(name))
	}
	p := split(name)
	scheme, host, _ := strings.Cut(p.root, "://")
	key := strings.TrimRight(p.key, "/")
	if key == "" {
		return host
	}
	base := key[strings.LastIndexByte(key, '/')+1:]
	if escaped(scheme) {
		if plain, err := url.PathUnescape(base); err == nil && !strings.Contains(plain, "/") {
			return plain
		}
	}
	return base
}

// Clean is filepath.Clean for a path that may be a URL. It only removes slashes at the end of a URL.
func Clean(name string) string {
	if !IsURL(name) {
		return filepath.Clean(Local(name))
	}
	p := split(name)
	p.key = strings.TrimRight(p.key, "/")
	return p.String()
}
