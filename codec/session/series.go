package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/align"
	"tapedeck/codec/episode"
)

// Series writes takes one after the other: the first one is the session in the folder NAME, those behind it are in
// NAME_1 and on. The methods are those of Writer.
type Series struct {
	path      string // of the first session
	options   Options
	completed func(codec.FileInfo, error)
	number    int   // of the session that is written
	said      error // what the last method returned
	bytes     int64 // of the sessions before

	closed bool

	mu       sync.Mutex
	current  *Writer
	closing  chan struct{} // closed when the session before is complete; nil: there is none
	failures []error       // of completing those before
	complete map[string]bool
}

// CreateSeries begins a series in the folder path. Only that may exist with o.Overwrite. completed, unless it is nil,
// hears of each session once it is complete, or could not be completed, as codec.CreateOptions has it.
func CreateSeries(path string, o Options, completed func(codec.FileInfo, error)) (*Series, error) {
	w, err := Create(path, o)
	if err != nil {
		return nil, err
	}
	if completed == nil {
		completed = func(codec.FileInfo, error) {}
	}
	return &Series{path: w.path, options: o, completed: completed, current: w, complete: map[string]bool{}}, nil
}

// File returns the folder of the session that is written, or was at last.
func (s *Series) File() string { return s.current.path }

// Size returns how many bytes were written to all sessions.
func (s *Series) Size() int64 { return s.bytes + s.current.Size() }

// Late is that of the session that is written. It may be called beside all other methods.
func (s *Series) Late() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.Late()
}

// Note keeps an event with the session that is written.
func (s *Series) Note(e codec.Event) { s.current.Note(e) }

// Frame adds what a camera saw.
func (s *Series) Frame(c *episode.Camera, stamp int64, f episode.Frame) error {
	return s.say(s.current.Frame(c, stamp, f))
}

// Sample adds a sample of a vector.
func (s *Series) Sample(a *episode.Arm, v *align.Vector, stamp int64, values []float64) error {
	return s.say(s.current.Sample(a, v, stamp, values))
}

func (s *Series) say(err error) error {
	if err != nil {
		s.said = err
	}
	return err
}

// Sync puts everything so far on the disk. It may be called beside all other methods.
func (s *Series) Sync() error {
	s.mu.Lock()
	w := s.current
	s.mu.Unlock()
	return w.Sync()
}

// Split has what comes now go to another session. A task, unless it is "", is what is done in it; with one, a session
// that has nothing yet is that session. The session before is completed beside; Split waits for the one before that.
// When there cannot be another session, the one before goes on.
func (s *Series) Split(task string) error {
	if task != "" && s.current.taken == 0 {
		s.current.options.Task = task
		return nil
	}
	s.wait()
	o := s.options
	o.Overwrite = false
	if task != "" {
		o.Task = task
	}
	var w *Writer
	for {
		s.number++
		path := fmt.Sprintf("%s_%d", s.path, s.number)
		if _, err := os.Lstat(path); err == nil {
			continue // somebody else's
		}
		var err error
		if w, err = Create(path, o); err != nil {
			return err
		}
		break
	}
	before, said := s.current, s.said
	s.bytes, s.said = s.Size(), nil
	closing := make(chan struct{})
	s.mu.Lock()
	s.current, s.closing = w, closing
	s.mu.Unlock()
	go func() {
		defer close(closing)
		s.finish(before, said)
	}()
	return nil
}

// finish completes a session, of which an error was said before unless that is nil.
func (s *Series) finish(w *Writer, said error) {
	err := w.Close()
	info := w.info()
	if said != nil && errors.Is(err, said) {
		s.completed(info, nil)
		return
	}
	s.mu.Lock()
	if err != nil {
		s.failures = append(s.failures, err)
	} else {
		s.complete[w.path] = true
	}
	s.mu.Unlock()
	s.completed(info, err)
}

// wait waits until the session before is complete.
func (s *Series) wait() {
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	if closing != nil {
		<-closing
	}
}

// Remove deletes a session of the series that is complete.
func (s *Series) Remove(path string) error {
	path = filepath.Clean(path)
	s.mu.Lock()
	found := s.complete[path]
	delete(s.complete, path)
	s.mu.Unlock()
	if !found {
		return fmt.Errorf("remove %s: it is no complete session of this recording", path)
	}
	return remove(path)
}

// Close completes the last session.
func (s *Series) Close() error {
	s.wait()
	if !s.closed {
		s.closed = true
		s.finish(s.current, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) == 1 {
		return s.failures[0]
	}
	return errors.Join(s.failures...)
}

// info returns what was written.
func (w *Writer) info() codec.FileInfo {
	return codec.FileInfo{Path: w.path, Size: w.Size(), MessageCount: w.taken, StartTime: w.start, EndTime: w.end}
}
