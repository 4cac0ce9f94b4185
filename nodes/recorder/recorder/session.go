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

// session is one recording, from its start until it is stopped.
type session struct {
	recorder *recorder
	recorded func() []*subscription.Topic
	name     string // at the start
	started  time.Time
	ctx      context.Context // is done when the recording ends, with errNotRecording
	end      context.CancelCauseFunc

	writer  *filewriter.Writer     // nil in snapshot mode, as what follows
	output  atomic.Pointer[output] // set by the goroutine of writer
	outputs []*output              // all of them; belongs to the goroutine of writer, and at the end to report
	next    *output                // that onSplit puts in place; belongs to the goroutine of writer
	guard   *diskguard.Guard
	live    *contract.Live // nil: nothing is expected

	begun    bool          // under the recorder's lifecycle
	stopping chan struct{} // closed to end workers
	workers  sync.WaitGroup
	complete chan struct{} // closed when all files are complete
	guarding sync.WaitGroup

	err       atomic.Pointer[error]  // the first
	limit     atomic.Pointer[string] // that is reached and ends it; nil: none is
	began     atomic.Int64           // log time at which the recording begins that is written; 0: it was not begun
	paused    atomic.Int64           // log time since which recording is paused; 0: it is not
	collected int64                  // log time until which losses are noted; belongs to the goroutine of writer
	reported  sync.Map               // errors of files, each a *codec.MissingError
}

// create begins a recording of that name.
func (s *session) create(o *options, name string) (*output, error) {
	r := s.recorder
	out := &output{name: name}
	out.files = diskguard.NewSplits(r.options.MaxBagFiles, func(path string) error {
		err := out.Remove(path)
		if r.uploads != nil && errors.Is(err, fs.ErrNotExist) { // it was deleted once it was uploaded
			return nil
		}
		return err
	}, s.deleted)
	completed := func(f codec.FileInfo, err error) { s.completed(out, f, err) }
	options := codec.CreateOptions{Disk: r.disk, Metadata: r.metadata, Completed: completed,
		Ending: func(path string, missing *codec.MissingError) []codec.Event { return s.writer.Ending(path, missing) }}
	if r.options.SplitNames == namesTime {
		options.Dated = time.Now
	}
	if err := out.create(o, &r.settings, options); err != nil {
		return nil, err
	}
	if file := out.File(); options.Dated != nil && filepath.Dir(file) != filepath.Clean(out.path) {
		out.path = file // and not the folder of a bag
	}
	if r.uploads != nil && out.robot == nil {
		out.sent = r.uploads.Begin(out.path, false)
	}
	return out, nil
}

// beginNext begins the recording that onSplit puts in place.
func (s *session) beginNext(name string) (filewriter.Output, error) {
	o := s.recorder.options
	o.Overwrite = false // which is for the first recording, and could hit the one that is written
	next, err := s.create(&o, name)
	if err != nil {
		return filewriter.Output{}, err
	}
	s.next = next
	return next.Output, nil
}

// path returns the path of the recording that is written, "" in snapshot mode.
func (s *session) path() string {
	if out := s.output.Load(); out != nil {
		return out.path
	}
	return ""
}

// late reports whether encoding pictures has held up the writing.
func (s *session) late() bool {
	out := s.output.Load()
	return out != nil && out.robot != nil && out.robot.Late() > 0
}

// newSession creates the recording of that name. It is not written to before run.
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
	s.output.Store(out)
	s.outputs = []*output{out}
	s.guard.RemoveOldest = func() (string, bool, error) { return s.output.Load().files.RemoveOldest() }
	if o.LowSpaceAction == diskguard.DeleteUploaded {
		s.guard.RemoveOldest = r.uploads.RemoveOldest
	}
	live := &filewriter.Live{Queue: r.queue, Reorder: o.reorder(), Delivered: r.node.Delivered}
	s.writer = filewriter.New(live, out.Output, filewriter.Callbacks{
		OnFileEnd: s.onFileEnd, Recorded: s.counted, NoteLosses: s.noteLosses, Now: r.clock.Now,
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

// run starts what writes. The owner calls it.
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

// fail ends the recording for an error; the first one counts.
func (s *session) fail(err error) {
	s.err.CompareAndSwap(nil, &err)
	s.recorder.quit()
}

// failure returns the error that ended the recording, nil if none has.
func (s *session) failure() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// reorder returns how long messages wait for earlier ones of other topics.
func (o *options) reorder() time.Duration {
	switch o.Sync {
	case syncAlways:
		return filewriter.Pace
	case syncInterval:
		return min(queue.Reorder, o.SyncInterval/4)
	}
	return queue.Reorder
}

// syncRegularly syncs so often that a message is on the disk sync_interval after it was received.
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

// completed is codec.CreateOptions.Completed of an output.
func (s *session) completed(out *output, f codec.FileInfo, err error) {
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
	default: // a session is complete by itself
		uploads.Begin(f.Path, false).End()
	}
	s.guard.Owner.Post(func() { out.files.Completed(f.Path) })
	s.recorder.owner.Post(func() { s.recorder.announcer.fileCompleted(f.Path, err) })
}

// deleted is called for each file that was to be deleted because of max_bag_files.
func (s *session) deleted(path string, err error) {
	if err != nil {
		s.recorder.node.Log(bridge.Error, "cannot delete %s, which exceeds max_bag_files: %v", path, err)
	}
}

// close writes what is queued and completes the recording. Nothing is received any more.
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

// finish closes an output, and keeps the first error.
func (s *session) finish(out *output) {
	note := func(err error) {
		if err != nil && !errors.Is(s.failure(), err) {
			s.onError(err)
			s.err.CompareAndSwap(nil, &err)
		}
	}
	if s.failure() == nil && s.recorder.options.Sync != syncNone {
		note(out.Sync()) // Close then keeps to it
	}
	note(s.final(out.Close()))
	if out.sent != nil {
		out.sent.End()
	}
}

// final returns the part of an error of Close that ends the recording. It leaves out that messages of earlier files
// are missing, if the recording was to go on after that: they are counted as dropped.
func (s *session) final(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, e := range joined.Unwrap() {
			list = append(list, s.final(e))
		}
		return errors.Join(list...)
	}
	//nolint:errorlint // an error that wraps one may wrap others, too
	if missing, ok := err.(*codec.MissingError); ok && missing.Path != s.writer.File() && s.guard.Waits(err) {
		return nil
	}
	return err
}

// onSplit is called when the writer has begun another file, at the log time t.
func (s *session) onSplit(closed, opened string, t int64) {
	if s.next == nil {
		s.guard.Owner.Post(s.output.Load().files.Begun)
	} else {
		s.replace(t)
	}
	s.note(codec.SplitEvent(closed, t))
	s.recorder.node.Log(bridge.Info, "recording continues in %s", opened)
	s.recorder.announceSplit(closed, opened)
}

// replace puts the next output, which begins at the log time t, in the place of the present one.
func (s *session) replace(t int64) {
	began := s.began.Swap(t)
	if s.live != nil {
		s.live.Restart(s.recorder.contractTime(time.Now()), began, t)
	}
	s.guard.Move(filepath.Dir(s.next.path))
	before := s.output.Swap(s.next)
	s.outputs = append(s.outputs, s.next)
	s.next = nil
	s.workers.Go(func() { s.finish(before) })
}

// onError reports an error of writing or completing files.
func (s *session) onError(err error) {
	r := s.recorder
	var missing *codec.MissingError
	if !errors.As(err, &missing) {
		s.note(codec.Event{Kind: codec.EventDisk, Time: r.clock.Now(), Text: err.Error()})
	} else if _, reported := s.reported.LoadOrStore(missing, true); reported { // the file itself says what is missing
		return
	}
	if s.guard.Waits(err) { // else it is what the recording ends with
		r.node.Log(bridge.Error, "%v", err)
	}
}

// onRefused warns why a message of a topic, or what goes with messages, cannot be written.
func (s *session) onRefused(t *queue.Topic, err error) {
	what := ""
	if t != nil {
		what = t.Name()
		s.recorder.refused.Add(1)
		s.recorder.refusals.Store(what, err.Error())
	}
	s.recorder.warn("refused "+what, "%v", err)
}

// onRepeats warns that much of each file are messages of files before.
func (s *session) onRepeats(bytes int64) {
	s.recorder.warn("repeats", "each file begins with %s of repeated latched messages, more than a tenth of "+
		"max_bag_size, which does not count them; use a larger one, or --repeat-latched=false", human.Bytes(bytes))
}

// endAt ends the recording at a limit.
func (s *session) endAt(limit string) {
	s.limit.Store(&limit)
	s.recorder.quit()
}
