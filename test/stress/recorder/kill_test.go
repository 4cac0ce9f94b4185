package recorder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

var storages = []string{"record", "mcap"}

// mixed is a load of all kinds, 0.7 MB/s.
var mixed = []topic{
	{"/small", 2, 1000, 100},
	{"/medium", 2, 100, 1000},
	{"/large", 1, 10, 30_000},
}

const (
	mixedPublishers = 5
	syncInterval    = 500 * time.Millisecond
	late            = 2 * time.Second // that a recorder may be, beside what other work was seen to hold it up
)

// TestKill kills recorders at random. What they had received sync_interval before is there, each message once and in
// order; finished files need no repair; and the programs can do with the others. Some recorders have nothing but
// sync_interval that has them write: no split, no full chunk.
func TestKill(t *testing.T) {
	oldest := make(chan time.Duration, *tries)
	t.Run("try", func(t *testing.T) {
		for i := range *tries {
			storage := storages[i%len(storages)]
			t.Run(fmt.Sprintf("%d %s", i, storage), func(t *testing.T) {
				t.Parallel()
				oldest <- killOnce(newGraph(t), storage, i/len(storages)%5 == 0)
			})
		}
	})
	close(oldest)
	var ages []time.Duration
	for age := range oldest {
		ages = append(ages, age)
	}
	if len(ages) > 0 {
		slices.Sort(ages)
		t.Logf("with a sync_interval of %v the oldest missing message was sent %v before the kill, %v at most",
			syncInterval, ages[len(ages)/2].Round(time.Millisecond), ages[len(ages)-1].Round(time.Millisecond))
	}
}

// killOnce returns how long before the kill the oldest missing message was sent.
func killOnce(g *graph, storage string, whole bool) time.Duration {
	g.dir = inMemory(g.t) // a real disk may take longer than late
	splits := [][]string{
		{"--max-bag-duration", g.between(150*time.Millisecond, time.Second).String()},
		{"--max-bag-messages", fmt.Sprint(100 + g.rand.IntN(2000))},
		{"--max-bag-size", fmt.Sprint(64_000 + g.rand.IntN(500_000))},
	}[g.rand.IntN(3)]
	chunks := [][]string{{"--chunk-duration", "1h"}, {"--chunk-size", "16KiB"},
		{"--chunk-duration", "50ms"}}[g.rand.IntN(3)]
	if whole {
		splits, chunks = nil, []string{"--chunk-duration", "1h"}
	}
	args := append(append([]string{"--all", "-o", "drive", "-s", storage, "--sync-interval", syncInterval.String()},
		splits...), chunks...)
	recorder := g.start("recorder", args...)
	source := g.publish(load{mixed, time.Hour})
	source.begun()
	if whole {
		outlast(recorder)
	} else {
		time.Sleep(g.between(0, 4*time.Second))
	}
	killed, delayed := time.Now(), recorder.Delayed()
	recorder.Kill()
	time.Sleep(50 * time.Millisecond) // for the last lines of the source
	source.Kill()

	r := g.recording(storage, "drive")
	r.finished()
	kept := r.read(mixedPublishers)
	oldest := source.age(kept, killed, delayed)
	g.repair(r, kept)
	return oldest
}

// repair runs the programs on the files that a killed recorder left.
func (g *graph) repair(r *recording, kept contents) {
	t := g.t
	found, saved := 0, 0
	for i, path := range r.paths {
		if r.storage == "record" { // in whose folder the first file means all of them
			alone := g.path(fmt.Sprintf("alone%d", i))
			require.NoError(t, os.Mkdir(alone, 0o777))
			alone = filepath.Join(alone, filepath.Base(path))
			require.NoError(t, os.Link(path, alone))
			path = alone
		}
		reader := r.open(path)
		if reader == nil {
			continue
		}
		require.NoError(t, reader.Close())
		var info struct {
			Complete bool
			Topics   []struct {
				Name  string
				Count int `json:"message_count"`
			}
		}
		printed, err := g.command(filepath.Join(bin, "converter"), "info", "--json", path).Output()
		require.NoError(t, json.Unmarshal(printed, &info))
		require.Equal(t, info.Complete, err == nil, "info of %s: %v", path, err)
		before := found
		for _, topic := range info.Topics {
			for _, known := range mixed {
				if topic.Name == known.Name {
					found += topic.Count
				}
			}
		}
		if found == before {
			continue // there is nothing to be recovered
		}
		if r.storage == "record" && !strings.HasSuffix(path, codec.ActiveSuffix) {
			require.True(t, info.Complete, path)
		}
		name := fmt.Sprintf("saved%d.record", i)
		g.start("converter", "recover", path, name).Wait(0)
		saved += (&recording{t: t, paths: []string{g.path(name)}}).read(mixedPublishers).total()
	}
	require.Equal(t, kept.total(), found, "what info counts")
	require.Equal(t, kept.total(), saved, "what can be recovered")
}

// TestPlayKilled plays what a killed recorder left, which needs as long as it took.
func TestPlayKilled(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			recorder := g.start("recorder", "/small", "/medium", "/large", "-o", "drive", "-s", storage,
				"--max-bag-duration",
				"300ms")
			source := g.publish(load{mixed, time.Hour})
			source.begun()
			for began := time.Now(); len(g.recording(storage, "drive").parts) < 5; time.Sleep(10 * time.Millisecond) {
				require.Less(t, time.Since(began), process.Patience)
			}
			recorder.Kill()
			source.Kill()
			r := g.recording(storage, "drive")
			kept := r.read(mixedPublishers)
			require.Positive(t, kept.total())
			copied := g.start("recorder", "/small", "/medium", "/large", "-o", "copy")
			var names []string
			for _, path := range r.paths {
				name, err := filepath.Rel(g.dir, path)
				require.NoError(t, err)
				names = append(names, name)
			}
			player := g.start("player", append(append(names, "--wait-for-subscribers", "-r", "4"),
				process.Patient...)...)
			require.Contains(t, player.Wait(0), "is unfinished")
			copied.Interrupt()
			require.Equal(t, kept, g.recording("record", "copy").read(mixedPublishers))
		})
	}
}
