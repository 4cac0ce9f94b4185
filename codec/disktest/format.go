package disktest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/internal/output"
)

// Format describes a format for tests on a simulated disk.
type Format struct {
	First    string           // name of the first file of a recording
	Channels []*codec.Channel // at least two, with messages
	Silent   *codec.Channel   // declared without messages
	Create   func(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error)
	Open     func(t testing.TB, name string, content []byte) (codec.Reader, error)
	// Messages are the messages that TestErrors writes; nil: 40 messages of 50 bytes, of one channel.
	Messages []codec.Message
	// Spared, unless nil, reports whether operations on the file at path never fail in TestErrors.
	Spared func(path string) bool
	// Uncertain reports that any partial last write may be read as damage, not only one with zeros in the middle.
	Uncertain bool
}

// Pieces runs a test with chunks that are written as a whole, and with chunks that are written in pieces.
func Pieces(t *testing.T, test func(t *testing.T)) {
	size := output.PieceSize
	defer func() { output.PieceSize = size }()
	for _, output.PieceSize = range []int{size, 150} {
		t.Run(fmt.Sprintf("%d bytes", output.PieceSize), test)
	}
}

// firstTime is the LogTime of the first message; the others follow in steps of 1 ns.
const firstTime = 1000

func readAll(t testing.TB, r codec.Reader, q codec.Query) ([]codec.Message, error) {
	it, err := r.Read(q)
	require.NoError(t, err)
	return codectest.Collect(it)
}

// TestErrors makes the disk fail at every stride-th operation, once or forever. The recording must have all messages
// that were written, without the messages reported as missing.
func (f Format) TestErrors(t *testing.T, stride int64) {
	for _, forever := range []bool{false, true} {
		for at := int64(1); ; at += stride {
			if !f.testError(t, at, forever) {
				require.Greater(t, at, int64(20), "it was tried at all")
				break
			}
		}
	}
}

// testError makes the disk fail at one operation, or from it on. It returns false if there is no such operation.
func (f Format) testError(t *testing.T, at int64, forever bool) bool {
	calls := atomic.Int64{}
	disk := &Disk{Fail: func(path string, n int) (int, error) {
		if f.Spared != nil && f.Spared(path) {
			return n, nil
		}
		if call := calls.Add(1); call == at || forever && call > at {
			return max(n, 0) / 2, syscall.EIO
		}
		return 0, nil
	}}
	name := fmt.Sprintf("fails at call %d, forever: %v", at, forever)
	missing := map[*codec.MissingError]bool{}
	var mu sync.Mutex
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if e := (*codec.MissingError)(nil); errors.As(err, &e) {
			missing[e] = true
		}
	}
	w, err := f.Create(disk, f.First, codec.CreateOptions{ChunkSize: 300,
		Completed: func(_ codec.FileInfo, err error) { note(err) }})
	if err != nil {
		require.Empty(t, disk.Files(), "nothing is left")
		return true
	}
	messages := f.Messages
	for i := int64(0); i < 40 && f.Messages == nil; i++ {
		messages = append(messages, codec.Message{Channel: f.Channels[0], LogTime: i + 1, Data: make([]byte, 50)})
	}
	var taken []int64
	for i := range messages {
		err := w.Write(&messages[i])
		if err == nil {
			taken = append(taken, messages[i].LogTime)
		} else {
			require.ErrorIs(t, err, syscall.EIO)
			require.ErrorContains(t, err, "look at the disk")
			_ = w.Split()
		}
		note(err)
		if i%10 == 5 {
			note(w.Sync())
		}
		if i == 20 {
			_ = w.Split()
		}
	}
	note(w.Close())

	lost := 0
	for e := range missing {
		lost += int(e.Count())
	}
	var got []int64
	for path, content := range disk.Files() {
		if f.Spared != nil && f.Spared(path) {
			continue
		}
		r, err := f.Open(t, path, content)
		require.NoError(t, err, name)
		info, err := r.Info()
		require.NoError(t, err, name)
		require.True(t, info.Complete || strings.HasSuffix(path, codec.ActiveSuffix), name)
		all, err := readAll(t, r, codec.Query{Verify: true})
		require.NoError(t, err, name)
		require.NoError(t, r.Close())
		for _, m := range all {
			if m.Channel.Topic != codec.EventTopic {
				got = append(got, m.LogTime)
			}
		}
	}
	slices.Sort(got)
	require.Len(t, got, len(taken)-lost, name)
	require.Subset(t, taken, got, name)
	require.Len(t, slices.Compact(got), len(taken)-lost, name)
	return calls.Load() >= at
}

// TestCrashes crashes the machine at any moment, with any loss of operations that were not synced. Everything before
// the last Sync must be there, and nothing else than what was written. No incomplete file may be called complete.
// Writes are cut at every step-th byte, and every stride-th content of the disk is checked.
func (f Format) TestCrashes(t *testing.T, step, stride int, o codec.CreateOptions) {
	disk := &Disk{}
	written := f.write(t, disk, o)
	type file struct {
		name    string
		content [sha256.Size]byte
		hole    bool
	}
	known := map[file][]int64{} // many contents of the disk have equal files
	disk.Crashes(step, stride, func(c Crash) {
		var times []int64
		for name, content := range c.Files {
			file := file{name, sha256.Sum256(content), c.Hole}
			if _, ok := known[file]; !ok {
				known[file] = f.readCrashed(t, name, content, c, written)
			}
			times = append(times, known[file]...)
		}
		slices.Sort(times)
		require.GreaterOrEqual(t, len(times), c.Mark, c.Name)
		for i, at := range times {
			if i < c.Mark {
				require.Equal(t, written[i].LogTime, at, c.Name)
			}
			require.True(t, i == 0 || times[i-1] < at, c.Name)
		}
	})
}

// write writes a recording with messages of all kinds and returns its messages.
func (f Format) write(t *testing.T, disk *Disk, o codec.CreateOptions) (written []codec.Message) {
	o.ChunkSize = 300
	w, err := f.Create(disk, f.First, o)
	require.NoError(t, err)
	write := func(n int) {
		for range n {
			i := len(written)
			// Many payloads end with zeros, and some are larger than a page.
			data := strings.Repeat(string(rune('a'+i%26)), 5+i) + strings.Repeat("\x00", 7*(i%5)) + strings.Repeat("z",
				i/20*5000)
			m := codec.Message{Channel: f.Channels[i%len(f.Channels)], LogTime: firstTime + int64(i),
				PublishTime: int64(i % 3),
				Data:        []byte(data)}
			require.NoError(t, w.Write(&m))
			written = append(written, m)
		}
	}
	sync := func() {
		require.NoError(t, w.Sync())
		disk.Mark(len(written))
	}
	sync()
	write(4)
	sync()
	write(8) // exceeds a chunk
	require.NoError(t, w.Split())
	write(3)
	sync()
	require.NoError(t, w.Split())
	write(6)
	sync()
	require.NoError(t, w.Declare(f.Silent))
	sync()
	write(1)
	require.NoError(t, w.Close())
	disk.Mark(len(written))
	return written
}

// readCrashed returns the times of the messages that are read without a report of damage. It compares the messages with
// the written ones.
func (f Format) readCrashed(t *testing.T, name string, content []byte, c Crash, written []codec.Message) []int64 {
	active := strings.HasSuffix(name, codec.ActiveSuffix)
	r, err := f.Open(t, name, content)
	if err != nil {
		require.True(t, active, c.Name)
		return nil // the file is empty
	}
	defer r.Close()
	strict, err := readAll(t, r, codec.Query{Verify: true})
	saved, savedErr := readAll(t, r, codec.Query{Damaged: func(error) {}})
	require.NoError(t, savedErr, c.Name)
	if (c.Hole || f.Uncertain) && err != nil {
		require.Subset(t, saved, strict, c.Name) // messages behind the hole may be wrong
	} else {
		require.NoError(t, err, "%s: %s", c.Name, name)
		if !reflect.DeepEqual(strict, saved) {
			require.Equal(t, strict, saved, c.Name)
		}
	}
	info, err := r.Info()
	require.NoError(t, err)
	if !active {
		require.True(t, info.Complete, "%s: %s: %v", c.Name, name, info.Events)
		require.Empty(t, info.Events, c.Name)
	}
	times := make([]int64, len(strict))
	for i, m := range strict {
		want := written[m.LogTime-firstTime]
		if want.Channel.Topic != m.Channel.Topic || !bytes.Equal(want.Data, m.Data) {
			require.Equal(t, want.Channel.Topic, m.Channel.Topic, c.Name)
			require.Equal(t, string(want.Data), string(m.Data), c.Name)
		}
		times[i] = m.LogTime
	}
	return times
}
