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

// output is a recording being written. It is written in a temporary folder, and moved or sent to its path once it is
// complete, so that an unfinished recording never looks finished. In the folder it already has its final name, because
// some formats name files after it.
type output struct {
	destination
	bucket *s3.Store // of path, if that is a URL
	part   string    // the folder, beside a local path
	keep   bool      // keep the folder: its content is complete but could not be moved
	stream io.Writer // where the recording goes instead of to path; else nil
}

// newStream returns the output that is written to w, which path stands for.
func newStream(w io.Writer, path string, known formats.List, format formats.Format) (*output, error) {
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
	return &output{destination: destination{path: path, format: format}, stream: w}, nil
}

// newOutput prepares writing the output of a job, unless it exists or is an input. The caller must call Close.
func newOutput(j *Job, format formats.Format, overwrite bool, read []*codec.Info) (*output, error) {
	o := &output{destination: destination{files: j.Files, path: store.Clean(j.Output), format: format,
		overwrite: overwrite, read: read}, bucket: j.Store}
	if err := o.check(j.Formats); err != nil {
		return nil, err
	}
	if o.stored() {
		var err error
		o.part, err = os.MkdirTemp("", "tapedeck-*")
		if err != nil {
			return nil, fmt.Errorf("create a temporary folder for %s: %w", o.path, err)
		}
		return o, nil
	}
	o.part = o.path + ".part"
	err := os.Mkdir(o.part, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if !overwrite {
			return nil, fmt.Errorf("%s is left from a conversion that was interrupted or is still running; remove "+
				"it, or use --overwrite", o.part)
		}
		err = os.RemoveAll(o.part)
		if err == nil {
			err = os.Mkdir(o.part, 0o755)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", j.Output, codec.Pathless(err))
	}
	return o, nil
}

// written returns the path of the recording in the temporary folder.
func (o *output) written() string { return filepath.Join(o.part, store.Base(o.path)) }

// checkSplit returns an error if a further file, which is being written to part, cannot have its name.
func (o *output) checkSplit(part string) error {
	if o.stored() && !o.overwrite { // send replaces nothing
		return nil
	}
	return o.checkFile(o.beside(strings.TrimPrefix(part, o.part+"/")))
}

// create creates the writer of the recording.
func (o *output) create(options codec.CreateOptions) (codec.Writer, error) {
	if o.stream != nil {
		return o.format.Stream(o.stream, options)
	}
	options.Format = o.format.Name
	return codec.Formats{o.format.Format}.Create(o.written(), options)
}

// renamed returns an error whose text names the output instead of its temporary folder.
func (o *output) renamed(err error) error {
	if o.stream != nil {
		return err
	}
	folder := strings.TrimSuffix(o.path, store.Base(o.path))
	return codec.WithText(err, strings.ReplaceAll(err.Error(), o.part+"/", folder))
}

// commit moves or sends the recording, whose writer is closed, to its path. It returns the paths of its files or its
// folder.
func (o *output) commit(ctx context.Context) ([]string, error) {
	if o.stream != nil {
		return nil, nil
	}
	entries, err := os.ReadDir(o.part)
	if first := o.firstFile(); err == nil && first != "" && len(entries) > 1 { // which get numbers
		err = os.Rename(o.written(), filepath.Join(o.part, store.Base(first)))
		if err == nil {
			entries, err = os.ReadDir(o.part)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", o.path, codec.Pathless(err))
	}
	var paths []string
	for _, entry := range entries {
		paths = append(paths, o.beside(entry.Name()))
	}
	if o.stored() {
		err = o.send(ctx)
	} else {
		err = o.move(paths)
	}
	if err != nil {
		return nil, err
	}
	return paths, o.removeOld(ctx, paths)
}

// move moves the files of the recording to their paths. After an error they stay where they are.
func (o *output) move(paths []string) error {
	o.keep = true
	from := func(path string) string { return filepath.Join(o.part, filepath.Base(path)) }
	for _, path := range paths {
		stat, err := os.Lstat(path)
		switch {
		case err != nil:
		case !o.overwrite:
			return fmt.Errorf("%s exists by now; the output was written to %s", path, from(path))
		case stat.IsDir() && path == o.path: // which check has allowed; another folder is an error of the move
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
	o.keep = false
	return nil
}

// Close removes what was written unless it was moved to its place.
func (o *output) Close() error {
	if o.keep || o.stream != nil {
		return nil
	}
	return os.RemoveAll(o.part)
}
