package recorder

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

// dense has many messages, 3 MB/s.
var dense = []topic{
	{"/small", 3, 3000, 100},
	{"/large", 2, 20, 50_000},
}

const densePublishers = 5

// TestSplit splits at random times under load. It checks that each message is once in one of the files.
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

// splitBy records until there were that many splits, and checks the recording. by is the reason for splits.
func splitBy(g *graph, storage, by string, splits int) {
	t := g.t
	args := map[string][]string{
		"service":  nil,
		"size":     {"--max-bag-size", fmt.Sprint(64_000 + g.rand.IntN(500_000))},
		"duration": {"--max-bag-duration", g.between(20*time.Millisecond, 200*time.Millisecond).String()},
		"messages": {"--max-bag-messages", fmt.Sprint(50 + g.rand.IntN(2000))},
	}[by]
	recorder := g.start("recorder", append(args, "/small", "/large", "-o", "drive", "-s", storage)...)
	publishers := g.startPublishers(load{dense, time.Hour})
	publishers.waitUntilPublishing()
	requested := 0
	for began := time.Now(); len(g.recording(storage, "drive").files) <= splits; {
		require.Less(t, time.Since(began), process.Patience)
		time.Sleep(g.between(0, 60*time.Millisecond))
		if by == "service" {
			publishers.split()
			requested++
		}
	}
	require.Eventually(t, func() bool { return len(publishers.splits()) == requested }, process.Patience,
		time.Millisecond)
	last := publishers.finish()
	require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")

	for _, answer := range publishers.splits() {
		require.Equal(t, "done", answer)
	}
	r := g.recording(storage, "drive")
	require.Equal(t, len(r.files), r.checkFinished())
	if by == "service" {
		require.Len(t, r.files, requested+1)
	}
	c := r.read(densePublishers)
	require.Equal(t, last.Sent, c.complete)
	require.Equal(t, last.Sent, c.count)
	all := uint64(c.total())
	written := codec.Totals{Received: all, Written: all}
	require.Equal(t, accounts{files: written, recording: written}, r.accounts())
	t.Logf("%d messages in %d files", all, len(r.files))
}
