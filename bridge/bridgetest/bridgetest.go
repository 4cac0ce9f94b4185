// Package bridgetest helps tests that need a bridge.Node or messages. Network implements bridge.Node without
// middleware. The package's own tests are the tests that every implementation of bridge.Node must pass.
package bridgetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is the longest time for which a test waits. Discovery takes seconds on a busy machine.
const patience = 90 * time.Second

// eventually waits until a condition holds. The condition runs in the goroutine of the test, so it may use require,
// unlike the condition of require.Eventually.
func eventually(t *testing.T, description string, condition func() bool) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		require.Less(t, time.Since(began), patience, description)
	}
}
