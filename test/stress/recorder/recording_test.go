package recorder

import (
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
)

var formats = codec.Formats{record.Format, mcap.Format, rosbag2.Format}

// recording has the files of a recording.
type recording struct {
	t       *testing.T
	storage string
	paths   []string // arguments for the executables: the files of an Apollo recording, or the folder of a bag
	files   []string // in their order, complete or not
	damage  []error  // found by read
}

// recording returns the recording with this name.
func (g *graph) recording(storage, name string) *recording {
	g.t.Helper()
	pattern := map[string]string{"record": name + ".record.*", "mcap": name + "/*.mcap*"}[storage]
	files, err := filepath.Glob(g.path(pattern))
	require.NoError(g.t, err)
	slices.SortFunc(files, func(a, b string) int { // drive_9.mcap comes before drive_10.mcap
		a, b = strings.TrimSuffix(a, codec.ActiveSuffix), strings.TrimSuffix(b, codec.ActiveSuffix)
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	r := &recording{t: g.t, storage: storage, paths: files, files: files}
	if storage == "mcap" {
		r.paths = []string{g.path(name)}
	}
	return r
}

// contents describes the messages of a recording. Slices have one element for each publisher.
type contents struct {
	complete []int // number of the first missing message
	next     []int // number after the number of the last message
	count    []int // number of messages
}

// read reads all files, as the player does, and skips damage. It requires that the recording has the messages of each
// publisher in order and each message at most once.
func (r *recording) read(publishers int) contents {
	r.t.Helper()
	c := contents{make([]int, publishers), make([]int, publishers), make([]int, publishers)}
	var readers []codec.Iterator
	for _, path := range r.paths {
		reader := r.open(path)
		if reader == nil {
			continue
		}
		defer reader.Close()
		it, err := reader.Read(codec.Query{
			Topics:  func(c *codec.Channel) bool { return c.Type == messageType },
			Damaged: func(err error) { r.damage = append(r.damage, err) },
		})
		require.NoError(r.t, err)
		readers = append(readers, it)
	}
	all := codec.Merge(readers...)
	defer all.Close()
	for {
		m, err := all.Next()
		if errors.Is(err, io.EOF) {
			return c
		}
		require.NoError(r.t, err)
		publisher, n, intact := parse(m.Data)
		if !intact && len(r.damage) > 0 {
			continue // the reader has reported damage
		}
		require.True(r.t, intact, "a message is damaged, and the reader has reported no damage")
		require.Less(r.t, publisher, publishers)
		require.GreaterOrEqual(r.t, n, c.next[publisher], "a message of publisher %d is repeated or late", publisher)
		if n == c.complete[publisher] {
			c.complete[publisher]++
		}
		c.next[publisher] = n + 1
		c.count[publisher]++
	}
}

// open opens a file or a folder. It returns nil for an active file without contents.
func (r *recording) open(path string) codec.Reader {
	r.t.Helper()
	reader, err := formats.Open(path)
	if errors.Is(err, codec.ErrUnknownFormat) && strings.HasSuffix(path, codec.ActiveSuffix) {
		return nil
	}
	require.NoError(r.t, err)
	return reader
}

// total returns the number of messages of all publishers.
func (c contents) total() (n int) {
	for _, count := range c.count {
		n += count
	}
	return n
}

// info returns the Info of a file or a folder.
func (r *recording) info(path string) *codec.Info {
	r.t.Helper()
	reader := r.open(path)
	require.NotNil(r.t, reader, path)
	defer reader.Close()
	info, err := reader.Info()
	require.NoError(r.t, err)
	return info
}

// checkFinished requires that each file without the suffix of active files is complete and has messages. It returns how
// many such files there are.
func (r *recording) checkFinished() (n int) {
	r.t.Helper()
	for _, path := range r.files {
		if strings.HasSuffix(path, codec.ActiveSuffix) {
			continue
		}
		n++
		info := r.info(path)
		require.True(r.t, info.Complete, "%s: %v", path, info.Events)
		require.Positive(r.t, info.MessageCount, path)
	}
	return n
}

// accounts has the sums of a recording's events.
type accounts struct {
	files     codec.Totals // of existing files
	recording codec.Totals // of existing and deleted files; zero if the recorder has written only one file
	dropped   uint64       // messages, by events of kind drop
	missing   uint64       // messages, by events of kind disk
}

// accounts adds up the events of all files.
func (r *recording) accounts() (b accounts) {
	r.t.Helper()
	for _, path := range r.files {
		for _, e := range r.info(path).Events {
			t, ofRecording, ok := codec.ParseTotals(e)
			switch {
			case ofRecording:
				addTotals(&b.recording, t)
			case ok:
				addTotals(&b.files, t)
			case e.Kind == codec.EventDrop:
				b.dropped += e.Count
			case e.Kind == codec.EventDisk:
				b.missing += e.Count
			}
		}
	}
	return b
}

// checkTotals requires that the totals of each file match its messages.
func (r *recording) checkTotals(publishers int) {
	r.t.Helper()
	for _, path := range r.files {
		file := recording{t: r.t, storage: r.storage, paths: []string{path}, files: []string{path}}
		c := file.read(publishers)
		require.Equal(r.t, uint64(c.total()), file.accounts().files.Written, path)
	}
}

// addTotals adds t to the totals to.
func addTotals(to *codec.Totals, t codec.Totals) {
	to.Received += t.Received
	to.Written += t.Written
	to.Dropped += t.Dropped
	to.Lost += t.Lost
}
