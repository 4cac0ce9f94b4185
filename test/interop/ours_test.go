package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOurs checks that a recorder on tapedeck's other middleware records all played messages.
func TestOurs(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		writeNumbers(t, s.path("n.record"), "record", 3000, time.Millisecond, "/n")
		recorder := s.other().ours("recorder", "-o", "copy", "/n")
		s.ours("player", "n.record", "--wait-for-subscribers").Wait(0)
		require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")
		requireNumbers(t, s.path("copy.record.00000"), "/n", 3000)
	})
}

// TestTrigger calls the service of a recorder on tapedeck's other middleware.
func TestTrigger(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		recorder := s.other().ours("recorder", "-o", "drive", "--snapshot-mode", "/n", "--allow-unmatched")
		require.Contains(t, s.ours("recorder", "trigger").Wait(0), "snapshot_drive_")
		recorder.Interrupt()
	})
}
