package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	err := os.Mkdir(o.tempFolder, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if !overwrite {
			return nil, fmt.Errorf("%s is left from a conversion that was interrupted or is still running; remove "+
				"it, or use --overwrite", o.tempFolder)
		}
		err = os.RemoveAll(o.tempFolder)
		if err == nil {
			err = os.Mkdir(o.tempFolder, 0o755)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", j.Output, codec.Pathless(err))
	}
	return o, nil
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
	if o.isURL() {
		err = o.send(ctx)
	} else {
		err = o.move(paths)
	}
	if err != nil {
		return nil, err
	}
	return paths, o.removeOld(ctx, paths)
}

// move moves the files of the recording to their paths. After an error the files not moved yet stay in the temporary
// folder.
func (o *output) move(paths []string) error {
	o.keepFolder = true
	from := func(path string) string { return filepath.Join(o.tempFolder, filepath.Base(path)) }
	for _, path := range paths {
		stat, err := os.Lstat(path)
		switch {
		case err != nil:
		case !o.overwrite:
			return fmt.Errorf("%s exists by now; the output was written to %s", path, from(path))
		case stat.IsDir() && path == o.path: // check allowed it; os.Rename fails for other folders
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("replace %s: %w; the output was written to %s", path, codec.Pathless(err), from(path))
			}
		}
	}
	for _, path := range paths {
		if err := os.Rename(from(path), path); err != nil {
			return fmt.Errorf("move %s to %s: %w", from(path), path, codec.Pathless(err))
		}
	}
	o.keepFolder = false
	return nil
}

// Close removes the temporary folder unless its files could not be moved to their paths.
func (o *output) Close() error {
	if o.keepFolder || o.stdout != nil {
		return nil
	}
	return os.RemoveAll(o.tempFolder)
}
