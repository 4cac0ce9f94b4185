package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tapedeck/codec/format/hdf5/internal/child"
)

// Link writes a file at path with links to all episodes of other files. The links are relative paths: they break if
// only some of the files move. path should be in a folder without episodes, because some programs read each file of a
// folder as an episode. Without overwrite, an existing file is an error.
func Link(path string, files []string, overwrite bool) error {
	if _, err := os.Lstat(path); err == nil && !overwrite {
		return fmt.Errorf("create %s: %w; name another output or use --overwrite", path, fs.ErrExist)
	}
	if err := child.Available(); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	part := path + ".part"
	f, err := child.Create(part)
	if err != nil {
		return err
	}
	err = link(f, filepath.Dir(path), files)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = publish(part, path)
	}
	if err != nil {
		os.Remove(part)
		return fmt.Errorf("link episodes in %s: %w", path, err)
	}
	return nil
}

// link writes links to all episodes of files to f, which is in folder.
func link(f *child.Writer, folder string, files []string) error {
	folder, err := filepath.Abs(folder)
	err = errors.Join(err, f.MakeGroup("/episodes"))
	var summary summary
	for _, name := range files {
		if err == nil {
			err = summary.link(f, folder, name)
		}
	}
	if err == nil && len(summary.starts) == 0 {
		err = errors.New("no episodes")
	}
	if err != nil {
		return err
	}
	return summary.write(f)
}

// link writes links to the episodes of the file at name to f, which is in folder.
func (s *summary) link(f *child.Writer, folder, name string) error {
	name, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	relative, err := filepath.Rel(folder, name)
	if err != nil {
		return err
	}
	source, err := open(nil, name)
	if err != nil {
		return err
	}
	defer source.Close()
	episodes, err := source.readEpisodes()
	for _, e := range episodes {
		err = cmp.Or(err, f.LinkExternal(relative, e.group, fmt.Sprintf("/episodes/episode_%d", len(s.starts))))
		s.add(e.Episode, e.start, e.rows)
	}
	return err
}
