package allformats

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

func TestList(t *testing.T) {
	var names []string
	for _, f := range List() {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"carla", "hdf5", "lerobot", "mcap", "record", "bag", "rosbag2", "session", "tlog", "ulog",
		"parquet", "csv", "jsonl", "images", "mp4", "pcd", "ply", "gpx", "geojson", "kml", "tum"}, names)
}

// TestSplits holds Format.Splits against the writers.
func TestSplits(t *testing.T) {
	for _, f := range List() {
		if f.Create == nil || f.Name == "mp4" { // which needs ffmpeg
			continue
		}
		w, err := f.Create(filepath.Join(t.TempDir(), "out"), codec.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, f.Splits, w.Split() == nil, f.Name)
		require.NoError(t, w.Close())
	}
}

// TestMains looks at all executables that read HDF5 files.
func TestMains(t *testing.T) {
	const program = `{{if eq .Name "main"}}{{$dir := .Dir}}{{range .Deps}}{{if eq . "tapedeck/codec/hdf5"}}{{$dir}}` +
		"\n{{end}}{{end}}{{end}}"
	output, err := exec.Command("go", "list", "-f", program, "tapedeck/...").Output()
	require.NoError(t, err)
	folders := strings.Fields(string(output))
	require.Len(t, folders, 2)
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "main.go"))
		require.NoError(t, err)
		require.Contains(t, string(text), "func main() {\n\tallformats.Main()\n")
	}
}

// TestRecorderWithoutHDF5 looks at all that the recorder imports.
func TestRecorderWithoutHDF5(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "tapedeck/nodes/recorder").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(output))
	require.Contains(t, packages, "tapedeck/nodes/internal/formats")
	require.NotContains(t, packages, "tapedeck/codec/hdf5")
	require.NotContains(t, packages, "gonum.org/v1/hdf5")
}

// TestRecorderKnowsOthers records to each format that only the converter writes: the error names the way there.
func TestRecorderKnowsOthers(t *testing.T) {
	recorded := formats.Recorded()
	known := func(name string) bool {
		return slices.ContainsFunc(recorded, func(f formats.Format) bool { return f.Name == name })
	}
	for _, f := range List() {
		if known(f.Name) || f.Name == "hdf5" { // which is named otherwise
			continue
		}
		if f.Writes() {
			_, err := recorded.Recorded(f.Name, "drive")
			require.ErrorContains(t, err, "storage: "+f.Name+" cannot be written while recording", f.Name)
		}
		if name := "drive" + f.Extension; f.Extension != "" && f.Named(name) {
			_, err := recorded.Recorded(formats.AutoStorage, name)
			require.ErrorContains(t, err, "converter NAME --to "+f.Name+" OUT", f.Name)
		}
	}
}
