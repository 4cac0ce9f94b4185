package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/episode"
	"tapedeck/codec/hdf5/internal/h5"
)

// source is an open file.
type source struct {
	file     *h5.File
	path     string
	episodes []*stored
	err      error
	read     bool
	damage   []error
}

// stored is an episode of a file.
type stored struct {
	*episode.Episode
	root string
	rows int
}

// Open opens a file. Its errors name the file.
func Open(path string) (episode.Source, error) {
	s, err := open(path)
	if err != nil {
		return nil, err
	}
	return published{s}, nil
}

// published is a source as others see it.
type published struct{ *source }

// Episodes implements episode.Source.
func (p published) Episodes() ([]*episode.Episode, error) {
	stored, err := p.source.Episodes()
	var episodes []*episode.Episode
	for _, e := range stored {
		episodes = append(episodes, e.Episode)
	}
	return episodes, err
}

func open(path string) (*source, error) {
	if err := check(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	file, err := h5.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; the file is damaged, or was not closed by who wrote it", err)
	}
	return &source{file: file, path: path}, nil
}

// check reports whether a file is one of HDF5, before libhdf5 sees it.
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
		return errors.New("it is no file")
	}
	block := make([]byte, len(signature))
	for at := int64(0); at+int64(len(block)) <= stat.Size(); at = max(512, 2*at) {
		if _, err := file.ReadAt(block, at); err != nil {
			return err
		}
		if string(block) == signature {
			return nil
		}
	}
	return fmt.Errorf("%w: it does not have the signature of HDF5", codec.ErrUnknownFormat)
}

// Close implements episode.Source.
func (s *source) Close() error { return s.file.Close() }

// Damage returns what Episodes found damaged.
func (s *source) Damage() []error { return s.damage }

// Complete reports whether nothing was.
func (s *source) Complete() bool { return len(s.damage) == 0 }

// Episodes returns the episodes. Numbers are read, pictures are not.
func (s *source) Episodes() ([]*stored, error) {
	if s.read {
		return s.episodes, s.err
	}
	s.read = true
	roots, err := s.roots()
	if err == nil && len(roots) == 0 {
		err = errors.New("it has no /episodes, no /observations/state and no /observations/qpos: it is of no robot, or of " +
			"a layout that is not known")
	}
	for _, root := range roots {
		var e *stored
		if e, err = s.episode(root); err != nil {
			break
		}
		s.episodes = append(s.episodes, e)
	}
	if err != nil {
		s.err = fmt.Errorf("read %s: %w", s.path, err)
	}
	return s.episodes, s.err
}

// roots returns the groups of the episodes, in order; "" is the file itself.
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
				s.damage = append(s.damage, fmt.Errorf("read %s: there is no episode behind %s; is the file it links to gone?",
					s.path, root))
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
	return nil, errors.Join(s.damage...)
}

// number returns the number that a name ends with, or -1.
func number(name string) int {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(name[i:])
	if err != nil {
		return -1
	}
	return n
}

func (s *source) text(path, name string) string {
	text, _ := s.file.Attribute(path, name).(string)
	return text
}

// name returns what an episode is called.
func (s *source) name(root string) string {
	if name := s.text(rootOf(root), "name"); name != "" {
		return name
	}
	if root != "" {
		return root[strings.LastIndexByte(root, '/')+1:]
	}
	base := s.path[strings.LastIndexByte(s.path, os.PathSeparator)+1:]
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	return base
}

// rootOf returns the path of an episode's group.
func rootOf(root string) string {
	if root == "" {
		return "/"
	}
	return root
}
