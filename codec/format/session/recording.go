package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/training/episode"
)

// Recording is a codec.Writer that writes sessions one after the other. The first session is the folder NAME; the next
// ones are NAME_1, NAME_2 and so on.
type Recording struct {
	*output.Recording
	options  Options
	task     string                 // task of the next session
	another  bool                   // the next session begins another episode
	sessions []*Writer              // all sessions of the current episode, or of the last one after Close
	writer   atomic.Pointer[Writer] // the current session, or the last one after Close
	bytes    int64                  // bytes of all sessions before writer

	discarded atomic.Int64 // number of discarded episodes

	mu   sync.Mutex // guards lost
	lost codec.LossCounts
}

var _ codec.Writer = (*Recording)(nil)

// Record begins a recording with a session in the folder path. With o.Overwrite, this folder may exist; the folders of
// further sessions may not. completed is codec.CreateOptions.Completed.
func Record(path string, o Options, completed func(codec.FileInfo, error)) (*Recording, error) {
	path = filepath.Clean(path)
	r := &Recording{options: o, task: o.Task, lost: codec.LossCounts{}}
	r.options.Lost = func(topic, what string, images uint64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lost.Add(topic, what, images)
	}
	format := output.Format{Open: r.open, Name: output.ShortNames(path, "", o.Dated)}
	if o.Dated != nil {
		path = format.Name(0)
	}
	disk := folders{cmp.Or[codec.Disk](o.Disk, codec.OS{})}
	var err error
	r.Recording, err = output.NewRecording(disk, format, path, completed)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// folders is a disk whose Remove removes a session, which is a folder.
type folders struct{ codec.Disk }

// Remove implements codec.Disk.
func (d folders) Remove(path string) error { return remove(d.Disk, path) }

// open is output.Format.Open: it begins the next session.
func (r *Recording) open(path string, _ output.FileWriter) (output.FileWriter, error) {
	o, before := r.options, r.writer.Load()
	o.Task, o.Overwrite = r.task, before == nil && o.Overwrite
	if before != nil && !r.another { // the episode continues
		o.Task, o.Discarded = before.options.Task, before.discarded
	}
	w, err := Create(path, o)
	if err != nil {
		return nil, err
	}
	if before != nil {
		w.channels = before.declared()
		r.bytes += before.Size()
	}
	if r.another {
		r.sessions = nil
	}
	r.sessions = append(r.sessions, w)
	r.writer.Store(w)
	return w, nil
}

// Discard marks the current episode as discarded, or the last episode after Close. It returns the paths of the
// episode's sessions, without removed sessions.
func (r *Recording) Discard() (paths []string, err error) {
	before := r.writer.Load().discarded
	for _, w := range r.sessions {
		switch err := w.Discard(); {
		case err == nil:
			paths = append(paths, w.path)
		case !errors.Is(err, fs.ErrNotExist):
			return paths, err
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("discard %s: %w", r.File(), fs.ErrNotExist)
	}
	if !before {
		r.discarded.Add(1)
	}
	return paths, nil
}

// Discarded returns how many episodes were discarded. It may be called concurrently with all other methods.
func (r *Recording) Discarded() int { return int(r.discarded.Load()) }

// Frame calls Writer.Frame of the current session.
func (r *Recording) Frame(c *episode.Camera, stamp int64, f episode.Frame) error {
	return r.Check(r.writer.Load().Frame(c, stamp, f))
}

// Sample calls Writer.Sample of the current session.
func (r *Recording) Sample(a *episode.Arm, role episode.Role, stamp int64, values []float64) error {
	return r.Check(r.writer.Load().Sample(a, role, stamp, values))
}

// SplitTask begins a session of another episode with a task; "" is the task of the options. If the current session has
// neither frames nor samples and does not continue an episode, SplitTask only sets the session's task.
func (r *Recording) SplitTask(task string) error {
	w := r.writer.Load()
	if task != "" && w.taken == 0 && len(r.sessions) == 1 && !w.discarded {
		w.options.Task = task
		return nil
	}
	if task != "" {
		r.task = task
		defer func() { r.task = r.options.Task }()
	}
	r.another = true
	defer func() { r.another = false }()
	return r.Split()
}

// Size returns how many bytes were written to all sessions.
func (r *Recording) Size() int64 { return r.bytes + r.writer.Load().Size() }

// Losses implements codec.Writer. It returns the losses of images in completed sessions.
func (r *Recording) Losses() []codec.Loss {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost.Losses()
}

// Late returns Writer.Late of the current session. It may be called concurrently with all other methods.
func (r *Recording) Late() uint64 { return r.writer.Load().Late() }
