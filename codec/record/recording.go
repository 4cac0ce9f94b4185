package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/internal/joined"
)

// numberedName is the name of one file of several: that of the recording, the number and, since Apollo 10, the time
// of opening.
var numberedName = regexp.MustCompile(`^(.*)\.(\d{5})(\.\d{14})?$`)

// cutNumber splits the name of a file.
func cutNumber(name string) (base string, number int, ok bool) {
	m := numberedName.FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}
	number, err := strconv.Atoi(m[2])
	return m[1], number, err == nil
}

// recording is several files as one: those of a folder, or those whose names begin alike.
type recording struct {
	path   string
	files  []joined.File
	events []codec.Event

	joined *joined.Reader // nil before load
	info   *codec.Info
	err    error
}

// parts returns the names of the record files in the folder at path or, where there is nothing, of those that are
// called like path but for what a recorder adds when it splits: NAME.record.00000 and on. Those that were not
// completed are among them.
func parts(path string) []string {
	dir, prefix := path, ""
	if _, err := os.Stat(path); err != nil {
		dir, prefix = filepath.Dir(path), filepath.Base(path)
	} else if _, err := os.Stat(filepath.Join(path, "metadata.yaml")); err == nil {
		return nil // it is a bag
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var paths []string
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), codec.ActiveSuffix)
		base, _, ok := cutNumber(name)
		wanted := ok && (prefix == "" || base == prefix || base == prefix+".record") ||
			prefix == "" && strings.HasSuffix(name, ".record")
		if wanted && names.MatchString(name) && entry.Type().IsRegular() {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	slices.Sort(paths)
	// What was completed while it was looked for is there by both names.
	return slices.DeleteFunc(paths, func(p string) bool {
		completed, ok := strings.CutSuffix(p, codec.ActiveSuffix)
		return ok && slices.Contains(paths, completed)
	})
}

// isRecord reports whether the file at path looks like a record file.
func isRecord(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(file, head)
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && sniff(path, head[:n])
}

// openParts opens the files of which path is the folder, or how their names begin. What is missing of them is told of
// in Info.
func openParts(path string) (codec.Reader, error) {
	r := &recording{path: path}
	var errs []error
	base, number := "", 0
	for _, name := range parts(path) {
		if b, n, ok := cutNumber(strings.TrimSuffix(filepath.Base(name), codec.ActiveSuffix)); ok {
			switch {
			case b == base && n == number+2:
				r.damaged(fmt.Sprintf("%s.%05d is missing", base, n-1))
			case b == base && n > number+2:
				r.damaged(fmt.Sprintf("%s.%05d to %05d are missing", base, number+1, n-1))
			}
			base, number = b, n
		}
		part, err := open(name)
		if err == nil && !isRecord(name) {
			err = errors.Join(fmt.Errorf("open %s: it is no record file", name), part.Close())
		}
		if err != nil {
			r.damaged(err.Error())
			errs = append(errs, err)
			continue
		}
		r.files = append(r.files, joined.File{Path: name, Size: part.size, Reader: part})
	}
	if len(r.files) == 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

func (r *recording) damaged(text string) {
	r.events = append(r.events, codec.Event{Kind: codec.EventDamage, Text: text})
}

// load looks into the files, at the first call.
func (r *recording) load() error {
	if r.info == nil && r.err == nil {
		info := &codec.Info{Format: formatName, Path: r.path, Events: r.events, Complete: len(r.events) == 0}
		if r.joined, r.err = joined.New(r.files, info); r.err == nil {
			r.info = info
		}
	}
	return r.err
}

func (r *recording) Info() (*codec.Info, error) {
	if err := r.load(); err != nil {
		return nil, err
	}
	return r.info, nil
}

func (r *recording) Read(q codec.Query) (codec.Iterator, error) {
	if err := r.load(); err != nil {
		return nil, err
	}
	return r.joined.Read(q), nil
}

func (r *recording) Latest(q codec.Query, keep func(*codec.Channel) int) (codec.Iterator, error) {
	if err := r.load(); err != nil {
		return nil, err
	}
	return r.joined.Latest(q, keep)
}

func (r *recording) Close() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Reader.Close())
	}
	return errors.Join(errs...)
}
