package recorder

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

// dense is a load of many messages, 3 MB/s.
var dense = []topic{
	{"/small", 3, 3000, 100},
	{"/large", 2, 20, 50_000},
}

const densePublishers = 5

// TestSplit has files follow each other at random, under load. Every message is in one of them, once.
func TestSplit(t *testing.T) {
	t.Parallel()
	for _, storage := range storages {
		for _, by := range []string{"service", "size", "duration", "messages"} {
			t.Run(storage+" by "+by, func(t *testing.T) {
				t.Parallel()
				splitBy(newGraph(t), storage, by, (*tries+7)/8)
			})
		}
	}
}

// splitBy records until there were as many splits.
func splitBy(g *graph, storage, by string, splits int) {
	t := g.t
	args := map[string][]string{
		"service":  nil,
		"size":     {"--max-bag-size", fmt.Sprint(64_000 + g.rand.IntN(500_000))},
		"duration": {"--max-bag-duration", g.between(20*time.Millisecond, 200*time.Millisecond).String()},
		"messages": {"--max-bag-messages", fmt.Sprint(50 + g.rand.IntN(2000))},
	}[by]
	recorder := g.start("recorder", append(args, "/small", "/large", "-o", "drive", "-s", storage)...)
	source := g.publish(load{dense, time.Hour})
	source.begun()
	asked := 0
	for began := time.Now(); len(g.recording(storage, "drive").parts) <= splits; {
		require.Less(t, time.Since(began), process.Patience)
		time.Sleep(g.between(0, 60*time.Millisecond))
		if by == "service" {
			source.split()
			asked++
		}
	}
	require.Eventually(t, func() bool { return len(source.splits()) == asked }, process.Patience, time.Millisecond)
	last := source.finish()
	require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")

	for _, answer := range source.splits() {
		require.Equal(t, "done", answer)
	}
	r := g.recording(storage, "drive")
	require.Equal(t, len(r.parts), r.finished())
	if by == "service" {
		require.Len(t, r.parts, asked+1)
	}
	c := r.read(densePublishers)
	require.Equal(t, last.Sent, c.whole)
	require.Equal(t, last.Sent, c.count)
	all := uint64(c.total())
	written := codec.Totals{Received: all, Written: all}
	require.Equal(t, accounts{files: written, whole: written}, r.accounts())
	t.Logf("%d messages in %d files", all, len(r.parts))
}
