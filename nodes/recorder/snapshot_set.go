package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/nodes/recorder/internal/condition"
	"tapedeck/nodes/recorder/internal/queue"
)

// snapshots takes snapshots of what a recorder receives: each is a view of the ring, written into a recording of its
// own by a goroutine of its own. Nothing here waits for the disk but finish and end.
type snapshots struct {
	recorder   *recorder
	ring       *queue.Ring
	limits     []topicLimit                      // of topics that have their own
	conditions map[string][]*condition.Condition // by topic
	watches    map[topicKey]*topicRecorder       // of topics with conditions that are not recorded; under recorder.mu

	naming sync.Mutex // held while a file is created

	mu      sync.Mutex
	ended   bool
	failure error // of a condition, that ends the recorder
	writing []*snapshot
	latest  map[*condition.Condition]*snapshot
	refused int // snapshots, since that was last told
}

// maxSnapshots is how many may be written at once.
const maxSnapshots = 32

// trigger says why, and of which time, a snapshot is taken.
type trigger struct {
	time   int64         // ns since the Unix epoch, by the wall clock
	before time.Duration // 0: as far as the limits
	after  time.Duration
	cause  string
	topic  string // of the message that was the cause; "" if none was
	value  string // of the fields that a condition looked at
	passed int    // how often the condition was met after its last snapshot ended, in the cooldown
	name   string // of the snapshot; "" for one by the time
}

// newSnapshots sets up what the options ask for.
func newSnapshots(r *recorder) (s *snapshots, err error) {
	s = &snapshots{
		recorder: r, ring: queue.NewRing(int64(r.options.SnapshotSize)),
		watches: map[topicKey]*topicRecorder{}, latest: map[*condition.Condition]*snapshot{},
	}
	if s.limits, err = r.options.topicLimits(r.selection.Expand); err != nil {
		return nil, err
	}
	s.conditions, err = r.options.conditions(r.selection.Expand)
	return s, err
}

// join sets what the ring keeps of a topic, and watches it for conditions. recorder.mu is held.
func (s *snapshots) join(to *topicRecorder) {
	to.Limits = limitsOf(s.limits, to.Name(), queue.Limits{Age: s.recorder.options.SnapshotDuration})
	s.attach(to)
}

// take begins a snapshot.
func (s *snapshots) take(t trigger) (*snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begin(t)
}

// begin does what take does. s.mu is held.
func (s *snapshots) begin(t trigger) (*snapshot, error) {
	if s.ended {
		return nil, errNotRecording
	}
	if len(s.writing) == maxSnapshots {
		s.refused++
		return nil, fmt.Errorf("%d snapshots are being written already", maxSnapshots)
	}
	n := &snapshot{
		snapshots: s, trigger: t, logTime: s.recorder.clock.Stamp(t.time),
		view: s.ring.Open(t.time, t.before, t.time+int64(t.after)),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.writing = append(s.writing, n)
	go n.run()
	return n, nil
}

// fire takes a snapshot for a condition that a message meets. If the last one began less than the cooldown ago, that
// one goes on instead, as long as it is there.
func (s *snapshots) fire(d *condition.Detector, sample *bridge.Sample) {
	o := &s.recorder.options
	t := trigger{
		time: sample.ReceiveTime, after: o.SnapshotAfter,
		cause: "condition " + d.Text, topic: d.Topic, value: d.Values(sample.Data),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.latest[d.Condition]
	if last != nil && t.time < last.time+int64(o.SnapshotCooldown) {
		if last.view.Extend(t.time + int64(t.after)) {
			last.firings++
		} else {
			last.ignored++
		}
		return
	}
	if last != nil {
		t.passed = last.ignored
	}
	if n, err := s.begin(t); err == nil {
		s.latest[d.Condition] = n
	}
}

// remove forgets a snapshot that was written.
func (s *snapshots) remove(n *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = slices.DeleteFunc(s.writing, func(other *snapshot) bool { return other == n })
}

// tend does what is due now and then, until stop is closed.
func (s *snapshots) tend(stop <-chan struct{}) {
	tick := time.NewTicker(queue.RingSlack)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-tick.C:
			s.ring.Expire(now.UnixNano())
		}
		s.mu.Lock()
		refused := s.refused
		s.refused = 0
		s.mu.Unlock()
		if refused > 0 {
			s.recorder.node.Log(bridge.Warn, "%d snapshots were not taken, as %d others were being written", refused,
				maxSnapshots)
		}
	}
}

// finish has snapshots not wait any longer for what follows, and waits until they are written.
func (s *snapshots) finish() {
	s.mu.Lock()
	open := slices.Clone(s.writing)
	for _, n := range open {
		if !n.stopped {
			n.stopped = true
			close(n.stop)
		}
	}
	s.mu.Unlock()
	for _, n := range open {
		<-n.done
	}
}

// end has no further snapshots taken, and finishes those that are. It returns what was wrong with a condition.
func (s *snapshots) end() error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.finish()
	return s.failure
}
