package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/graph/remote"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/subscription"
)

const (
	statusPace = 500 * time.Millisecond
	logPace    = 10 * time.Second // time between two log lines of the status without a terminal
	farAway    = 100 * time.Hour  // a disk that will be full later than this is not mentioned
)

// status shows how the recording goes: on the terminal or, without one, by a log line now and then, and on
// /diagnostics.
type status struct {
	recorder    *recorder
	diagnostics *diagnostics // nil: not published
	logged      time.Time    // when the last log line was written
	published   time.Time    // when diagnostics were last published
	shown       bool         // the terminal shows a table
	// tables takes the next table for the terminal, nil to clear it. Another goroutine draws, because a terminal may be
	// stopped.
	tables chan *progress.Table
}

// update shows the status at now.
func (s *status) update(now time.Time) {
	r := s.recorder
	list := r.topics.Topics()
	for _, rec := range list {
		rec.Measure(now)
	}
	if s.diagnostics != nil && now.Sub(s.published) >= diagnosticsPace {
		s.published = now
		s.diagnostics.publish(now, list)
	}
	if !r.recording() && s.shown {
		s.shown = !s.show(nil)
	}
	if !r.recording() || r.options.Quiet {
		return
	}
	t := r.totals()
	if t.dropped > r.refused.Load() {
		why := "the disk does not keep up; queue_size bounds the bytes that wait for it"
		if r.session.Load().late() {
			why = "PNG encoding cannot keep up; record the compressed image topics instead"
		}
		r.warn("dropped", "messages are dropped: %s", why)
	}
	missing, why := r.topics.Unheard()
	missing = slices.DeleteFunc(missing, func(topic string) bool { return why[topic] == subscription.Unfit })
	trouble := t.trouble(missing)
	if text := r.session.Load().contractTrouble(); text != "" {
		trouble = strings.TrimPrefix(trouble+", "+text, ", ")
	}
	line := t.progress()
	if left := r.untilFull(); left != "" {
		line = left + ", " + line // a narrow terminal cuts off the end
	}
	if text := r.uploadTrouble(); text != "" {
		trouble = strings.TrimPrefix(trouble+", "+text, ", ")
	}
	if text := r.uploadProgress(); text != "" {
		line += ", " + text
	}
	if r.line.Visible() {
		table := r.table(list)
		table.Line = line
		if state := "[" + r.state() + "] "; trouble != "" {
			table.Alert = state + trouble
		} else {
			table.Line = state + line
		}
		if s.show(table) {
			s.shown = true
		}
	} else if now.Sub(s.logged) >= logPace {
		s.logged = now
		if r.topics.Paused() {
			line = "paused, " + line
		}
		if trouble != "" {
			line = trouble + ", " + line
		}
		r.node.Log(bridge.Info, "%s", line)
	}
}

// show makes the terminal show a table, or clears it if t is nil. It reports false if the terminal is still drawing.
func (s *status) show(t *progress.Table) bool {
	select {
	case s.tables <- t:
		return true
	default:
		return false
	}
}

// draw draws tables until they are closed.
func draw(line *progress.Line, tables <-chan *progress.Table) {
	for t := range tables {
		if t == nil {
			line.Clear()
		} else {
			line.ShowTable(t)
		}
	}
}

// unheard calls topics.Unheard for other goroutines than the owner.
func (r *recorder) unheard() (topics []string, why map[string]string) {
	r.do(func() { topics, why = r.topics.Unheard() })
	return topics, why
}

// state returns the state of the recorder in a word or two.
func (r *recorder) state() string {
	switch s := r.session.Load(); {
	case !r.recording():
		return "STOPPED"
	case s.writer == nil:
		return "SNAPSHOTS"
	case s.guard.Holds():
		return "NO SPACE"
	case r.topics.Paused():
		return "PAUSED"
	}
	return "RECORDING"
}

// remoteStatus returns the answer of the service status.
func (r *recorder) remoteStatus() remote.Status {
	s, t := r.session.Load(), r.totals()
	missing, _ := r.unheard()
	status := remote.Status{State: r.state(), Text: t.progress(), Alert: t.trouble(missing),
		Format: r.options.format().Name, Disk: r.untilFull(), Uploads: r.uploadProgress(),
		Seconds: t.elapsed.Seconds(), Messages: t.messages, Bytes: t.bytes, Waiting: t.waiting, Dropped: t.dropped,
		Lost: t.lost, Discarded: t.discarded}
	for _, text := range []string{s.contractTrouble(), r.uploadTrouble()} {
		if text != "" {
			status.Alert = strings.TrimPrefix(status.Alert+", "+text, ", ")
		}
	}
	if path := s.path(); path != "" && r.recording() {
		status.Paths, status.File = []string{absolute(path)}, absolute(r.file())
	}
	if s.guard != nil {
		status.FreeBytes = s.guard.Free.Load()
	}
	if r.snapshots != nil {
		n, last := r.snapshots.Taken()
		if last != "" {
			last = absolute(last)
		}
		status.Snapshots = &remote.SnapshotStatus{Taken: n, Writing: r.snapshots.Writing(), Last: last}
	}
	for _, rec := range r.topics.Topics() {
		channel, c, rate := rec.Channel.Load(), rec.Counts(), rec.Rate()
		status.Topics = append(status.Topics, remote.TopicStatus{Topic: channel.Topic, Type: channel.Type,
			TopicCounts: &remote.TopicCounts{Received: c.Received, Dropped: c.Dropped, Lost: c.Lost,
				MessageRate: rate.Messages, ByteRate: rate.Bytes}})
	}
	return status
}

// untilFull returns a text such as "disk full in 2h05m", "" if the disk will not be full within farAway.
func (r *recorder) untilFull() string {
	s := r.session.Load()
	if s.guard == nil {
		return ""
	}
	left := time.Duration(s.guard.Left.Load())
	if left > farAway {
		return ""
	}
	if left > time.Minute {
		left = left.Round(time.Minute)
		return fmt.Sprintf("disk full in %dh%02dm", int(left.Hours()), int(left.Minutes())%60)
	}
	return fmt.Sprintf("disk full in %v", left.Round(time.Second))
}

// table returns the table of topics: first the topics that lose messages, then those with the highest byte rate.
func (r *recorder) table(list []*subscription.Topic) *progress.Table {
	table := &progress.Table{Columns: []string{"topic", "messages/s", "MB/s", "received", "dropped", "lost",
		"MB waiting"}}
	trouble := func(rec *subscription.Topic) int { return min(1, int(rec.Counts().Dropped+rec.Lost())) }
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *subscription.Topic) int {
		return cmp.Or(cmp.Compare(trouble(b), trouble(a)), cmp.Compare(b.Rate().Bytes, a.Rate().Bytes))
	})
	for _, rec := range list {
		c, rate := rec.Counts(), rec.Rate()
		waiting := int64(0)
		if r.queue != nil {
			waiting = r.queue.Waiting(rec.Topic)
		}
		table.Rows = append(table.Rows, []string{
			rec.Channel.Load().Topic, fmt.Sprintf("%.1f", rate.Messages), fmt.Sprintf("%.2f", rate.Bytes/1e6),
			fmt.Sprint(c.Received), fmt.Sprint(c.Dropped), fmt.Sprint(c.Lost),
			fmt.Sprintf("%.1f", float64(waiting)/1e6),
		})
	}
	return table
}

// totals are the counts of a recording.
type totals struct {
	elapsed        time.Duration
	topics         int
	messages       uint64   // written messages, or received ones in snapshot mode
	bytes          uint64   // written bytes
	dropped, lost  uint64   // messages
	throttled      uint64   // messages
	discarded      int      // episodes
	waiting        int64    // bytes in the queue
	snapshotsOnly  bool     // snapshot mode
	droppedByTopic []string // one line for each topic with dropped messages
}

// totals returns the counts of the session since its start.
func (r *recorder) totals() (t totals) {
	s := r.session.Load()
	t.elapsed = time.Since(s.started)
	t.snapshotsOnly = s.writer == nil
	t.discarded = r.discarded()
	for _, rec := range r.topics.Topics() {
		t.topics++
		c := rec.Counts()
		t.lost += c.Lost
		t.dropped += c.Dropped
		t.throttled += c.Throttled
		if t.snapshotsOnly {
			t.messages += c.Received
		} else {
			t.messages += c.Written
		}
		if c.Dropped > 0 {
			t.droppedByTopic = append(t.droppedByTopic,
				fmt.Sprintf("%s: %d of %s dropped", rec.Channel.Load().Topic, c.Dropped,
					human.Count(c.Received, "message")))
		}
	}
	if !t.snapshotsOnly {
		t.bytes = s.writer.PayloadBytes()
		t.waiting = r.queue.Bytes()
	}
	return t
}

// trouble describes what is missing in a recording, "" if nothing is. waiting are the topics without a message so far.
func (t totals) trouble(waiting []string) string {
	var list []string
	if t.dropped > 0 {
		list = append(list, fmt.Sprintf("%d dropped", t.dropped))
	}
	if t.lost > 0 {
		list = append(list, fmt.Sprintf("%d lost in transport", t.lost))
	}
	if len(waiting) > 3 {
		waiting = append(slices.Clone(waiting[:2]), fmt.Sprintf("%d more", len(waiting)-2))
	}
	if len(waiting) > 0 {
		list = append(list, "waiting for "+strings.Join(waiting, " and "))
	}
	return strings.Join(list, ", ")
}

func (t totals) String() string {
	return t.progress() + fmt.Sprintf(", %d dropped, %d lost in transport", t.dropped, t.lost)
}

// progress describes a recording in one line, without losses.
func (t totals) progress() string {
	text := fmt.Sprintf("%.1f s, %s, %s", t.elapsed.Seconds(), human.Count(t.topics, "topic"),
		human.Count(t.messages, "message"))
	if !t.snapshotsOnly {
		text += fmt.Sprintf(", %.1f MB written, %.1f MB waiting", float64(t.bytes)/1e6, float64(t.waiting)/1e6)
	}
	if t.throttled > 0 {
		text += fmt.Sprintf(", %d throttled", t.throttled)
	}
	if t.discarded > 0 {
		text += fmt.Sprintf(", %s discarded", human.Count(t.discarded, "episode"))
	}
	return text
}
