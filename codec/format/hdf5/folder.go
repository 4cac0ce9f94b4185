package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
)

// episodeFile matches the names of the files of a folder that is one recording. Each file has one episode.
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

// folder is a folder of files with episodes. The files are opened one after the other, because each takes a process.
type folder struct {
	episode.Findings
	files   *store.Files
	path    string
	paths   []string
	sources []*source
}

var _ episode.Source = (*folder)(nil)

// Episodes implements episode.Source. A file that cannot be read is Damage. If no file can be read, it is an error.
func (f *folder) Episodes() (all []*episode.Episode, err error) {
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
		all = append(all, episodes...)
		f.Damage = append(f.Damage, s.Damage...)
		maps.Copy(f.Lost, s.Lost)
	}
	f.Incomplete = len(f.Damage) > 0
	if len(all) == 0 {
		return nil, fmt.Errorf("read %s: no file of it can be read: %w", f.path, errors.Join(f.Damage...))
	}
	return all, nil
}

func (f *folder) unreadable(err error) {
	f.Damage = append(f.Damage, err)
	f.Lost.Add(f.path, "files of episodes that cannot be read", 0)
}

// Close implements episode.Source.
func (f *folder) Close() error {
	for _, s := range f.sources {
		s.Close()
	}
	return nil
}
