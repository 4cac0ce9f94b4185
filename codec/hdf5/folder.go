package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/episode"
	"tapedeck/codec/store"
)

// episodeFile matches the names of files in a folder that is one recording, each file with an episode.
var episodeFile = regexp.MustCompile(`^episode_\d+\.(hdf5|h5)$`)

// episodeFiles returns the files of episodes in a folder, in the order of their numbers.
func episodeFiles(files *store.Files, folder string) (paths []string) {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() && episodeFile.MatchString(e.Name()) {
			paths = append(paths, store.Join(folder, e.Name()))
		}
	}
	order := func(path string) int { return number(strings.TrimSuffix(path, filepath.Ext(path))) }
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	return paths
}

// folder is a folder of files with episodes, which are opened one after the other: each takes a process.
type folder struct {
	files    *store.Files
	path     string
	paths    []string
	sources  []*source
	episodes []*episode.Episode
	done     bool
	err      error
	damage   []error
	lost     codec.LossCounts
}

var _ episode.Source = (*folder)(nil)

// Episodes implements episode.Source. A file that cannot be read is Damage, unless none can.
func (f *folder) Episodes() ([]*episode.Episode, error) {
	if !f.done {
		f.done, f.err = true, f.read()
	}
	return f.episodes, f.err
}

func (f *folder) read() error {
	base := int64(0)
	for _, path := range f.paths {
		s, err := open(f.files, path)
		if err != nil {
			f.unreadable(err)
			continue
		}
		f.sources = append(f.sources, s)
		s.base = base
		episodes, err := s.Episodes()
		base = s.base
		if err != nil {
			f.unreadable(err)
			continue
		}
		f.episodes = append(f.episodes, episodes...)
		f.damage = append(f.damage, s.damage...)
		for loss, n := range s.lost {
			f.lost[loss] += n
		}
	}
	if len(f.episodes) == 0 {
		return fmt.Errorf("read %s: no file of it can be read: %w", f.path, errors.Join(f.damage...))
	}
	return nil
}

func (f *folder) unreadable(err error) {
	f.damage = append(f.damage, err)
	f.lost.Add(f.path, "files of episodes that cannot be read", 0)
}

// Close implements episode.Source.
func (f *folder) Close() error {
	for _, s := range f.sources {
		s.Close()
	}
	return nil
}

// Complete implements episode.Source.
func (f *folder) Complete() bool { return len(f.damage) == 0 }

// Events implements episode.Source.
func (f *folder) Events() []codec.Event { return nil }

// Damage implements episode.Source.
func (f *folder) Damage() []error { return f.damage }

// Losses implements codec.Lossy.
func (f *folder) Losses() []codec.Loss { return f.lost.Losses() }
