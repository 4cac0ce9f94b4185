package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/nodes/converter/toytest"
	"tapedeck/nodes/internal/formats"
	"tapedeck/test/samples"
)

// TestNewFormat adds a format, which takes its package and this line, and has all commands work on it.
func TestNewFormat(t *testing.T) {
	known = append(known, formats.Format{Format: toytest.Format})

	bag := samples.Path(t, "rosbag2/rosbags_rs/test_bag_mcap")
	toy := filepath.Join(t.TempDir(), "a.toy")
	stdout, _, err := run(t, bag, toy)
	require.NoError(t, err)
	require.NotContains(t, stdout, "lost: topics")

	stdout, _, err = run(t, "info", toy)
	require.NoError(t, err)
	require.Regexp(t, `Format: +toy`, stdout)

	stdout, _, err = run(t, "diff", bag, toy)
	require.NoError(t, err, stdout)
	back := filepath.Join(t.TempDir(), "b.mcap")
	_, _, err = run(t, toy, back)
	require.NoError(t, err)
	stdout, _, err = run(t, "diff", bag, back)
	require.NoError(t, err, stdout)

	// The player opens recordings with OpenROS2; the recorder creates them at these paths.
	r, left, err := known.OpenROS2(toy)
	require.NoError(t, err)
	require.Empty(t, left)
	before, err := r.Info()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "drive.toy", known.ByStorage("toy").Live.Path("drive"))

	text, err := os.ReadFile(toy)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(toy, bytes.Replace(text, []byte(`"Data":"AA`), []byte(`"Data":"??`), 1), 0o666))
	_, _, err = run(t, "diff", bag, toy)
	require.ErrorContains(t, err, "converter recover")
	saved := filepath.Join(t.TempDir(), "saved.toy")
	stdout, stderr, err := run(t, "recover", toy, saved)
	require.NoError(t, err)
	require.Contains(t, stderr, "damaged: read "+toy)
	require.Contains(t, stdout, "1 damaged place")
	_, messages := readAll(t, saved)
	require.Len(t, messages, int(before.MessageCount)-1)
}
