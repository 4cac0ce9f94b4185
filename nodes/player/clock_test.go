package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClockRunsAtItsRate(t *testing.T) {
	c := newClock(1000, 10)
	require.Equal(t, int64(1000), c.now(), "a new clock stands")
	c.resume()
	begin := time.Now()
	require.NoError(t, c.wait(t.Context(), 1000+int64(time.Second)))
	require.GreaterOrEqual(t, time.Since(begin), 100*time.Millisecond)
	require.GreaterOrEqual(t, c.now(), 1000+int64(time.Second))
}

func TestClockPausesAndSteps(t *testing.T) {
	c := newClock(0, 1)
	passed := make(chan int64, 10)
	go func() {
		for t := int64(1e9); t <= 3e9; t += 1e9 {
			if c.wait(context.Background(), t) != nil {
				return
			}
			passed <- t
		}
	}()
	select {
	case <-passed:
		t.Fatal("a paused clock let a message pass")
	case <-time.After(50 * time.Millisecond):
	}
	c.step()
	require.Equal(t, int64(1e9), <-passed)
	require.Equal(t, int64(1e9), c.now(), "a step takes the clock to the message")
	c.step()
	require.Equal(t, int64(2e9), <-passed)
	c.scale(1000)
	c.toggle()
	require.Equal(t, int64(3e9), <-passed)
	c.toggle()
	stood := c.now()
	time.Sleep(10 * time.Millisecond)
	require.Equal(t, stood, c.now())
}

func TestClockNeverPassesWhatIsPlayed(t *testing.T) {
	c := newClock(0, maxRate)
	c.resume()
	require.NoError(t, c.wait(t.Context(), 10))
	time.Sleep(time.Millisecond)
	require.Equal(t, int64(10), c.now())

	c.toggle()
	passed := make(chan error)
	go func() { passed <- c.wait(context.Background(), 20) }()
	select {
	case <-passed:
		t.Fatal("a message that was late passed a paused clock")
	case <-time.After(20 * time.Millisecond):
	}
	require.Equal(t, int64(10), c.now())
	c.step()
	require.NoError(t, <-passed)
	require.Equal(t, int64(20), c.now())
}

func TestClockForgetsStepsWhenItRuns(t *testing.T) {
	c := newClock(0, 1)
	c.step()
	c.toggle()
	c.toggle()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.wait(ctx, int64(time.Hour)), context.DeadlineExceeded)
}

func TestClockWaitsForCenturies(t *testing.T) {
	c := newClock(0, minRate)
	c.resume()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.wait(ctx, 1<<62), context.DeadlineExceeded)
}

func TestClockRateHasBounds(t *testing.T) {
	c := newClock(0, 1)
	for range 1000 {
		c.scale(1.1)
	}
	rate, _ := c.state()
	require.InDelta(t, maxRate, rate, 0)
	for range 1000 {
		c.scale(1 / 1.1)
	}
	rate, _ = c.state()
	require.InDelta(t, minRate, rate, 0)
}

func TestClockWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, newClock(0, 1).wait(ctx, 1), context.DeadlineExceeded)
}
