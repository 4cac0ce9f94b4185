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

// episodeFile matches the names of files in a folder that is one recording with a file for each episode.
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
	order := func(path string) int { return trailingNumber(strings.TrimSuffix(path, filepath.Ext(path))) }
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	return paths
}

// folder reads the episodes of a folder of files. It opens one file after the other, because a process reads each file.
type folder struct {
	episode.Findings
	files   *store.Files
	path    string
	paths   []string
	sources []*source // opened files, until Close
}

var _ episode.Source = (*folder)(nil)

// Episodes implements episode.Source. It adds unreadable files to Damage. It fails if it cannot read any file.
func (f *folder) Episodes() (all []*episode.Episode, err error) {
	nextStamp := int64(0)
	for _, path := range f.paths {
		s, err := open(f.files, path)
		if err != nil {
			f.addUnreadable(err)
			continue
		}
		f.sources = append(f.sources, s)
		s.nextStamp = nextStamp
		episodes, err := s.Episodes()
		nextStamp = s.nextStamp
		if err != nil {
			f.addUnreadable(err)
			continue
		}
		all = append(all, episodes...)
		f.Damage = append(f.Damage, s.Damage...)
		maps.Copy(f.Lost, s.Lost)
	}
	f.Incomplete = len(f.Damage) > 0
	if len(all) == 0 {
		return nil, fmt.Errorf("read %s: no file of the folder can be read: %w", f.path, errors.Join(f.Damage...))
	}
	return all, nil
}

// addUnreadable adds a file that cannot be read because of err to Damage and Lost.
func (f *folder) addUnreadable(err error) {
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
