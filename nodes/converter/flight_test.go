package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/samples/generate"
)

// TestULog converts, compares and recovers a log of PX4.
func TestULog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "flight.ulg")
	require.NoError(t, os.WriteFile(log, generate.Flight(), 0o666))
	copied := filepath.Join(t.TempDir(), "flight.mcap")
	stdout, stderr, err := run(t, log, copied)
	require.NoError(t, err, stderr)
	require.Contains(t, stdout, "71 messages, 8 topics")
	stdout, _, err = run(t, "diff", log, copied)
	require.NoError(t, err, stdout)
	for _, path := range []string{log, copied} {
		stdout, _, err = run(t, "info", path)
		require.NoError(t, err)
		require.Contains(t, stdout, "ulog.info/sys_name = PX4")
		require.Contains(t, stdout, "PX4's logger dropped messages")
	}

	broken := log + ".broken.ulg"
	require.NoError(t, os.WriteFile(broken, append(generate.Flight(), "noise"...), 0o666))
	stdout, _, err = run(t, "recover", broken)
	require.NoError(t, err)
	require.Contains(t, stdout, "1 damaged place")
	_, _, err = run(t, "diff", copied, broken+".recover.mcap")
	require.NoError(t, err, "what cannot be written as it was becomes MCAP")
	_, _, err = run(t, log, "x.ulg")
	require.ErrorContains(t, err, "does not say in which format to write")
}
