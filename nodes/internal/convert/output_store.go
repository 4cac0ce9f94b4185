package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

const (
	parallelParts = 4                // that are sent at once
	abortTimeout  = 30 * time.Second // in which the store must forget a conversion that failed
)

// newStored prepares writing to a URL. The recording is written to a temporary folder and sent when it is complete.
func newStored(files *store.Files, path string, known formats.List, format formats.Format, overwrite bool,
	read []*codec.Info) (*output, error) {
	o := &output{files: files, path: store.Clean(path), known: known, format: format, overwrite: overwrite, read: read,
		stored: true}
	if err := store.CanUpload(o.path); err != nil {
		return nil, config.Usagef("%w", err)
	}
	if o.path == store.Dir(o.path) {
		return nil, config.Usagef("%s is a bucket; name what to write in it", path)
	}
	switch stat, err := files.Stat(o.path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("create %s: %w", o.path, codec.Pathless(err))
	case !overwrite:
		return nil, fmt.Errorf("%s exists; name another output or use --overwrite", o.path)
	case stat.IsDir():
		return nil, fmt.Errorf("%s is a folder, which is not replaced in a store; remove it yourself or name another "+
			"output", o.path)
	}
	err := o.checkSeries()
	if err != nil {
		return nil, err
	}
	o.findReplaced()
	if o.part, err = os.MkdirTemp("", "tapedeck-*"); err != nil {
		return nil, fmt.Errorf("create a temporary folder for %s: %w", o.path, err)
	}
	return o, nil
}

// send sends the recording, and returns the URLs of its files or its folder. No object exists before all are sent. If
// it fails, it leaves nothing.
func (o *output) send(ctx context.Context) (urls []string, err error) {
	u, err := store.NewUploader(ctx, store.Dir(o.path), store.UploadOptions{
		Parallel: parallelParts, Overwrite: o.overwrite,
	})
	if err != nil {
		return nil, err
	}
	var transfers []*store.Transfer
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		for _, t := range transfers {
			if removeErr := t.Undo(ctx); removeErr != nil {
				err = fmt.Errorf("%w; %s is left: %w", err, store.Join(store.Dir(o.path), t.Key), removeErr)
			}
		}
	}()
	names, err := o.written()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := filepath.Join(o.part, name)
		stat, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		t := &store.Transfer{Uploader: u, Key: filepath.ToSlash(name), File: writtenFile(path), Size: stat.Size(),
			State: &store.TransferState{}, Keep: true}
		transfers = append(transfers, t)
		if err := t.Send(ctx); err != nil {
			return nil, err
		}
	}
	for _, t := range transfers {
		if err := t.Complete(ctx); err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(o.part)
	for _, e := range entries {
		urls = append(urls, store.Join(store.Dir(o.path), e.Name()))
	}
	return urls, err
}

// writtenFile reads the file of that path, which is only open meanwhile: a training set may have very many.
type writtenFile string

// ReadAt implements io.ReaderAt.
func (f writtenFile) ReadAt(b []byte, off int64) (int, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return file.ReadAt(b, off)
}

// written returns the files in the temporary folder, the list of a bag last.
func (o *output) written() (names []string, err error) {
	err = filepath.WalkDir(o.part, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(o.part, path)
		names = append(names, name)
		return err
	})
	slices.SortStableFunc(names, func(a, b string) int {
		last := func(name string) int {
			if filepath.Base(name) == "metadata.yaml" {
				return 1
			}
			return 0
		}
		return last(a) - last(b)
	})
	return names, err
}
