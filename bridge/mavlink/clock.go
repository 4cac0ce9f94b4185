package mavlink

import (
	"context"
	"time"
)

// Clock is the time that a Link lives in.
type Clock interface {
	// Now returns ns since the Unix epoch.
	Now() int64
	// Sleep returns after d, or early with ctx's error when ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock is this computer's.
type systemClock struct{}

func (systemClock) Now() int64 { return time.Now().UnixNano() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
