package bridge

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

type logCounter struct {
	Node
	lines int
}

func (l *logCounter) Log(LogLevel, string, ...any) { l.lines++ }

func TestCalls(t *testing.T) {
	var c Calls
	require.ErrorContains(t, c.Begin(MaxRequest+1), "more than 1048576")
	for range maxCalls {
		require.NoError(t, c.Begin(100))
	}
	require.ErrorContains(t, c.Begin(100), "1000 calls with 100000 bytes are being answered already")
	for range maxCalls {
		c.End(100)
	}
	for range maxCallBytes / MaxRequest {
		require.NoError(t, c.Begin(MaxRequest))
	}
	require.Error(t, c.Begin(1))
	c.End(MaxRequest)
	require.NoError(t, c.Begin(1))

	var node logCounter
	for range 100 {
		c.Log(&node, "/convert", errors.New("too many"))
	}
	require.Equal(t, loggedCalls, node.lines)
}
