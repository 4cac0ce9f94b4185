package hdf5

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tapedeck/codec/hdf5/internal/h5"
)

// Link writes a file at path with links to all episodes of other files. It is read as if it had the episodes itself, as
// long as the relative paths of the files stay the same. Put it in another folder if a program reads every file of a
// folder as an episode. Without overwrite an existing file is an error.
func Link(path string, files []string, overwrite bool) error {
	if _, err := os.Lstat(path); err == nil && !overwrite {
		return fmt.Errorf("create %s: %w; name another output or use --overwrite", path, fs.ErrExist)
	}
	part := path + ".part"
	f, err := h5.Create(part)
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

func link(f *h5.File, folder string, files []string) error {
	if err := f.MakeGroup("/episodes"); err != nil {
		return err
	}
	var cameras, robots []string
	var starts []float64
	var frames int64
	arms := 0
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	for _, name := range files {
		if name, err = filepath.Abs(name); err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		source, err := open(name)
		if err != nil {
			return err
		}
		defer source.Close()
		episodes, err := source.stored()
		if err != nil {
			return err
		}
		for _, e := range episodes {
			if err := f.LinkExternal(relative, e.root, fmt.Sprintf("/episodes/episode_%d", len(starts))); err != nil {
				return err
			}
			starts = append(starts, seconds(e.start))
			frames += int64(e.rows)
			for i, c := range e.Cameras {
				cameras = appendNew(cameras, describe(imageName(c.Name), c.Name, c.Topic, c.Device), i)
			}
			for i, a := range e.Arms {
				robots = appendNew(robots, describe(a.Name, a.Name, "", a.Device), i)
			}
			arms = max(arms, len(e.Arms))
		}
	}
	if len(starts) == 0 {
		return errors.New("no episodes")
	}
	return writeInfo(f, cameras, robots, starts, int64(len(starts)), frames, int64(arms))
}
