package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"tapedeck/bridge"
)

const (
	statusPace = 500 * time.Millisecond
	logPace    = 10 * time.Second // of the status where there is no terminal
)

// status shows how the recording goes: one line that is written over on a terminal, a log line now and then elsewhere.
type status struct {
	recorder *recorder
	terminal io.Writer // nil without one
	logged   time.Time
}

func newStatus(r *recorder) *status {
	s := &status{recorder: r, logged: time.Now()}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		s.terminal = os.Stderr
	}
	return s
}

func (s *status) print() {
	if s.terminal != nil {
		fmt.Fprintf(s.terminal, "\r\x1b[K[RECORDING] %s", s.recorder.totals())
	} else if time.Since(s.logged) >= logPace {
		s.logged = time.Now()
		s.recorder.node.Log(bridge.Info, "%s", s.recorder.totals())
	}
}

func (s *status) clear() {
	if s.terminal != nil {
		fmt.Fprint(s.terminal, "\r\x1b[K")
	}
}

// totals are the counts of a recording.
type totals struct {
	elapsed        time.Duration
	topics         int
	messages       uint64 // received
	bytes          uint64 // written
	dropped, lost  uint64 // messages
	waiting        int64  // bytes in the queue
	snapshotsOnly  bool
	droppedByTopic []string
}

func (r *recorder) totals() (t totals) {
	t.elapsed = time.Since(r.started)
	for _, rec := range r.recorded() {
		t.topics++
		t.messages += rec.received.Load()
		r.mu.Lock()
		t.lost += rec.lost + rec.subscription.Lost()
		r.mu.Unlock()
		if n := rec.dropped.Load(); n > 0 {
			t.dropped += n
			t.droppedByTopic = append(t.droppedByTopic, fmt.Sprintf("%s: %d of %d messages dropped", rec.channel.Topic, n, rec.received.Load()))
		}
	}
	if t.snapshotsOnly = r.sink == nil; !t.snapshotsOnly {
		t.bytes = r.sink.bytes.Load()
		t.waiting = r.queue.filled()
	}
	return t
}

func (t totals) String() string {
	text := fmt.Sprintf("%.1f s, %d topics, %d messages", t.elapsed.Seconds(), t.topics, t.messages)
	if !t.snapshotsOnly {
		text += fmt.Sprintf(", %.1f MB written, %.1f MB waiting", float64(t.bytes)/1e6, float64(t.waiting)/1e6)
	}
	return text + fmt.Sprintf(", %d dropped, %d lost in transport", t.dropped, t.lost)
}
