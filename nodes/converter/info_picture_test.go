package main

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/samples/generate"
)

// size of the picture at path.
func pictureSize(t *testing.T, path string) (width, height int) {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	c, err := png.DecodeConfig(f)
	require.NoError(t, err)
	return c.Width, c.Height
}

func TestPictures(t *testing.T) {
	for _, name := range []string{
		"apollo/example.record.00000", "apollo/incomplete_killed.record", "bag/cruise_example.bag",
		"bag/cruise_no-messages.bag",
		"carla/sr2020_DistanceToLaneCenter.log", "rosbag2/humble_py/talker", "session/easyteleop_reference/temp",
		"bag/py_lz4.bag", "rosbag2/rosbags_rs/test_bag_sqlite3",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.png")
			stdout, _, err := run(t, "info", "--picture", path, "--size", "1000x700", generate.Path(t, name))
			require.NoError(t, err)
			require.Equal(t, path+": 1000 × 700 pixels\n", stdout)
			width, height := pictureSize(t, path)
			require.Equal(t, [2]int{1000, 700}, [2]int{width, height})
		})
	}
}

func TestPictureOfEachEpisode(t *testing.T) {
	session := generate.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	folder, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.CopyFS(filepath.Join(folder, name), os.DirFS(session)))
	}
	_, _, err := run(t, "info", folder, "--picture", filepath.Join(out, "take.png"))
	require.NoError(t, err)
	_, _, err = run(t, "info", folder, "--picture", filepath.Join(out, "one.png"), "--episode", "2")
	require.NoError(t, err)
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"one.png", "take_1.png", "take_2.png"}, names)
	_, _, err = run(t, "info", folder, "--picture", filepath.Join(out, "one.png"), "--episode", "3")
	require.ErrorContains(t, err, "there is no such episode; the recording has 2")
}

// A recording is drawn as episodes with a mapping.
func TestPictureWithMapping(t *testing.T) {
	session := generate.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	folder := t.TempDir()
	recording := filepath.Join(folder, "take.mcap")
	_, _, err := run(t, session, recording)
	require.NoError(t, err)
	mapping := filepath.Join(folder, "robot.yaml")
	require.NoError(t, os.WriteFile(mapping, []byte("cameras: {front: /camera_0/image/compressed}\narms: {left: "+
		"{joint: /arm_0/joint_states}}\n"), 0o644))
	out := filepath.Join(folder, "out.png")
	_, _, err = run(t, "info", recording, "--picture", out)
	require.NoError(t, err)
	_, topics := pictureSize(t, out)
	_, _, err = run(t, "info", recording, "--picture", out, "--mapping", mapping)
	require.NoError(t, err)
	_, episode := pictureSize(t, out)
	require.NotEqual(t, topics, episode)
}

func TestPicturesThatAreNotDrawn(t *testing.T) {
	path := writeLines(t, "a.lines", []codec.Message{at(imu, 1e9, "abcd")})
	out := filepath.Join(t.TempDir(), "out.png")
	for says, args := range map[string][]string{
		"want a name that ends with .png":              {"--picture", path},
		"a page is from 600×300 to 16384×16384 pixels": {"--picture", out, "--size", "10x10"},
		"--size":                         {"--picture", out, "--size", "large"},
		"does not go with":               {"--picture", out, "--json"},
		"has no episodes":                {"--picture", out, "--episode", "1"},
		"need --picture":                 {"--episode", "1"},
		"draws one recording, but got 2": {"--picture", out, path},
		"no such file":                   {"--picture", "/no/such/folder/out.png"},
	} {
		_, _, err := run(t, append([]string{"info", path}, args...)...)
		require.ErrorContains(t, err, says)
		require.NoFileExists(t, out)
	}
}
