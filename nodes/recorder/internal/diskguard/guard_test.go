package diskguard

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// Space is a Disk with a given free space.
type Space struct{ free, total int64 }

func (s *Space) Space(string) (int64, int64, error) { return s.free, s.total, nil }

// reports keeps the log lines, events and the error of a guard.
type reports struct {
	logged []string
	events []string
	failed error
}

func (w *reports) log(level bridge.LogLevel, format string, args ...any) {
	w.logged = append(w.logged, fmt.Sprintf(format, args...))
}

func newTestGuard(t *testing.T, d Disk, action, leave string) (*Guard, *reports) {
	r, err := ParseReserve(leave)
	require.NoError(t, err)
	w := &reports{}
	now := int64(100)
	return &Guard{
		Disk: d, Path: "folder", Reserve: r, Action: action, Log: w.log,
		RemoveOldest: NewSplits(0, nil, nil).RemoveOldest,
		Note: func(e codec.Event) {
			require.Equal(t, codec.EventDisk, e.Kind)
			w.events = append(w.events, fmt.Sprintf("%d-%d %s", e.Time, e.Until, e.Text))
		},
		Stamp: func() int64 { now++; return now },
		Fail:  func(err error) { w.failed = err },
	}, w
}

func TestReserve(t *testing.T) {
	for text, want := range map[string]int64{
		"auto": 500e6, "0": 0, "2GB": 2e9, "10%": 1e9, "0%": 0, "2.5%": 250e6,
	} {
		r, err := ParseReserve(text)
		require.NoError(t, err)
		require.Equal(t, want, r.bytesOf(10e9), text)
	}
	r, _ := ParseReserve("auto")
	require.Equal(t, int64(1<<30), r.bytesOf(1e12))
	for _, text := range []string{"", "-1", "101%", "x%", "some", "NaN%"} {
		_, err := ParseReserve(text)
		require.ErrorContains(t, err, "not allowed", text)
	}
}

func TestGuardPredicts(t *testing.T) {
	d := &Space{free: 100e9, total: 200e9}
	g, w := newTestGuard(t, d, Stop, "10GB")
	at := time.Unix(1000, 0)
	require.Equal(t, guardPace, g.Check(at))
	require.Equal(t, NotInSight, time.Duration(g.Left.Load()))
	for range 30 {
		at = at.Add(time.Second)
		d.free -= 100e6
		g.Check(at)
	}
	require.Empty(t, w.logged)
	require.Equal(t, 870*time.Second, time.Duration(g.Left.Load()))
	for range 40 {
		at = at.Add(time.Second)
		d.free -= 1.2e9
		g.Check(at)
	}
	require.Equal(t, 32500*time.Millisecond, time.Duration(g.Left.Load()), "old samples do not count")
	require.Len(t, w.logged, 2)
	require.Contains(t, w.logged[0], "the disk will be full in")
	require.Contains(t, w.logged[1], "at 10.0 GB (min_space): stop")

	d.free = 10e9 + 10e6
	require.Equal(t, guardHurry, g.Check(at.Add(time.Second)), "the guard checks often before the disk is full")
	require.NoError(t, w.failed)
}

// After a burst of a second the guard does not warn that the disk will be full.
func TestGuardIgnoresBursts(t *testing.T) {
	for name, burst := range map[string]int{"at the start": 0, "later": 50} {
		t.Run(name, func(t *testing.T) {
			d := &Space{free: 80e9, total: 200e9}
			g, w := newTestGuard(t, d, Stop, "10GB")
			require.NoError(t, g.Begin())
			at := g.history[0].at
			for i := range 200 { // 100 s
				at = at.Add(guardPace)
				if i == burst || i == burst+1 {
					d.free -= 2e9
				}
				g.Check(at)
				require.Equal(t, NotInSight, time.Duration(g.Left.Load()), at)
			}
			require.NotContains(t, fmt.Sprint(w.logged), "the disk will be full in")
		})
	}
}

// The guard warns soon if the disk will be full in seconds.
func TestGuardWarnsInTime(t *testing.T) {
	for _, rate := range []int64{100e6, 1e9} { // bytes per second
		d := &Space{free: 12e9, total: 200e9}
		g, w := newTestGuard(t, d, Stop, "2GB")
		require.NoError(t, g.Begin())
		at := g.history[0].at
		for since := at; len(w.logged) == 0; {
			pace := g.Check(at)
			require.NoError(t, w.failed)
			require.LessOrEqual(t, at.Sub(since), steadyTime+guardPace)
			at = at.Add(pace)
			d.free -= int64(float64(rate) * pace.Seconds())
		}
		require.Contains(t, w.logged[0], "the disk will be full in")
		require.InDelta(t, float64(d.free-2e9)/float64(rate), time.Duration(g.Left.Load()).Seconds(), 1)
	}
}

func TestGuardStops(t *testing.T) {
	d := &Space{free: 2e9, total: 100e9}
	g, w := newTestGuard(t, d, Stop, "1GB")
	require.NoError(t, g.Begin())
	g.Check(time.Now())
	require.NoError(t, w.failed)
	d.free = 999e6
	for range 2 {
		g.Check(time.Now())
	}
	require.ErrorContains(t, w.failed, "999.0 MB are free on the disk of folder, less than the 1000.0 MB of "+
		"--min-space")
	require.Len(t, w.events, 1)
	require.ErrorContains(t, g.Begin(), "free some space")
	require.False(t, g.Waits(syscall.ENOSPC))
}

func TestGuardNamesAMissingFolder(t *testing.T) {
	g := &Guard{Disk: codec.OS{}, Path: filepath.Join(t.TempDir(), "missing")}
	require.EqualError(t, g.Begin(), "the folder "+g.Path+" does not exist; create it first")
}

func TestGuardPauses(t *testing.T) {
	d := &Space{free: 2e9, total: 100e9}
	g, w := newTestGuard(t, d, Pause, "1GB")
	d.free = 999e6
	g.Check(time.Now())
	require.True(t, g.Holds())
	d.free = 1.01e9
	g.Check(time.Now())
	require.True(t, g.Holds(), "the space would not last")
	d.free = 1.2e9
	g.Check(time.Now())
	require.False(t, g.Holds())
	require.Equal(t, []string{"101-102 nothing was written because the disk was full"}, w.events)
	require.NoError(t, w.failed)

	d.free = 0
	require.NoError(t, g.Begin())
	require.True(t, g.Holds(), "the recording begins when there is space")
}

func TestGuardDeletes(t *testing.T) {
	d := &Space{free: 2e9, total: 100e9}
	g, w := newTestGuard(t, d, Delete, "1GB")
	f := NewSplits(0, func(path string) error {
		d.free += 300e6
		if path == "b" {
			return errors.New("the file cannot be deleted")
		}
		return nil
	}, nil)
	g.RemoveOldest = f.RemoveOldest
	f.Begun() // the file that is being written
	for _, path := range []string{"a", "b", "c"} {
		f.Begun()
		f.Completed(path)
	}
	d.free = 500e6
	for range 5 {
		g.Check(time.Now())
	}
	require.Len(t, f.complete, 1, "no more is deleted than is necessary")
	require.Equal(t, []string{"101-0 deleted a for want of space on the disk",
		"102-0 deleted b for want of space on the disk"}, w.events)
	require.Contains(t, fmt.Sprint(w.logged), "the file cannot be deleted")
	require.NoError(t, w.failed)

	d.free = 0
	g.Hit(syscall.ENOSPC)
	require.True(t, g.Holds())
	g.Check(time.Now())
	require.True(t, g.Holds())
	f.Begun() // not complete yet
	g.Check(time.Now())
	require.NoError(t, w.failed)
	f.Completed("d")
	f.RemoveOldest()
	d.free = 0
	g.Check(time.Now())
	require.ErrorContains(t, w.failed, "no older file to delete")
}

// A disk does not report its quota or its limit of files, and some disks report nothing.
func TestGuardOfDiskThatReportsFreeSpace(t *testing.T) {
	now := time.Now()
	for name, d := range map[string]*Space{"quota": {free: 50e9, total: 100e9}, "unknown": {}} {
		for _, action := range []string{Pause, DeleteUploaded} {
			t.Run(name+" "+action, func(t *testing.T) {
				g, w := newTestGuard(t, d, action, "1GB")
				require.NoError(t, g.Begin())
				g.Hit(syscall.EDQUOT)
				g.Check(now)
				require.LessOrEqual(t, g.Check(now.Add(guardPace)), guardPace)
				require.True(t, g.Holds(), "the next attempt would fail as well")
				require.Len(t, w.logged, 1)
				g.Check(now.Add(guardHistory + time.Second))
				require.False(t, g.Holds(), "there may be space by now")
				require.NoError(t, w.failed)
			})
		}
		t.Run(name+" "+Delete, func(t *testing.T) {
			g, w := newTestGuard(t, d, Delete, "1GB")
			f := NewSplits(0, func(string) error { return nil }, nil)
			g.RemoveOldest = f.RemoveOldest
			f.Begun()
			f.Begun()
			f.Completed("a")
			require.NoError(t, g.Begin())
			g.Hit(syscall.ENOSPC)
			require.Equal(t, guardHurry, g.Check(now))
			require.Equal(t, []string{"102-0 deleted a for want of space on the disk"}, w.events)
			g.Check(now)
			require.False(t, g.Holds())
			g.Hit(syscall.ENOSPC)
			g.Check(now)
			require.ErrorContains(t, w.failed, "the disk of folder is full, though it reports")
			require.ErrorContains(t, w.failed, "no older file to delete")
		})
	}
}

func TestGuardWaitsFor(t *testing.T) {
	for action, waits := range map[string][2]bool{Stop: {false, false}, Delete: {true, false}, Pause: {true, true}} {
		g, _ := newTestGuard(t, &Space{}, action, "0")
		require.Equal(t, waits, [2]bool{g.Waits(syscall.ENOSPC), g.Waits(syscall.EIO)}, action)
		g.Hit(syscall.EIO)
		require.False(t, g.Holds())
	}
}

// disks are disks by path.
type disks map[string]*Space

func (d disks) Space(path string) (int64, int64, error) { return d[path].Space(path) }

// Move does not wait while the guard asks a store which file may be deleted.
func TestGuardMovesWithoutWaiting(t *testing.T) {
	d := disks{"folder": {free: 1e9, total: 100e9}, "other": {free: 50e9, total: 100e9}}
	g, w := newTestGuard(t, d, DeleteUploaded, "10GB")
	asked, answer, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	g.RemoveOldest = func() (string, bool, error) {
		close(asked)
		<-answer
		return "", true, nil
	}
	go func() {
		g.Check(time.Unix(1000, 0))
		close(done)
	}()
	<-asked
	g.Move("other")
	close(answer)
	<-done
	require.True(t, g.Holds())
	g.Check(time.Unix(1001, 0))
	require.False(t, g.Holds())
	require.EqualValues(t, 50e9, g.Free.Load())
	require.Equal(t, NotInSight, time.Duration(g.Left.Load()))
	require.Len(t, w.events, 1)
}
