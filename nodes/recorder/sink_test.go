package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/split"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
)

// memory is a codec.Splitter that keeps what is written.
type memory struct {
	mu       sync.Mutex
	files    []memoryFile
	declared []string
	removed  []string
	synced   int
	refuse   string // topic whose messages are not written
	fail     error  // of the disk, from the next message on; Split is possible with it
	stuck    error  // of Split
}

// memoryFile is one of its files: what was written, as "/topic time".
type memoryFile []string

func (m *memory) Declare(c *codec.Channel) error {
	m.declared = append(m.declared, c.Topic)
	return nil
}

func (m *memory) Write(msg *codec.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if msg.Channel.Topic == m.refuse {
		return errors.New("too long")
	}
	text := fmt.Sprintf("%s %d", msg.Channel.Topic, msg.LogTime)
	if e, ok := codec.ParseEvent(msg); ok {
		text = fmt.Sprintf("%s %s %d", e.Kind, e.Topic, e.Count)
	}
	if len(m.files) == 0 {
		m.files = append(m.files, nil)
	}
	last := len(m.files) - 1
	m.files[last] = append(m.files[last], text)
	return nil
}

func (m *memory) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced++
	return m.fail
}

func (m *memory) Close() error { return nil }
func (m *memory) File() string { return fmt.Sprintf("file%d", max(len(m.files), 1)-1) }

func (m *memory) Split() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stuck != nil {
		return m.stuck
	}
	if len(m.files) == 0 {
		m.files = append(m.files, nil)
	}
	m.files = append(m.files, nil)
	m.fail = nil
	return nil
}

func (m *memory) Remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removed = append(m.removed, path)
	return nil
}

// written returns what was written to all files, without what a clerk has to say at their ends.
func (m *memory) written() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Concat(m.files...), func(text string) bool { return text == "end  0" })
}

// clerk is a desk that keeps what it is told.
type clerk struct {
	told   []string
	repeat []*queue.Item
	events []codec.Event
}

func (c *clerk) happened() []codec.Event {
	events := c.events
	c.events = nil
	return events
}

func (c *clerk) ended(int64, int64, bool) []codec.Event {
	return []codec.Event{{Kind: "end"}}
}

func (c *clerk) latched(int64) []*queue.Item {
	for _, it := range c.repeat {
		it.Retain()
	}
	return slices.Clone(c.repeat)
}

func (c *clerk) split(closed, opened string, t int64) { c.tell("split %s %s at %d", closed, opened, t) }
func (c *clerk) failed(err error)                     { c.tell("failed %v", err) }
func (c *clerk) wrote(codec.Event)                    {}
func (c *clerk) refused(_ *queue.Topic, err error)    { c.tell("refused %v", err) }
func (c *clerk) enough(limit string)                  { c.tell("enough: %s", limit) }
func (c *clerk) tell(format string, args ...any) {
	c.told = append(c.told, fmt.Sprintf(format, args...))
}

type countFrees struct{ n *int }

func (c countFrees) Free(uintptr) { *c.n++ }

// feed pushes a message of s received at t.
func feed(s *intake.Receiver, t int64) *int {
	freed := new(int)
	s.Take([]bridge.Sample{{Data: []byte("payload"), ReceiveTime: t, Memory: countFrees{freed}}})
	return freed
}

func newTestStream(topic string, b *queue.Queue) *intake.Receiver {
	return intake.NewReceiver(&codec.Channel{Topic: topic}, intake.Options{Clock: new(bridge.SimTime), Queue: b})
}

func TestSinkWritesInTheOrderOfReception(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w := queue.New(1<<30), &memory{}
		s := newSink(q, w, &clerk{})
		a, b := newTestStream("/a", q), newTestStream("/b", q)
		s.declare(a.Channel.Load())
		s.declare(b.Channel.Load())
		stop, done := make(chan struct{}), make(chan error)
		go func() { done <- s.run(stop) }()
		now := time.Now().UnixNano()
		var freed []*int
		var want []string
		for i := range int64(100) {
			freed = append(freed, feed(b, now+2*i+1), feed(a, now+2*i)) // each pair is in the wrong order
			want = append(want, fmt.Sprintf("/a %d", now+2*i), fmt.Sprintf("/b %d", now+2*i+1))
		}
		close(stop)
		require.NoError(t, <-done)
		require.Equal(t, []string{"/a", "/b"}, w.declared)
		require.Equal(t, want, w.written())
		for _, n := range freed {
			require.Equal(t, 1, *n)
		}
		require.Equal(t, uint64(100), a.Written.Load())
		require.Zero(t, q.Bytes())
		require.Equal(t, now+199, s.position.Load())
	})
}

func TestSinkDoesNotWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w := queue.New(1<<30), &memory{}
		s := newSink(q, w, &clerk{})
		stop, done := make(chan struct{}), make(chan error)
		go func() { done <- s.run(stop) }()
		feed(newTestStream("/a", q), time.Now().UnixNano())
		require.Eventually(t, func() bool { return len(w.written()) == 1 }, patient, time.Millisecond)
		close(stop)
		require.NoError(t, <-done)
	})
}

// What waits for earlier messages is written at once when it takes too much of the memory.
func TestSinkDoesNotHoldBackTooMuch(t *testing.T) {
	q, w := queue.New(100*(7+queue.Overhead)), &memory{}
	s := newSink(q, w, &clerk{})
	a := newTestStream("/a", q)
	now := time.Now().Add(time.Hour).UnixNano()
	for i := range int64(90) {
		feed(a, now+i)
	}
	for s.round(false) {
	}
	require.Len(t, w.written(), 90-25)
	require.Equal(t, int64(25*(7+queue.Overhead)), q.Bytes())
}

func TestSinkEndsWithTheErrorOfTheDisk(t *testing.T) {
	full := &codec.MissingError{Path: "file0", Err: syscall.ENOSPC}
	q := queue.New(1 << 30)
	w, c := &memory{}, &clerk{}
	s := newSink(q, w, c)
	a := newTestStream("/a", q)
	var freed []*int
	for i := range int64(5) {
		freed = append(freed, feed(a, i))
		if i == 2 {
			s.round(false)
			w.fail = full
		}
	}
	require.ErrorIs(t, s.run(make(chan struct{})), full)
	freed = append(freed, feed(a, 6))
	s.discard()
	for _, n := range freed {
		require.Equal(t, 1, *n, "payloads that were not written are given back too")
	}
	require.Equal(t, uint64(3), a.Written.Load())
	require.Equal(t, uint64(3), a.Dropped.Load())
	require.Len(t, c.told, 1)
	require.Contains(t, c.told[0], "no space left")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.requestSplit(ctx, time.Now().UnixNano())
	require.ErrorIs(t, err, errNotRecording)
}

func TestSinkGoesOnAfterAMessageThatCannotBeWritten(t *testing.T) {
	q := queue.New(1 << 30)
	w, c := &memory{refuse: "/b"}, &clerk{}
	s := newSink(q, w, c)
	a, b := newTestStream("/a", q), newTestStream("/b", q)
	feed(a, 1)
	feed(b, 2)
	feed(a, 3)
	s.round(false)
	require.Equal(t, []string{"/a 1", "/a 3"}, w.written())
	require.Equal(t, uint64(1), b.Dropped.Load())
	require.Equal(t, []string{"refused too long"}, c.told)
}

func TestSinkSplits(t *testing.T) {
	const second = int64(time.Second)
	size := split.Size("/a", []byte("payload"))
	for name, c := range map[string]struct {
		limits split.Limits
		times  []int64
		want   []memoryFile
	}{
		"never": {split.Limits{}, []int64{1, 2, 3}, []memoryFile{{"/a 1", "/a 2", "/a 3"}}},
		"messages": {split.Limits{Messages: 2}, []int64{1, 2, 3, 4, 5},
			[]memoryFile{{"/a 1", "/a 2", "end  0"}, {"/a 3", "/a 4", "end  0"}, {"/a 5"}}},
		"size": {split.Limits{Bytes: 2*size + 1}, []int64{1, 2, 3, 4},
			[]memoryFile{{"/a 1", "/a 2", "end  0"}, {"/a 3", "/a 4"}}},
		"duration, from the start on": {
			split.Limits{Duration: 10 * time.Second}, []int64{3 * second, 12 * second, 13 * second, 22 * second, 23 * second},
			[]memoryFile{{"/a 3000000000", "/a 12000000000", "end  0"}, {"/a 13000000000", "/a 22000000000", "end  0"},
				{"/a 23000000000"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, w := queue.New(1<<30), &memory{}
			s := newSink(q, w, &clerk{})
			s.files = c.limits
			a := newTestStream("/a", q)
			for i, at := range c.times {
				feed(a, int64(i+1))
				popped := q.Pop(1, nil)
				popped[0].LogTime = at
				s.pending = append(s.pending, popped...)
			}
			s.round(false)
			require.Equal(t, c.want, w.files)
			require.Equal(t, uint64(len(c.times)), a.Written.Load())
		})
	}
}

func TestSinkRepeatsWhatIsLatched(t *testing.T) {
	q, w := queue.New(1<<30), &memory{}
	freed := new(int)
	latched := newTestStream("/map", q).NewItem(&bridge.Sample{Data: make([]byte, 100), ReceiveTime: 1,
		Memory: countFrees{freed}}, 1)
	s := newSink(q, w, &clerk{repeat: []*queue.Item{latched}})
	s.files.Messages = 1
	a := newTestStream("/a", q)
	feed(a, 5)
	feed(a, 7)
	s.round(true)
	require.Equal(t, []memoryFile{{"/a 5", "end  0"}, {"/map 7", "/a 7", "end  0"}}, w.files)
	require.Zero(t, latched.Topic.Written.Load())
	queue.Release(latched)
	require.Equal(t, 1, *freed)
}

func TestSinkSplitsOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w, c := queue.New(1<<30), &memory{}, &clerk{}
		s := newSink(q, w, c)
		stop, done := make(chan struct{}), make(chan error)
		go func() { done <- s.run(stop) }()
		a := newTestStream("/a", q)
		before := time.Now().UnixNano()
		feed(a, before)
		closed, opened, err := s.requestSplit(t.Context(), time.Now().UnixNano())
		require.NoError(t, err)
		require.Equal(t, []string{"file0", "file1"}, []string{closed, opened})
		require.Equal(t, "file1", s.file())
		after := time.Now().UnixNano()
		feed(a, after)
		w.mu.Lock()
		w.stuck = errors.New("no more files")
		w.mu.Unlock()
		_, _, err = s.requestSplit(t.Context(), time.Now().UnixNano())
		require.ErrorContains(t, err, "file1: no more files")
		close(stop)
		require.NoError(t, <-done)
		require.Equal(t, []memoryFile{{fmt.Sprintf("/a %d", before), "end  0"},
			{fmt.Sprintf("/a %d", after), "end  0", "end  0"}}, w.files)
	})
}

func TestSinkStopsAtLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits totalLimits
		told   string
	}{
		"messages": {totalLimits{messages: 2}, "enough: 2 messages are recorded"},
		"size":     {totalLimits{bytes: 3*split.Size("/a", []byte("payload")) - 1}, "enough: 170 are recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			q, w, desk := queue.New(1<<30), &memory{}, &clerk{}
			s := newSink(q, w, desk)
			s.limits = c.limits
			a := newTestStream("/a", q)
			var freed []*int
			for i := range int64(5) {
				freed = append(freed, feed(a, i))
			}
			s.round(false)
			require.Equal(t, []string{"/a 0", "/a 1"}, w.written())
			require.Equal(t, []string{c.told}, desk.told)
			feed(a, 9)
			s.discard()
			require.Zero(t, a.Dropped.Load(), "what comes later is not to be recorded")
			for _, n := range freed {
				require.Equal(t, 1, *n)
			}
		})
	}
}

func TestSinkSyncsAlways(t *testing.T) {
	q, w := queue.New(1<<30), &memory{}
	s := newSink(q, w, &clerk{})
	s.always = true
	a := newTestStream("/a", q)
	s.round(false)
	require.Zero(t, w.synced)
	feed(a, 1)
	s.round(false)
	require.Equal(t, 1, w.synced)
}

// fakeDisk is a disk of that size.
type fakeDisk struct{ free, total int64 }

func (d *fakeDisk) Space(string) (free, total int64, err error) { return d.free, d.total, nil }

// guardOf returns a guard that leaves nothing free.
func guardOf(d diskguard.Disk, action string) *diskguard.Guard {
	return &diskguard.Guard{
		Disk: d, Action: action, Log: func(bridge.LogLevel, string, ...any) {}, Note: func(codec.Event) {},
		Stamp: func() int64 { return 0 }, Fail: func(error) {},
	}
}

func TestSinkWaitsForSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w, desk := queue.New(1<<30), &memory{}, &clerk{}
		s := newSink(q, w, desk)
		disk := &fakeDisk{free: 0, total: 1000}
		s.guard = guardOf(disk, diskguard.Pause)
		a := newTestStream("/a", q)
		feed(a, 1)
		s.round(false)
		w.fail = &codec.MissingError{Path: w.File(), Err: syscall.ENOSPC}
		feed(a, 2)
		s.round(false)
		require.ErrorIs(t, s.broken, syscall.ENOSPC)
		feed(a, 3)
		s.retry = time.Time{}
		s.round(false)
		require.Len(t, w.files, 1, "nothing is tried while there is no space")

		disk.free = 900
		s.guard.Check(time.Now())
		s.round(false)
		require.NoError(t, s.broken)
		require.Equal(t, []memoryFile{{"/a 1"}, {"/a 2", "/a 3"}}, w.files)
		require.Len(t, desk.told, 2)
		require.Contains(t, desk.told[0], "failed write")
		require.Equal(t, "split file0 file1 at 2", desk.told[1])
		require.Equal(t, uint64(3), a.Written.Load())

		s.writer = &memory{fail: s.missing}
		s.fault(s.missing)
		require.NoError(t, s.broken, "what was said of the file before is not about this one")
	})
}

func TestSinkTriesAgainAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w, desk := queue.New(1<<30), &memory{}, &clerk{}
		s := newSink(q, w, desk)
		s.guard = guardOf(&fakeDisk{free: 500, total: 1000}, diskguard.Pause)
		a := newTestStream("/a", q)
		feed(a, 1)
		s.round(false)
		w.fail, w.stuck = syscall.EIO, syscall.EIO
		feed(a, 2)
		s.round(false)
		s.round(false)
		require.ErrorIs(t, s.broken, syscall.EIO)
		require.Equal(t, []string{"failed input/output error"}, desk.told)
		s.retry = time.Time{}
		s.round(false)
		require.ErrorIs(t, s.broken, syscall.EIO, "there is no other file either")
		w.stuck, s.retry = nil, time.Time{}
		s.round(false)
		require.NoError(t, s.broken)
		require.Equal(t, []memoryFile{{"/a 1"}, {"/a 2"}}, w.files)
		require.Zero(t, a.Dropped.Load())
	})
}

// A disk that does not answer stops nobody from receiving, and takes no more memory than it may.
func TestReceivingDoesNotWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w := queue.New(100*(7+queue.Overhead)), &memory{}
		s := newSink(q, w, &clerk{})
		stop, done := make(chan struct{}), make(chan error)
		a := newTestStream("/a", q)
		w.mu.Lock() // which Write waits for
		go func() { done <- s.run(stop) }()
		for i := range int64(10_000) {
			feed(a, i)
			require.LessOrEqual(t, q.Bytes(), q.MaxBytes)
		}
		w.mu.Unlock()
		close(stop)
		require.NoError(t, <-done)
		require.Equal(t, uint64(10_000), a.Received.Load())
		require.Equal(t, uint64(10_000), a.Written.Load()+a.Dropped.Load())
		require.GreaterOrEqual(t, a.Written.Load(), uint64(100))
		require.Equal(t, "/a 9999", w.written()[len(w.written())-1], "the newest are kept")
	})
}

// At the end of a recording, too, the oldest files are deleted when the disk is full.
func TestSinkMakesRoomForTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		action  string
		older   []string
		err     error
		want    error
		deleted []string
	}{
		"delete-oldest":             {diskguard.Delete, []string{"a", "b", "c"}, syscall.ENOSPC, nil, []string{"a", "b"}},
		"not enough older files":    {diskguard.Delete, []string{"a"}, syscall.ENOSPC, syscall.ENOSPC, []string{"a"}},
		"not for want of space":     {diskguard.Delete, []string{"a"}, syscall.EIO, syscall.EIO, nil},
		"pause deletes nothing":     {diskguard.Pause, []string{"a"}, syscall.ENOSPC, syscall.ENOSPC, nil},
		"stop does not delete them": {diskguard.Stop, []string{"a"}, syscall.ENOSPC, syscall.ENOSPC, nil},
	} {
		inBubble(t, name, func(t *testing.T) {
			b := queue.New(1 << 20)
			m := &memory{fail: c.err, stuck: c.err}
			s := newSink(b, m, &clerk{})
			s.guard = guardOf(&fakeDisk{total: 1e9}, c.action)
			var deleted []string
			older := diskguard.NewSplits(0, func(path string) error {
				if deleted = append(deleted, path); len(deleted) == 2 {
					m.stuck = nil
				}
				return nil
			})
			for _, path := range c.older {
				older.Begun()
				older.Completed(path)
			}
			s.guard.RemoveOldest = older.RemoveOldest
			feed(newTestStream("/n", b), time.Now().UnixNano())
			stop := make(chan struct{})
			close(stop)
			require.ErrorIs(t, s.run(stop), c.want)
			require.Equal(t, c.deleted, deleted)
			if c.want == nil {
				require.Len(t, m.written(), 1)
			}
		})
	}
}
