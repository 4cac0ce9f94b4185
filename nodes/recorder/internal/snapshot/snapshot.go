package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/recorder/internal/queue"
)

// Snapshot is one that is being written, or was.
type Snapshot struct {
	// Set when it is written.
	Path       string
	Messages   uint64
	Start, End int64 // LogTime of the first and the last message; 0 without messages

	set     *Set
	trigger Trigger
	logTime int64 // of the trigger
	view    *queue.View
	stop    chan struct{} // closed when nothing more will come
	stopped bool          // under set.mu, as the next two
	firings int           // of its condition, after the first
	ignored int           // firings in the cooldown after its end

	writer  codec.Writer
	latched []*queue.Item // to be repeated at the beginning
	pending []*queue.Item // read and not yet written
	sorted  int           // the first so many of them are in order
	noted   bool          // the trigger is in the recording
	remarks []string

	done chan struct{} // closed when err is set
	err  error
}

const pace = 50 * time.Millisecond // between two looks at the ring

// run writes the snapshot and logs the result.
func (n *Snapshot) run() {
	s := n.set
	if n.err = n.create(); n.err == nil {
		s.OnEvent(n.event(n.reason() + ", in " + n.Path))
		n.err = n.write()
	}
	n.view.Close()
	if n.err != nil {
		s.OnEvent(n.event("snapshot failed: " + n.err.Error()))
		s.Log(bridge.Error, "snapshot: %v", n.err)
	} else {
		s.Log(bridge.Info, "snapshot: %s in %s (%s)", human.Count(n.Messages, "message"), n.Path, n.trigger.Cause)
		s.OnWritten(n.Path)
	}
	for _, text := range n.remarks {
		s.Log(bridge.Warn, "snapshot: %s: %s", n.Path, text)
	}
	s.mu.Lock()
	s.writing = slices.DeleteFunc(s.writing, func(other *Snapshot) bool { return other == n })
	if n.err == nil {
		s.taken++
		s.last = n.Path
	}
	s.mu.Unlock()
	close(n.done)
}

func (n *Snapshot) event(text string) codec.Event {
	return codec.Event{Kind: codec.EventSnapshot, Topic: n.trigger.Topic, Time: n.logTime, Text: text}
}

// reason returns why the snapshot was taken.
func (n *Snapshot) reason() string {
	text := n.trigger.Cause
	if n.trigger.Value != "" {
		text += ": " + n.trigger.Value
	}
	if n.trigger.ignored > 0 {
		text += fmt.Sprintf("; met %d times since its last snapshot", n.trigger.ignored)
	}
	return text
}

// create creates the recording.
func (n *Snapshot) create() error {
	if n.trigger.Name != "" {
		return n.createAs(n.trigger.Name)
	}
	for i := 1; ; i++ {
		name := n.name(i)
		if !n.set.take(name) {
			continue
		}
		err := n.createAs(name)
		n.set.release(name)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// createAs creates the recording of that name.
func (n *Snapshot) createAs(name string) (err error) {
	s := n.set
	if err := s.Disk.MkdirAll(filepath.Dir(s.Format.Path(name))); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	metadata := map[string]string{
		"cause":        n.trigger.Cause,
		"trigger_time": time.Unix(0, n.trigger.Time).UTC().Format(time.RFC3339Nano),
		"before":       n.reach().String(),
		"after":        n.trigger.After.String(),
	}
	if n.trigger.Topic != "" {
		metadata["topic"] = n.trigger.Topic
	}
	if n.trigger.Value != "" {
		metadata["value"] = n.trigger.Value
	}
	n.writer, n.Path, err = s.Create(name, metadata)
	return err
}

// name returns the i-th name by the time of the trigger. It does not begin with the recording's name, so that drive*
// does not include it.
func (n *Snapshot) name(i int) string {
	base := n.set.BaseName()
	if n.set.Folder != "" {
		base = filepath.Join(n.set.Folder, filepath.Base(base))
	}
	folder, recording := filepath.Split(base)
	base = folder + "snapshot_" + recording + "_" + time.Unix(0, n.trigger.Time).Format("2006_01_02-15_04_05")
	if i == 1 {
		return base
	}
	return fmt.Sprintf("%s_no%d", base, i) // "_2" would be a file of the same recording
}

// reach returns how far back the snapshot reaches, but for topics that have limits of their own; 0 is everything.
func (n *Snapshot) reach() time.Duration {
	if n.trigger.Before > 0 {
		return n.trigger.Before
	}
	return n.set.Duration
}

// write writes what the view shows, and closes the recording.
func (n *Snapshot) write() error {
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

// fill writes what the view shows, as it comes, until its end.
func (n *Snapshot) fill() error {
	for _, topic := range n.set.Topics() {
		c := topic.Channel.Load()
		if err := n.checkDisk(c.Topic, n.writer.Declare(c)); err != nil {
			return err
		}
	}
	n.findLatched()
	for {
		stopped := n.stops(0)
		var more bool
		n.pending, more = n.view.Read(n.pending)
		now := bridge.Now()
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
			n.stops(pace)
		}
	}
}

// findLatched collects what late subscribers would have got when the snapshot's time began. Nothing was read of the
// view yet.
func (n *Snapshot) findLatched() {
	n.latched = slices.DeleteFunc(n.set.Latched(n.view.Since), func(it *queue.Item) bool {
		included := n.view.Includes(it)
		if included {
			queue.Release(it)
		}
		return included
	})
	queue.Sort(n.latched, 0)
}

// stops reports whether nothing more will come, after that time at the latest.
func (n *Snapshot) stops(after time.Duration) bool {
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
func (n *Snapshot) writeUntil(horizon int64) (err error) {
	queue.Sort(n.pending, n.sorted)
	i := 0
	for ; i < len(n.pending) && n.pending[i].ReceiveTime <= horizon && err == nil; i++ {
		it := n.pending[i]
		if it.ReceiveTime > n.trigger.At {
			err = n.noteTrigger()
		}
		if err == nil {
			err = n.repeatLatched(it.LogTime)
		}
		if err == nil {
			err = n.writeItem(it, it.LogTime)
		}
	}
	queue.Release(n.pending[:i]...)
	n.pending = n.pending[:copy(n.pending, n.pending[i:])]
	n.sorted = len(n.pending)
	return err
}

// repeatLatched writes, once, what was latched before, with the log time t.
func (n *Snapshot) repeatLatched(t int64) error {
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

func (n *Snapshot) writeItem(it *queue.Item, t int64) error {
	m := codec.Message{Channel: it.Topic.Channel.Load(), LogTime: t, PublishTime: it.PublishTime, Data: it.Payload.Data}
	if err := n.writer.Write(&m); err != nil {
		return n.checkDisk(m.Channel.Topic, err)
	}
	if n.Messages == 0 {
		n.Start, n.End = m.LogTime, m.LogTime
	}
	n.Messages++
	n.Start, n.End = min(n.Start, m.LogTime), max(n.End, m.LogTime)
	return nil
}

// checkDisk returns an error of the disk. An error about one topic is only logged.
func (n *Snapshot) checkDisk(topic string, err error) error {
	var missing *codec.MissingError
	if err == nil || errors.As(err, &missing) {
		return err
	}
	n.set.Warn("snapshot "+topic, "snapshot %s: %s: %v", n.Path, topic, err)
	return nil
}

// noteTrigger writes, once, why the snapshot was taken.
func (n *Snapshot) noteTrigger() error {
	if n.noted {
		return nil
	}
	n.noted = true
	reach := n.reach()
	text := fmt.Sprintf("%s (%v before, %v after)", n.reason(), reach, n.trigger.After)
	if cut := n.view.Cut(); reach > 0 && cut >= n.trigger.At-int64(reach) {
		text += "; " + n.remark("it reaches back %v of %v, as snapshot_size is used up",
			tenths(n.trigger.At-cut), reach)
	}
	return n.writeEvent(n.event(text))
}

// conclude writes the remaining messages, and events about the snapshot: it ends early by so many ns, and missed that
// many messages.
func (n *Snapshot) conclude(until, early int64, missed uint64) error {
	err := n.writeUntil(until)
	if err == nil {
		err = n.repeatLatched(n.logTime)
	}
	if err == nil {
		err = n.noteTrigger()
	}
	note := func(kind string, count uint64, text string) {
		if err == nil {
			err = n.writeEvent(codec.Event{Kind: kind, Time: n.logTime, Until: max(n.logTime, n.End), Count: count,
				Text: text})
		}
	}
	n.set.mu.Lock()
	firings := n.firings
	n.set.mu.Unlock()
	if firings > 0 {
		note(codec.EventSnapshot, 0, fmt.Sprintf("the condition was met %d more times", firings))
	}
	if early > 0 {
		note(codec.EventSnapshot, 0, n.remark("it ends %v early, as recording was stopped", tenths(early)))
	}
	if missed > 0 {
		note(codec.EventDrop, missed, n.remark("%s dropped from it, as the disk did not keep up",
			human.Count(missed, "message")))
	}
	return err
}

// remark returns a text that is logged, too.
func (n *Snapshot) remark(format string, args ...any) string {
	n.remarks = append(n.remarks, fmt.Sprintf(format, args...))
	return n.remarks[len(n.remarks)-1]
}

func (n *Snapshot) writeEvent(e codec.Event) error {
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
