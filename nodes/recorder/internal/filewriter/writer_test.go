package filewriter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
)

// memory is a codec.Writer that keeps descriptions of messages.
type memory struct {
	mu       sync.Mutex
	files    []memoryFile
	declared []string // topics
	removed  []string // paths
	synced   int      // calls of Sync

	refusedTopic string // Write returns an error for each message of this topic, as for one that is too long
	writeErr     error  // disk error: Write and Sync return it until a successful Split clears it
	splitErr     error  // Split returns it and starts no file
}

// memoryFile is one file of a memory: "/topic time" for each message, "kind topic count" for each event.
type memoryFile []string

func (m *memory) Declare(c *codec.Channel) error {
	m.declared = append(m.declared, c.Topic)
	return nil
}

func (m *memory) Write(msg *codec.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writeErr != nil {
		return m.writeErr
	}
	if msg.Channel.Topic == m.refusedTopic {
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
	return m.writeErr
}

func (m *memory) Close() error         { return nil }
func (m *memory) Losses() []codec.Loss { return nil }
func (m *memory) File() string         { return fmt.Sprintf("file%d", max(len(m.files), 1)-1) }

func (m *memory) Split() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.splitErr != nil {
		return m.splitErr
	}
	if len(m.files) == 0 {
		m.files = append(m.files, nil)
	}
	m.files = append(m.files, nil)
	m.writeErr = nil
	return nil
}

func (m *memory) Remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removed = append(m.removed, path)
	return nil
}

// contents returns the descriptions in all files, except those of the events that OnFileEnd notes.
func (m *memory) contents() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Concat(m.files...), func(text string) bool { return text == "end  0" })
}

// calls is the log of a writer's callbacks.
type calls struct {
	list   []string          // a description of each call
	repeat []*queue.Item     // result of Latched
	note   func(codec.Event) // Writer.Note
}

func (c *calls) add(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func (c *calls) callbacks() Callbacks {
	return Callbacks{
		OnFileEnd:  func(int64, int64, bool) { c.note(codec.Event{Kind: "end"}) },
		NoteLosses: func() {},
		Recorded:   func() []Counted { return nil },
		Now:        func() int64 { return 1 },
		Latched: func(int64) []*queue.Item {
			for _, item := range c.repeat {
				item.Retain()
			}
			return slices.Clone(c.repeat)
		},
		OnEvent:   func(codec.Event) {},
		OnSplit:   func(closed, opened string, t int64) { c.add("split %s %s at %d", closed, opened, t) },
		OnError:   func(err error) { c.add("error %v", err) },
		OnRefused: func(_ *queue.Topic, err error) { c.add("refused %v", err) },
		OnLimit:   func(limit string) { c.add("limit: %s", limit) },
		OnRepeats: func(bytes int64) { c.add("repeats %d bytes", bytes) },
	}
}

// newWriter returns a writer that reads from a queue of at most maxBytes and writes to m, the log of its callbacks, and
// the topic /a, which pushes messages to the queue.
func newWriter(maxBytes int64) (w *Writer, m *memory, c *calls, a *topic) {
	m, c = &memory{}, &calls{}
	q := queue.New(maxBytes)
	w = New(&LiveReader{Queue: q, Reorder: queue.Reorder}, SizedWriter{Writer: m}, c.callbacks())
	c.note = w.Note
	return w, m, c, newTopic("/a", q)
}

// start runs w in a goroutine. The returned function stops w and waits until everything is written.
func start(t *testing.T, w *Writer) (stop func()) {
	stopping, done := make(chan struct{}), make(chan error)
	go func() { done <- w.Run(stopping) }()
	return func() {
		close(stopping)
		require.NoError(t, <-done)
	}
}

// writeBatch writes a batch and reports whether the queue may hold more.
func writeBatch(w *Writer) bool {
	more, _ := w.round(false)
	return more
}

// writeAll writes until the queue is empty or the disk fails, as Run does after stop.
func writeAll(w *Writer) {
	_, ended := w.round(true)
	for !ended && w.broken == nil {
		_, ended = w.round(true)
	}
}

// countFrees is the memory of a sample. It counts the calls of Free in n.
type countFrees struct{ n *int }

func (c countFrees) Free(uintptr) { *c.n++ }

// topic is a topic with the queue to which feed pushes its messages.
type topic struct {
	*queue.Topic
	queue *queue.Queue
}

func newTopic(name string, q *queue.Queue) *topic {
	return &topic{queue.NewTopic(&codec.Channel{Topic: name}), q}
}

// item returns a message received at the time at. freed counts how often its memory was freed.
func (t *topic) item(at int64) (item *queue.Item, freed *int) {
	freed = new(int)
	return t.NewItem(&bridge.Sample{Data: []byte("payload"), Received: at, Memory: countFrees{freed}}, at), freed
}

// feed pushes a message received at the time at to the queue, and counts the messages that the queue drops for it.
// freed counts how often the memory of the message was freed.
func (t *topic) feed(at int64) (freed *int) {
	item, freed := t.item(at)
	dropped := t.queue.Push(t.Topic, []*queue.Item{item}, nil)
	t.Dropped.Add(uint64(len(dropped)))
	queue.Release(dropped...)
	return freed
}

const patient = time.Minute // timeout of Eventually

func TestWritesInTheOrderOfReception(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m, _, a := newWriter(1 << 30)
		b := newTopic("/b", a.queue)
		w.Declare(a.Channel.Load())
		w.Declare(b.Channel.Load())
		stop := start(t, w)
		now := time.Now().UnixNano()
		var freed []*int
		var want []string
		for i := range int64(100) {
			freed = append(freed, b.feed(now+2*i+1), a.feed(now+2*i)) // each pair is in the wrong order
			want = append(want, fmt.Sprintf("/a %d", now+2*i), fmt.Sprintf("/b %d", now+2*i+1))
		}
		stop()
		require.Equal(t, []string{"/a", "/b"}, m.declared)
		require.Equal(t, want, m.contents())
		for _, n := range freed {
			require.Equal(t, 1, *n)
		}
		require.Equal(t, uint64(100), a.Written.Load())
		require.Zero(t, a.queue.Bytes())
		require.Equal(t, now+199, w.Position())
	})
}

func TestDoesNotWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m, _, a := newWriter(1 << 30)
		stop := start(t, w)
		a.feed(time.Now().UnixNano())
		require.Eventually(t, func() bool { return len(m.contents()) == 1 }, patient, time.Millisecond)
		stop()
	})
}

// A message is written without waiting for the reorder time once Delivered has passed it and the queue was emptied.
func TestWritesDeliveredMessagesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m, _, a := newWriter(1 << 30)
		b := newTopic("/b", a.queue)
		now := time.Now().UnixNano()
		delivered := now
		w.items.(*LiveReader).Delivered = func() int64 { return delivered }
		a.feed(now)
		a.feed(now + 3)
		b.feed(now - 1)
		w.round(false)
		require.Equal(t, []string{fmt.Sprintf("/b %d", now-1)}, m.contents())
		b.feed(now + 1)
		delivered = now + 3
		w.round(false)
		require.Equal(t, []string{fmt.Sprintf("/a %d", now), fmt.Sprintf("/b %d", now+1)}, m.contents()[1:])

		delivered = now + 10
		data := make([]byte, 1<<20)
		for range 10 { // of 1 MiB each: more than batchSize, so that the first Read leaves messages in the queue
			item, _ := a.item(now + 4)
			item.Payload.Data = data
			a.queue.Push(a.Topic, []*queue.Item{item}, nil)
		}
		require.True(t, writeBatch(w))
		require.Len(t, m.contents(), 3, "the queue was not emptied: it may hold an earlier message")
		for writeBatch(w) {
		}
		require.Len(t, m.contents(), 14)
	})
}

// Messages that wait for earlier ones may take a quarter of the memory of the queue. The oldest ones beyond that are
// written at once.
func TestDoesNotHoldBackTooMuch(t *testing.T) {
	const (
		fit     = 100     // messages that fit in the queue
		mayWait = fit / 4 // messages that LiveReader.Read lets wait
		size    = int64(len("payload")) + queue.Overhead
	)
	synctest.Test(t, func(t *testing.T) {
		w, m, _, a := newWriter(fit * size)
		now := time.Now().UnixNano()
		for i := range int64(90) {
			a.feed(now + i)
		}
		for writeBatch(w) {
		}
		require.Len(t, m.contents(), 90-mayWait)
		require.Equal(t, mayWait*size, a.queue.Bytes())
	})
}

func TestEndsWithTheErrorOfTheDisk(t *testing.T) {
	full := &codec.MissingError{Path: "file0", Err: syscall.ENOSPC}
	w, m, c, a := newWriter(1 << 30)
	var freed []*int
	for i := range int64(5) {
		freed = append(freed, a.feed(i))
		if i == 2 {
			w.round(false)
			m.writeErr = full
		}
	}
	require.ErrorIs(t, w.Run(make(chan struct{})), full)
	freed = append(freed, a.feed(6))
	w.Discard()
	require.Zero(t, a.queue.Bytes())
	for _, n := range freed {
		require.Equal(t, 1, *n, "each payload is freed once, written or not")
	}
	require.Equal(t, uint64(3), a.Written.Load())
	require.Equal(t, uint64(3), a.Dropped.Load())
	require.Len(t, c.list, 1)
	require.Contains(t, c.list[0], "no space left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	_, _, err := w.Split(ctx, time.Now().UnixNano(), nil)
	require.ErrorIs(t, err, io.EOF)
}

func TestGoesOnAfterAMessageThatCannotBeWritten(t *testing.T) {
	w, m, c, a := newWriter(1 << 30)
	m.refusedTopic = "/b"
	b := newTopic("/b", a.queue)
	a.feed(1)
	b.feed(2)
	a.feed(3)
	w.round(false)
	require.Equal(t, []string{"/a 1", "/a 3"}, m.contents())
	require.Equal(t, uint64(1), b.Dropped.Load())
	require.Equal(t, []string{"refused too long"}, c.list)
}

func TestSplits(t *testing.T) {
	const second = int64(time.Second)
	size := series.MessageSize("/a", []byte("payload"))
	for name, test := range map[string]struct {
		limits series.SplitLimits
		times  []int64
		want   []memoryFile
	}{
		"never": {series.SplitLimits{}, []int64{1, 2, 3}, []memoryFile{{"/a 1", "/a 2", "/a 3"}}},
		"messages": {series.SplitLimits{Messages: 2}, []int64{1, 2, 3, 4, 5},
			[]memoryFile{{"/a 1", "/a 2", "end  0"}, {"/a 3", "/a 4", "end  0"}, {"/a 5"}}},
		"size": {series.SplitLimits{Bytes: 2*size + 1}, []int64{1, 2, 3, 4},
			[]memoryFile{{"/a 1", "/a 2", "end  0"}, {"/a 3", "/a 4"}}},
		"duration, since the first message of the file": {
			series.SplitLimits{Duration: 10 * time.Second},
			[]int64{3 * second, 12 * second, 13 * second, 22 * second, 23 * second},
			[]memoryFile{{"/a 3000000000", "/a 12000000000", "end  0"}, {"/a 13000000000", "/a 22000000000", "end  0"},
				{"/a 23000000000"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, m, _, a := newWriter(1 << 30)
			w.Files = test.limits
			for i, at := range test.times {
				a.feed(int64(i + 1))
				popped := a.queue.Pop(1, nil)
				popped[0].LogTime = at
				w.pending = append(w.pending, popped...)
			}
			w.round(false)
			require.Equal(t, test.want, m.files)
			require.Equal(t, uint64(len(test.times)), a.Written.Load())
		})
	}
}

// Files after the first begin with the latched messages, which are not counted as written messages of their topic.
func TestNewFilesBeginWithLatchedMessages(t *testing.T) {
	w, m, c, a := newWriter(1 << 30)
	latched, freed := newTopic("/map", a.queue).item(1)
	c.repeat = []*queue.Item{latched}
	w.Files.Messages = 1
	a.feed(5)
	a.feed(7)
	writeAll(w)
	require.Equal(t, []memoryFile{{"/a 5", "end  0"}, {"/map 7", "/a 7", "end  0"}}, m.files)
	require.Zero(t, latched.Topic.Written.Load())
	queue.Release(latched)
	require.Equal(t, 1, *freed)
}

// Repeated messages count towards the size limit of the recording, but not towards the size limit of a file.
func TestRepeatedMessagesDoNotCountForTheLimitOfAFile(t *testing.T) {
	w, m, c, a := newWriter(1 << 30)
	large := newTopic("/map", a.queue)
	latched, _ := large.item(1)
	c.repeat = slices.Repeat([]*queue.Item{latched}, 20)
	size := sizeOf(latched)
	w.Files.Bytes, w.MaxBytes = 4*size, 40*size
	for i := range int64(12) {
		a.feed(5 + i)
	}
	writeAll(w)
	var messages []int
	for _, f := range m.files {
		messages = append(messages, len(slices.DeleteFunc(f, func(text string) bool { return text[:2] != "/a" })))
	}
	require.Equal(t, []int{4, 4, 0}, messages, "/a messages per file; repeated ones in the third file exceed MaxBytes")
	require.True(t, w.full)
	require.Contains(t, c.list, fmt.Sprintf("repeats %d bytes", 20*size))
	require.Equal(t, uint64((8+2*20)*len(latched.Payload.Data)), w.payload)
}

func TestSplitsOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m, _, a := newWriter(1 << 30)
		stop := start(t, w)
		before := time.Now().UnixNano()
		a.feed(before)
		closed, opened, err := w.Split(t.Context(), time.Now().UnixNano(), nil)
		require.NoError(t, err)
		require.Equal(t, []string{"file0", "file1"}, []string{closed, opened})
		require.Equal(t, "file1", w.File())
		after := time.Now().UnixNano()
		a.feed(after)
		m.mu.Lock()
		m.splitErr = errors.New("no more files")
		m.mu.Unlock()
		_, _, err = w.Split(t.Context(), time.Now().UnixNano(), nil)
		require.ErrorContains(t, err, "file1: no more files")
		stop()
		require.Equal(t, []memoryFile{{fmt.Sprintf("/a %d", before), "end  0"},
			{fmt.Sprintf("/a %d", after), "end  0", "end  0"}}, m.files)
	})
}

func TestStopsAtLimits(t *testing.T) {
	for name, test := range map[string]struct {
		messages uint64
		bytes    int64
		want     string
	}{
		"messages": {2, 0, "limit: 2 messages recorded"},
		"size":     {0, 3*series.MessageSize("/a", []byte("payload")) - 1, "limit: 170 are recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			w, m, c, a := newWriter(1 << 30)
			w.MaxMessages, w.MaxBytes = test.messages, test.bytes
			var freed []*int
			for i := range int64(5) {
				freed = append(freed, a.feed(i))
			}
			w.round(false)
			require.Equal(t, []string{"/a 0", "/a 1"}, m.contents())
			require.Equal(t, []string{test.want}, c.list)
			a.feed(9)
			w.Discard()
			require.Zero(t, a.Dropped.Load(), "messages beyond the limit are not dropped")
			for _, n := range freed {
				require.Equal(t, 1, *n)
			}
		})
	}
}

func TestSyncsAlways(t *testing.T) {
	w, m, _, a := newWriter(1 << 30)
	w.SyncAlways = true
	w.round(false)
	require.Zero(t, m.synced)
	a.feed(1)
	w.round(false)
	require.Equal(t, 1, m.synced)
}

// fakeDisk is a diskguard.Disk with the given free and total space in bytes.
type fakeDisk struct{ free, total int64 }

func (d *fakeDisk) Space(string) (free, total int64, err error) { return d.free, d.total, nil }

// guardOf returns a guard that keeps no space free.
func guardOf(d diskguard.Disk, action string) *diskguard.Guard {
	return &diskguard.Guard{
		Owner: owner.New(), Disk: d, Action: action,
		Log: func(bridge.LogLevel, string, ...any) {}, Note: func(codec.Event) {},
		Stamp: func() int64 { return 0 }, Fail: func(error) {},
	}
}

func TestWaitsForSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m, c, a := newWriter(1 << 30)
		disk := &fakeDisk{free: 0, total: 1000}
		w.Guard = guardOf(disk, diskguard.Pause)
		a.feed(1)
		w.round(false)
		m.writeErr = &codec.MissingError{Path: m.File(), Err: syscall.ENOSPC}
		a.feed(2)
		w.round(false)
		require.ErrorIs(t, w.broken, syscall.ENOSPC)
		a.feed(3)
		w.retry = time.Time{}
		w.round(false)
		require.Len(t, m.files, 1, "no file is opened while the disk is full")

		disk.free = 900
		w.Guard.Check(time.Now())
		w.round(false)
		require.NoError(t, w.broken)
		require.Equal(t, []memoryFile{{"/a 1"}, {"/a 2", "/a 3"}}, m.files)
		require.Len(t, c.list, 2)
		require.Contains(t, c.list[0], "error write")
		require.Equal(t, "split file0 file1 at 2", c.list[1])
		require.Equal(t, uint64(3), a.Written.Load())
	})
}

// The output may return the MissingError of an earlier file again after a split. The writer handles it only once.
func TestHandlesAnErrorOnce(t *testing.T) {
	w, m, c, a := newWriter(1 << 30)
	w.Guard = guardOf(&fakeDisk{free: 500, total: 1000}, diskguard.Pause)
	m.writeErr = &codec.MissingError{Path: m.File(), Err: syscall.EIO}
	a.feed(1)
	w.round(false)
	require.ErrorIs(t, w.broken, syscall.EIO)
	w.retry = time.Time{}
	w.round(false)
	require.NoError(t, w.broken, "writing continues in another file")
	require.Len(t, c.list, 2, "an error and a split")

	w.output.Writer = &memory{} // its File is the path in the error, so that only its identity makes it an old one
	w.fail(w.missing)
	require.NoError(t, w.broken)
	require.Len(t, c.list, 2)
}

func TestTriesAgainAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m, c, a := newWriter(1 << 30)
		w.Guard = guardOf(&fakeDisk{free: 500, total: 1000}, diskguard.Pause)
		a.feed(1)
		w.round(false)
		m.writeErr, m.splitErr = syscall.EIO, syscall.EIO
		a.feed(2)
		w.round(false)
		w.round(false)
		require.ErrorIs(t, w.broken, syscall.EIO)
		require.Equal(t, []string{"error input/output error"}, c.list)
		w.retry = time.Time{}
		w.round(false)
		require.ErrorIs(t, w.broken, syscall.EIO, "Split fails too")
		m.splitErr, w.retry = nil, time.Time{}
		w.round(false)
		require.NoError(t, w.broken)
		require.Equal(t, []memoryFile{{"/a 1"}, {"/a 2"}}, m.files)
		require.Zero(t, a.Dropped.Load())
	})
}

// While a write blocks, messages are still received, and the queue does not exceed its limit.
func TestReceivingDoesNotWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const fit = 100 // messages that fit in the queue
		w, m, _, a := newWriter(fit * (int64(len("payload")) + queue.Overhead))
		m.mu.Lock() // blocks Write
		stop := start(t, w)
		for i := range int64(10_000) {
			a.feed(i)
			require.LessOrEqual(t, a.queue.Bytes(), a.queue.MaxBytes)
		}
		m.mu.Unlock()
		stop()
		require.Equal(t, uint64(10_000), a.Written.Load()+a.Dropped.Load())
		require.GreaterOrEqual(t, a.Written.Load(), uint64(fit))
		require.Equal(t, "/a 9999", m.contents()[len(m.contents())-1], "the queue keeps the newest messages")
	})
}

// If the disk is full when a recording ends, the action Delete deletes the oldest files until Split succeeds, and the
// rest of the queue is written. Here Split succeeds once two files are deleted.
func TestMakesRoomForTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		action  string   // of the guard
		older   []string // paths of the completed files, oldest first
		err     error    // of Write and Split
		want    error    // of Run
		deleted []string // paths
	}{
		"deletes until there is room": {diskguard.Delete, []string{"a", "b", "c"}, syscall.ENOSPC, nil,
			[]string{"a", "b"}},
		"too few older files": {diskguard.Delete, []string{"a"}, syscall.ENOSPC, syscall.ENOSPC,
			[]string{"a"}},
		"other errors delete nothing":      {diskguard.Delete, []string{"a"}, syscall.EIO, syscall.EIO, nil},
		"the action Pause deletes nothing": {diskguard.Pause, []string{"a"}, syscall.ENOSPC, syscall.ENOSPC, nil},
		"the action Stop deletes nothing":  {diskguard.Stop, []string{"a"}, syscall.ENOSPC, syscall.ENOSPC, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, m, _, a := newWriter(1 << 20)
				m.writeErr, m.splitErr = test.err, test.err
				w.Guard = guardOf(&fakeDisk{total: 1e9}, test.action)
				var deleted []string
				older := diskguard.NewSplits(0, func(path string) error {
					deleted = append(deleted, path)
					if len(deleted) == 2 {
						m.splitErr = nil
					}
					return nil
				}, nil)
				older.Begun() // the file that is being written
				for _, path := range test.older {
					older.Begun()
					older.Completed(path)
				}
				w.Guard.RemoveOldest = older.RemoveOldest
				end := make(chan struct{})
				defer close(end)
				go w.Guard.Owner.Run(end)
				a.feed(time.Now().UnixNano())
				stop := make(chan struct{})
				close(stop)
				require.ErrorIs(t, w.Run(stop), test.want)
				require.Equal(t, test.deleted, deleted)
				if test.want == nil {
					require.Len(t, m.contents(), 1)
				}
			})
		})
	}
}

// The output may start a file by itself. The writer reports that as a split, and treats an error of the new file as one
// of the file that is being written.
func TestOutputBeginsFiles(t *testing.T) {
	w, m, c, a := newWriter(1 << 30)
	w.Guard = guardOf(&fakeDisk{free: 500, total: 1000}, diskguard.Pause)
	a.feed(1)
	writeAll(w)
	require.NoError(t, m.Split())
	m.writeErr = &codec.MissingError{Path: "file1", Err: syscall.EIO}
	a.feed(2)
	writeAll(w)
	require.ErrorIs(t, w.broken, syscall.EIO)
	writeAll(w)
	require.Equal(t, "file2", w.File())
	require.Len(t, c.list, 3)
	require.Equal(t, "split file0 file1 at 2", c.list[0])
	require.Contains(t, c.list[1], "error write file1: input/output error")
	require.Equal(t, "split file1 file2 at 2", c.list[2])
	require.Equal(t, []string{"/a 1", "/a 2"}, m.contents())
}
