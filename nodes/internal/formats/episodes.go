package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/format/lerobot"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// Episodes describes how episodes are written in a format.
type Episodes struct {
	Rows      bool // streams are aligned to rows
	FixedRate bool // rows come at a fixed rate
	// Link writes a file at link that refers to all n episodes of a folder; nil for formats without links.
	Link func(link, folder string, n int, overwrite bool) error
	// Check returns an error for options that New does not accept; nil if New accepts all.
	Check func(*Options) error
	// New begins to write episodes of a layout at path. file reports whether path is to be one file, if the format has
	// a choice. single reports whether there is only one episode.
	New func(o *Options, path string, file, single bool, layout *episode.Layout) (EpisodeWriter, error)
}

// EpisodeWriter writes episodes.
type EpisodeWriter interface {
	// Write writes the index-th episode. It returns the report of aligning it, nil if it was not aligned.
	Write(index int, e *episode.Episode, o align.Options) (*align.Report, error)
	// Parallel reports whether several episodes may be written at once, in any order.
	Parallel() bool
	// Losses returns data of the written episodes that the format does not keep. It must not be called during Write.
	Losses() []codec.Loss
	// Notes returns remarks on the written episodes.
	Notes() []string
	Close() error
	Abort()
}

// episodeFiles implements EpisodeWriter, except Write, for formats with a file or folder for each episode.
type episodeFiles struct {
	mu   sync.Mutex
	lost codec.LossCounts
}

func (w *episodeFiles) lose(topic, what string, n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost.Add(topic, what, n)
}

func (w *episodeFiles) Parallel() bool       { return true }
func (w *episodeFiles) Losses() []codec.Loss { return w.lost.Losses() }
func (w *episodeFiles) Notes() []string      { return nil }
func (w *episodeFiles) Close() error         { return nil }
func (w *episodeFiles) Abort()               {}

// rowEpisodes writes all episodes as rows of one file or dataset.
type rowEpisodes struct {
	rowWriter
	layout *episode.Layout
}

// rowWriter writes rows. Its other methods are EpisodeWriter's.
type rowWriter interface {
	Write(*episode.Rows) error
	Losses() []codec.Loss
	Notes() []string
	Close() error
	Abort()
}

func (w *rowEpisodes) Write(_ int, e *episode.Episode, o align.Options) (*align.Report, error) {
	return w.layout.Write(e, o, w.rowWriter.Write)
}

func (w *rowEpisodes) Parallel() bool { return false }

func newSessions(_ *Options, path string, _, single bool, _ *episode.Layout) (EpisodeWriter, error) {
	t := &sessions{episodeFiles: episodeFiles{lost: codec.LossCounts{}}, path: path,
		single: single, names: map[string]bool{}}
	if single {
		return t, nil
	}
	return t, os.Mkdir(path, 0o777)
}

func checkLeRobot(o *Options) error {
	options, err := o.lerobot()
	if err != nil {
		return err
	}
	return options.Check()
}

func newLeRobot(o *Options, path string, _, _ bool, layout *episode.Layout) (EpisodeWriter, error) {
	options, err := o.lerobot()
	if err != nil {
		return nil, err
	}
	w, err := lerobot.Create(path, options)
	return &rowEpisodes{w, layout}, err
}

// sessions writes a folder for each episode.
type sessions struct {
	episodeFiles
	path   string
	single bool // path is the session's
	names  map[string]bool
}

func (s *sessions) Write(_ int, e *episode.Episode, _ align.Options) (*align.Report, error) {
	path := s.path
	if !s.single {
		path = filepath.Join(path, s.name(e.Name))
	}
	return nil, session.Write(path, e, session.Options{Lost: s.lose})
}

// name returns a folder name that no other session has.
func (s *sessions) name(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	for n := 1; s.names[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	s.names[unique] = true
	return unique
}
