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

// syncedSizes knows how many bytes of each file would survive a power failure.
type syncedSizes struct {
	mu    sync.Mutex
	bytes map[string]int // by the result of finalName
}

// finalName returns the path that a file gets once it is complete.
func finalName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, codec.ActiveSuffix), ".tmp")
}

// hook is a hook for disk.Start.
func (s *syncedSizes) hook(c disk.Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.Sync {
		return nil
	}
	if stat, err := os.Stat(c.Path); err == nil { // bytes written during the sync may be lost
		s.bytes[finalName(c.Path)] = int(stat.Size())
	}
	return nil
}

// copyDamaged copies the folder from to the folder to, as a power failure may leave it: bytes that were not synced may
// be missing or zeros. It returns the time of the power failure.
func (s *syncedSizes) copyDamaged(t *testing.T, random *rand.Rand, from, to string) time.Time {
	t.Helper()
	s.mu.Lock()
	now := time.Now()
	contents, synced := map[string][]byte{}, map[string]int{}
	err := filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".reserve") {
			return nil // the file is gone, or reserves space
		}
		data, err := os.ReadFile(path)
		if err == nil {
			name, _ := filepath.Rel(from, path)
			contents[name], synced[name] = data, s.bytes[finalName(path)]
		}
		return nil
	})
	s.mu.Unlock()
	require.NoError(t, err)
	for name, data := range contents {
		path := filepath.Join(to, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, damage(random, data, synced[name]), 0o666))
	}
	return now
}

// damage returns data as a power failure may leave it. The first synced bytes stay as they are.
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
		if end < len(data) { // a hole has data behind it
			clear(data[at:end])
		}
	}
	return data
}

// TestPowerFailure tests that recordings keep messages which the recorder received sync_interval before a failure, and
// that they contain sent messages only. Power failures are at random times.
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

// failPower makes several copies of a running recorder's files, as power failures would leave them, and reads the
// copies.
func failPower(g *graph, storage string, splits []string) {
	t := g.t
	g.dir = inMemory(t) // syncs of a real disk may take longer than sync_interval
	sizes := &syncedSizes{bytes: map[string]int{}}
	args := []string{"/small", "/medium", "/large", "-o", "drive", "-s", storage, "--sync-interval",
		syncInterval.String(), "--chunk-size", "64KiB"}
	recorder := g.startOn(sizes.hook, append(args, splits...)...)
	publishers := g.startPublishers(load{mixed, time.Hour})
	publishers.waitUntilPublishing()
	waitBeyondSync(recorder)
	var folders []string
	root := t.TempDir()
	var moments []time.Time
	var delays []time.Duration
	for i := range (*tries + 1) / 2 {
		time.Sleep(g.between(0, 300*time.Millisecond))
		folders = append(folders, fmt.Sprintf("%s/failure%d", root, i))
		moments = append(moments, sizes.copyDamaged(t, g.rand, g.dir, folders[i]))
		delays = append(delays, recorder.Delayed())
	}
	var most time.Duration
	for i, folder := range folders {
		copied := *g
		copied.dir = folder
		r := copied.recording(storage, "drive")
		kept := r.read(mixedPublishers)
		most = max(most, publishers.oldestMissing(kept, moments[i], delays[i]))
	}
	t.Logf("with a sync_interval of %v the oldest missing message was sent at most %v before the failure", syncInterval,
		most.Round(time.Millisecond))
}

// inMemory returns a temporary folder, in /dev/shm if that exists.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "tapedeck-recorder-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}
