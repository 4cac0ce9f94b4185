package main

import (
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/nodes/internal/progress"
)

const (
	statusPace = 500 * time.Millisecond
	logPace    = 10 * time.Second // of the status where there is no terminal
)

// status tells how the recording goes: on the terminal, or by a log line now and then where there is none.
type status struct {
	recorder *recorder
	line     *progress.Line
	logged   time.Time
}

func (s *status) tell() {
	r := s.recorder
	if !r.recording() {
		return
	}
	t := r.totals()
	if t.dropped > 0 {
		r.warn("dropped", "the disk does not keep up, messages are dropped; queue_size is how many bytes may wait for it")
	}
	if s.line.Visible() {
		s.line.Show("[RECORDING] " + t.String())
	} else if time.Since(s.logged) >= logPace {
		s.logged = time.Now()
		r.node.Log(bridge.Info, "%s", t)
	}
}

// totals are the counts of a recording.
type totals struct {
	elapsed        time.Duration
	topics         int
	messages       uint64 // written, or received where nothing is written but snapshots
	bytes          uint64 // written
	dropped, lost  uint64 // messages
	waiting        int64  // bytes in the queue
	snapshotsOnly  bool
	droppedByTopic []string
}

func (r *recorder) totals() (t totals) {
	s := r.session.Load()
	t.elapsed = time.Since(s.started)
	t.snapshotsOnly = s.sink == nil
	for _, rec := range r.recorded() {
		t.topics++
		t.lost += rec.lost.Load() + rec.subscription.Lost()
		received, dropped := rec.received.Load(), rec.dropped.Load()
		if t.snapshotsOnly {
			t.messages += received
		} else {
			t.messages += rec.written.Load()
		}
		if dropped > 0 {
			t.dropped += dropped
			t.droppedByTopic = append(t.droppedByTopic, fmt.Sprintf("%s: %d of %d messages dropped", rec.channel.Load().Topic, dropped, received))
		}
	}
	if !t.snapshotsOnly {
		t.bytes = s.sink.bytes.Load()
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
