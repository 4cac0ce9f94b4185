package player

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// never is a time that is not reached.
const never = math.MaxInt64

// exactSleep is how long a timer may sleep without reacting to wake. clock_nanosleep is the system's most exact sleep,
// but nothing ends it early. Longer sleeps use ppoll, which wake ends, until exactSleep remains.
const exactSleep = 2 * time.Millisecond

// timer is the clock of an engine. Its times are in ns.
type timer interface {
	now() int64
	sleep(until int64) // returns at until, or soon after wake
	wake()
}

// systemTimer is a timer on CLOCK_MONOTONIC.
type systemTimer struct {
	event  *os.File // an eventfd, readable after wake
	fd     int32
	origin time.Time
	first  int64 // at origin
	alone  bool  // GOMAXPROCS is 1: other goroutines need the only P

	woken chan struct{} // has a value after wake; nil: event is used
}

func newSystemTimer() (*systemTimer, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create an eventfd: %w", err)
	}
	a := &systemTimer{event: os.NewFile(uintptr(fd), "eventfd"), fd: int32(fd), origin: time.Now(),
		alone: runtime.GOMAXPROCS(0) == 1}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return nil, fmt.Errorf("read CLOCK_MONOTONIC: %w", err)
	}
	a.first = now.Nano() - int64(time.Since(a.origin))/2
	return a, nil
}

// useGoTime makes the timer sleep by package time. It is called before the timer is used.
func (t *systemTimer) useGoTime() { t.woken = make(chan struct{}, 1) }

// lockThread keeps a thread for the calling goroutine, whose sleeps then end as exactly as the system can.
func (*systemTimer) lockThread() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // ns; by default it is 50 µs
}

func (t *systemTimer) now() int64 { return t.first + int64(time.Since(t.origin)) }

func (t *systemTimer) sleep(until int64) {
	for {
		ahead := until - t.now()
		if ahead <= 0 {
			return
		}
		if t.woken != nil {
			select {
			case <-t.woken:
				return
			case <-time.After(time.Duration(ahead)):
				continue
			}
		}
		if ahead <= int64(exactSleep) {
			t.sleepExactly(until)
			continue
		}
		timeout := unix.NsecToTimespec(ahead - int64(exactSleep)/2)
		if n, _ := unix.Ppoll([]unix.PollFd{{Fd: t.fd, Events: unix.POLLIN}}, &timeout, nil); n > 0 {
			var count [8]byte
			_, _ = t.event.Read(count[:])
			return
		}
	}
}

// sleepExactly sleeps until that time or a signal. It keeps its P meanwhile: otherwise the scheduler takes the P away
// during each sleep and wakes its monitor thread after it, which costs more than publishing a message. A stop of the
// world ends the sleep by a signal.
func (t *systemTimer) sleepExactly(until int64) {
	at := unix.NsecToTimespec(until)
	if t.alone {
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil)
		return
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&at)), 0, 0, 0)
}

func (t *systemTimer) wake() {
	if t.woken == nil {
		_, _ = t.event.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0})
		return
	}
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

func (t *systemTimer) close() error { return t.event.Close() }
