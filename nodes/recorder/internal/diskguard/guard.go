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

// What is done when the disk is nearly full.
const (
	Stop   = "stop"
	Delete = "delete-oldest"
	Pause  = "pause"
	// DeleteUploaded deletes what is in the store, and pauses while there is nothing.
	DeleteUploaded = "delete-uploaded"
)

// How the guard looks at the disk.
const (
	guardPace    = 500 * time.Millisecond // as a rule
	guardHurry   = 50 * time.Millisecond  // when it will soon be full
	guardHistory = 30 * time.Second       // of free space, which says when it will be
	SoonFull     = 10 * time.Minute       // before which it warns
	steadyTime   = 10 * time.Second       // for which a rate must hold before an estimate is shown, at most
	foresight    = 10                     // times the observed time: how far ahead a shorter observation may look
	manyReserves = 5                      // times the reserve, below which it warns
)

// NotInSight is the time left where the disk is not filling up.
const NotInSight = time.Duration(math.MaxInt64)

// Guard watches the disk that a recording is written to, and acts before it is full. The goroutine of Run watches, and
// alone deletes files; other goroutines may call Hit, Waits, Holds and MakeRoom meanwhile. The fields up to
// RemoveOldest are set before Begin.
type Guard struct {
	Owner   *owner.Owner // Run; nil if that is not called
	Disk    Disk
	Path    string // on that disk
	Reserve Reserve
	Action  string
	Log     func(bridge.LogLevel, string, ...any)
	Note    func(codec.Event)
	Stamp   func() int64 // log time of now
	Fail    func(error)  // ends the recording

	// RemoveOldest deletes the oldest complete file of the recording and returns its path. It returns "" when there is
	// none, and whether one will be complete soon.
	RemoveOldest func() (path string, soon bool, err error)

	urgent chan struct{} // has a value when the disk is to be looked at now

	Low   atomic.Bool  // nothing is to be written
	since atomic.Int64 // log time at which low began
	Free  atomic.Int64 // bytes, as last heard
	Left  atomic.Int64 // ns until the reserve is touched, at a rate that holds for some time

	moved   atomic.Pointer[string] // the path that is watched instead of Path; nil: that one
	refused atomic.Bool            // the disk was full for a write, but reports free space

	// These belong to Run.
	history              []sight // of the disk of watched
	watched              string
	retry                time.Time // after a write was refused: when the next one may be tried
	saidSoon, saidLittle bool
	failed               bool
}

// sight is how much was free at a time.
type sight struct {
	at   time.Time
	free int64
}

// Run watches until stop is closed, and calls what is posted to Owner until end is closed.
func (g *Guard) Run(stop, end <-chan struct{}) {
	g.watch(stop)
	g.Owner.Run(end)
}

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

// Begin looks at the disk before the recording is created, and returns an error if there is too little space to begin.
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
	switch least := g.Reserve.of(total); {
	case free >= least || total == 0:
	case g.Action == Pause || g.Action == DeleteUploaded:
		g.hold()
	default:
		return g.shortage(free, least)
	}
	return nil
}

// Move watches the disk of another path from now on. It does not wait for what the guard does.
func (g *Guard) Move(path string) { g.moved.Store(&path) }

// path returns the path that is watched.
func (g *Guard) path() string {
	if path := g.moved.Load(); path != nil {
		return *path
	}
	return g.Path
}

// Check looks at the disk, acts, and returns how long it may be until the next look.
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
	if total > 0 { // some network disks do not tell
		g.Free.Store(free)
		least = g.Reserve.of(total)
		g.observe(now, free)
		left, steady := g.predict(least)
		g.Left.Store(int64(steady))
		g.warn(left, steady, free, least)
		need = least
		if g.Low.Load() {
			need += max(least/10, min(64<<20, total/20)) // so that it does not begin again at once
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

// observe notes how much is free.
func (g *Guard) observe(now time.Time, free int64) {
	g.history = append(g.history, sight{now, free})
	for now.Sub(g.history[0].at) > guardHistory {
		g.history = g.history[1:]
	}
}

// predict returns when no more than least bytes will be free: left, if the average rate of the history goes on; and
// steady, for people, which does not take a burst for a rate: each third of the history must show the rate, and the
// history must be long enough.
func (g *Guard) predict(least int64) (left, steady time.Duration) {
	first, last := g.history[0], g.history[len(g.history)-1]
	span := last.at.Sub(first.at)
	left = first.until(last, last.free-least)
	from := first
	for third := range time.Duration(3) {
		i := slices.IndexFunc(g.history, func(s sight) bool { return s.at.Sub(first.at) >= span*(third+1)/3 })
		to := g.history[i]
		steady = max(steady, from.until(to, last.free-least))
		from = to
	}
	if span < min(steady/foresight, steadyTime) {
		steady = NotInSight
	}
	return left, steady
}

// until returns how long it takes to use up so many bytes at the rate between two sights.
func (s sight) until(later sight, bytes int64) time.Duration {
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

// warn warns once when it becomes necessary.
func (g *Guard) warn(left, steady time.Duration, free, least int64) {
	if soon := steady < SoonFull; soon && !g.saidSoon {
		g.saidSoon = true
		g.Log(bridge.Warn, "the disk will be full in %v at this rate: %s are free; then: %s",
			steady.Round(100*time.Millisecond), human.DiskBytes(free), g.Action)
	} else if left > 2*SoonFull {
		g.saidSoon = false
	}
	if little := free < manyReserves*least; little && !g.saidLittle {
		g.saidLittle = true
		g.Log(bridge.Warn, "%s are free on the disk; at %s (min_space): %s", human.DiskBytes(free),
			human.DiskBytes(least), g.Action)
	} else if free > (manyReserves+1)*least {
		g.saidLittle = false
	}
}

// act does what is to be done when too little is free, as the error says.
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

// deleteOldest deletes the oldest complete file. It returns false when there is none, and whether one will be
// complete soon.
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

// MakeRoom deletes the oldest complete file for the end of the recording, after an error of the disk, and reports
// whether it did.
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

// hold has nothing written until there is space.
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

func (g *Guard) stop(err error) {
	g.failed = true
	g.Note(codec.Event{Kind: codec.EventDisk, Time: g.Stamp(), Text: "stopped: " + err.Error()})
	g.Fail(err)
}

// shortage says that too little is free.
func (g *Guard) shortage(free, least int64) error {
	return fmt.Errorf("%s are free on the disk of %s, less than the %s of --min-space; free some space",
		human.DiskBytes(free), g.watched, human.DiskBytes(least))
}

// Hit takes an error that the disk returned for a write.
func (g *Guard) Hit(err error) {
	if !g.Waits(err) || !DiskFull(err) {
		return
	}
	if free, total, err := g.Disk.Space(g.path()); err == nil {
		g.Free.Store(free)
		g.refused.Store(total == 0 || free > g.Reserve.of(total))
	}
	g.hold()
	select {
	case g.urgent <- struct{}{}:
	default:
	}
}

// Waits reports whether the recording waits, after that error of the disk, until writing can go on.
func (g *Guard) Waits(err error) bool {
	return g.Action == Pause || (g.Action == Delete || g.Action == DeleteUploaded) && DiskFull(err)
}

// Holds reports whether writing is suspended for want of space.
func (g *Guard) Holds() bool { return g.Low.Load() }

// DiskFull reports whether an error means that the disk or the quota is exhausted.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
