package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// never is a time that does not come.
const never = math.MaxInt64

// nearness is for how long an alarm sleeps without hearing wake: clock_nanosleep is the most exact of the system's sleeps, but
// nothing ends it early. What waits for more than this is done with ppoll up to here.
const nearness = 2 * time.Millisecond

// timer is what an engine sleeps on. Its times are ns.
type timer interface {
	now() int64
	sleep(until int64) // returns at that time, or soon after wake
	wake()
}

// alarm is a timer on CLOCK_MONOTONIC.
type alarm struct {
	event  *os.File // an eventfd, readable after wake
	fd     int32
	origin time.Time
	first  int64 // at origin
}

func newAlarm() (*alarm, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create an eventfd: %w", err)
	}
	a := &alarm{event: os.NewFile(uintptr(fd), "eventfd"), fd: int32(fd), origin: time.Now()}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return nil, fmt.Errorf("read CLOCK_MONOTONIC: %w", err)
	}
	a.first = now.Nano() - int64(time.Since(a.origin))/2
	return a, nil
}

// sharpen has this goroutine's sleeps end as exactly as the system can, and keeps a thread for it.
func (*alarm) sharpen() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // ns; by default it is 50 µs
}

func (a *alarm) now() int64 { return a.first + int64(time.Since(a.origin)) }

func (a *alarm) sleep(until int64) {
	for {
		ahead := until - a.now()
		if ahead <= 0 {
			return
		}
		if ahead <= int64(nearness) {
			at := unix.NsecToTimespec(until)
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil)
			continue
		}
		timeout := unix.NsecToTimespec(ahead - int64(nearness)/2)
		if n, _ := unix.Ppoll([]unix.PollFd{{Fd: a.fd, Events: unix.POLLIN}}, &timeout, nil); n > 0 {
			var count [8]byte
			_, _ = a.event.Read(count[:])
			return
		}
	}
}

func (a *alarm) wake() { _, _ = a.event.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func (a *alarm) close() error { return a.event.Close() }
