package subscription

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/selection"
)

// closedNode is a bridge.Node that is closed. Its method Topics calls looked.
type closedNode struct {
	bridge.Node
	looked func()
}

func (closedNode) Watch(context.Context) <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

func (n closedNode) Topics() []bridge.Topic {
	n.looked()
	return nil
}

// Run goes on at its pace if the node is closed before the context ends.
func TestRunWithClosedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		looks, ticks := 0, 0
		n := closedNode{looked: func() {
			looks++
			if looks == 1000 {
				cancel()
			}
		}}
		s := New(Options{Owner: owner.New(), Node: n, Selection: &selection.Selection{}})
		s.Start(ctx)
		s.Run(ctx, time.Second, func(time.Time) {
			ticks++
			if ticks == 3 {
				cancel()
			}
		})
		require.Equal(t, 3, ticks)
		require.Less(t, looks, 4)
	})
}
