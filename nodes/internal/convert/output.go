package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// output is a recording being written. It is written in a temporary folder, and moved or uploaded to its path once it
// is complete, so that an unfinished recording never looks finished. In the folder it already has its final name,
// because some formats derive names of files from it.
type output struct {
	destination
	bucket     *s3.Store // receives the recording if path is a URL
	tempFolder string    // beside a local path
	lock       io.Closer // of tempFolder; nil if the system does not lock folders
	keepFolder bool      // Close keeps tempFolder: its content is complete but could not be moved
	stdout     io.Writer // receives the recording instead of path; nil: path does
}

// newStdoutOutput returns an output that is written to w. Texts call it path.
func newStdoutOutput(w io.Writer, path string, known formats.List, format formats.Format) (*output, error) {
	if format.Stream == nil {
		var names []string
		for _, f := range known {
			if f.Stream != nil {
				names = append(names, f.Name)
			}
		}
		return nil, config.Usagef("recordings of the format %s cannot be written to standard output, only those of %s",
			format.Name, human.List(names))
	}
	return &output{destination: destination{path: path, format: format}, stdout: w}, nil
}

// newOutput creates the temporary folder of a job's output. It returns an error if the output exists or is an input.
// The caller must call Close.
func newOutput(j *Job, format formats.Format, overwrite bool, inputs []*codec.Info) (*output, error) {
	o := &output{destination: destination{files: j.Files, path: store.Clean(j.Output), format: format,
		overwrite: overwrite, inputs: inputs}, bucket: j.Store}
	if err := o.check(j.Formats); err != nil {
		return nil, err
	}
	if o.isURL() {
		var err error
		o.tempFolder, err = os.MkdirTemp("", "tapedeck-*")
		if err != nil {
			return nil, fmt.Errorf("create a temporary folder for %s: %w", o.path, err)
		}
		return o, nil
	}
	o.tempFolder = filepath.FromSlash(o.path) + ".part"
	if err := o.claim(); err != nil {
		return nil, fmt.Errorf("create %s: %w", j.Output, codec.Pathless(err))
	}
	return o, nil
}

// holdsOutput reports whether the temporary folder, which an earlier process has left, has only files that are named as
// those of the output.
func (o *output) holdsOutput() bool {
	stem, _, _ := strings.Cut(store.Base(o.path), ".")
	entries, err := os.ReadDir(o.tempFolder)
	return err == nil && !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		return !strings.HasPrefix(entry.Name(), stem)
	})
}

// claim creates and locks the temporary folder. It replaces the folder of a conversion that was interrupted.
func (o *output) claim() error {
	err := os.Mkdir(o.tempFolder, 0o755)
	if errors.Is(err, fs.ErrExist) {
		old, lockErr := codec.LockFolder(o.tempFolder)
		if errors.Is(lockErr, codec.ErrLocked) {
			return lockErr
		}
		if lockErr == nil {
			defer old.Close()
		}
		if !o.overwrite && (lockErr != nil || !o.holdsOutput()) {
			return fmt.Errorf("%s is left from a conversion that was interrupted or is still running; remove it, or "+
				"use --overwrite", o.tempFolder)
		}
		err = os.RemoveAll(o.tempFolder)
		if err == nil {
			err = os.Mkdir(o.tempFolder, 0o755)
		}
	}
	if err == nil {
		o.lock, err = codec.LockFolder(o.tempFolder)
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	return err
}

// tempPath returns the path of the recording in the temporary folder.
func (o *output) tempPath() string { return filepath.Join(o.tempFolder, store.Base(o.path)) }

// checkSplit returns an error if a further file, which is being written to tempPath, cannot have its final name.
func (o *output) checkSplit(tempPath string) error {
	if o.isURL() && !o.overwrite { // send replaces no object
		return nil
	}
	return o.checkFile(o.beside(strings.TrimPrefix(tempPath, o.tempFolder+string(filepath.Separator))))
}

// create creates the recording's writer.
func (o *output) create(options codec.CreateOptions) (codec.Writer, error) {
	if o.stdout != nil {
		return o.format.Stream(o.stdout, options)
	}
	options.Format = o.format.Name
	return codec.Formats{o.format.Format}.Create(o.tempPath(), options)
}

// withOutputPath replaces the temporary folder in the text of an error by the output's folder.
func (o *output) withOutputPath(err error) error {
	if o.stdout != nil {
		return err
	}
	folder := strings.TrimSuffix(o.path, store.Base(o.path))
	return codec.WithText(err, strings.ReplaceAll(err.Error(), o.tempFolder+string(filepath.Separator), folder))
}

// commit moves or uploads the recording, whose writer must be closed, to its path. It returns the paths of the
// recording's files or folder.
func (o *output) commit(ctx context.Context) ([]string, error) {
	if o.stdout != nil {
		return nil, nil
	}
	entries, err := os.ReadDir(o.tempFolder)
	if first := o.firstFile(); err == nil && first != "" && len(entries) > 1 { // all files get numbers
		err = os.Rename(o.tempPath(), filepath.Join(o.tempFolder, store.Base(first)))
		if err == nil {
			entries, err = os.ReadDir(o.tempFolder)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", o.path, codec.Pathless(err))
	}
	var paths []string
	for _, entry := range entries {
		paths = append(paths, o.beside(entry.Name()))
	}
	if !o.isURL() {
		return paths, o.move(ctx, paths)
	}
	if err := o.send(ctx); err != nil {
		return nil, err
	}
	return paths, o.removeOld(ctx, paths)
}

// move moves the files of the recording to their paths once they are on the disk. A file or a folder is replaced at
// once. Of several files, the old ones are removed first: a crash never leaves files of both recordings. The first file
// of the new ones is moved last. After an error the files not moved yet stay in the temporary folder.
func (o *output) move(ctx context.Context, paths []string) error {
	if err := codec.SyncTree(o.tempFolder); err != nil {
		return fmt.Errorf("write %s: %w", o.path, codec.Pathless(err))
	}
	o.keepFolder = true
	from := func(path string) string { return filepath.Join(o.tempFolder, filepath.Base(path)) }
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil && !o.overwrite {
			return fmt.Errorf("%s exists by now; the output was written to %s", path, from(path))
		}
	}
	folder := filepath.Dir(o.path)
	if o.overwrite {
		if err := o.removeFirst(ctx, paths); err != nil {
			return fmt.Errorf("%w; the output was written to %s", err, o.tempFolder)
		}
		if err := (codec.OS{}).SyncFolder(folder); err != nil {
			return fmt.Errorf("sync %s: %w; the output was written to %s", folder, codec.Pathless(err), o.tempFolder)
		}
	}
	for _, path := range slices.Backward(paths) {
		if err := o.place(from(path), path); err != nil {
			return fmt.Errorf("move %s to %s: %w", from(path), path, codec.Pathless(err))
		}
	}
	o.keepFolder = false
	if err := (codec.OS{}).SyncFolder(folder); err != nil {
		return fmt.Errorf("write %s: %w", o.path, codec.Pathless(err))
	}
	return nil
}

// removeFirst removes the files of an older recording which moving a file does not replace.
func (o *output) removeFirst(ctx context.Context, paths []string) error {
	if err := o.removeOld(ctx, paths); err != nil || len(paths) == 1 {
		return err
	}
	for _, path := range slices.Backward(paths) {
		if _, err := o.remove(ctx, path, nil); err != nil {
			return err
		}
	}
	return nil
}

// place moves a file or a folder to path. The temporary folder receives an old folder at path.
func (o *output) place(from, path string) error {
	stat, err := os.Lstat(path)
	if err != nil || !stat.IsDir() || path != o.path { // check allowed to replace only the folder o.path
		return os.Rename(from, path)
	}
	err = codec.Exchange(from, path)
	if errors.Is(err, errors.ErrUnsupported) {
		err = os.RemoveAll(path)
		if err == nil {
			err = os.Rename(from, path)
		}
	}
	return err
}

// Close removes the temporary folder unless its files could not be moved to their paths.
func (o *output) Close() error {
	if o.lock != nil {
		defer o.lock.Close()
	}
	if o.keepFolder || o.stdout != nil {
		return nil
	}
	return os.RemoveAll(o.tempFolder)
}
