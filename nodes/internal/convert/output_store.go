package convert

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
)

const (
	parallelParts = 4                // that are sent at once
	abortTimeout  = 30 * time.Second // in which the store must forget a conversion that failed
)

// send sends the files of the recording. No object exists before all are sent. If it fails, it leaves nothing.
func (o *output) send(ctx context.Context) (err error) {
	u, err := o.bucket.NewUploader(ctx, store.Dir(o.path), s3.UploadOptions{
		Parallel: parallelParts, Overwrite: o.overwrite,
	})
	if err != nil {
		return err
	}
	var transfers []*s3.Transfer
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		for _, t := range transfers {
			if removeErr := t.Undo(ctx); removeErr != nil {
				err = fmt.Errorf("%w; %s is left: %w", err, o.beside(t.Key), removeErr)
			}
		}
	}()
	names, err := o.content()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(o.part, name)
		stat, err := os.Stat(path)
		if err != nil {
			return err
		}
		t := &s3.Transfer{Uploader: u, Key: filepath.ToSlash(name), File: writtenFile(path), Size: stat.Size(),
			State: &s3.TransferState{}, Keep: true}
		transfers = append(transfers, t)
		if err := t.Send(ctx); err != nil {
			return err
		}
	}
	for _, t := range transfers {
		if err := t.Complete(ctx); err != nil {
			return err
		}
	}
	return nil
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

// content returns the files in the temporary folder, the list of a bag last.
func (o *output) content() (names []string, err error) {
	err = filepath.WalkDir(o.part, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(o.part, path)
		names = append(names, name)
		return err
	})
	last := func(name string) int {
		if filepath.Base(name) == "metadata.yaml" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(names, func(a, b string) int { return last(a) - last(b) })
	return names, err
}
