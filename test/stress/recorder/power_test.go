package recorder

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/disk"
)

// volatile is a disk that knows which parts of its files survive a power failure.
type volatile struct {
	mu     sync.Mutex
	synced map[string]int // bytes, by the result of finalName
}

// finalName returns the path that a file has once it is written.
func finalName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, codec.ActiveSuffix), ".tmp")
}

// hook implements the hook of disk.Start.
func (v *volatile) hook(c disk.Call) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !c.Sync {
		return nil
	}
	if stat, err := os.Stat(c.Path); err == nil { // what is written while it is synced may be lost
		v.synced[finalName(c.Path)] = int(stat.Size())
	}
	return nil
}

// fail copies the folder to another one as a power failure at this moment may leave it: of what was not put on the disk
// some is missing, or zeros. It returns the moment.
func (v *volatile) fail(t *testing.T, random *rand.Rand, from, to string) time.Time {
	t.Helper()
	v.mu.Lock()
	now := time.Now()
	contents, synced := map[string][]byte{}, map[string]int{}
	err := filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".reserve") {
			return nil // it is gone
		}
		data, err := os.ReadFile(path)
		if err == nil {
			name, _ := filepath.Rel(from, path)
			contents[name], synced[name] = data, v.synced[finalName(path)]
		}
		return nil
	})
	v.mu.Unlock()
	require.NoError(t, err)
	for name, data := range contents {
		path := filepath.Join(to, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, damage(random, data, synced[name]), 0o666))
	}
	return now
}

// damage does to data from the offset synced on what a power failure may.
func damage(random *rand.Rand, data []byte, synced int) []byte {
	if synced >= len(data) {
		return data
	}
	at := synced + random.IntN(len(data)-synced)
	switch random.IntN(3) {
	case 0:
		return data[:at]
	case 1:
		clear(data[at:])
	default:
		const page = 4096
		end := (at/page + 1 + random.IntN(8)) * page
		if end < len(data) { // a hole has two sides
			clear(data[at:end])
		}
	}
	return data
}

// TestPowerFailure has the power fail at random. What was received sync_interval before is there, and nothing else than
// what was sent.
func TestPowerFailure(t *testing.T) {
	t.Parallel()
	for _, storage := range storages {
		for name, splits := range map[string][]string{"split": {"--max-bag-duration", "700ms"}, "whole": nil} {
			t.Run(storage+" "+name, func(t *testing.T) {
				t.Parallel()
				failPower(newGraph(t), storage, splits)
			})
		}
	}
}

// failPower has the power of a recorder fail several times, so to say.
func failPower(g *graph, storage string, splits []string) {
	t := g.t
	g.dir = inMemory(t) // a real disk may take longer than sync_interval
	v := &volatile{synced: map[string]int{}}
	args := []string{"/small", "/medium", "/large", "-o", "drive", "-s", storage, "--sync-interval",
		syncInterval.String(), "--chunk-size", "64KiB"}
	recorder := g.startOn(v.hook, append(args, splits...)...)
	source := g.publish(load{mixed, time.Hour})
	source.begun()
	outlast(recorder)
	var folders []string
	root := t.TempDir()
	var moments []time.Time
	var delays []time.Duration
	for i := range (*tries + 1) / 2 {
		time.Sleep(g.between(0, 300*time.Millisecond))
		folders = append(folders, fmt.Sprintf("%s/failure%d", root, i))
		moments = append(moments, v.fail(t, g.rand, g.dir, folders[i]))
		delays = append(delays, recorder.Delayed())
	}
	var most time.Duration
	for i, folder := range folders {
		at := *g
		at.dir = folder
		r := at.recording(storage, "drive")
		kept := r.read(mixedPublishers)
		most = max(most, source.age(kept, moments[i], delays[i]))
	}
	t.Logf("with a sync_interval of %v the oldest missing message was sent at most %v before", syncInterval,
		most.Round(time.Millisecond))
}

// inMemory returns a folder that is in memory where there is such.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "tapedeck-recorder-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}
