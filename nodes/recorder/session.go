package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// errNotRecording is what is answered to who wants something of a recording when there is none.
var errNotRecording = errors.New("nothing is being recorded")

// session is one recording, from its start until it is stopped.
type session struct {
	name    string // without the endings that the storage adds
	path    string // "" in snapshot mode
	sink    *sink  // nil in snapshot mode
	started time.Time
	ctx     context.Context // ends when the recording is to end
	end     context.CancelFunc

	stopSink chan struct{}
	workers  sync.WaitGroup
	failed   chan error // has room for all
}

// newSession creates the recording of that name. It is not written to before run.
func (r *recorder) newSession(name string) (*session, error) {
	s := &session{name: name, started: time.Now(), stopSink: make(chan struct{}), failed: make(chan error, 2)}
	s.ctx, s.end = context.WithCancel(context.Background())
	if r.options.SnapshotMode {
		return s, nil
	}
	w, path, err := create(&r.options, name, nil)
	if err != nil {
		return nil, err
	}
	s.path = path
	s.sink = newSink(r.queue, w)
	s.sink.announce = r.announceSplit
	return s, nil
}

// run starts what writes. failed hears of the first error; the session is to be closed then.
func (s *session) run(syncInterval time.Duration, failed func()) {
	if s.sink == nil {
		return
	}
	work := func(f func() error) {
		s.workers.Go(func() {
			if err := f(); err != nil {
				s.failed <- err
				failed()
			}
		})
	}
	work(func() error { return s.sink.run(s.stopSink) })
	work(func() error { return s.syncEvery(syncInterval) })
}

// syncEvery puts what was written on the disk, every period, until the session ends.
func (s *session) syncEvery(period time.Duration) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-s.stopSink:
			return nil
		case <-tick.C:
			if err := s.sink.writer.Sync(); err != nil {
				return err
			}
		}
	}
}

// close writes what is queued and completes the recording. Nothing is received any more.
func (s *session) close() (err error) {
	close(s.stopSink)
	s.workers.Wait()
	if s.sink == nil {
		return nil
	}
	select {
	case err = <-s.failed:
	default:
	}
	s.sink.discard()
	if err == nil {
		err = s.sink.writer.Sync() // Close then keeps to it
	}
	if closeErr := s.sink.writer.Close(); !errors.Is(err, closeErr) {
		err = errors.Join(err, closeErr)
	}
	return err
}

// start begins a recording of that name, "" for one by the time, after stop.
func (r *recorder) start(name string) error {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
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
	r.streams = map[streamKey]*recording{}
	r.mu.Unlock()
	r.session.Store(s)
	r.begin(s)
	return nil
}

// begin has a new session subscribe and write. r.lifecycle is held, or nobody else is there yet.
func (r *recorder) begin(s *session) {
	s.run(r.options.ChunkDuration, r.quit)
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
	s := r.session.Load()
	s.end()
	r.mu.Lock()
	r.active = false
	r.mu.Unlock()
	r.unsubscribe()
	closed := r.file()
	err := s.close()
	if err != nil {
		r.recount()
	}
	r.announceSplit(closed, "")
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

// file returns the path of the file that is being written.
func (r *recorder) file() string {
	if s := r.session.Load(); s != nil && s.sink != nil {
		return s.sink.file()
	}
	return ""
}

// split has the recording go on in another file. What was received before is in the closed one.
func (r *recorder) split() (closed, opened string, err error) {
	s := r.session.Load()
	if !r.recording() || s.sink == nil {
		return "", "", errNotRecording
	}
	return s.sink.requestSplit()
}

// announceSplit tells onSplit that a file was closed and another one opened, "" at the end of a recording.
func (r *recorder) announceSplit(closed, opened string) {
	if opened != "" {
		r.node.Log(bridge.Info, "recording goes on in %s", opened)
	}
	for _, hook := range r.onSplit {
		hook(closed, opened)
	}
}

// recount counts what is in the recording. After an error of the disk that is less than what was written.
func (r *recorder) recount() {
	s := r.session.Load()
	if s.sink == nil {
		return
	}
	reader, err := codec.Open(s.path)
	if err != nil {
		return
	}
	defer reader.Close()
	info, err := reader.Info()
	if err != nil {
		return
	}
	s.sink.bytes.Store(uint64(info.Size))
	for _, topic := range info.Topics {
		if rec := r.streams[streamKey{topic.Channel.Topic, topic.Channel.Type}]; rec != nil {
			rec.written.Store(topic.MessageCount)
			rec.dropped.Store(rec.received.Load() - topic.MessageCount)
		}
	}
}

// report says what became of a session that was closed.
func (r *recorder) report(s *session, reason string) {
	t := r.totals()
	for _, text := range t.droppedByTopic {
		r.node.Log(bridge.Warn, "%s", text)
	}
	for _, topic := range r.unheard() {
		r.node.Log(bridge.Warn, "nothing was recorded of %s: nobody published it", topic)
	}
	if reason != "" {
		r.node.Log(bridge.Info, "stopped: %s", reason)
	}
	if s.path != "" {
		fmt.Fprintf(r.out, "recorded %s: %s\n", s.path, t)
	} else {
		fmt.Fprintf(r.out, "kept for snapshots: %s\n", t)
	}
}
