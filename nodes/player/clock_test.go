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

func TestClockWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, newClock(0, 1).wait(ctx, 1), context.DeadlineExceeded)
}
