package rosbag

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/disktest"
)

// Whatever the disk fails at, once or for good: what is read is what was written, without what is said to be missing.
func TestDiskErrors(t *testing.T) {
	for _, forever := range []bool{false, true} {
		for at := int64(1); ; at++ {
			calls := atomic.Int64{}
			disk := &disktest.Disk{Fail: func(_ string, n int) (int, error) {
				if call := calls.Add(1); call == at || forever && call > at {
					return max(n, 0) / 2, syscall.EIO
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
			w, err := createOn(disk, "a.bag", codec.CreateOptions{ChunkSize: 300, Completed: func(_ codec.FileInfo, err error) { note(err) }})
			if err != nil {
				require.Empty(t, disk.Files(), "nothing is left")
				continue
			}
			c := testChannels()[0]
			var taken []int64
			for i := int64(1); i <= 40; i++ {
				err := w.Write(&codec.Message{Channel: c, LogTime: i, Data: make([]byte, 50)})
				if err == nil {
					taken = append(taken, i)
				} else {
					require.ErrorIs(t, err, syscall.EIO)
					require.ErrorContains(t, err, "look at the disk")
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
			for _, content := range disk.Files() {
				for _, m := range readAll(t, openMemory(t, content), codec.Query{}) {
					got = append(got, m.LogTime)
				}
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
