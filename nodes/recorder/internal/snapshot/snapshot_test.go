package snapshot

import (
	"encoding/binary"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/filter/condition"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
)

// slowWriter keeps the first 8 bytes of payloads as numbers, and the events. It may fail.
type slowWriter struct {
	codec.NoSplits
	let     chan struct{} // Write waits for a value from it
	fail    error
	numbers []uint64
	events  []codec.Event
	times   []int64 // log times of messages and events
}

func (*slowWriter) Declare(*codec.Channel) error { return nil }
func (*slowWriter) Sync() error                  { return nil }
func (*slowWriter) Close() error                 { return nil }
func (*slowWriter) Losses() []codec.Loss         { return nil }

func (w *slowWriter) Write(m *codec.Message) error {
	<-w.let
	w.times = append(w.times, m.LogTime)
	if e, ok := codec.ParseEvent(m); ok {
		w.events = append(w.events, e)
	} else {
		w.numbers = append(w.numbers, binary.LittleEndian.Uint64(m.Data))
	}
	return w.fail
}

// fixture is a set of snapshots with a topic.
type fixture struct {
	*Set
	topic  *intake.Receiver
	size   int64
	number uint64        // number of the last message
	ahead  time.Duration // the wall clock was set forward by this
}

// newFixture returns a set of snapshots that w writes, with messages of size bytes.
func newFixture(t *testing.T, w codec.Writer, size, maxBytes int64) *fixture {
	t.Chdir(t.TempDir())
	clock := new(bridge.SimTime)
	s := New(Options{
		Ring: queue.NewRing(maxBytes), Disk: codec.OS{}, Format: &live.Format{},
		BaseName:  func() string { return "drive" },
		Create:    func(name string, _ map[string]string) (codec.Writer, string, error) { return w, name, nil },
		Stamp:     clock.Stamp,
		Topics:    func() []*queue.Topic { return nil },
		Latched:   func(func(*queue.Topic) int64) []*queue.Item { return nil },
		OnWritten: func(string) {}, OnEvent: func(codec.Event) {},
		Warn: func(string, string, ...any) {},
		Log:  func(bridge.LogLevel, string, ...any) {},
	})
	topic := intake.NewReceiver(&codec.Channel{Topic: "/a", Encoding: codec.EncodingCDR},
		intake.Options{Clock: clock, Ring: s.Ring})
	return &fixture{Set: s, topic: topic, size: size}
}

func (f *fixture) wall() int64 { return time.Now().Add(f.ahead).UnixNano() }

// receive receives n messages.
func (f *fixture) receive(n int) {
	for range n {
		f.number++
		data := binary.LittleEndian.AppendUint64(nil, f.number)
		f.topic.Take([]bridge.Sample{{Data: append(data, make([]byte, f.size-8)...), ReceiveTime: f.wall(),
			Received: bridge.Now()}})
	}
}

func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 10000
		w := &slowWriter{let: make(chan struct{})}
		s := newFixture(t, w, size, 10*(size+queue.Overhead))
		s.receive(5)
		time.Sleep(2 * queue.Reorder)
		n, err := s.Take(Trigger{Time: time.Now().UnixNano(), At: bridge.Now(), After: time.Hour})
		require.NoError(t, err)
		w.let <- struct{}{} // the snapshot has read the first five
		s.receive(100)      // ten stay within the limits, ten beyond them
		close(w.let)
		require.NoError(t, s.End())
		require.NoError(t, n.err)
		require.Equal(t, []uint64{1, 2, 3, 4, 5, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102,
			103,
			104, 105}, w.numbers)
		last := w.events[len(w.events)-1]
		require.Equal(t, codec.EventDrop, last.Kind)
		require.EqualValues(t, 80, last.Count)
	})
}

func TestFailingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{let: make(chan struct{}), fail: &codec.MissingError{Path: "drive", Err: syscall.ENOSPC}}
		close(w.let)
		s := newFixture(t, w, 100, 1<<20)
		s.receive(3)
		_, err := s.TakeNow(t.Context(), Trigger{})
		require.ErrorContains(t, err, "write drive: no space left on device")
		require.Zero(t, s.Writing())
		require.NoError(t, s.End())
	})
}

// A snapshot begins with the messages latched before it, with the time of its first message. The event of the trigger
// follows the messages before the trigger. Messages of snapshots do not count for their topics.
func TestSnapshotOrder(t *testing.T) {
	const latched = 1000
	for name, c := range map[string]struct {
		before, after int      // number of messages before and after the trigger
		numbers       []uint64 // numbers of the written messages
		times         []int64  // log times of messages and events in seconds
		firings       int      // how often the condition is met again
		start, end    int64    // start and end of the snapshot in seconds
	}{
		"messages before and after":  {2, 2, []uint64{latched, 1, 2, 3, 4}, []int64{1, 1, 2, 3, 4, 5}, 0, 1, 5},
		"messages after the trigger": {0, 2, []uint64{latched, 1, 2}, []int64{1, 2, 2, 3}, 0, 2, 3},
		"no messages":                {0, 0, []uint64{latched}, []int64{1, 1}, 0, 1, 1},
		"met again":                  {1, 1, []uint64{latched, 1, 2}, []int64{1, 1, 2, 3, 3}, 1, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{let: make(chan struct{})}
				close(w.let)
				s := newFixture(t, w, 100, 1<<20)
				begin := s.wall()
				data := binary.LittleEndian.AppendUint64(nil, latched)
				list := []*queue.Item{s.topic.NewItem(&bridge.Sample{Data: data}, 0)}
				s.Latched = func(func(*queue.Topic) int64) []*queue.Item { return list }
				receive := func(n int) {
					for range n {
						time.Sleep(time.Second)
						s.receive(1)
					}
				}
				receive(c.before)
				time.Sleep(time.Second)
				n, err := s.Take(Trigger{Time: s.wall(), At: bridge.Now(), After: 10 * time.Second})
				require.NoError(t, err)
				s.mu.Lock()
				n.firings = c.firings
				s.mu.Unlock()
				receive(c.after)
				<-n.done
				require.NoError(t, n.err)
				require.Equal(t, c.numbers, w.numbers)
				var seconds []int64
				for _, at := range w.times {
					seconds = append(seconds, (at-begin)/1e9)
				}
				require.Equal(t, c.times, seconds)
				require.Len(t, w.events, 1+c.firings)
				require.EqualValues(t, len(c.numbers), n.Messages)
				require.Equal(t, []int64{c.start, c.end}, []int64{(n.Start - begin) / 1e9, (n.End - begin) / 1e9})
				require.Zero(t, s.topic.Written.Load())
				require.NoError(t, s.End())
			})
		})
	}
}

// Setting the clock does not change the length of a cooldown.
func TestCooldownWithAClockThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{let: make(chan struct{})}
		close(w.let)
		s := newFixture(t, w, 100, 1<<20)
		s.Create = func(name string, _ map[string]string) (codec.Writer, string, error) {
			return &slowWriter{let: w.let}, name, nil
		}
		s.Cooldown = time.Minute
		c, err := condition.Parse("/a *")
		require.NoError(t, err)
		d, err := condition.NewDetector(c, nil)
		require.NoError(t, err)
		var paths atomic.Int32
		s.OnWritten = func(string) { paths.Add(1) }
		for _, step := range []time.Duration{0, -time.Hour, time.Hour, 0, -time.Hour} {
			s.ahead += step
			s.fire(d, &bridge.Sample{ReceiveTime: s.wall(), Received: bridge.Now()})
			time.Sleep(25 * time.Second)
		}
		require.NoError(t, s.End())
		require.EqualValues(t, 2, paths.Load())
	})
}

// A snapshot has the messages of its time range, even if the clock is set before or meanwhile.
func TestSnapshotWithAClockThatIsSet(t *testing.T) {
	for name, step := range map[string]time.Duration{"back": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{let: make(chan struct{})}
				close(w.let)
				s := newFixture(t, w, 100, 1<<20)
				s.Duration = 10 * time.Second
				s.topic.Limits.Age = s.Duration
				s.receive(1) // too early
				time.Sleep(9 * time.Second)
				s.receive(1)
				s.ahead += step
				time.Sleep(2 * time.Second)
				s.receive(1)
				begin := time.Now()
				n, err := s.Take(Trigger{Time: s.wall(), At: bridge.Now(), After: 10 * time.Second})
				require.NoError(t, err)
				time.Sleep(5*time.Second + filewriter.Pace/2)
				s.receive(1)
				time.Sleep(filewriter.Pace)
				s.receive(1) // not read yet when the clock is set
				s.ahead -= step
				s.receive(1)
				time.Sleep(4 * time.Second)
				s.receive(1)
				<-n.done
				require.NoError(t, n.err)
				require.InDelta(t, 10, time.Since(begin).Seconds(), 1.5)
				s.receive(1)
				require.Equal(t, []uint64{2, 3, 4, 5, 6, 7}, w.numbers)
			})
		})
	}
}

// A condition that is met again extends its open snapshot, which ends After the last time.
func TestConditionMetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{let: make(chan struct{})}
		close(w.let)
		s := newFixture(t, w, 100, 1<<20)
		s.Cooldown, s.After = time.Minute, 10*time.Second
		c, err := condition.Parse("/a *")
		require.NoError(t, err)
		d, err := condition.NewDetector(c, nil)
		require.NoError(t, err)
		for range 3 { // at 0, 6 and 12 s
			s.fire(d, &bridge.Sample{ReceiveTime: s.wall(), Received: bridge.Now()})
			time.Sleep(6 * time.Second)
		}
		s.receive(1) // at 18 s
		time.Sleep(3 * time.Second)
		s.receive(1) // at 21 s
		time.Sleep(3 * time.Second)
		s.receive(1) // at 24 s: too late
		require.NoError(t, s.End())
		require.Equal(t, []uint64{1, 2}, w.numbers)
	})
}
