package rosbag2

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/disktest"
)

// Whatever the disk fails at, once or for good: what is read of databases is what was written, without what is said to be missing.
func TestDiskErrors(t *testing.T) {
	for _, forever := range []bool{false, true} {
		for at := int64(1); ; at++ {
			calls := atomic.Int64{}
			disk := &disktest.Disk{Fail: func(path string, n int) (int, error) {
				if strings.Contains(path, metadataFile) {
					return n, nil
				}
				if call := calls.Add(1); call == at || forever && call > at {
					return max(n, 0) / 2, syscall.ENOSPC
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
			w, err := createOn(disk, filepath.Join(t.TempDir(), "a"), codec.CreateOptions{
				Storage: storageSQLite, ChunkSize: 8000, Completed: func(_ codec.FileInfo, err error) { note(err) },
			})
			if err != nil {
				require.Empty(t, disk.Files(), "nothing is left")
				continue
			}
			c := &codec.Channel{Topic: "/a", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR}
			var taken []int64
			for i := range int64(40) {
				err := w.Write(&codec.Message{Channel: c, LogTime: i, Data: make([]byte, 2000)})
				if err == nil {
					taken = append(taken, i)
				} else {
					require.ErrorIs(t, err, syscall.ENOSPC)
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
			dir := t.TempDir()
			for path, content := range disk.Files() {
				path = filepath.Join(dir, filepath.Base(path))
				require.NoError(t, os.WriteFile(path, content, 0o666))
				if filepath.Base(path) == metadataFile {
					continue
				}
				r, err := openDatabase(path, nil)
				require.NoError(t, err, name)
				if filepath.Ext(path) == ".db3" {
					info, err := r.Info()
					require.NoError(t, err)
					require.True(t, info.Complete, name)
				}
				for _, m := range read(t, r, codec.Query{}) {
					if m.Channel.Topic == "/a" {
						got = append(got, m.LogTime)
					}
				}
				require.NoError(t, r.Close())
			}
			slices.Sort(got)
			require.Len(t, got, len(taken)-lost, name)
			require.Subset(t, taken, got, name)
			require.Len(t, slices.Compact(got), len(taken)-lost, name)
			if calls.Load() < at {
				require.Greater(t, at, int64(20), "it was tried at all")
				break
			}
		}
	}
}

// Nothing in a database makes its reader panic, and nothing that it claims makes it take more memory than it has.
func FuzzDatabase(f *testing.F) {
	dir := f.TempDir()
	w, err := Create(filepath.Join(dir, "a"), codec.CreateOptions{Storage: storageSQLite})
	require.NoError(f, err)
	c := &codec.Channel{Topic: "/a", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR, QoS: []codec.QoS{codec.DefaultQoS()}}
	for i := range 9 {
		require.NoError(f, w.Write(&codec.Message{Channel: c, LogTime: int64(-i), Data: make([]byte, 700*i)}))
	}
	require.NoError(f, w.Close())
	data, err := os.ReadFile(filepath.Join(dir, "a", "a_0.db3"))
	require.NoError(f, err)
	f.Add(data, 100, []byte{1}, false)
	f.Add(data, 16, []byte{2, 0}, true)
	f.Add(data, 4096, []byte{13, 0, 0, 0, 9}, true)
	f.Fuzz(func(t *testing.T, data []byte, at int, patch []byte, unfinished bool) {
		if at >= 0 && at < len(data) {
			copy(data[at:], patch)
		}
		path := filepath.Join(t.TempDir(), "a.db3")
		if unfinished {
			path += codec.ActiveSuffix
		}
		require.NoError(t, os.WriteFile(path, data, 0o666))
		r, err := openDatabase(path, nil)
		if err != nil {
			return
		}
		defer r.Close()
		if _, err := r.Info(); err != nil {
			return
		}
		it, err := r.Read(codec.Query{Start: -1 << 63, Damaged: func(error) {}})
		if err != nil {
			return
		}
		defer it.Close()
		n := 0
		for m, err := it.Next(); err == nil; m, err = it.Next() {
			require.NotNil(t, m.Channel)
			require.LessOrEqual(t, len(m.Data), len(data)+700*9)
			n++
		}
		require.LessOrEqual(t, n, len(data))
	})
}
