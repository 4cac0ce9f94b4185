package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/nodes/recorder/internal/filewriter"
)

// start begins another recording after stop. Without a name the recording is named by the time.
func (r *recorder) start(name string) error {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	if r.over {
		return errEnds
	}
	if r.recording() {
		if r.options.SnapshotMode {
			return errors.New("messages are being kept for snapshots")
		}
		return fmt.Errorf("%s is being recorded", r.path())
	}
	if name == "" {
		var err error
		name, err = r.root.Path(context.Background(), defaultName(time.Now()))
		if err != nil {
			return err
		}
	}
	s, err := r.newSession(name)
	if err != nil {
		return err
	}
	r.do(func() {
		r.topics.Reset()
		r.topics.Pause(r.options.StartPaused) // a pause ends with its recording, as in rosbag2
		r.refused.Store(0)
		r.refusals.Clear()
		r.warned.Clear()
		r.topicWarnings.Store(0)
		r.session.Store(s)
		r.begin(s)
	})
	return nil
}

// beginFirst begins the session that newRecorder created, unless that session was stopped already.
func (r *recorder) beginFirst() {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	if s := r.session.Load(); !s.begun && r.recording() {
		r.node.Log(bridge.Info, "%s", r.options.intent(s.path()))
		r.do(func() { r.begin(s) })
	}
}

// begin starts the writing and the subscriptions of a new session. The owner calls it while r.lifecycle is held.
func (r *recorder) begin(s *session) {
	s.begun = true
	s.run()
	r.announcer.fileOpened(r.file())
	r.topics.Start(s.ctx)
}

// stop ends the recording and logs the reason. When stop returns, everything received before is in the files. Another
// recording may start.
func (r *recorder) stop(reason string) error {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	if !r.recording() {
		return errNotRecording
	}
	return r.end(reason)
}

// finish ends the recording, if one is running. No other one can start.
func (r *recorder) finish() {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	r.over = true
	if r.recording() {
		_ = r.end("") // r.failed has the error
	}
}

// end ends the recording. r.lifecycle is held.
func (r *recorder) end(reason string) error {
	s := r.session.Load()
	r.do(func() {
		s.end(errNotRecording)
		r.topics.Stop()
	})
	err := s.close()
	r.failed = errors.Join(r.failed, err)
	if r.snapshots != nil {
		r.snapshots.Finish()
	}
	if closed := r.file(); closed != "" {
		r.announceSplit(closed, "")
	}
	r.do(func() { r.report(s, reason) })
	return err
}

// recording reports whether a recording is running, or about to begin.
func (r *recorder) recording() bool {
	s := r.session.Load()
	return s != nil && s.ctx.Err() == nil
}

// path returns the path of the running recording, or else of the last one; "" in snapshot mode.
func (r *recorder) path() string {
	if s := r.session.Load(); s != nil {
		return s.path()
	}
	return ""
}

// file returns the path of the file that is being written. The file has this path once it is complete.
func (r *recorder) file() string {
	if s := r.session.Load(); s != nil && s.writer != nil {
		return s.writer.File()
	}
	return ""
}

// split starts another file of the recording. Messages received before are in the closed one.
func (r *recorder) split() (closed, opened string, err error) { return r.continueIn("") }

// continueIn ends the recording and begins one with another name, without losing a message. For "" it starts another
// file of the recording. If it fails, the recording goes on unchanged.
func (r *recorder) continueIn(name string) (closed, opened string, err error) {
	s := r.session.Load()
	var next func() (*filewriter.Successor, error)
	switch {
	case !r.recording() || s.writer == nil:
		return "", "", errNotRecording
	case name != "" && r.options.format().Robot != nil:
		return "", "", errors.New("each split of a session is a folder of its own already; leave out the name")
	case name != "":
		next = func() (*filewriter.Successor, error) { return s.createNext(name) }
	}
	return s.writer.Split(s.ctx, bridge.Now(), next)
}

// discard marks the episode that is being recorded, or else the one that ended last, as discarded. It returns a
// description of the episode, which has all messages received before the call. Nothing is deleted.
func (r *recorder) discard() (string, error) {
	if r.options.SnapshotMode {
		return "", errors.New("snapshots have no episodes; record without --snapshot-mode, with --storage session")
	}
	if r.options.format().Robot == nil {
		return "", fmt.Errorf("recordings of %s have no episodes; record with --storage session, which has",
			r.options.format().Name)
	}
	s := r.session.Load()
	var what string
	var paths []string
	discard := func() (err error) {
		what, paths, err = s.output.Load().robot.Discard()
		return err
	}
	err := errNotRecording
	if r.recording() {
		err = s.writer.Do(s.ctx, bridge.Now(), discard)
	}
	if errors.Is(err, errNotRecording) { // the recording may have ended since r.recording was called
		r.lifecycle.Lock()
		defer r.lifecycle.Unlock()
		if s != r.session.Load() || r.recording() {
			return "", errors.New("another recording has begun meanwhile; nothing is discarded")
		}
		err = discard()
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; it was moved or deleted", err)
	}
	if err != nil {
		return "", err
	}
	text, complete := what, false
	for _, path := range paths {
		text += ", " + absolute(path)
		complete = complete || !r.recording() || path != r.file()
	}
	if complete && r.uploads != nil {
		text += "; a copy that is uploaded already is not marked, 'recorder upload --overwrite' replaces it"
	}
	r.node.Log(bridge.Info, "discarded %s", text)
	return text, nil
}

// discarded returns how many episodes of the recording were discarded.
func (r *recorder) discarded() int {
	if out := r.session.Load().output.Load(); out != nil && out.robot != nil {
		return out.robot.Discarded()
	}
	return 0
}

// announceSplit makes the owner call the functions in onSplit.
func (r *recorder) announceSplit(closed, opened string) {
	r.owner.Post(func() {
		for _, hook := range r.onSplit {
			hook(closed, opened)
		}
	})
}

// report logs and prints the summary of a session that was closed. The owner calls it while r.lifecycle is held.
func (r *recorder) report(s *session, reason string) {
	t := r.totals()
	for _, text := range t.droppedByTopic {
		r.node.Log(bridge.Warn, "%s", text)
	}
	r.reportUnheard()
	r.reportContract(s)
	if limit := s.limit.Load(); limit != nil {
		reason = cmp.Or(reason, *limit) // the limit may be reached while the recording is stopped for another reason
	}
	if reason != "" {
		r.node.Log(bridge.Info, "stopped: %s", reason)
	}
	if s.writer != nil {
		var paths []string
		var losses []codec.Loss
		for _, out := range s.outputs {
			paths, losses = append(paths, out.path), append(losses, out.Losses()...)
		}
		fmt.Fprintf(r.out, "recorded %s: %s\n", strings.Join(paths, ", "), t)
		for _, line := range lossLines(losses) {
			fmt.Fprintln(r.out, printable.Line(line))
		}
	} else {
		fmt.Fprintf(r.out, "kept for snapshots: %s\n", t)
	}
}

// reportUnheard reports the named topics of which nothing was recorded. Topics that were named at the start are an
// error, unless allow_unmatched is set; others are logged.
func (r *recorder) reportUnheard() {
	topics, why := r.topics.Unheard()
	var list []string
	for _, topic := range topics {
		if text := topic + ": " + why[topic]; r.named[topic] && r.failed == nil && !r.options.AllowUnmatched {
			list = append(list, text)
		} else {
			r.node.Log(bridge.Warn, "nothing was recorded of %s", text)
		}
	}
	if list != nil {
		r.failed = fmt.Errorf("nothing was recorded of %s (--allow-unmatched accepts that)", strings.Join(list, "; "))
	}
}

// lossLines describes the losses of a recording, one line for each kind.
func lossLines(list []codec.Loss) (lines []string) {
	var kinds []string
	topics, messages := map[string][]string{}, map[string]uint64{}
	for _, l := range list {
		if messages[l.What] == 0 {
			kinds = append(kinds, l.What)
		}
		if !slices.Contains(topics[l.What], l.Topic) {
			topics[l.What] = append(topics[l.What], l.Topic)
		}
		messages[l.What] += l.Messages
	}
	for _, what := range kinds {
		on := strings.Join(topics[what], ", ")
		if n := len(topics[what]); n > 6 {
			on = human.Count(n, "topic")
		}
		lines = append(lines, fmt.Sprintf("lost: %s (%s on %s)", what, human.Count(messages[what], "message"), on))
	}
	return lines
}

// pause suspends recording. Subscriptions and the ring for snapshots go on.
func (r *recorder) pause() { r.do(func() { r.setPaused(true) }) }

// resume ends a pause. It also records the messages that were latched meanwhile.
func (r *recorder) resume() { r.do(func() { r.setPaused(false) }) }

// setPaused pauses or resumes the topics and the session. The owner calls it.
func (r *recorder) setPaused(on bool) {
	if !r.topics.Pause(on) {
		return
	}
	if s := r.session.Load(); on {
		s.paused.Store(r.clock.Now())
	} else {
		s.notePause(r.clock.Now(), false)
	}
}
