package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/format/hdf5/internal/h5"
	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
)

// source is an open file.
type source struct {
	episode.Findings
	file    *child.File // acquired until the episodes are read, and by open cameras
	path    string
	release func()           // releases the file that Open acquired
	remove  func()           // removes the file, if it is temporary
	base    int64            // time of the next row without a time
	at      string           // group of the episode that is being read
	leftOut map[string]error // by group of an episode, why its first omitted dataset was omitted
}

var _ episode.Source = (*source)(nil)

// stored is an episode of a file.
type stored struct {
	*episode.Episode
	root  string // group of the episode
	rows  int
	start int64 // time of the first row; 0 if unknown
}

// Open opens a file, or a folder of files that are named as episodes. Its errors name the file.
func Open(files *store.Files, path string) (episode.Source, error) {
	if paths := episodeFiles(files, path); len(paths) > 0 {
		return &folder{files: files, path: path, paths: paths,
			Findings: episode.Findings{Lost: codec.LossCounts{}}}, nil
	}
	s, err := open(files, path)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// open opens a file. It fetches a file of a store, because libhdf5 reads only local files.
func open(files *store.Files, path string) (*source, error) {
	local, remove, err := files.Fetch(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, codec.Pathless(err))
	}
	if err := check(local); err != nil {
		remove()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &source{file: child.New(local, path), path: path, remove: remove,
		Findings: episode.Findings{Lost: codec.LossCounts{}},
		leftOut:  map[string]error{}}
	if err := s.file.Acquire(); err != nil {
		remove()
		if s.file.Err() == nil {
			err = fmt.Errorf("%w; the file is damaged, or its writer did not close it", err)
		}
		return nil, err
	}
	s.release = sync.OnceFunc(s.file.Release)
	return s, nil
}

// errDangling is the error about a link to a missing object.
var errDangling = errors.New("it is a link, and the linked file is not there")

const signature = "\x89HDF\r\n\x1a\n"

// isHDF5 reports whether a file has the signature of HDF5, at its beginning or after a block of other data.
func isHDF5(file io.ReaderAt, size int64) (bool, error) {
	block := make([]byte, len(signature))
	for at := int64(0); at+int64(len(block)) <= size; at = max(512, 2*at) {
		if _, err := file.ReadAt(block, at); err != nil {
			return false, err
		}
		if string(block) == signature {
			return true, nil
		}
	}
	return false, nil
}

// check returns an error unless a file has the signature of HDF5. libhdf5 must not open any other file.
func check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return codec.Pathless(err)
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return err
	}
	if !stat.Mode().IsRegular() {
		return errors.New("not a file")
	}
	ok, err := isHDF5(file, stat.Size())
	if err == nil && !ok {
		err = fmt.Errorf("%w: it does not have the signature of HDF5", codec.ErrUnknownFormat)
	}
	return err
}

// Close implements episode.Source.
func (s *source) Close() error {
	s.release()
	s.file.Close()
	s.remove()
	return nil
}

// Episodes implements episode.Source.
func (s *source) Episodes() ([]*episode.Episode, error) {
	stored, err := s.stored()
	var episodes []*episode.Episode
	for _, e := range stored {
		episodes = append(episodes, e.Episode)
	}
	return episodes, err
}

// stored reads the numbers of all episodes, but no pictures.
func (s *source) stored() (all []*stored, err error) {
	defer s.release()
	roots, err := s.roots()
	if err == nil && len(roots) == 0 {
		err = s.unknownLayout()
	}
	for _, root := range roots {
		var e *stored
		e, err = s.episode(root)
		if err != nil {
			break
		}
		all = append(all, e)
	}
	s.Incomplete = len(s.Damage) > 0
	if failed := s.file.Err(); failed != nil {
		err = failed
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", s.path, err)
	}
	return all, err
}

// layouts are the layouts of other projects that this package recognises by a group, but cannot read.
var layouts = []struct{ group, name string }{
	{"/data/demo_0", "robomimic and LIBERO (/data/demo_0 with obs and actions)"},
	{"/data/demo_1", "robomimic and LIBERO (/data/demo_1 with obs and actions)"},
	{"/observation/robot_state", "DROID (/observation/robot_state)"},
	{"/joint_action", "RoboTwin (/joint_action)"},
}

// unknownLayout returns the error about a file without episodes.
func (s *source) unknownLayout() error {
	const expected = "; what is read are EasyTeleop's (/episodes or /observations/state) and ALOHA's " +
		"(/observations/qpos, /observations/images, /action): convert it to one of them, or to a dataset of LeRobot"
	for _, l := range layouts {
		if s.file.Type(l.group) != h5.None {
			return errors.New("its layout is that of " + l.name + ", which is not read" + expected)
		}
	}
	names, err := s.file.List("/")
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = "/" + names[i]
	}
	return fmt.Errorf("it is not a robot's, or of an unknown layout, with %s%s",
		cmp.Or(strings.Join(names[:min(len(names), 8)], ", "), "nothing in it"), expected)
}

// roots returns the groups of the episodes, in order; "" is the root group.
func (s *source) roots() ([]string, error) {
	if s.file.Type("/episodes") == h5.Group {
		names, err := s.file.List("/episodes")
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
		var roots []string
		for _, name := range names {
			root := "/episodes/" + name
			if s.file.Type(root) != h5.Group {
				s.Damage = append(s.Damage, &episode.MissingError{Path: s.path + ":" + root, Err: errDangling})
				continue
			}
			roots = append(roots, root)
		}
		if len(roots) > 0 {
			return roots, nil
		}
	}
	for _, name := range []string{"/observations/state", "/observations/qpos", "/observations/images"} {
		if s.file.Type(name) != h5.None {
			return []string{""}, nil
		}
	}
	return nil, errors.Join(s.Damage...)
}

// number returns the number at the end of a name, or -1.
func number(name string) int {
	n, err := strconv.Atoi(name[len(strings.TrimRight(name, "0123456789")):])
	if err != nil {
		return -1
	}
	return n
}

func (s *source) text(path, name string) string {
	text, _ := s.file.Attribute(path, name).(string)
	return text
}

// name returns the name of an episode.
func (s *source) name(root string) string {
	if name := s.text(rootOf(root), "name"); name != "" {
		return name
	}
	if root != "" {
		return root[strings.LastIndexByte(root, '/')+1:]
	}
	base := filepath.Base(s.path)
	return cmp.Or(strings.TrimSuffix(base, filepath.Ext(base)), base)
}

// rootOf returns the path of an episode's group.
func rootOf(root string) string {
	if root == "" {
		return "/"
	}
	return root
}
