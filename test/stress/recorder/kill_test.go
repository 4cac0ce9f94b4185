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

// mixed has topics of all sizes, 0.7 MB/s.
var mixed = []topic{
	{"/small", 2, 1000, 100},
	{"/medium", 2, 100, 1000},
	{"/large", 1, 10, 30_000},
}

const (
	mixedPublishers = 5
	syncInterval    = 500 * time.Millisecond
	allowedDelay    = 2 * time.Second // of a sync, besides the time that other processes delay the recorder
)

// TestKill kills recorders at random times. It checks that recordings keep messages which the recorder received
// sync_interval before, each message once and in order, that finished files are complete, and that the converter
// repairs the others. Some recorders write without splits and full chunks, by sync_interval alone.
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

// killOnce kills a recorder and returns how long before the kill the oldest missing message was sent. If syncOnly is
// set, nothing but sync_interval lets the recorder write.
func killOnce(g *graph, storage string, syncOnly bool) time.Duration {
	g.dir = inMemory(g.t) // syncs of a real disk may take longer than allowedDelay
	splits := [][]string{
		{"--max-bag-duration", g.between(150*time.Millisecond, time.Second).String()},
		{"--max-bag-messages", fmt.Sprint(100 + g.rand.IntN(2000))},
		{"--max-bag-size", fmt.Sprint(64_000 + g.rand.IntN(500_000))},
	}[g.rand.IntN(3)]
	chunks := [][]string{{"--chunk-duration", "1h"}, {"--chunk-size", "16KiB"},
		{"--chunk-duration", "50ms"}}[g.rand.IntN(3)]
	if syncOnly {
		splits, chunks = nil, []string{"--chunk-duration", "1h"}
	}
	args := slices.Concat([]string{"--all", "-o", "drive", "-s", storage, "--sync-interval", syncInterval.String()},
		splits, chunks, []string{"--chunk-groups", []string{"one", "/large"}[g.rand.IntN(2)]})
	recorder := g.start("recorder", args...)
	publishers := g.startPublishers(load{mixed, time.Hour})
	publishers.waitUntilPublishing()
	if syncOnly {
		waitBeyondSync(recorder)
	} else {
		time.Sleep(g.between(0, 4*time.Second))
	}
	killed, delayed := time.Now(), recorder.Delayed()
	recorder.Kill()
	time.Sleep(50 * time.Millisecond) // for the publishers' last reports
	publishers.Kill()

	r := g.recording(storage, "drive")
	r.checkFinished()
	kept := r.read(mixedPublishers)
	oldest := publishers.oldestMissing(kept, killed, delayed)
	g.repair(r, kept)
	return oldest
}

// repair checks that converter info and converter recover find the kept messages in the files of a killed recorder.
func (g *graph) repair(r *recording, kept contents) {
	t := g.t
	found, saved := 0, 0
	for i, path := range r.paths {
		if r.storage == "record" { // the first file of a folder stands for all files there
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
			continue // no message can be recovered
		}
		if r.storage == "record" && !strings.HasSuffix(path, codec.ActiveSuffix) {
			require.True(t, info.Complete, path)
		}
		name := fmt.Sprintf("saved%d.record", i)
		g.start("converter", "recover", path, name).Wait(0)
		saved += (&recording{t: t, paths: []string{g.path(name)}}).read(mixedPublishers).total()
	}
	require.Equal(t, kept.total(), found, "messages by converter info")
	require.Equal(t, kept.total(), saved, "messages by converter recover")
}

// TestPlayKilled plays the files of a killed recorder and checks that all of their messages are played.
func TestPlayKilled(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			recorder := g.start("recorder", "/small", "/medium", "/large", "-o", "drive", "-s", storage,
				"--max-bag-duration", "300ms")
			publishers := g.startPublishers(load{mixed, time.Hour})
			publishers.waitUntilPublishing()
			for began := time.Now(); len(g.recording(storage, "drive").files) < 5; time.Sleep(10 * time.Millisecond) {
				require.Less(t, time.Since(began), process.Patience)
			}
			recorder.Kill()
			publishers.Kill()
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
