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

// closedNode is a bridge.Node that is closed. It calls onTopics whenever Topics is called.
type closedNode struct {
	bridge.Node
	onTopics func()
}

func (closedNode) Watch(context.Context) <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

func (n closedNode) Topics() []bridge.Topic {
	n.onTopics()
	return nil
}

// If the node is closed before the context ends, Run must still call tick every second, and must not update in a loop.
func TestRunWithClosedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		updates, ticks := 0, 0
		n := closedNode{onTopics: func() {
			updates++
			if updates == 1000 { // ends a Run that loops
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
		require.Equal(t, 3, ticks, "Run calls tick until the context ends")
		require.LessOrEqual(t, updates, 3, "a closed node causes no endless updates")
	})
}
