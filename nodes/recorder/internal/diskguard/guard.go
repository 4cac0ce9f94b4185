// Package diskguard keeps a recording from filling its disk: it watches the free space and deletes the oldest splits.
package diskguard

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/recorder/internal/owner"
)

// Actions of a guard when the disk is nearly full.
const (
	Stop   = "stop"
	Delete = "delete-oldest"
	Pause  = "pause"
	// DeleteUploaded deletes files that are in the store, and pauses while there are none.
	DeleteUploaded = "delete-uploaded"
)

// SoonFull is how long before the disk is full the guard warns.
const SoonFull = 10 * time.Minute

const (
	guardPace    = 500 * time.Millisecond // time between two checks of the disk
	guardHurry   = 50 * time.Millisecond  // time between two checks when the disk is nearly full
	guardHistory = 30 * time.Second       // samples of the free space are kept this long, for predictions
	steadyTime   = 10 * time.Second       // after this time of observation any prediction is shown
	foresight    = 10                     // before, predictions up to foresight times the time of observation are
	manyReserves = 5                      // the guard warns if less than manyReserves reserves are free
)

// NotInSight is the time left if the disk is not filling up.
const NotInSight = time.Duration(math.MaxInt64)

// Guard watches the disk that a recording is written to, and acts before it is full. Only the goroutine of Run watches
// and deletes files; other goroutines may call Hit, Waits, Holds and MakeRoom meanwhile. The fields up to RemoveOldest
// are set before Begin.
type Guard struct {
	Owner   *owner.Owner // the goroutine of Run; nil if Run is not called
	Disk    Disk
	Path    string // a folder on the disk
	Reserve Reserve
	Action  string // Stop, Delete, Pause or DeleteUploaded
	Log     func(bridge.LogLevel, string, ...any)
	Note    func(codec.Event)
	Stamp   func() int64 // returns the log time of now
	Fail    func(error)  // ends the recording

	// RemoveOldest deletes the oldest complete file of the recording and returns its path. If there is none, it returns
	// "" and reports whether a file will be complete soon.
	RemoveOldest func() (path string, soon bool, err error)

	urgent chan struct{} // has a value when the disk must be checked now

	Low   atomic.Bool  // writing is suspended
	since atomic.Int64 // log time at which Low became true
	Free  atomic.Int64 // free bytes at the last check
	Left  atomic.Int64 // predicted time until the reserve is reached in ns, or NotInSight

	moved   atomic.Pointer[string] // path that is watched instead of Path; nil: Path is
	refused atomic.Bool            // a write failed with a full disk, but the disk reports free space

	// Owned by the goroutine of Run.
	watched                  string    // path of the last check
	history                  []sample  // free space at watched
	retry                    time.Time // a write was refused; the next one may be tried then
	warnedSoon, warnedLittle bool      // the warnings were logged
	failed                   bool      // Fail was called
}

// sample is the free space of a disk at a time.
type sample struct {
	at   time.Time
	free int64 // bytes
}

// Run watches until stop is closed, and calls functions posted to Owner until end is closed.
func (g *Guard) Run(stop, end <-chan struct{}) {
	g.watch(stop)
	g.Owner.Run(end)
}

// watch checks the disk and calls posted functions until stop is closed.
func (g *Guard) watch(stop <-chan struct{}) {
	timer := time.NewTimer(guardPace)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-g.Owner.Wake():
			g.Owner.Turn()
			continue
		case <-g.urgent:
		case <-timer.C:
		}
		timer.Reset(g.Check(time.Now()))
	}
}

// Begin checks the disk before the recording is created, and returns an error if there is too little space.
func (g *Guard) Begin() error {
	g.watched = g.Path
	free, total, err := g.Disk.Space(g.watched)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist; create it first", g.watched)
	}
	if err != nil {
		return err
	}
	g.urgent = make(chan struct{}, 1)
	g.Free.Store(free)
	g.observe(time.Now(), free)
	g.Left.Store(int64(NotInSight))
	switch least := g.Reserve.bytesOf(total); {
	case free >= least || total == 0:
	case g.Action == Pause || g.Action == DeleteUploaded:
		g.hold()
	default:
		return g.shortage(free, least)
	}
	return nil
}

// Move makes the guard watch the disk of another path. It does not wait for the guard.
func (g *Guard) Move(path string) { g.moved.Store(&path) }

// path returns the path to watch.
func (g *Guard) path() string {
	if path := g.moved.Load(); path != nil {
		return *path
	}
	return g.Path
}

// Check checks the disk, acts, and returns the time until the next check.
func (g *Guard) Check(now time.Time) time.Duration {
	if path := g.path(); path != g.watched {
		g.watched, g.history = path, nil
	}
	free, total, err := g.Disk.Space(g.watched)
	if err != nil {
		g.Log(bridge.Warn, "%v", err)
		return guardHistory
	}
	pace := guardHistory
	var least, need int64
	if total > 0 { // some network disks report 0
		g.Free.Store(free)
		least = g.Reserve.bytesOf(total)
		g.observe(now, free)
		left, steady := g.predict(least)
		g.Left.Store(int64(steady))
		g.warn(left, steady, free, least)
		need = least
		if g.Low.Load() {
			need += max(least/10, min(64<<20, total/20)) // keeps the guard from suspending again at once
		}
		pace = min(max(left/4, guardHurry), guardPace)
	}
	refused := g.refused.Swap(false)
	switch {
	case free < need:
		return g.act(g.shortage(free, least))
	case refused:
		g.retry = now.Add(guardHistory)
		return g.act(fmt.Errorf("the disk of %s is full, though it reports %s as free", g.watched,
			human.DiskBytes(free)))
	case g.Low.Load() && now.Before(g.retry):
		return guardPace
	case g.Low.Load():
		g.Low.Store(false)
		t := g.Stamp()
		g.Note(codec.Event{Kind: codec.EventDisk, Time: g.since.Load(), Until: t,
			Text: "nothing was written because the disk was full"})
		g.Log(bridge.Info, "recording resumed: %s are free on the disk", human.DiskBytes(free))
	}
	return pace
}

// observe adds a sample to the history.
func (g *Guard) observe(now time.Time, free int64) {
	g.history = append(g.history, sample{now, free})
	for now.Sub(g.history[0].at) > guardHistory {
		g.history = g.history[1:]
	}
}

// predict returns two predictions of the time until only least bytes are free. left assumes the average rate of the
// history. steady is for people and ignores bursts: it assumes the lowest rate of the three thirds of the history, and
// is NotInSight until the history is long enough.
func (g *Guard) predict(least int64) (left, steady time.Duration) {
	first, last := g.history[0], g.history[len(g.history)-1]
	span := last.at.Sub(first.at)
	left = first.until(last, last.free-least)
	from := first
	for third := range time.Duration(3) {
		i := slices.IndexFunc(g.history, func(s sample) bool { return s.at.Sub(first.at) >= span*(third+1)/3 })
		to := g.history[i]
		steady = max(steady, from.until(to, last.free-least))
		from = to
	}
	if span < min(steady/foresight, steadyTime) {
		steady = NotInSight
	}
	return left, steady
}

// until returns the time that it takes to use up bytes at the rate between two samples.
func (s sample) until(later sample, bytes int64) time.Duration {
	span := later.at.Sub(s.at)
	if span < guardPace || s.free <= later.free {
		return NotInSight
	}
	t := float64(bytes) * float64(span) / float64(s.free-later.free)
	if t > float64(NotInSight)/2 {
		return NotInSight
	}
	return time.Duration(max(t, 0))
}

// warn logs one warning when the disk will soon be full, and one when little space is free.
func (g *Guard) warn(left, steady time.Duration, free, least int64) {
	if soon := steady < SoonFull; soon && !g.warnedSoon {
		g.warnedSoon = true
		g.Log(bridge.Warn, "the disk will be full in %v at this rate: %s are free; then: %s",
			steady.Round(100*time.Millisecond), human.DiskBytes(free), g.Action)
	} else if left > 2*SoonFull {
		g.warnedSoon = false
	}
	if little := free < manyReserves*least; little && !g.warnedLittle {
		g.warnedLittle = true
		g.Log(bridge.Warn, "%s are free on the disk; at %s (min_space): %s", human.DiskBytes(free),
			human.DiskBytes(least), g.Action)
	} else if free > (manyReserves+1)*least {
		g.warnedLittle = false
	}
}

// act carries out the Action because of err, and returns the time until the next check.
func (g *Guard) act(err error) time.Duration {
	switch {
	case g.failed:
	case g.Action == Pause:
		g.hold()
	case g.Action == DeleteUploaded:
		if deleted, _ := g.deleteOldest(); deleted {
			return guardHurry
		}
		g.hold()
	case g.Action == Delete:
		deleted, soon := g.deleteOldest()
		if deleted {
			return guardHurry
		}
		if !soon {
			g.stop(fmt.Errorf("%w, and the recording has no older file to delete; split it, for example with "+
				"--max-bag-size", err))
		}
	default:
		g.stop(err)
	}
	return guardPace
}

// deleteOldest deletes the oldest complete file. If there is none, it reports whether a file will be complete soon.
func (g *Guard) deleteOldest() (deleted, soon bool) {
	path, soon, err := g.RemoveOldest()
	if err != nil {
		g.Log(bridge.Error, "delete the oldest file of the recording: %v", err)
	}
	if path == "" {
		return false, soon
	}
	text := "deleted " + path + " for want of space on the disk"
	if g.Action == DeleteUploaded {
		text += "; it is uploaded"
	}
	g.Note(codec.Event{Kind: codec.EventDisk, Time: g.Stamp(), Text: text})
	g.Log(bridge.Warn, "deleted %s: %s were free on the disk", path, human.DiskBytes(g.Free.Load()))
	g.retry = time.Time{}
	return true, true
}

// MakeRoom deletes the oldest complete file after err, an error of the disk at the end of the recording. It reports
// whether a file was deleted.
func (g *Guard) MakeRoom(err error) bool {
	if g.Action != Delete && g.Action != DeleteUploaded || !DiskFull(err) {
		return false
	}
	deleted := false
	g.Owner.Do(func() {
		if !g.failed {
			deleted, _ = g.deleteOldest()
		}
	})
	return deleted
}

// hold suspends writing until there is space.
func (g *Guard) hold() {
	if !g.Low.Swap(true) {
		g.since.Store(g.Stamp())
		why := "only %s are free on the disk"
		if g.refused.Load() {
			why = "the disk is full, though it reports %s as free, as with a quota or a limit of files"
		}
		g.Log(bridge.Warn, "recording paused: "+why+"; messages beyond queue_size are dropped",
			human.DiskBytes(g.Free.Load()))
	}
}

// stop ends the recording because of err.
func (g *Guard) stop(err error) {
	g.failed = true
	g.Note(codec.Event{Kind: codec.EventDisk, Time: g.Stamp(), Text: "stopped: " + err.Error()})
	g.Fail(err)
}

// shortage returns an error about free bytes, which are less than least.
func (g *Guard) shortage(free, least int64) error {
	return fmt.Errorf("%s are free on the disk of %s, less than the %s of --min-space; free some space",
		human.DiskBytes(free), g.watched, human.DiskBytes(least))
}

// Hit suspends writing, and makes Run check the disk, if a write failed because the disk is full and the recording
// waits.
func (g *Guard) Hit(err error) {
	if !g.Waits(err) || !DiskFull(err) {
		return
	}
	if free, total, err := g.Disk.Space(g.path()); err == nil {
		g.Free.Store(free)
		g.refused.Store(total == 0 || free > g.Reserve.bytesOf(total))
	}
	g.hold()
	select {
	case g.urgent <- struct{}{}:
	default:
	}
}

// Waits reports whether the recording waits, after an error of the disk, until writing can go on.
func (g *Guard) Waits(err error) bool {
	return g.Action == Pause || (g.Action == Delete || g.Action == DeleteUploaded) && DiskFull(err)
}

// Holds reports whether writing is suspended.
func (g *Guard) Holds() bool { return g.Low.Load() }

// DiskFull reports whether an error means that the disk or the quota is exhausted.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
