package process

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patient are options of the player and of the publishers of hardware. They wait as long for subscribers as tests do.
var Patient = []string{"--match-patience", Patience.String(), "--wait-for-all-acked", Patience.String()}

// Await waits until a condition holds. The condition runs in the goroutine of the test, so it may use require. The
// condition of require.Eventually may not.
func Await(t testing.TB, condition func() bool, what ...any) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		require.Less(t, time.Since(began), Patience, what...)
	}
}
