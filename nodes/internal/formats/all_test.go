package formats

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats/live"
)

func TestAll(t *testing.T) {
	var names []string
	for _, f := range All() {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"carla", "hdf5", "lerobot", "mcap", "record", "bag", "rosbag2", "session", "tlog", "ulog",
		"parquet", "csv", "jsonl", "images", "mp4", "pcd", "ply", "gpx", "geojson", "kml", "tum"}, names)
}

// TestSplits compares Format.Splits with the writers.
func TestSplits(t *testing.T) {
	for _, f := range All() {
		if f.Create == nil || f.Name == "mp4" { // mp4 needs ffmpeg
			continue
		}
		w, err := f.Create(filepath.Join(t.TempDir(), "out"), codec.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, f.Splits, w.Split() == nil, f.Name)
		require.NoError(t, w.Close())
	}
}

// TestRecorderKnowsOthers records to each format that only the converter writes. The error says how to convert to it.
func TestRecorderKnowsOthers(t *testing.T) {
	for _, f := range All() {
		if f.Live != nil || f.Name == "hdf5" { // hdf5 has other names
			continue
		}
		if f.Writes() {
			_, err := live.Choose(f.Name, "drive")
			require.ErrorContains(t, err, "storage: "+f.Name+" cannot be written while recording", f.Name)
		}
		if name := "drive" + f.Extension; f.Extension != "" && f.Named(name) {
			_, err := live.Choose(live.AutoStorage, name)
			require.ErrorContains(t, err, "converter NAME --to "+f.Name+" OUT", f.Name)
		}
	}
}
