package player

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func newTestTimer(t *testing.T) *systemTimer {
	a, err := newSystemTimer()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.close()) })
	return a
}

func TestTimerSleepsUntil(t *testing.T) {
	a := newTestTimer(t)
	for _, a.alone = range []bool{false, true} {
		for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, exactSleep, 3 * exactSleep} {
			until := a.now() + int64(d)
			a.sleep(until)
			require.GreaterOrEqual(t, a.now(), until, d)
			var system unix.Timespec
			require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &system))
			require.GreaterOrEqual(t, system.Nano(), until-int64(time.Millisecond),
				"the timer is ahead of CLOCK_MONOTONIC")
		}
	}
}

func TestTimerSleepLetsTheWorldStop(t *testing.T) {
	a := newTestTimer(t)
	a.alone = false
	var ended atomic.Bool
	slept := make(chan struct{})
	go func() {
		defer close(slept)
		a.lockThread()
		for !ended.Load() {
			a.sleepExactly(a.now() + int64(time.Hour)) // a signal ends it
		}
	}()
	for range 3 {
		runtime.GC()
	}
	ended.Store(true)
	for {
		select {
		case <-slept:
			return
		default:
			runtime.GC() // the last one may have been before the sleep
		}
	}
}

func TestTimerWakes(t *testing.T) {
	a := newTestTimer(t)
	a.wake()
	a.wake()
	a.sleep(never) // an earlier wake counts
	go a.wake()
	a.sleep(a.now() + int64(time.Hour))
}

func TestTimerOfGoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestTimer(t)
		a.useGoTime()
		until := a.now() + int64(time.Hour)
		a.sleep(until)
		require.Equal(t, until, a.now())
		time.AfterFunc(time.Minute, a.wake)
		a.sleep(until + int64(time.Hour))
		require.Equal(t, until+int64(time.Minute), a.now())
	})
}
