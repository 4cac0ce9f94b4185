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
	"tapedeck/nodes/internal/condition"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
)

// slowWriter keeps the numbers that payloads begin with, and the events. It may fail.
type slowWriter struct {
	let     chan struct{} // has a value for each message; closed: no more are waited for
	fail    error
	numbers []uint64
	events  []codec.Event
}

func (*slowWriter) Declare(*codec.Channel) error { return nil }
func (*slowWriter) Sync() error                  { return nil }
func (*slowWriter) Close() error                 { return nil }

func (w *slowWriter) Write(m *codec.Message) error {
	<-w.let
	if e, ok := codec.ParseEvent(m); ok {
		w.events = append(w.events, e)
	} else {
		w.numbers = append(w.numbers, binary.LittleEndian.Uint64(m.Data))
	}
	return w.fail
}

// testSet returns a set of snapshots written by w, and a function that receives n messages of size bytes.
func testSet(t *testing.T, w codec.Writer, size, maxBytes int64) (*Set, func(n int)) {
	t.Chdir(t.TempDir())
	clock := new(bridge.SimTime)
	s := New(Options{
		Ring: queue.NewRing(maxBytes), Live: &formats.Live{},
		BaseName:  func() string { return "drive" },
		Create:    func(name string, _ map[string]string) (codec.Writer, string, error) { return w, name, nil },
		Stamp:     clock.Stamp,
		Topics:    func() []*queue.Topic { return nil },
		Latched:   func(func(*queue.Topic) int64) []*queue.Item { return nil },
		OnWritten: func(string) {}, OnEvent: func(codec.Event) {},
		Warn: func(string, string, ...any) {},
		Log:  func(bridge.LogLevel, string, ...any) {},
	})
	r := intake.NewReceiver(&codec.Channel{Topic: "/a", Encoding: codec.EncodingCDR},
		intake.Options{Clock: clock, Ring: s.Ring})
	received := uint64(0)
	return s, func(n int) {
		for range n {
			received++
			data := binary.LittleEndian.AppendUint64(nil, received)
			r.Take([]bridge.Sample{{Data: append(data, make([]byte, size-8)...), ReceiveTime: s.wall()}})
		}
	}
}

func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 10000
		w := &slowWriter{let: make(chan struct{})}
		s, receive := testSet(t, w, size, 10*(size+queue.Overhead))
		receive(5)
		time.Sleep(2 * queue.Reorder)
		n, err := s.Take(Trigger{Time: time.Now().UnixNano(), After: time.Hour})
		require.NoError(t, err)
		w.let <- struct{}{} // it has read the first five
		receive(100)        // ten stay within the limits, ten beyond them
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
		s, receive := testSet(t, w, 100, 1<<20)
		receive(3)
		_, err := s.TakeNow(t.Context(), Trigger{})
		require.ErrorContains(t, err, "write drive: no space left on device")
		require.Zero(t, s.Writing())
		require.NoError(t, s.End())
	})
}

// A cooldown does not last until a clock that was set back has caught up.
func TestCooldownWithAClockThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{let: make(chan struct{})}
		close(w.let)
		s, _ := testSet(t, w, 100, 1<<20)
		s.Create = func(name string, _ map[string]string) (codec.Writer, string, error) {
			return &slowWriter{let: w.let}, name, nil
		}
		s.Cooldown = time.Minute
		c, err := condition.Parse("/a *")
		require.NoError(t, err)
		d, err := condition.NewDetector(c, nil)
		require.NoError(t, err)
		now := time.Now()
		var paths atomic.Int32
		s.OnWritten = func(string) { paths.Add(1) }
		for _, after := range []time.Duration{0, -time.Second, -time.Hour, -time.Hour + time.Second, 0} {
			s.fire(d, &bridge.Sample{ReceiveTime: now.Add(after).UnixNano()})
		}
		require.NoError(t, s.End())
		require.EqualValues(t, 3, paths.Load())
	})
}

// A snapshot goes on for as long as it should, and has what comes until then, though the clock is set.
func TestSnapshotWithAClockThatIsSet(t *testing.T) {
	for name, step := range map[string]time.Duration{"back": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{let: make(chan struct{})}
				close(w.let)
				s, receive := testSet(t, w, 100, 1<<20)
				s.Duration = 10 * time.Second
				var set atomic.Int64
				s.wall = func() int64 { return time.Now().UnixNano() + set.Load() }
				receive(3)
				begin := time.Now()
				n, err := s.Take(Trigger{Time: s.wall(), Before: time.Minute, After: 10 * time.Second})
				require.NoError(t, err)
				time.Sleep(5*time.Second + pace/2)
				receive(1)
				time.Sleep(pace)
				receive(1) // which it has not read when the clock is set
				set.Store(int64(step))
				receive(1)
				time.Sleep(4 * time.Second)
				receive(1)
				<-n.done
				require.NoError(t, n.err)
				require.InDelta(t, 10, time.Since(begin).Seconds(), 1.5)
				receive(1)
				require.ElementsMatch(t, []uint64{1, 2, 3, 4, 5, 6, 7}, w.numbers)
			})
		})
	}
}
