package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/align"
	"tapedeck/codec/episode"
	"tapedeck/codec/hdf5"
	"tapedeck/codec/lerobot"
	"tapedeck/codec/session"
)

// target takes episodes.
type target interface {
	// write writes the index-th episode, and returns what came of aligning it, nil if it was not aligned.
	write(index int, e *episode.Episode, o align.Options) (*align.Report, error)
	// parallel says whether several episodes may be written at once, in any order.
	parallel() bool
	close() error
	abort()
}

// newTarget begins to write in the format of an output, episodes of a layout. single says that there is one.
func newTarget(out *output, p *plan, layout *episode.Layout, single bool) (target, error) {
	path := filepath.Join(out.part, filepath.Base(out.path))
	switch out.format.Name {
	case session.Name:
		t := &sessions{path: path, single: single, options: session.Options{}, names: map[string]bool{}}
		if single {
			return t, nil
		}
		return t, os.Mkdir(path, 0o777)
	case "hdf5":
		o, err := p.HDF5Options.options()
		if err != nil {
			return nil, err
		}
		if out.format.Named(out.path) {
			w, err := hdf5.Create(path, o)
			return &hdf5File{w, layout}, err
		}
		return &hdf5Folder{path, o, layout}, os.Mkdir(path, 0o777)
	case lerobot.Name:
		o, err := p.LeRobotOptions.options()
		if err != nil {
			return nil, err
		}
		w, err := lerobot.Create(path, o)
		return &dataset{w, layout}, err
	}
	return nil, fmt.Errorf("episodes cannot be written as %s", out.format.Name)
}

// episodeFiles are the formats of episodes, which are written as a whole, and what the names of files in folders that they write end with.
var episodeFiles = map[string][]string{
	session.Name: {".csv", ".jpg", ".json", ".png"},
	"hdf5":       {".hdf5"},
	lerobot.Name: {".json", ".mp4", ".parquet"},
}

// keepsEpisodes says whether a format is one of episodes.
func keepsEpisodes(f codec.Format) bool { return episodeFiles[f.Name] != nil }

// sessions are folders, one for each episode.
type sessions struct {
	path    string
	single  bool // path is that of the session
	options session.Options
	mu      sync.Mutex
	names   map[string]bool
}

func (t *sessions) write(_ int, e *episode.Episode, _ align.Options) (*align.Report, error) {
	path := t.path
	if !t.single {
		path = filepath.Join(path, t.name(e.Name))
	}
	return nil, session.Write(path, e, t.options)
}

// name returns a name of a folder that no other session has.
func (t *sessions) name(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	name = strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' {
			return '_'
		}
		return r
	}, name)
	if name == "" || name[0] == '.' {
		name = "session" + name
	}
	unique := name
	for n := 1; t.names[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	t.names[unique] = true
	return unique
}

func (t *sessions) parallel() bool { return true }
func (t *sessions) close() error   { return nil }
func (t *sessions) abort()         {}

// hdf5File is one file for all episodes.
type hdf5File struct {
	w      *hdf5.Writer
	layout *episode.Layout
}

func (t *hdf5File) write(_ int, e *episode.Episode, o align.Options) (*align.Report, error) {
	rows, err := episode.Align(t.layout.Apply(e), o)
	if err != nil {
		return nil, err
	}
	return &rows.Report, t.w.Write(rows)
}

func (t *hdf5File) parallel() bool { return false }
func (t *hdf5File) close() error   { return t.w.Close() }
func (t *hdf5File) abort()         { t.w.Abort() }

// hdf5Name returns what training code expects files of episodes to be called.
func hdf5Name(index int) string { return fmt.Sprintf("episode_%d.hdf5", index) }

// hdf5Folder is a file for each episode.
type hdf5Folder struct {
	path    string
	options hdf5.Options
	layout  *episode.Layout
}

func (t *hdf5Folder) write(index int, e *episode.Episode, o align.Options) (*align.Report, error) {
	rows, err := episode.Align(t.layout.Apply(e), o)
	if err != nil {
		return nil, err
	}
	w, err := hdf5.Create(filepath.Join(t.path, hdf5Name(index)), t.options)
	if err != nil {
		return nil, err
	}
	if err := w.Write(rows); err != nil {
		w.Abort()
		return nil, err
	}
	return &rows.Report, w.Close()
}

func (t *hdf5Folder) parallel() bool { return true }
func (t *hdf5Folder) close() error   { return nil }
func (t *hdf5Folder) abort()         {}

// dataset is one of LeRobot with all episodes.
type dataset struct {
	w      *lerobot.Writer
	layout *episode.Layout
}

func (t *dataset) write(_ int, e *episode.Episode, o align.Options) (*align.Report, error) {
	rows, err := episode.Align(t.layout.Apply(e), o)
	if err != nil {
		return nil, err
	}
	return &rows.Report, t.w.Write(rows)
}

func (t *dataset) parallel() bool { return false }
func (t *dataset) close() error   { return t.w.Close() }
func (t *dataset) abort()         { t.w.Abort() }
