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
	parallelParts = 4                // upload parts sent at once
	abortTimeout  = 30 * time.Second // for removing the uploads of a failed conversion
)

// send uploads the files of the recording. No object exists before all files are sent. After an error it removes what
// was sent.
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
	names, err := o.fileNames()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(o.tempFolder, name)
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

// writtenFile reads the file at its path. It opens the file for each ReadAt, because a training set may have many
// files.
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

// fileNames returns the paths of files in the temporary folder, relative to it. The metadata file of a bag comes last.
func (o *output) fileNames() (names []string, err error) {
	err = filepath.WalkDir(o.tempFolder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(o.tempFolder, path)
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
