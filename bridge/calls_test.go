package bridge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type logCounter struct {
	Node
	lines atomic.Int64
}

func (l *logCounter) Log(LogLevel, string, ...any) { l.lines.Add(1) }

func TestCalls(t *testing.T) {
	var node logCounter
	for name, test := range map[string]struct {
		calls, bytes int
		refused      string
	}{
		"many calls":     {maxCalls, 100, "1000 calls with 100000 bytes are being answered"},
		"large requests": {maxCallBytes / MaxRequest, MaxRequest, "64 calls with 67108864 bytes are being answered"},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCalls(&node, "/convert")
			require.ErrorContains(t, c.admit(MaxRequest+1), "more than 1048576")
			for range test.calls {
				require.NoError(t, c.admit(test.bytes))
			}
			require.ErrorContains(t, c.admit(1), test.refused)
			var ended sync.WaitGroup
			ended.Add(test.calls)
			for range test.calls {
				c.Answer(test.bytes, func(ctx context.Context) error {
					ended.Done()
					<-ctx.Done()
					return nil
				})
			}
			ended.Wait()
			require.ErrorContains(t, c.admit(1), test.refused)
			c.Close()
			require.Zero(t, c.count)
			require.Zero(t, c.bytes)
			require.Zero(t, c.Failed())
			require.ErrorIs(t, c.admit(1), context.Canceled)
		})
	}
	require.Zero(t, node.lines.Load())
}

func TestFailedCalls(t *testing.T) {
	var node logCounter
	c := NewCalls(&node, "/convert")
	require.False(t, c.Begin(MaxRequest+1))
	for range 99 {
		require.True(t, c.Begin(7))
		c.Answer(7, func(context.Context) error { return errors.New("too many") })
	}
	c.Close()
	require.Equal(t, 100, c.Failed())
	require.EqualValues(t, loggedCalls, node.lines.Load())
}
