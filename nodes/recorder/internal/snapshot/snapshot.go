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
	"tapedeck/codec/text/human"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/queue"
)

// Snapshot is a recording of the time around a trigger.
type Snapshot struct {
	// Valid once the snapshot is written.
	Path       string
	Messages   uint64
	Start, End int64 // log times of the first and the last message; 0 without messages

	set     *Set
	trigger Trigger
	logTime int64 // log time of the trigger
	view    *queue.View
	stop    chan struct{} // closed when nothing more will come

	// Guarded by set.mu.
	stopped bool // stop is closed
	firings int  // how often the condition was met again before the end
	ignored int  // how often the condition was met after the end, in the cooldown

	// Owned by the goroutine of run.
	recording codec.Writer
	writer    *filewriter.Writer
	noted     bool          // the trigger is noted
	early     time.Duration // the snapshot ends so long before the requested end
	missed    uint64        // messages that were evicted from the ring before they were written
	remarks   []string

	done chan struct{} // closed when err is set
	err  error
}

// run writes the snapshot and logs the result.
func (n *Snapshot) run() {
	s := n.set
	n.err = n.create()
	if n.err == nil {
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

// event returns an event at the time of the trigger.
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
		if !n.set.reserve(name) {
			continue
		}
		err := n.createAs(name)
		n.set.release(name)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// createAs creates the recording with a name.
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
	n.recording, n.Path, err = s.Create(name, metadata)
	return err
}

// name returns the i-th name by the time of the trigger. The name does not begin with the name of the recording, so
// that drive* does not match it.
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
	return fmt.Sprintf("%s_no%d", base, i) // "_2" would name another file of the same recording
}

// reach returns how far back the snapshot reaches on topics without limits of their own; 0 is as far as the ring.
func (n *Snapshot) reach() time.Duration {
	if n.trigger.Before > 0 {
		return n.trigger.Before
	}
	return n.set.Duration
}

// write writes the messages of the view, and closes the recording.
func (n *Snapshot) write() error {
	latched := n.findLatched()
	recording := filewriter.SizedWriter{Writer: countingWriter{n.recording, n}}
	n.writer = filewriter.New(viewReader{n}, recording, filewriter.Callbacks{
		OnFileEnd: n.conclude, Now: func() int64 { return n.logTime },
		Latched: func(int64) (list []*queue.Item) {
			list, latched = latched, nil
			return list
		},
		OnRefused: n.onRefused, OnSplit: func(string, string, int64) {}, OnError: func(error) {},
		NoteLosses: func() {}, OnEvent: func(codec.Event) {},
	})
	n.writer.Snapshot = true
	for _, topic := range n.set.Topics() {
		n.writer.Declare(topic.Channel.Load())
	}
	err := n.writer.Run(n.stop)
	n.writer.Discard()
	queue.Release(latched...)
	if err == nil {
		err = n.recording.Sync() // Close then syncs, too
	}
	if closeErr := n.recording.Close(); !errors.Is(err, closeErr) {
		err = errors.Join(err, closeErr)
	}
	return err
}

// findLatched returns the messages that late subscribers would have got at the begin of the snapshot, with references.
// It leaves out messages of the view. It must be called before the view is read.
func (n *Snapshot) findLatched() []*queue.Item {
	list := slices.DeleteFunc(n.set.Latched(n.view.Since), func(item *queue.Item) bool {
		included := n.view.Includes(item)
		if included {
			queue.Release(item)
		}
		return included
	})
	queue.Sort(list, 0)
	return list
}

// viewReader reads the items of a snapshot's view until its end.
type viewReader struct{ *Snapshot }

var _ filewriter.ItemReader = viewReader{}

// Read implements filewriter.ItemReader. It also notes the trigger, between the messages before and after it.
func (n viewReader) Read(list []*queue.Item, stopping bool) ([]*queue.Item, filewriter.State) {
	list, more := n.view.Read(list)
	now := bridge.Now()
	until, past := n.view.End(now)
	s := filewriter.State{More: more, Settled: now - int64(queue.Reorder) + 1}
	if more && len(list) > 0 {
		s.Settled = min(s.Settled, list[len(list)-1].ReceiveTime-int64(queue.Reorder)+1)
	} else if !more && (stopping || past) {
		n.missed, s.Ended = n.view.Finish(until)
		n.early = time.Duration(until - now)
	}
	if s.Ended || s.Settled > until {
		s.Settled = until + 1
	}
	if !n.noted && s.Settled > n.trigger.At {
		n.noted = true
		n.writer.Note(n.triggerEvent())
		s = filewriter.State{More: true, Settled: n.trigger.At + 1}
	}
	return list, s
}

// Done implements filewriter.ItemReader.
func (viewReader) Done(int64) {}

// countingWriter counts the messages of a snapshot.
type countingWriter struct {
	codec.Writer
	n *Snapshot
}

func (w countingWriter) Write(m *codec.Message) error {
	if err := w.Writer.Write(m); err != nil || codec.IsEvents(m.Channel) {
		return err
	}
	n := w.n
	if n.Messages == 0 {
		n.Start, n.End = m.LogTime, m.LogTime
	}
	n.Messages++
	n.Start, n.End = min(n.Start, m.LogTime), max(n.End, m.LogTime)
	return nil
}

// onRefused logs why a message or, if t is nil, an event or a channel is not in the snapshot.
func (n *Snapshot) onRefused(t *queue.Topic, err error) {
	topic := ""
	if t != nil {
		topic = t.Name()
		err = fmt.Errorf("%s: %w", topic, err)
	}
	n.set.Warn("snapshot "+topic, "snapshot %s: %v", n.Path, err)
}

// triggerEvent returns the event with the reason and the time range of the snapshot.
func (n *Snapshot) triggerEvent() codec.Event {
	reach := n.reach()
	text := fmt.Sprintf("%s (%v before, %v after)", n.reason(), reach, n.trigger.After)
	if cut := n.view.Cut(); reach > 0 && cut >= n.trigger.At-int64(reach) {
		text += "; " + n.remark("it reaches back %v of %v, as snapshot_size is used up",
			tenths(time.Duration(n.trigger.At-cut)), reach)
	}
	return n.event(text)
}

// conclude notes events about the snapshot at its end.
func (n *Snapshot) conclude(int64, int64, bool) {
	note := func(kind string, count uint64, text string) {
		n.writer.Note(codec.Event{Kind: kind, Time: n.logTime, Until: max(n.logTime, n.End), Count: count, Text: text})
	}
	n.set.mu.Lock()
	firings := n.firings
	n.set.mu.Unlock()
	if firings > 0 {
		note(codec.EventSnapshot, 0, fmt.Sprintf("the condition was met %d more times", firings))
	}
	if n.early > 0 {
		note(codec.EventSnapshot, 0, n.remark("it ends %v early, as recording was stopped", tenths(n.early)))
	}
	if n.missed > 0 {
		note(codec.EventDrop, n.missed, n.remark("%s dropped from it, as the disk did not keep up",
			human.Count(n.missed, "message")))
	}
}

// remark returns a formatted text, which run also logs.
func (n *Snapshot) remark(format string, args ...any) string {
	n.remarks = append(n.remarks, fmt.Sprintf(format, args...))
	return n.remarks[len(n.remarks)-1]
}

// tenths rounds a time to tenths of a second, for people.
func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
