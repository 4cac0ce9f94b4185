package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/split"
	"tapedeck/nodes/recorder/internal/accounting"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/queue"
)

// errNotRecording is what is answered to who wants something of a recording when there is none.
var errNotRecording = errors.New("nothing is being recorded")

// errEnds is returned when the recorder ends, so that what is asked for will not happen.
var errEnds = errors.New("the recorder ends")

// session is one recording, from its start until it is stopped.
type session struct {
	recorder *recorder
	name     string // without the endings that the storage adds
	path     string // "" in snapshot mode
	started  time.Time
	ctx      context.Context // ends when the recording is to end
	end      context.CancelCauseFunc

	writer  *filewriter.Writer // nil in snapshot mode, as what follows
	files   *diskguard.Splits
	guard   *diskguard.Guard
	journal accounting.EventLog

	begun    bool          // under the recorder's lifecycle
	stopping chan struct{} // closed to end workers
	workers  sync.WaitGroup

	mu        sync.Mutex
	err       error  // the first
	reason    string // why it ends
	began     int64  // log time of now, at the start
	collected int64  // log time until which losses and drops are noted
	paused    int64  // log time since which recording is paused; 0: it is not

	// The same, for the totals of files:
	open    string                          // path of the file that is being written
	failing bool                            // an error ended it
	tallied bool                            // so its totals were returned by ending
	missing map[*codec.MissingError]*missed // that were counted
	tally   map[string][]topicTally         // by topic, that ended returned
	endings map[string][]codec.Event        // by path, of files that are not completed yet
}

// newSession creates the recording of that name. It is not written to before run.
func (r *recorder) newSession(name string) (*session, error) {
	s := &session{
		recorder: r, name: name, started: time.Now(), stopping: make(chan struct{}),
		missing: map[*codec.MissingError]*missed{}, endings: map[string][]codec.Event{},
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	if r.options.SnapshotMode {
		return s, nil
	}
	o := &r.options
	s.guard = &diskguard.Guard{
		Disk: r.disk, Path: filepath.Dir(o.format().Live.Path(name)), Reserve: r.reserve,
		Action: o.LowSpaceAction,
		Log:    r.node.Log, Note: s.journal.Note, Stamp: r.clock.Now, Fail: s.fail,
	}
	if err := s.guard.Begin(); err != nil {
		return nil, err
	}
	w, path, err := create(o, &r.settings, name, r.metadata, s)
	if err != nil {
		return nil, err
	}
	s.path = path
	s.files = diskguard.NewSplits(o.MaxBagFiles, func(path string) error {
		if splitter, ok := w.(codec.Splitter); ok {
			return splitter.Remove(path)
		}
		return nil
	})
	s.guard.RemoveOldest = s.files.RemoveOldest
	s.writer = filewriter.New(r.backlog, w, &s.journal, filewriter.Callbacks{
		FileEvents: s.fileEvents, Latched: r.latched, OnEvent: s.wrote, OnSplit: s.split, OnError: s.failed,
		OnRefused: s.refused, OnLimit: s.endAt,
	})
	s.open = s.writer.File()
	s.writer.Guard = s.guard
	s.writer.Files = split.Limits{Bytes: int64(o.MaxBagSize), Duration: o.MaxBagDuration, Messages: o.MaxBagMessages}
	s.writer.MaxBytes, s.writer.MaxMessages = int64(o.MaxRecordingSize), o.MaxRecordingMessages
	switch o.Sync {
	case syncAlways:
		s.writer.SyncAlways, s.writer.Reorder = true, filewriter.Pace
	case syncInterval:
		s.writer.Reorder = min(queue.Reorder, o.SyncInterval/4)
	}
	return s, nil
}

// run starts what writes.
func (s *session) run() {
	r := s.recorder
	paused := r.paused()
	s.mu.Lock()
	s.began = r.clock.Now()
	s.collected = s.began
	if paused {
		s.paused = s.began
	}
	s.mu.Unlock()
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
	s.workers.Go(func() { s.guard.Run(s.stopping) })
	s.workers.Go(s.keepBooks)
}

// fail ends the recording for an error; the first one counts.
func (s *session) fail(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.recorder.quit()
}

// syncRegularly puts on the disk what was written, so often that a message is there sync_interval after it was
// received.
func (s *session) syncRegularly() {
	interval := s.recorder.options.SyncInterval
	tick := time.NewTicker(max(interval-s.writer.Reorder-2*filewriter.Pace, interval/2))
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

// keepBooks notes what was lost and dropped, and deletes files that are too many.
func (s *session) keepBooks() {
	tick := time.NewTicker(accounting.MergeTime)
	defer tick.Stop()
	for {
		select {
		case <-s.stopping:
			return
		case <-s.files.Changed:
			s.files.Trim(s.deleted)
		case <-tick.C:
			s.collect()
		}
	}
}

func (s *session) completed(f codec.FileInfo, err error) {
	defer func() {
		s.mu.Lock()
		delete(s.endings, strings.TrimSuffix(f.Path, codec.ActiveSuffix))
		s.mu.Unlock()
	}()
	if err != nil {
		s.failed(fmt.Errorf("complete %s: %w", f.Path, err))
	} else {
		s.recorder.node.Log(bridge.Debug, "completed %s: %d messages, %v", f.Path, f.MessageCount, diskguard.Bytes(f.Size))
	}
	s.files.Completed(f.Path)
	s.recorder.announcer.completed(f.Path, err)
}

func (s *session) deleted(path string, err error) {
	if err != nil {
		s.recorder.node.Log(bridge.Error, "delete %s, as there are more than max_bag_files: %v", path, err)
	}
}

// close writes what is queued and completes the recording. Nothing is received any more.
func (s *session) close() error {
	close(s.stopping)
	s.workers.Wait()
	if s.writer != nil {
		s.writer.Discard()
		s.files.Settle(s.deleted)
		w := s.writer.Output
		if s.err == nil && s.recorder.options.Sync != syncNone {
			s.finish(w.Sync()) // Close then keeps to it
		}
		s.finish(s.final(w.Close()))
	}
	return s.err
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

// finish notes an error at the end.
func (s *session) finish(err error) {
	if err != nil && !errors.Is(s.err, err) {
		s.failed(err)
		s.fail(err)
	}
}

// start begins a recording of that name, "" for one by the time, after stop.
func (r *recorder) start(name string) error {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	if r.over {
		return errEnds
	}
	if r.recording() {
		return fmt.Errorf("%s is being recorded", r.path())
	}
	if name == "" {
		name = defaultName(time.Now())
	}
	s, err := r.newSession(name)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.recorders = map[topicKey]*topicRecorder{}
	r.mu.Unlock()
	r.session.Store(s)
	r.begin(s)
	return nil
}

// beginFirst has the session that was there from the beginning subscribe and write, unless it was stopped before.
func (r *recorder) beginFirst() {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	if s := r.session.Load(); !s.begun && r.recording() {
		r.begin(s)
	}
}

// begin has a new session subscribe and write. r.lifecycle is held.
func (r *recorder) begin(s *session) {
	s.begun = true
	s.run()
	r.announcer.begins(r.file())
	r.mu.Lock()
	r.active, r.discovered = true, time.Now().Add(discoveryTime)
	r.mu.Unlock()
	r.look()
}

// stop ends the recording: everything received by now is in its files when it returns. The node stays, and may start
// another one. reason is for people.
func (r *recorder) stop(reason string) error {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	if !r.recording() {
		return errNotRecording
	}
	return r.end(reason)
}

// finish ends the recording, if there is one, for good.
func (r *recorder) finish() {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	r.over = true
	if r.recording() {
		_ = r.end("") // which keeps the error
	}
}

// end ends the recording. r.lifecycle is held.
func (r *recorder) end(reason string) error {
	s := r.session.Load()
	s.end(errNotRecording)
	r.mu.Lock()
	r.active = false
	r.mu.Unlock()
	r.unsubscribe()
	err := s.close()
	r.failed = errors.Join(r.failed, err)
	if r.snapshots != nil {
		r.snapshots.Finish()
	}
	if closed := r.file(); closed != "" {
		r.announceSplit(closed, "")
	}
	r.report(s, reason)
	return err
}

// recording says whether there is a recording that was not stopped.
func (r *recorder) recording() bool {
	s := r.session.Load()
	return s != nil && s.ctx.Err() == nil
}

// path returns the path of the recording, or after stop of the last one; "" in snapshot mode.
func (r *recorder) path() string {
	if s := r.session.Load(); s != nil {
		return s.path
	}
	return ""
}

// file returns the path of the file that is being written, as it is called once it is complete.
func (r *recorder) file() string {
	if s := r.session.Load(); s != nil && s.writer != nil {
		return s.writer.File()
	}
	return ""
}

// split has the recording go on in another file. What was received before is in the closed one.
func (r *recorder) split() (closed, opened string, err error) {
	s := r.session.Load()
	if !r.recording() || s.writer == nil {
		return "", "", errNotRecording
	}
	return s.writer.Split(s.ctx, time.Now().UnixNano())
}

// announceSplit tells onSplit that a file was closed and another one opened, "" at the end of a recording.
func (r *recorder) announceSplit(closed, opened string) {
	for _, hook := range r.onSplit {
		hook(closed, opened)
	}
}

// report says what became of a session that was closed.
func (r *recorder) report(s *session, reason string) {
	t := r.totals()
	for _, text := range t.droppedByTopic {
		r.node.Log(bridge.Warn, "%s", text)
	}
	for _, text := range r.unheard() {
		r.node.Log(bridge.Warn, "nothing was recorded of %s", text)
	}
	if reason = cmp.Or(reason, s.reason); reason != "" {
		r.node.Log(bridge.Info, "stopped: %s", reason)
	}
	if s.path != "" {
		fmt.Fprintf(r.out, "recorded %s: %s\n", s.path, t)
		if w, ok := s.writer.Output.(bridge.Lossy); ok {
			for _, line := range untold(w.Losses()) {
				fmt.Fprintln(r.out, line)
			}
		}
	} else {
		fmt.Fprintf(r.out, "kept for snapshots: %s\n", t)
	}
}
