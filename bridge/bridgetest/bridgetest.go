// Package bridgetest has Network, an implementation of bridge.Node without middleware, and more that tests of packages
// use that need a Node or messages. Its own tests are those that every implementation of bridge.Node must pass.
package bridgetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long anything may take; discovery takes seconds on a busy machine.
const patience = 90 * time.Second

// eventually waits until a condition holds. The condition runs in the goroutine of the test, so that it may use
// require; that of require.Eventually may not.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		require.Less(t, time.Since(began), patience, what)
	}
}
