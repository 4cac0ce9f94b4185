package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// What is done when the disk is nearly full.
const (
	actionStop   = "stop"
	actionDelete = "delete-oldest"
	actionPause  = "pause"
)

// How the guard looks at the disk.
const (
	guardPace    = 500 * time.Millisecond // as a rule
	guardHurry   = 50 * time.Millisecond  // when it will soon be full
	guardHistory = 30 * time.Second       // of free space, which says when it will be
	soonFull     = 10 * time.Minute       // before which it warns
	steadyTime   = 10 * time.Second       // for which a rate must hold before an estimate is shown, at most
	foresight    = 10                     // times the observed time: how far ahead a shorter observation may look
	manyReserves = 5                      // times the reserve, below which it warns
)

// notInSight is a time that never comes.
const notInSight = time.Duration(math.MaxInt64)

// guard watches the disk that a recording is written to, and acts before it is full.
type guard struct {
	disk    disk
	path    string // on that disk
	reserve reserve
	action  string
	remover remover
	log     func(bridge.LogLevel, string, ...any)
	note    func(codec.Event)
	stamp   func() int64 // log time of now
	fail    func(error)  // ends the recording

	urgent chan struct{} // has a value when the disk is to be looked at now

	low   atomic.Bool  // nothing is to be written
	since atomic.Int64 // log time at which low began
	free  atomic.Int64 // bytes, as last heard
	left  atomic.Int64 // ns until the reserve is touched, at a rate that holds for some time

	acting sync.Mutex // held while the guard looks at the disk and acts, for what follows

	history              []sight
	saidSoon, saidLittle bool
	failed               bool
}

// sight is how much was free at a time.
type sight struct {
	at   time.Time
	free int64
}

// remover deletes files of a recording.
type remover interface {
	// removeOldest deletes the oldest complete file and returns its path. It returns "" when there is none, and whether one will
	// be complete soon.
	removeOldest() (path string, soon bool, err error)
}

// run watches until stop is closed.
func (g *guard) run(stop <-chan struct{}) {
	timer := time.NewTimer(guardPace)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-g.urgent:
		case <-timer.C:
		}
		timer.Reset(g.check(time.Now()))
	}
}

// begin looks at the disk before the recording is created, and returns an error if there is too little space to begin.
func (g *guard) begin() error {
	free, total, err := g.disk.space(g.path)
	if err != nil {
		return err
	}
	g.free.Store(free)
	g.observe(time.Now(), free)
	g.left.Store(int64(notInSight))
	switch least := g.reserve.of(total); {
	case free >= least || total == 0:
	case g.action == actionPause:
		g.hold()
	default:
		return g.shortage(free, least)
	}
	return nil
}

// check looks at the disk, acts, and returns how long it may be until the next look.
func (g *guard) check(now time.Time) time.Duration {
	g.acting.Lock()
	defer g.acting.Unlock()
	free, total, err := g.disk.space(g.path)
	if err != nil {
		g.log(bridge.Warn, "%v", err)
		return guardHistory
	}
	if total == 0 {
		return guardHistory // some network disks do not tell
	}
	g.free.Store(free)
	least := g.reserve.of(total)
	g.observe(now, free)
	left, steady := g.predict(least)
	g.left.Store(int64(steady))
	g.warn(left, steady, free, least)
	need := least
	if g.low.Load() {
		need += max(least/10, min(64<<20, total/20)) // so that it does not begin again at once
	}
	switch {
	case free < need:
		return g.act(free, least)
	case g.low.Load():
		g.low.Store(false)
		t := g.stamp()
		g.note(codec.Event{Kind: codec.EventDisk, Time: g.since.Load(), Until: t, Text: "nothing was written for want of space on the disk"})
		g.log(bridge.Info, "recording goes on: %v are free on the disk", mega(free))
	}
	return min(max(left/4, guardHurry), guardPace)
}

// observe notes how much is free.
func (g *guard) observe(now time.Time, free int64) {
	g.history = append(g.history, sight{now, free})
	for now.Sub(g.history[0].at) > guardHistory {
		g.history = g.history[1:]
	}
}

// predict returns when no more than least bytes will be free: left, if the average rate of the history goes on; and
// steady, for people, which does not take a burst for a rate: each third of the history must show the rate, and the
// history must be long enough.
func (g *guard) predict(least int64) (left, steady time.Duration) {
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
		steady = notInSight
	}
	return left, steady
}

// until returns how long it takes to use up so many bytes at the rate between two sights.
func (s sight) until(later sight, bytes int64) time.Duration {
	span := later.at.Sub(s.at)
	if span < guardPace || s.free <= later.free {
		return notInSight
	}
	t := float64(bytes) * float64(span) / float64(s.free-later.free)
	if t > float64(notInSight)/2 {
		return notInSight
	}
	return time.Duration(max(t, 0))
}

// warn warns once when it becomes necessary.
func (g *guard) warn(left, steady time.Duration, free, least int64) {
	if soon := steady < soonFull; soon && !g.saidSoon {
		g.saidSoon = true
		g.log(bridge.Warn, "the disk is full in %v, if it goes on like this: %v are free; then: %s",
			brief(int64(steady)), mega(free), g.action)
	} else if left > 2*soonFull {
		g.saidSoon = false
	}
	if little := free < manyReserves*least; little && !g.saidLittle {
		g.saidLittle = true
		g.log(bridge.Warn, "%v are free on the disk; at %v (min_space): %s", mega(free), mega(least), g.action)
	} else if free > (manyReserves+1)*least {
		g.saidLittle = false
	}
}

// act does what is to be done when too little is free.
func (g *guard) act(free, least int64) time.Duration {
	switch {
	case g.failed:
	case g.action == actionPause:
		g.hold()
	case g.action == actionDelete:
		deleted, soon := g.deleteOldest(free)
		if deleted {
			return guardHurry
		}
		if !soon {
			g.stop(fmt.Errorf("%w, and the recording has no older file to delete; have it split, as with --max-bag-size", g.shortage(free, least)))
		}
	default:
		g.stop(g.shortage(free, least))
	}
	return guardPace
}

// deleteOldest deletes the oldest complete file. It returns false when there is none, and whether one will be
// complete soon.
func (g *guard) deleteOldest(free int64) (deleted, soon bool) {
	path, soon, err := g.remover.removeOldest()
	if err != nil {
		g.log(bridge.Error, "delete the oldest file of the recording: %v", err)
	}
	if path == "" {
		return false, soon
	}
	text := "deleted " + path + " for want of space on the disk"
	g.note(codec.Event{Kind: codec.EventDisk, Time: g.stamp(), Text: text})
	g.log(bridge.Warn, "deleted %s: %v were free on the disk", path, mega(free))
	return true, true
}

// makeRoom deletes the oldest complete file for the end of the recording, after an error of the disk, and reports
// whether it did.
func (g *guard) makeRoom(err error) bool {
	if g.action != actionDelete || !diskFull(err) {
		return false
	}
	g.acting.Lock()
	defer g.acting.Unlock()
	if g.failed {
		return false
	}
	deleted, _ := g.deleteOldest(g.free.Load())
	return deleted
}

// hold has nothing written until there is space.
func (g *guard) hold() {
	if !g.low.Swap(true) {
		g.since.Store(g.stamp())
		g.log(bridge.Warn, "recording waits: %v are free on the disk; what does not fit into the memory is dropped", mega(g.free.Load()))
	}
}

func (g *guard) stop(err error) {
	g.failed = true
	g.note(codec.Event{Kind: codec.EventDisk, Time: g.stamp(), Text: "stopped: " + err.Error()})
	g.fail(err)
}

// shortage says that too little is free.
func (g *guard) shortage(free, least int64) error {
	return fmt.Errorf("%v are free on the disk of %s, less than the %v of --min-space; free some space", mega(free), g.path, mega(least))
}

// hit is told what the disk said to who writes.
func (g *guard) hit(err error) {
	if !g.waits(err) || !diskFull(err) {
		return
	}
	if free, _, err := g.disk.space(g.path); err == nil {
		g.free.Store(free)
	}
	g.hold()
	select {
	case g.urgent <- struct{}{}:
	default:
	}
}

// waits says whether, after that error of the disk, it is to be waited until writing can go on.
func (g *guard) waits(err error) bool {
	return g.action == actionPause || g.action == actionDelete && diskFull(err)
}

// holds says whether nothing is to be written at present.
func (g *guard) holds() bool { return g.low.Load() }

func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// mega prints bytes.
type mega int64

func (m mega) String() string {
	if m >= 10e9 {
		return fmt.Sprintf("%.1f GB", float64(m)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(m)/1e6)
}
