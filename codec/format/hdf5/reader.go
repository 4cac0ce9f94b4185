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
	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
)

// source is an open file with episodes.
type source struct {
	episode.Findings
	path      string
	file      *child.File // acquired by source until the episodes are read, and by each open camera
	release   func()      // releases file for source
	remove    func()      // removes the local copy of a file from a store
	nextStamp int64       // time of the next row in ns, for episodes without times
}

var _ episode.Source = (*source)(nil)

// Open opens a file, or a folder with files named episode_N.hdf5. Errors of Open name the file.
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

// open opens a file. It copies a file from a store to a local one, because libhdf5 reads only local files.
func open(files *store.Files, path string) (*source, error) {
	local, remove, err := files.Fetch(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, codec.Pathless(err))
	}
	if err := checkSignature(local); err != nil {
		remove()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &source{file: child.New(local, path), path: path, remove: remove,
		Findings: episode.Findings{Lost: codec.LossCounts{}}}
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

var errBrokenLink = errors.New("the target of the link is missing")

const signature = "\x89HDF\r\n\x1a\n"

// isHDF5 reports whether a file has the signature of HDF5. The signature is at byte 0, or follows a block of other data
// of 512, 1024, 2048 or more bytes.
func isHDF5(file io.ReaderAt, size int64) (bool, error) {
	block := make([]byte, len(signature))
	for offset := int64(0); offset+int64(len(block)) <= size; offset = max(512, 2*offset) {
		if _, err := file.ReadAt(block, offset); err != nil {
			return false, err
		}
		if string(block) == signature {
			return true, nil
		}
	}
	return false, nil
}

// checkSignature returns an error unless a file has the signature of HDF5. libhdf5 must not open other files.
func checkSignature(path string) error {
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
		err = fmt.Errorf("%w: the HDF5 signature is missing", codec.ErrUnknownFormat)
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
	all, err := s.readEpisodes()
	var episodes []*episode.Episode
	for _, e := range all {
		episodes = append(episodes, e.Episode)
	}
	return episodes, err
}

// readEpisodes reads all episodes, but no images. After an error, it returns the episodes that it could read.
func (s *source) readEpisodes() (all []*storedEpisode, err error) {
	defer s.release()
	roots, err := s.roots()
	if err == nil && len(roots) == 0 {
		err = s.unknownLayout()
	}
	for _, root := range roots {
		var e *storedEpisode
		e, err = s.readEpisode(root)
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

// unsupportedLayouts are layouts that this package recognises by a group, but cannot read.
var unsupportedLayouts = []struct{ group, name string }{
	{"/data/demo_0", "robomimic and LIBERO (/data/demo_0 with obs and actions)"},
	{"/data/demo_1", "robomimic and LIBERO (/data/demo_1 with obs and actions)"},
	{"/observation/robot_state", "DROID (/observation/robot_state)"},
	{"/joint_action", "RoboTwin (/joint_action)"},
}

// unknownLayout returns the error about a file without episodes.
func (s *source) unknownLayout() error {
	const supported = "; convert the file to the layout of EasyTeleop (/episodes or /observations/state) or ALOHA " +
		"(/observations/qpos, /observations/images, /action), or to a LeRobot dataset"
	for _, l := range unsupportedLayouts {
		if s.file.Type(l.group) != h5type.NoObject {
			return errors.New("the layout of " + l.name + " is not supported" + supported)
		}
	}
	names, err := s.file.List("/")
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = "/" + names[i]
	}
	return fmt.Errorf("no episodes in a known layout; the file has %s%s",
		cmp.Or(strings.Join(names[:min(len(names), 8)], ", "), "no objects"), supported)
}

// roots returns for each episode the prefix of the paths of its objects: the path of the episode's group, or "" for the
// root group.
func (s *source) roots() ([]string, error) {
	if s.file.Type("/episodes") == h5type.GroupObject {
		names, err := s.file.List("/episodes")
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(trailingNumber(a), trailingNumber(b)) })
		var roots []string
		for _, name := range names {
			root := "/episodes/" + name
			if s.file.Type(root) != h5type.GroupObject {
				s.Damage = append(s.Damage, &episode.MissingFileError{Path: s.path + ":" + root, Err: errBrokenLink})
				continue
			}
			roots = append(roots, root)
		}
		if len(roots) > 0 {
			return roots, nil
		}
	}
	for _, name := range []string{"/observations/state", "/observations/qpos", "/observations/images"} {
		if s.file.Type(name) != h5type.NoObject {
			return []string{""}, nil
		}
	}
	return nil, errors.Join(s.Damage...)
}

// trailingNumber returns the number at the end of a name, or -1.
func trailingNumber(name string) int {
	n, err := strconv.Atoi(name[len(strings.TrimRight(name, "0123456789")):])
	if err != nil {
		return -1
	}
	return n
}

// text returns an attribute of the object at path, or "" if it is missing or not a string.
func (s *source) text(path, name string) string {
	text, _ := s.file.Attribute(path, name).(string)
	return text
}

// name returns the name of an episode: its attribute, or else the name of its group or file.
func (s *source) name(root string) string {
	if name := s.text(groupPath(root), "name"); name != "" {
		return name
	}
	if root != "" {
		return root[strings.LastIndexByte(root, '/')+1:]
	}
	base := filepath.Base(s.path)
	return cmp.Or(strings.TrimSuffix(base, filepath.Ext(base)), base)
}

// groupPath returns the path of the group whose objects have paths with the prefix root.
func groupPath(root string) string {
	if root == "" {
		return "/"
	}
	return root
}
