package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/recorder/internal/queue"
)

// snapshot is one that is being written, or was.
type snapshot struct {
	*snapshots
	trigger
	view    *queue.View
	logTime int64         // of the trigger
	stop    chan struct{} // closed when nothing more will come
	stopped bool          // under snapshots.mu, as the next two
	firings int           // of its condition, after the first
	ignored int           // firings in the cooldown after its end

	writer  codec.Writer
	latched []*queue.Item // to be repeated at the beginning
	pending []*queue.Item // read and not yet written
	sorted  int           // the first so many of them are in order
	noted   bool          // the trigger is
	remarks []string

	done       chan struct{} // closed when the fields below are set
	err        error
	path       string
	messages   uint64
	start, end int64 // LogTime of the first and the last message; 0 without messages
}

const (
	snapshotPace  = 50 * time.Millisecond // between two looks at the ring
	snapshotChunk = 2 << 20               // bytes, at most, as many snapshots may be written at once
)

// run writes the snapshot and says how that went.
func (n *snapshot) run() {
	log := n.recorder.node.Log
	if n.err = n.create(); n.err == nil {
		n.tell(n.why() + ", in " + n.path)
		n.err = n.complete()
	}
	n.view.Close()
	if n.err != nil {
		n.tell("snapshot failed: " + n.err.Error())
		log(bridge.Error, "snapshot: %v", n.err)
	} else {
		log(bridge.Info, "snapshot: %d messages in %s (%s)", n.messages, n.path, n.cause)
	}
	for _, text := range n.remarks {
		log(bridge.Warn, "snapshot: %s: %s", n.path, text)
	}
	n.remove(n)
	close(n.done)
}

// tell has the recording, where there is one, tell of the snapshot.
func (n *snapshot) tell(text string) {
	if s := n.recorder.session.Load(); s.sink != nil {
		s.journal.Note(codec.Event{Kind: codec.EventSnapshot, Topic: n.topic, Time: n.logTime, Text: text})
	}
}

// why says what the snapshot was taken for.
func (n *snapshot) why() string {
	text := n.cause
	if n.value != "" {
		text += ": " + n.value
	}
	if n.passed > 0 {
		text += fmt.Sprintf("; met %d times since its last snapshot", n.passed)
	}
	return text
}

// complete writes what the view shows, and closes the recording.
func (n *snapshot) complete() error {
	err := n.fill()
	queue.Release(n.pending...)
	queue.Release(n.latched...)
	if err == nil {
		err = n.writer.Sync() // Close then keeps to it
	}
	if closeErr := n.writer.Close(); !errors.Is(err, closeErr) {
		err = errors.Join(err, closeErr)
	}
	return err
}

// create creates the recording.
func (n *snapshot) create() (err error) {
	o := n.recorder.options
	o.Overwrite = false // which is for the recording, and could hit it
	o.ChunkSize = min(o.ChunkSize, snapshotChunk)
	n.naming.Lock()
	defer n.naming.Unlock()
	name := n.name
	if name == "" {
		name = n.unusedName(&o)
	}
	if err := os.MkdirAll(filepath.Dir(formats.All().ByStorage(o.Storage).Live.Path(name)), 0o777); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	n.writer, n.path, err = create(&o, &n.recorder.settings, name, n.metadata(), nil)
	return err
}

// unusedName returns a name by the time of the trigger.
func (n *snapshot) unusedName(o *options) string {
	base := formats.All().ByStorage(o.Storage).Live.BareName(n.recorder.session.Load().name)
	if o.SnapshotFolder != "" {
		base = filepath.Join(o.SnapshotFolder, filepath.Base(base))
	}
	base += "_snapshot_" + time.Unix(0, n.time).Format("2006_01_02-15_04_05")
	name := base
	for i := 1; ; i++ {
		path := formats.All().ByStorage(o.Storage).Live.Path(name)
		_, active := os.Lstat(path + codec.ActiveSuffix) // at first: it may be completed meanwhile
		_, err := os.Lstat(path)
		if err != nil && active != nil {
			return name
		}
		name = fmt.Sprintf("%s_%d", base, i)
	}
}

// metadata is what is kept with the recording.
func (n *snapshot) metadata() map[string]string {
	m := map[string]string{
		"cause":        n.cause,
		"trigger_time": time.Unix(0, n.time).UTC().Format(time.RFC3339Nano),
		"before":       n.reach().String(),
		"after":        n.after.String(),
	}
	if n.topic != "" {
		m["topic"] = n.topic
	}
	if n.value != "" {
		m["value"] = n.value
	}
	return m
}

// reach returns how far back the snapshot is to reach, but for topics that have limits of their own; 0 is everything.
func (n *snapshot) reach() time.Duration {
	if n.before > 0 {
		return n.before
	}
	return n.recorder.options.SnapshotDuration
}

// fill writes what the view shows, as it comes, until its end.
func (n *snapshot) fill() error {
	for _, rec := range n.recorder.recorded() {
		c := rec.Channel.Load()
		if err := n.endure(c.Topic, n.writer.Declare(c)); err != nil {
			return err
		}
	}
	n.latch()
	for {
		stopped := n.stops(0)
		var more bool
		n.pending, more = n.view.Read(n.pending)
		now := time.Now().UnixNano()
		until, past := n.view.End(now)
		horizon := now - int64(queue.Reorder)
		if more && len(n.pending) > 0 {
			horizon = min(horizon, n.pending[len(n.pending)-1].ReceiveTime-int64(queue.Reorder))
		} else if !more && (stopped || past) {
			if missed, over := n.view.Finish(until); over {
				return n.conclude(until, until-now, missed)
			}
		}
		if err := n.writeUntil(min(horizon, until)); err != nil {
			return err
		}
		if !more {
			n.stops(snapshotPace)
		}
	}
}

// latch collects what late subscribers would have got when the snapshot's time began. Nothing was read of the view yet.
func (n *snapshot) latch() {
	for _, rec := range n.recorder.recorded() {
		n.latched = rec.Latched(n.view.Since(rec.Topic), n.latched)
	}
	n.latched = slices.DeleteFunc(n.latched, func(it *queue.Item) bool {
		shown := n.view.Includes(it)
		if shown {
			queue.Release(it)
		}
		return shown
	})
	queue.Sort(n.latched, 0)
}

// stops says whether nothing more will come, after that time at the latest.
func (n *snapshot) stops(after time.Duration) bool {
	select {
	case <-n.stop:
		return true
	case <-time.After(after):
	}
	select {
	case <-n.stop:
		return true
	default:
		return false
	}
}

// writeUntil writes the pending items that were received until then.
func (n *snapshot) writeUntil(horizon int64) (err error) {
	queue.Sort(n.pending, n.sorted)
	i := 0
	for ; i < len(n.pending) && n.pending[i].ReceiveTime <= horizon && err == nil; i++ {
		if !n.noted && n.pending[i].ReceiveTime > n.time {
			err = n.note()
		}
		if err == nil {
			err = n.repeat(n.pending[i].LogTime)
		}
		if err == nil {
			err = n.writeItem(n.pending[i], n.pending[i].LogTime)
		}
	}
	queue.Release(n.pending[:i]...)
	n.pending = n.pending[:copy(n.pending, n.pending[i:])]
	n.sorted = len(n.pending)
	return err
}

// repeat writes, once, what was latched before, with the log time t.
func (n *snapshot) repeat(t int64) error {
	list := n.latched
	n.latched = nil
	defer queue.Release(list...)
	for _, it := range list {
		if err := n.writeItem(it, t); err != nil {
			return err
		}
	}
	return nil
}

func (n *snapshot) writeItem(it *queue.Item, t int64) error {
	m := codec.Message{Channel: it.Topic.Channel.Load(), LogTime: t, PublishTime: it.PublishTime, Data: it.Payload.Data}
	if err := n.writer.Write(&m); err != nil {
		return n.endure(m.Channel.Topic, err)
	}
	if n.messages == 0 {
		n.start, n.end = m.LogTime, m.LogTime
	}
	n.messages++
	n.start, n.end = min(n.start, m.LogTime), max(n.end, m.LogTime)
	return nil
}

// endure returns an error of the disk. What is wrong with one topic alone is only told.
func (n *snapshot) endure(topic string, err error) error {
	var missing *codec.MissingError
	if err == nil || errors.As(err, &missing) {
		return err
	}
	n.recorder.warn("snapshot "+topic, "snapshot %s: %s: %v", n.path, topic, err)
	return nil
}

// note writes what the snapshot was taken for.
func (n *snapshot) note() error {
	n.noted = true
	reach := n.reach()
	text := fmt.Sprintf("%s (%v before, %v after)", n.why(), reach, n.after)
	if reach > 0 && n.view.Cut() >= n.time-int64(reach) {
		text += "; " + n.remark("it reaches back %v of %v, as snapshot_size is used up", tenths(n.time-n.view.Cut()), reach)
	}
	return n.writeEvent(codec.Event{Kind: codec.EventSnapshot, Topic: n.topic, Time: n.logTime, Text: text})
}

// conclude writes what is left, and what there is to say of the snapshot, which ends so many ns earlier than it was to,
// and missed that many messages.
func (n *snapshot) conclude(until, early int64, missed uint64) error {
	err := n.writeUntil(until)
	if err == nil {
		err = n.repeat(n.logTime)
	}
	if err == nil && !n.noted {
		err = n.note()
	}
	say := func(kind string, count uint64, text string) {
		if err == nil {
			err = n.writeEvent(codec.Event{Kind: kind, Time: n.logTime, Until: max(n.logTime, n.end), Count: count, Text: text})
		}
	}
	n.mu.Lock()
	firings := n.firings
	n.mu.Unlock()
	if firings > 0 {
		say(codec.EventSnapshot, 0, fmt.Sprintf("the condition was met %d more times", firings))
	}
	if early > 0 {
		say(codec.EventSnapshot, 0, n.remark("it ends %v early, as recording was stopped", tenths(early)))
	}
	if missed > 0 {
		say(codec.EventDrop, missed, n.remark("%d messages were dropped from it, as the disk did not keep up", missed))
	}
	return err
}

// remark has something told to people, and returns it.
func (n *snapshot) remark(format string, args ...any) string {
	n.remarks = append(n.remarks, fmt.Sprintf(format, args...))
	return n.remarks[len(n.remarks)-1]
}

func (n *snapshot) writeEvent(e codec.Event) error {
	m, err := codec.EventMessage(e)
	if err == nil {
		err = n.writer.Write(m)
	}
	if err != nil {
		err = fmt.Errorf("write an event: %w", err)
	}
	return err
}

// tenths rounds a time in ns for people.
func tenths(ns int64) time.Duration { return time.Duration(ns).Round(100 * time.Millisecond) }
