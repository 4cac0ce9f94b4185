package recorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/fleet/contract"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/subscription"
)

// errNotRecording is returned when no recording is running.
var errNotRecording = subscription.ErrInactive

// errEnds is returned when a recording is started while the recorder ends.
var errEnds = errors.New("the recorder is shutting down")

// session lasts from the start of a recording until it is stopped. A split with a new name begins another output within
// the session.
type session struct {
	recorder *recorder
	recorded func() []*subscription.Topic
	name     string // name of the first output
	started  time.Time
	ctx      context.Context // ends with the session, with the cause errNotRecording
	end      context.CancelCauseFunc

	writer  *filewriter.Writer     // nil in snapshot mode
	output  atomic.Pointer[output] // current output, nil in snapshot mode; set by the goroutine of writer
	outputs []*output              // all outputs; belongs to the goroutine of writer, and to report after its end
	guard   *diskguard.Guard       // nil in snapshot mode
	live    *contract.Live         // nil: there is no contract

	begun    bool           // guarded by recorder.lifecycle
	stopping chan struct{}  // closed to end workers
	workers  sync.WaitGroup // goroutines that write, sync and finish outputs
	complete chan struct{}  // closed when all files are complete
	guarding sync.WaitGroup // goroutine of guard

	err       atomic.Pointer[error]  // first error
	limit     atomic.Pointer[string] // limit that was reached and ends the session; nil: none was
	began     atomic.Int64           // log time at which the current output begins; 0: run was not called
	paused    atomic.Int64           // log time at which the pause began; 0: recording is not paused
	collected int64                  // log time until which losses are noted; belongs to the goroutine of writer
	reported  sync.Map               // each *codec.MissingError that onError handled
}

// create creates an output.
func (s *session) create(o *options, name string) (*output, error) {
	r := s.recorder
	out := &output{name: name}
	out.files = diskguard.NewSplits(r.options.MaxBagFiles, func(path string) error {
		err := out.Remove(path)
		if r.uploads != nil && errors.Is(err, fs.ErrNotExist) { // the file was deleted after its upload
			return nil
		}
		return err
	}, s.deleted)
	completed := func(f codec.FileInfo, err error) { s.onFileComplete(out, f, err) }
	options := codec.CreateOptions{Disk: r.disk, Metadata: r.metadata, Completed: completed,
		Ending: func(path string, missing *codec.MissingError) []codec.Event { return s.writer.Ending(path, missing) }}
	if r.options.SplitNames == namesTime {
		options.Dated = time.Now
	}
	if err := out.create(o, &r.settings, options); err != nil {
		return nil, err
	}
	if file := out.File(); options.Dated != nil && filepath.Dir(file) != filepath.Clean(out.path) {
		out.path = file // the path of a bag stays its folder
	}
	if r.uploads != nil && out.robot == nil {
		out.sent = r.uploads.Begin(out.path, false)
	}
	return out, nil
}

// createNext creates an output that takes the place of the current one.
func (s *session) createNext(name string) (*filewriter.Successor, error) {
	o := s.recorder.options
	o.Overwrite = false // overwriting could hit the current output
	next, err := s.create(&o, name)
	if err != nil {
		return nil, err
	}
	return &filewriter.Successor{SizedWriter: next.SizedWriter, OnBegin: func(t int64) { s.replace(next, t) }}, nil
}

// path returns the path of the current output, "" in snapshot mode.
func (s *session) path() string {
	if out := s.output.Load(); out != nil {
		return out.path
	}
	return ""
}

// late reports whether PNG encoding could not keep up.
func (s *session) late() bool {
	out := s.output.Load()
	return out != nil && out.robot != nil && out.robot.Late() > 0
}

// newSession creates a session and its first output. Nothing is written before run.
func (r *recorder) newSession(name string) (*session, error) {
	s := &session{
		recorder: r, recorded: r.topics.Topics, name: name, started: time.Now(),
		stopping: make(chan struct{}), complete: make(chan struct{}),
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	if r.expected != nil {
		s.live = contract.NewLive(r.expected, r.contractTime(s.started))
	}
	if r.options.SnapshotMode {
		return s, nil
	}
	o := &r.options
	s.guard = &diskguard.Guard{
		Owner: owner.New(),
		Disk:  r.disk, Path: filepath.Dir(o.format().Path(name)), Reserve: r.reserve,
		Action: o.LowSpaceAction,
		Log:    r.node.Log, Note: s.note, Stamp: r.clock.Now, Fail: s.fail,
	}
	if err := s.guard.Begin(); err != nil {
		return nil, err
	}
	out, err := s.create(&r.options, name)
	if err != nil {
		return nil, err
	}
	out.files.Begun()
	s.output.Store(out)
	s.outputs = []*output{out}
	s.guard.RemoveOldest = func() (string, bool, error) { return s.output.Load().files.RemoveOldest() }
	if o.LowSpaceAction == diskguard.DeleteUploaded {
		s.guard.RemoveOldest = r.uploads.RemoveOldest
	}
	live := &filewriter.LiveReader{Queue: r.queue, Reorder: o.reorder(), Delivered: r.node.Delivered}
	s.writer = filewriter.New(live, out.SizedWriter, filewriter.Callbacks{
		OnFileEnd: s.onFileEnd, Recorded: s.countedTopics, NoteLosses: s.noteLosses, Now: r.clock.Now,
		Latched: r.latched,
		OnSplit: s.onSplit, OnError: s.onError, OnRefused: s.onRefused, OnLimit: s.endAt, OnRepeats: s.onRepeats,
		OnEvent: r.page.note,
	})
	s.writer.Guard, s.writer.KeepsState = s.guard, r.composer != nil
	s.writer.Files = series.SplitLimits{Bytes: int64(o.MaxBagSize), Duration: o.MaxBagDuration,
		Messages: o.MaxBagMessages}
	s.writer.MaxBytes, s.writer.MaxMessages = int64(o.MaxRecordingSize), o.MaxRecordingMessages
	s.writer.SyncAlways = o.Sync == syncAlways
	return s, nil
}

// run starts the goroutines of the session. The owner calls it.
func (s *session) run() {
	r := s.recorder
	now := r.clock.Now()
	s.began.Store(now)
	s.collected = now
	if r.topics.Paused() {
		s.paused.Store(now)
	}
	if limit := r.options.MaxDuration; limit > 0 {
		timer := time.AfterFunc(limit, func() { s.endAt(fmt.Sprintf("%v are over", limit)) })
		context.AfterFunc(s.ctx, func() { timer.Stop() })
	}
	if s.writer == nil {
		return
	}
	s.workers.Go(func() {
		if err := s.writer.Run(s.stopping); err != nil {
			s.fail(err)
		}
	})
	if r.options.Sync == syncInterval {
		s.workers.Go(s.syncRegularly)
	}
	s.guarding.Go(func() { s.guard.Run(s.stopping, s.complete) })
}

// fail ends the recorder because of an error. The session keeps the first error.
func (s *session) fail(err error) {
	s.err.CompareAndSwap(nil, &err)
	s.recorder.quit()
}

// failure returns the first error of the session, nil if there was none.
func (s *session) failure() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// reorder returns how long messages wait for earlier messages of other topics.
func (o *options) reorder() time.Duration {
	switch o.Sync {
	case syncAlways:
		return filewriter.Pace
	case syncInterval:
		return min(queue.Reorder, o.SyncInterval/4)
	}
	return queue.Reorder
}

// syncRegularly syncs often enough that a message is on the disk sync_interval after its reception.
func (s *session) syncRegularly() {
	o := &s.recorder.options
	tick := time.NewTicker(max(o.SyncInterval-o.reorder()-2*filewriter.Pace, o.SyncInterval/2))
	defer tick.Stop()
	for {
		select {
		case <-s.stopping:
			return
		case <-tick.C:
			s.writer.Sync()
		}
	}
}

// onFileComplete implements codec.CreateOptions.Completed for an output.
func (s *session) onFileComplete(out *output, f codec.FileInfo, err error) {
	if err != nil {
		s.onError(fmt.Errorf("complete %s: %w", f.Path, err))
	} else {
		s.recorder.node.Log(bridge.Debug, "completed %s: %s, %s", f.Path, human.Count(f.MessageCount, "message"),
			human.DiskBytes(f.Size))
	}
	switch uploads := s.recorder.uploads; {
	case err != nil || uploads == nil:
	case out.sent != nil:
		out.sent.Completed(f)
	default: // each split of the storage session is a recording of its own
		uploads.Begin(f.Path, false).End()
	}
	s.guard.Owner.Post(func() { out.files.Completed(f.Path) })
	s.recorder.owner.Post(func() { s.recorder.announcer.fileCompleted(f.Path, err) })
}

// deleted logs an error of deleting a file that exceeds max_bag_files.
func (s *session) deleted(path string, err error) {
	if err != nil {
		s.recorder.node.Log(bridge.Error, "cannot delete %s, which exceeds max_bag_files: %v", path, err)
	}
}

// close writes the queued messages and completes the recording. The topics must not receive any more.
func (s *session) close() error {
	close(s.stopping)
	s.workers.Wait()
	if s.writer != nil {
		s.writer.Discard()
		s.finish(s.output.Load())
		close(s.complete)
		s.guarding.Wait()
		if s.failure() != nil {
			s.recorder.quit()
		}
	}
	return s.failure()
}

// finish closes an output. The session keeps its first error.
func (s *session) finish(out *output) {
	note := func(err error) {
		if err != nil && !errors.Is(s.failure(), err) {
			s.onError(err)
			s.err.CompareAndSwap(nil, &err)
		}
	}
	if s.recorder.options.Sync != syncNone {
		note(out.Sync()) // Close then syncs, too, also after a failure: the last file gets its name
	}
	note(s.final(out.Close()))
	if out.sent != nil {
		out.sent.End()
	}
}

// final returns the parts of an error of Close that end the recording. It leaves out messages missing in earlier files
// if low_space_action lets the recording go on after such an error: they count as dropped.
func (s *session) final(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, e := range joined.Unwrap() {
			list = append(list, s.final(e))
		}
		return errors.Join(list...)
	}
	//nolint:errorlint // an error that wraps a MissingError may wrap other errors
	if missing, ok := err.(*codec.MissingError); ok && missing.Path != s.writer.File() && s.guard.Waits(err) {
		return nil
	}
	return err
}

// onSplit is called when the writer has begun another file, at the log time t, of the current output.
func (s *session) onSplit(closed, opened string, t int64) {
	s.guard.Owner.Post(s.output.Load().files.Begun)
	s.note(codec.SplitEvent(closed, t))
	s.recorder.node.Log(bridge.Info, "recording continues in %s", opened)
	s.recorder.announceSplit(closed, opened)
}

// replace makes next the current output, which begins at the log time t. The goroutine of writer calls it.
func (s *session) replace(next *output, t int64) {
	began := s.began.Swap(t)
	if s.live != nil {
		s.live.Restart(s.recorder.contractTime(time.Now()), began, t)
	}
	s.guard.Move(filepath.Dir(next.path))
	before := s.output.Swap(next)
	s.outputs = append(s.outputs, next)
	s.workers.Go(func() { s.finish(before) })
}

// onError reports an error of writing or completing files.
func (s *session) onError(err error) {
	r := s.recorder
	var missing *codec.MissingError
	if !errors.As(err, &missing) {
		s.note(codec.Event{Kind: codec.EventDisk, Time: r.clock.Now(), Text: err.Error()})
	} else if _, reported := s.reported.LoadOrStore(missing, true); reported {
		return // the totals of the file count what is missing
	}
	if s.guard.Waits(err) { // else the recording ends with this error
		r.node.Log(bridge.Error, "%v", err)
	}
}

// onRefused warns why a message of a topic cannot be written or, if t is nil, an event or a channel.
func (s *session) onRefused(t *queue.Topic, err error) {
	topic := ""
	if t != nil {
		topic = t.Name()
		s.recorder.refused.Add(1)
		s.recorder.refusals.Store(topic, err.Error())
	}
	s.recorder.warn("refused "+topic, "%v", err)
}

// onRepeats warns that repeated latched messages take much of each file.
func (s *session) onRepeats(bytes int64) {
	s.recorder.warn("repeats", "each file begins with %s of repeated latched messages, more than a tenth of "+
		"max_bag_size, which does not count them; use a larger one, or --repeat-latched=false", human.Bytes(bytes))
}

// endAt ends the recording because a limit is reached.
func (s *session) endAt(limit string) {
	s.limit.Store(&limit)
	s.recorder.quit()
}
