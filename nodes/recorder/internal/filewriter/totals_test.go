package filewriter

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
)

// newTotals returns a writer that writes a recording of /a, in file "0".
func newTotals() (*Writer, *queue.Topic) {
	a := queue.NewTopic(&codec.Channel{Topic: "/a", Type: "T"})
	w := &Writer{totals: totals{recorded: func() []Counted { return []Counted{{Topic: a}} }}}
	w.totals.begin("0", &recordingTotals{began: 1})
	return w, a
}

func missingOf(path string, a *queue.Topic, n uint64) *codec.MissingError {
	topics := []codec.TopicInfo{
		{Channel: a.Channel.Load(), MessageCount: n},
		{Channel: &codec.Channel{Topic: "/a", Type: "another"}, MessageCount: 100},
	}
	return &codec.MissingError{Path: path, Topics: topics, Err: syscall.ENOSPC}
}

func totalsEvent(written, dropped uint64, start, end int64, whole bool) codec.Event {
	return codec.Totals{Received: written + dropped, Written: written, Dropped: dropped}.Event("/a", start, end, whole)
}

// Each message is in the totals of one file, whether the file is completed before or after another one is begun.
func TestTotals(t *testing.T) {
	for _, late := range []bool{false, true} {
		for name, c := range map[string]struct {
			missing  uint64      // messages of the first file
			times    bool        // the times of the first file are known
			file     codec.Event // totals of the first file
			recorded uint64      // messages of all files
		}{
			"whole":                       {0, true, totalsEvent(10, 2, 5, 6, false), 15},
			"failed":                      {3, false, totalsEvent(7, 5, 0, 0, false), 12},
			"repeated messages miss, too": {11, false, totalsEvent(0, 12, 0, 0, false), 5},
		} {
			t.Run(name, func(t *testing.T) {
				w, a := newTotals()
				a.Written.Store(10)
				a.Dropped.Store(2)
				var missing *codec.MissingError
				if c.missing > 0 {
					missing = missingOf("0", a, c.missing)
				}
				if c.times {
					w.totals.end(5, 6, false)
				}
				next := func() {
					w.totals.begin("1", w.totals.open.recording)
					a.Written.Add(5)
				}
				if late {
					next()
				}
				require.Equal(t, []codec.Event{c.file}, w.Ending("0", missing))
				if !late {
					next()
				}
				w.totals.end(7, 8, true)
				require.Equal(t, []codec.Event{
					totalsEvent(5, 0, 7, 8, false),
					totalsEvent(c.file.Count+5, 12-c.file.Count, 1, 8, true),
				}, w.Ending("1", nil))
				require.Equal(t, c.recorded, a.Written.Load()-a.Missing.Load())
				require.Empty(t, w.totals.files)
				require.Nil(t, w.Ending("1", nil), "the file is complete")
			})
		}
	}
}

// Messages dropped after a file failed, and before the next file is begun, are in the totals of the next file.
func TestTotalsBetweenFiles(t *testing.T) {
	w, a := newTotals()
	a.Written.Store(10)
	require.Equal(t, []codec.Event{totalsEvent(9, 1, 0, 0, false)}, w.Ending("0", missingOf("0", a, 1)))
	a.Dropped.Add(4)
	w.totals.begin("1", w.totals.open.recording)
	a.Written.Add(1)
	require.Equal(t, []codec.Event{totalsEvent(1, 4, 0, 0, false)}, w.Ending("1", nil))
}

// A recording that takes the place of another one has totals of its own. A recording of one file has no totals of the
// whole recording.
func TestTotalsOfRecordings(t *testing.T) {
	w, a := newTotals()
	a.Written.Store(10)
	w.totals.end(5, 6, true)
	w.totals.begin("other", &recordingTotals{began: 7})
	a.Written.Add(1)
	w.totals.end(7, 7, true)
	require.Equal(t, []codec.Event{totalsEvent(1, 0, 7, 7, false)}, w.Ending("other", nil))
	require.Equal(t, []codec.Event{totalsEvent(10, 0, 5, 6, false)}, w.Ending("0", nil))
}
