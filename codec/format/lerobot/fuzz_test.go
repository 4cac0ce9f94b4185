package lerobot

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/training/align"
)

// FuzzLeRobot reads datasets of v3.0 and v2.1 with any file contents.
func FuzzLeRobot(f *testing.F) {
	path := filepath.Join(f.TempDir(), "set")
	w, err := Create(path, Options{RobotType: "rm65"})
	require.NoError(f, err)
	e := newEpisode(f, "episode", "pick", 1e18, 4)
	e.Cameras = e.Cameras[:1]
	require.NoError(f, w.Write(alignRows(f, e, align.Options{})))
	require.NoError(f, w.Close())
	codectest.FuzzFolders(f, Format, path, writeForeignDataset(f))
}
