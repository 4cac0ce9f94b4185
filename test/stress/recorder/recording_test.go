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

// recording is the content of the files that a recorder left.
type recording struct {
	t       *testing.T
	storage string
	paths   []string // for the programs: the parts of an Apollo recording, or the folder of a bag
	parts   []string // the files in their order, complete or not
	damage  []error  // that reading came across
}

// recording finds the recording of that name.
func (g *graph) recording(storage, name string) *recording {
	g.t.Helper()
	pattern := map[string]string{"record": name + ".record.*", "mcap": name + "/*.mcap*"}[storage]
	parts, err := filepath.Glob(g.path(pattern))
	require.NoError(g.t, err)
	complete := func(path string) string { return strings.TrimSuffix(path, codec.ActiveSuffix) }
	slices.SortFunc(parts, func(a, b string) int { // drive_9.mcap comes before drive_10.mcap
		a, b = complete(a), complete(b)
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	r := &recording{t: g.t, storage: storage, paths: parts, parts: parts}
	if storage == "mcap" {
		r.paths = []string{g.path(name)}
	}
	return r
}

// contents are the numbers of the messages of each publisher.
type contents struct {
	whole []int // those before are there
	next  []int // the last one is before
	count []int
}

// read reads all parts, as the player does, and what it can save of damaged ones. The messages of each publisher must
// be in order, each once.
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
		publisher, n, whole := parse(m.Data)
		if !whole && len(r.damage) > 0 {
			continue // it was said
		}
		require.True(r.t, whole, "a message is damaged")
		require.Less(r.t, publisher, publishers)
		require.GreaterOrEqual(r.t, n, c.next[publisher], "a message of publisher %d is twice or late", publisher)
		if n == c.whole[publisher] {
			c.whole[publisher]++
		}
		c.next[publisher] = n + 1
		c.count[publisher]++
	}
}

// open returns nil for a file that the recorder had only just created.
func (r *recording) open(path string) codec.Reader {
	r.t.Helper()
	reader, err := formats.Open(path)
	if errors.Is(err, codec.ErrUnknownFormat) && strings.HasSuffix(path, codec.ActiveSuffix) {
		return nil
	}
	require.NoError(r.t, err)
	return reader
}

// total returns how many messages there are.
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

// finished requires that all parts that are complete by their names open as such, and returns how many these are.
func (r *recording) finished() (n int) {
	r.t.Helper()
	for _, path := range r.parts {
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

// accounts has the losses that a recording counts.
type accounts struct {
	files   codec.Totals // of all topics and files that are there
	whole   codec.Totals // of all topics, of files that were deleted too; zero where there was only one file
	dropped uint64       // messages, that events tell of
	missing uint64       // messages, for the disk
}

// accounts adds up the events of all parts.
func (r *recording) accounts() (b accounts) {
	r.t.Helper()
	for _, path := range r.parts {
		for _, e := range r.info(path).Events {
			t, whole, ok := codec.ParseTotals(e)
			switch {
			case whole:
				addTotals(&b.whole, t)
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
	for _, path := range r.parts {
		file := recording{t: r.t, storage: r.storage, paths: []string{path}, parts: []string{path}}
		c := file.read(publishers)
		require.Equal(r.t, uint64(c.total()), file.accounts().files.Written, path)
	}
}

func addTotals(to *codec.Totals, t codec.Totals) {
	to.Received += t.Received
	to.Written += t.Written
	to.Dropped += t.Dropped
	to.Lost += t.Lost
}
