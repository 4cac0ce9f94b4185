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

// Episodes is how episodes are written in a format.
type Episodes struct {
	Rows      bool // streams are aligned to rows
	FixedRate bool // rows come at a fixed rate
	// Link writes a file at link that has all n episodes of a folder; nil for formats without links.
	Link func(link, folder string, n int, overwrite bool) error
	// Check returns an error for options that New does not take; nil if it takes all.
	Check func(*Options) error
	// New begins to write episodes of a layout at path. file reports whether path is to be one file, if the format has
	// a choice, and single that there is one episode.
	New func(o *Options, path string, file, single bool, layout *episode.Layout) (EpisodeWriter, error)
}

// EpisodeWriter writes episodes.
type EpisodeWriter interface {
	// Write writes the index-th episode. It returns the report of aligning it, nil if it was not aligned.
	Write(index int, e *episode.Episode, o align.Options) (*align.Report, error)
	// Parallel reports whether several episodes may be written at once, in any order.
	Parallel() bool
	// Losses returns what the episodes so far had and the format does not keep. It must not be called during Write.
	Losses() []codec.Loss
	// Notes returns remarks on what was written.
	Notes() []string
	Close() error
	Abort()
}

// separate is an EpisodeWriter of formats with a file or a folder for each episode, but for Write.
type separate struct {
	mu   sync.Mutex
	lost codec.LossCounts
}

func (w *separate) lose(topic, what string, n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost.Add(topic, what, n)
}

func (w *separate) Parallel() bool       { return true }
func (w *separate) Losses() []codec.Loss { return w.lost.Losses() }
func (w *separate) Notes() []string      { return nil }
func (w *separate) Close() error         { return nil }
func (w *separate) Abort()               {}

// together writes all episodes as rows of one file, or of one dataset.
type together struct {
	rowWriter
	layout *episode.Layout
}

// rowWriter writes rows. Its methods are those of EpisodeWriter.
type rowWriter interface {
	Write(*episode.Rows) error
	Losses() []codec.Loss
	Notes() []string
	Close() error
	Abort()
}

func (w *together) Write(_ int, e *episode.Episode, o align.Options) (*align.Report, error) {
	return w.layout.Write(e, o, w.rowWriter.Write)
}

func (w *together) Parallel() bool { return false }

func newSessions(_ *Options, path string, _, single bool, _ *episode.Layout) (EpisodeWriter, error) {
	t := &sessions{separate: separate{lost: codec.LossCounts{}}, path: path, single: single, names: map[string]bool{}}
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
	return &together{w, layout}, err
}

// sessions are folders, one for each episode.
type sessions struct {
	separate
	path   string
	single bool // path is that of the session
	names  map[string]bool
}

func (t *sessions) Write(_ int, e *episode.Episode, _ align.Options) (*align.Report, error) {
	path := t.path
	if !t.single {
		path = filepath.Join(path, t.name(e.Name))
	}
	return nil, session.Write(path, e, session.Options{Lost: t.lose})
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
