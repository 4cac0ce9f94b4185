// Package snapshot writes the messages around a trigger from a ring into a separate recording.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/filter/condition"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/recorder/internal/queue"
)

// ErrEnded is returned by Take after End.
var ErrEnded = errors.New("nothing is being recorded")

// MaxWriting is how many snapshots may be written at once.
const MaxWriting = 32

// Options are what snapshots contain and where they go. No function may be nil.
type Options struct {
	Ring       *queue.Ring
	Duration   time.Duration                     // how far snapshots reach back; 0: as far as the ring
	After      time.Duration                     // how long snapshots go on after a condition is met
	Cooldown   time.Duration                     // a condition met again within it takes no other snapshot
	Folder     string                            // folder of snapshots without a name; "": beside the recording
	Conditions map[string][]*condition.Condition // by topic

	Disk     codec.Disk
	Format   *live.Format
	BaseName func() string // returns the name of the recording
	// Create creates a recording and returns its path.
	Create func(name string, metadata map[string]string) (codec.Writer, string, error)
	Stamp  func(receiveTime int64) int64 // returns the log time for a time of the wall clock
	Topics func() []*queue.Topic         // returns the recorded topics
	// Latched returns the messages that late subscribers of each topic would have got, with references. since returns
	// the receive time for a topic.
	Latched func(since func(*queue.Topic) int64) []*queue.Item

	OnEvent   func(codec.Event)                         // is called when a snapshot began or failed
	OnWritten func(path string)                         // is called when a snapshot is complete
	Quit      func()                                    // ends the recorder for an error, which End returns
	Warn      func(subject, format string, args ...any) // logs a warning once for each subject
	Log       func(bridge.LogLevel, string, ...any)
}

// Trigger is the cause of a snapshot, and the time range that it covers.
type Trigger struct {
	Time   int64         // ns since the Unix epoch, by the wall clock
	At     int64         // Time by the clock of bridge.Monotonic
	Before time.Duration // how far the snapshot reaches back; 0: as far as the limits
	After  time.Duration // how long the snapshot goes on
	Cause  string
	Topic  string // topic of the message that was the cause; "" if none was
	Value  string // values of the fields in the condition
	Name   string // name of the snapshot; "": by the time

	ignored int // how often the condition was met after its last snapshot ended, in the cooldown
}

// Set takes snapshots. Each is a view of the ring that is written by a goroutine of its own. Only Finish, End and
// TakeNow wait for the disk.
type Set struct {
	Options

	mu      sync.Mutex
	ended   bool
	failure error // first error of a condition
	writing []*Snapshot
	taken   int                                // number of complete snapshots
	last    string                             // path of the last complete snapshot
	latest  map[*condition.Condition]*Snapshot // latest snapshot of each condition
	names   map[string]bool                    // names of snapshots that are being created
	refused int                                // snapshots that were refused since Run last logged it
}

// New returns a set without snapshots.
func New(o Options) *Set {
	return &Set{Options: o, latest: map[*condition.Condition]*Snapshot{}, names: map[string]bool{}}
}

// reserve reserves a name for a snapshot. It reports false if the name is in use.
func (s *Set) reserve(name string) bool {
	path := s.Format.Path(name)
	active := codec.Vacant(s.Disk, path+codec.ActiveSuffix, false) // before path: the file may be completed meanwhile
	complete := codec.Vacant(s.Disk, path, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(active, fs.ErrExist) || errors.Is(complete, fs.ErrExist) || s.names[name] {
		return false
	}
	s.names[name] = true
	return true
}

// release gives up a reserved name once the file exists or could not be created.
func (s *Set) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.names, name)
}

// Take begins a snapshot and does not wait until it is written.
func (s *Set) Take(t Trigger) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begin(t)
}

// TakeNow takes a snapshot with the present as its trigger time, and waits until it is written.
func (s *Set) TakeNow(ctx context.Context, t Trigger) (*Snapshot, error) {
	now := time.Now()
	t.Time, t.At = now.UnixNano(), bridge.Monotonic(now)
	n, err := s.Take(t)
	if err != nil {
		return nil, err
	}
	select {
	case <-n.done:
		return n, n.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin is Take while s.mu is held.
func (s *Set) begin(t Trigger) (*Snapshot, error) {
	if s.ended {
		return nil, ErrEnded
	}
	if len(s.writing) == MaxWriting {
		s.refused++
		return nil, fmt.Errorf("%d snapshots are being written already", MaxWriting)
	}
	n := s.open(t)
	s.writing = append(s.writing, n)
	go n.run()
	return n, nil
}

// open returns a snapshot with a view of the ring.
func (s *Set) open(t Trigger) *Snapshot {
	return &Snapshot{
		set: s, trigger: t, logTime: s.Stamp(t.Time), view: s.Ring.Open(t.At, t.Before, t.At+int64(t.After)),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// fire takes a snapshot for a condition that a message meets. If the condition's last snapshot began less than the
// cooldown ago, fire extends that one or, if it has ended, does nothing.
func (s *Set) fire(d *condition.Detector, sample *bridge.Sample) {
	t := Trigger{
		Time: sample.ReceiveTime, At: sample.Received, After: s.After,
		Cause: "condition " + d.Text, Topic: d.Topic, Value: d.Values(sample.Data),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.latest[d.Condition]; last != nil {
		if t.At-last.trigger.At < int64(s.Cooldown) {
			if last.view.Extend(t.At + int64(t.After)) {
				last.firings++
			} else {
				last.ignored++
			}
			return
		}
		t.ignored = last.ignored
	}
	if n, err := s.begin(t); err == nil {
		s.latest[d.Condition] = n
	}
}

// Writing returns how many snapshots are being written.
func (s *Set) Writing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writing)
}

// Taken returns the number of complete snapshots, and the path of the last one.
func (s *Set) Taken() (n int, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken, s.last
}

// Run removes old items from the ring, and logs how many snapshots were refused, until stop is closed.
func (s *Set) Run(stop <-chan struct{}) {
	tick := time.NewTicker(queue.RingSlack)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			s.Ring.Expire(bridge.Now())
		}
		s.mu.Lock()
		refused := s.refused
		s.refused = 0
		s.mu.Unlock()
		if refused > 0 {
			s.Log(bridge.Warn, "%s not taken, as %d others were being written", human.Count(refused, "snapshot"),
				MaxWriting)
		}
	}
}

// Finish ends all snapshots now, even if their time is not over, and waits until they are written.
func (s *Set) Finish() {
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

// End refuses further snapshots, and finishes those that are being written. It returns the error of a condition that
// ended the recorder.
func (s *Set) End() error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.Finish()
	return s.failure
}
