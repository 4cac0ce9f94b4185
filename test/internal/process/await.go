package process

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patient has options by which the player and the publishers of hardware wait for subscribers as long as tests do.
var Patient = []string{"--match-patience", Patience.String(), "--wait-for-all-acked", Patience.String()}

// Await waits until a condition holds. The condition runs in the goroutine of the test: unlike the condition of
// require.Eventually, it may use require.
func Await(t testing.TB, condition func() bool, what ...any) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		require.Less(t, time.Since(began), Patience, what...)
	}
}
