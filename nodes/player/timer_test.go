package main

import (
	"testing"
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
	for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, exactSleep, 3 * exactSleep} {
		until := a.now() + int64(d)
		a.sleep(until)
		require.GreaterOrEqual(t, a.now(), until, d)
		var system unix.Timespec
		require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &system))
		require.GreaterOrEqual(t, system.Nano(), until-int64(time.Millisecond), "it is the system's clock")
	}
}

func TestTimerWakes(t *testing.T) {
	a := newTestTimer(t)
	a.wake()
	a.wake()
	a.sleep(never) // what was before counts
	go a.wake()
	a.sleep(a.now() + int64(time.Hour))
}
