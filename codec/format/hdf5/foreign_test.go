package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/hdf5/internal/h5"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// TestEasyTeleop reads a file that EasyTeleop wrote.
func TestEasyTeleop(t *testing.T) {
	reference := generate.Path(t, "session/easyteleop_reference/hdf5/20261121_082214.hdf5")
	e := readEpisodes(t, reference)[0]
	require.Equal(t, "20261121_082214", e.Name)
	require.Len(t, e.Cameras, 3)
	require.JSONEq(t, `{"type": "RealSenseCamera", "serial": "427622270438", "fps": 30}`, string(e.Cameras[1].Device))
	for i, c := range e.Cameras {
		require.Equal(t, fmt.Sprintf("camera_%d", i), c.Name)
		require.Len(t, c.Stamps, 30)
		require.Equal(t, int64(1_764_000_000_000_000_000), c.Stamps[0])
		require.Equal(t, int64(1_764_000_000_033_000_000), c.Stamps[1], "a time in ms")
		frames, err := c.Open()
		require.NoError(t, err)
		f, err := frames.Frame(29)
		require.NoError(t, err)
		require.Equal(t, "jpeg", f.Encoding)
		_, err = f.Decode()
		require.NoError(t, err)
		require.NoError(t, frames.Close())
	}
	require.Len(t, e.Arms, 2)
	a := e.Arms[0]
	require.JSONEq(t, `{"type": "RealMan", "ip": "192.168.0.18", "port": 8080, "joints": 6}`, string(a.Device))
	require.Equal(t, "deg", a.Streams[episode.Joint].Columns[5].Unit)
	require.Equal(t, align.Euler, a.Streams[episode.Pose].Columns[5].Interp)
	require.Equal(t, "position", a.Streams[episode.Gripper].Columns[1].Name)
	require.Nil(t, a.Streams[episode.CommandPose], "EasyTeleop's actions are copies")
	_, err := episode.Align(e, align.Options{})
	require.NoError(t, err)

	r, err := codec.Formats{Format}.Open(reference)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	require.Equal(t, "hdf5", info.Format)
	require.Equal(t, uint64(3*30+2*3*30), info.MessageCount)
}

// createFile returns the path of a new file with the objects that put writes.
func createFile(t testing.TB, put func(f *h5.File)) string {
	path := filepath.Join(t.TempDir(), "a.hdf5")
	f, err := h5.Create(path)
	require.NoError(t, err)
	put(f)
	require.NoError(t, f.Close())
	return path
}

// writeALOHA writes an episode in the layout of ALOHA and ACT. Its vectors have the given width.
func writeALOHA(t testing.TB, rows, images, width int) string {
	path := filepath.Join(t.TempDir(), "episode_0.hdf5")
	f, err := h5.Create(path)
	require.NoError(t, err)
	require.NoError(t, f.MakeGroup("/observations/images"))
	numbers := make([]float32, rows*width)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	for _, path := range []string{"/observations/qpos", "/observations/qvel", "/action"} {
		require.NoError(t, h5.Put(f, path, numbers, rows, width))
	}
	set, err := h5.CreateRows[uint8](f, "/observations/images/cam_high", false, images, 4, 6, 3)
	require.NoError(t, err)
	row := make([]byte, 4*6*3)
	for i := range images {
		row[0] = byte(i)
		require.NoError(t, set.WriteRow(i, row))
	}
	require.NoError(t, f.SetAttribute("/", "sim", false))
	require.NoError(t, f.Close())
	return path
}

// TestALOHA reads files in the layout of ALOHA, with different numbers of arms and joints.
func TestALOHA(t *testing.T) {
	e := readEpisodes(t, writeALOHA(t, 5, 5, 14))[0]
	require.Len(t, e.Arms, 2)
	right := e.Arms[1]
	require.Equal(t, []float64{7, 8, 9, 10, 11, 12, 21, 22}, right.Streams[episode.Joint].Values[:8])
	require.Equal(t, []float64{13, 27, 41, 55, 69}, right.Streams[episode.Gripper].Values)
	require.Equal(t, right.Streams[episode.Joint].Values, right.Streams[episode.CommandJoint].Values)
	require.Equal(t, "rad", right.Streams[episode.Joint].Columns[0].Unit)
	require.Equal(t, []int64{0, 20_000_000, 40_000_000, 60_000_000, 80_000_000}, right.Streams[episode.Joint].Stamps)
	require.Equal(t, "cam_high", e.Cameras[0].Name)
	frames, err := e.Cameras[0].Open()
	require.NoError(t, err)
	f, err := frames.Frame(3)
	require.NoError(t, err)
	require.Equal(t, []any{"rgb8", 6, 4, 18, byte(3)}, []any{f.Encoding, f.Width, f.Height, f.Step, f.Data[0]})
	require.NoError(t, frames.Close())
	for _, c := range []struct {
		width, joints int
		gripper       bool
	}{{6, 6, false}, {7, 6, true}, {8, 7, true}} {
		e := readEpisodes(t, writeALOHA(t, 5, 5, c.width))[0]
		require.Len(t, e.Arms, 1)
		require.Len(t, e.Arms[0].Streams[episode.Joint].Columns, c.joints)
		require.Equal(t, c.gripper, e.Arms[0].Streams[episode.Gripper] != nil)
	}
}

// Datasets of numbers that are not read are counted as losses.
func TestUnreadNumbers(t *testing.T) {
	losses := func(put func(f *h5.File)) map[string]string {
		s, err := Open(nil, createFile(t, put))
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Episodes()
		require.NoError(t, err)
		lost := map[string]string{}
		for _, l := range s.Found().Lost.Losses() {
			lost[l.Topic] = l.What
		}
		return lost
	}
	numbers := func(f *h5.File, path string, width int) {
		require.NoError(t, f.MakeGroup(filepath.Dir(path)))
		require.NoError(t, h5.Put(f, path, make([]float32, 5*width), 5, width))
	}
	const unread = "datasets that are not read"
	require.Equal(t, map[string]string{"/action": "datasets of another width than qpos, which are not read",
		"/base_action": unread, "/observations/tactile": unread}, losses(func(f *h5.File) {
		numbers(f, "/observations/qpos", 14)
		numbers(f, "/observations/qvel", 14)
		numbers(f, "/observations/tactile", 3)
		numbers(f, "/action", 16)
		numbers(f, "/base_action", 2)
		numbers(f, "/observations/timestamps", 1)
	}))
	require.Equal(t, map[string]string{"/observations/state/arm_0/torque": unread}, losses(func(f *h5.File) {
		numbers(f, "/observations/state/arm_0/joint", 6)
		numbers(f, "/observations/state/arm_0/torque", 6)
	}))
	require.Empty(t, losses(func(f *h5.File) {
		require.NoError(t, f.MakeGroup("/observations/state"))
		numbers(f, "/observations/qpos", 7)
	}))
	path := writeEpisodes(t, Options{}, alignRows(t, newEpisode(5), align.Options{}))
	s, err := Open(nil, path)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Episodes()
	require.NoError(t, err)
	require.Empty(t, s.Found().Lost.Losses())
}

// An empty group of states does not hide the vectors of all arms.
func TestEmptyState(t *testing.T) {
	path := createFile(t, func(f *h5.File) {
		require.NoError(t, f.MakeGroup("/observations/state"))
		require.NoError(t, h5.Put(f, "/observations/qpos", make([]float32, 5*7), 5, 7))
	})
	require.Len(t, readEpisodes(t, path)[0].Arms, 1)
}

// If datasets have different lengths, only the rows of the shortest one are read.
func TestDifferentLengths(t *testing.T) {
	s, err := Open(nil, writeALOHA(t, 5, 3, 14))
	require.NoError(t, err)
	defer s.Close()
	episodes, err := s.Episodes()
	require.NoError(t, err)
	require.Len(t, episodes[0].Cameras[0].Stamps, 3)
	require.Len(t, episodes[0].Arms[0].Streams[episode.Joint].Stamps, 3)
	require.Len(t, episodes[0].Arms[0].Streams[episode.Joint].Values, 3*6)
	damage := s.Found().Damage
	require.Len(t, damage, 3)
	require.ErrorContains(t, damage[0],
		"/action of / has 5 rows; only the first 3 are read, because another dataset ends there")
	require.True(t, s.Found().Incomplete)
}

// An episode ends at the last written image.
func TestUnwrittenImages(t *testing.T) {
	path := createFile(t, func(f *h5.File) {
		require.NoError(t, f.MakeGroup("/observations/images"))
		require.NoError(t, h5.Put(f, "/observations/qpos", make([]float32, 100*7), 100, 7))
		set, err := f.CreateSequences("/observations/images/cam_high", 100)
		require.NoError(t, err)
		data := newFrame("jpeg", 1, 8, 8).Data
		for i := range 37 {
			require.NoError(t, set.WriteSequences(i, [][]byte{data}))
		}
	})
	require.Len(t, readEpisodes(t, path)[0].Cameras[0].Stamps, 37)
}

// Errors about unreadable files name the file and the reason.
func TestUnreadableFiles(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text.hdf5")
	require.NoError(t, os.WriteFile(text, []byte("no HDF5"), 0o644))
	complete, err := os.ReadFile(writeALOHA(t, 50, 50, 14))
	require.NoError(t, err)
	truncated := filepath.Join(folder, "truncated.hdf5")
	require.NoError(t, os.WriteFile(truncated, complete[:len(complete)-1000], 0o644))
	for path, want := range map[string]string{
		filepath.Join(folder, "none.hdf5"): "no such file",
		folder:                             "not a file",
		text:                               "the HDF5 signature is missing",
		truncated:                          "the file is damaged, or its writer did not close it",
		createFile(t, func(f *h5.File) {
			h5.Put(f, "/weights", []float32{1}, 1)
		}): "no episodes in a known layout; the file has /weights; convert the file to the layout of EasyTeleop",
		createFile(t, func(f *h5.File) {
			f.MakeGroup("/episodes")
			f.LinkExternal("gone.hdf5", "/episodes/episode_0", "/episodes/episode_0")
		}): "/episodes/episode_0: the target of the link is missing",
		createFile(t, func(f *h5.File) {
			f.MakeGroup("/observations")
			h5.Put(f, "/observations/qpos", make([]float32, 8), 2, 2, 2)
		}): "/observations/qpos: unexpected shape [2 2 2]",
		createFile(t, func(f *h5.File) {
			f.MakeGroup("/observations")
			f.PutStrings("/observations/qpos", []string{"a", "b"})
		}): "not numbers",
		createFile(t, func(f *h5.File) {
			f.MakeGroup("/observations/images")
			h5.Put(f, "/observations/images/cam_1", make([]float32, 8), 2, 4)
		}): "not images: a dataset of shape [2 4] with elements of 4 bytes",
		createFile(t, func(f *h5.File) {
			f.MakeGroup("/observations/images")
			d, _ := f.CreateSequences("/observations/images/cam_1", 1)
			d.WriteSequences(0, [][]byte{[]byte("a word")})
		}): "neither a JPEG nor a PNG: the image begins with 6120776f7264",
		createFile(t, func(f *h5.File) {
			f.MakeGroup("/observations")
			h5.Put(f, "/observations/qpos", make([]float32, 2), 2, 1)
			h5.Put(f, "/observations/timestamps", []float64{1, 1e300}, 2)
		}): "row 1 has the time 1e+300",
	} {
		s, err := Open(nil, path)
		if err == nil {
			_, err = s.Episodes()
			require.NoError(t, s.Close())
		}
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}

// A folder with a file for each episode is one recording, in the order of the files' numbers. An event names a file
// that cannot be read.
func TestFolder(t *testing.T) {
	folder := t.TempDir()
	for _, n := range []int{10, 2} {
		require.NoError(t, os.Rename(writeALOHA(t, n, n, 14), filepath.Join(folder, fmt.Sprintf("episode_%d.hdf5", n))))
	}
	formats := codec.Formats{Format}
	info := func() *codec.Info {
		r, err := formats.Open(folder)
		require.NoError(t, err)
		defer r.Close()
		info, err := r.Info()
		require.NoError(t, err)
		return info
	}
	complete := info()
	require.True(t, complete.Complete)
	episodes := complete.Extra.(episode.Details).Episodes
	require.Equal(t, []string{"episode_2", "episode_10"}, []string{episodes[0].Name, episodes[1].Name})
	require.Equal(t, int64(20_000_000), episodes[0].End)
	require.Equal(t, int64(40_000_000), episodes[1].Start, "episodes without times follow one another")

	require.NoError(t, os.WriteFile(filepath.Join(folder, "episode_3.hdf5"), []byte("no HDF5"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o666))
	damaged := info()
	require.False(t, damaged.Complete)
	require.Equal(t, complete.MessageCount, damaged.MessageCount)
	require.Len(t, damaged.Events, 1)
	require.Contains(t, damaged.Events[0].Text, "episode_3.hdf5: ")
	for _, n := range []int{10, 2} {
		require.NoError(t, os.Remove(filepath.Join(folder, fmt.Sprintf("episode_%d.hdf5", n))))
	}
	r, err := formats.Open(folder)
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Info()
	require.ErrorContains(t, err, "no file of the folder can be read: ")
}

// An unreadable dataset of an episode is skipped and reported. All other datasets are read.
func TestUnreadableDatasets(t *testing.T) {
	for _, c := range []struct {
		put  func(f *h5.File) error
		want string // part of the event
	}{
		{func(f *h5.File) error {
			d, err := f.CreateSequences("/observations/images/cam_low", 0)
			return errors.Join(err, d.Close())
		}, "/observations/images/cam_low is skipped: the dataset has no images"},
		{func(f *h5.File) error {
			return h5.Put(f, "/observations/images/cam_low", make([]float32, 8), 2, 4)
		}, "/cam_low is skipped: /observations/images/cam_low: not images: a dataset of shape [2 4] with elements"},
		{func(f *h5.File) error { return h5.Put(f, "/observations/effort", []float32{}, 0, 14) },
			"/observations/effort is skipped: the dataset has no rows"},
		{func(f *h5.File) error { return f.PutStrings("/action", []string{"a"}) },
			"/action is skipped: read /action: not numbers"},
	} {
		path := createFile(t, func(f *h5.File) {
			require.NoError(t, f.MakeGroup("/observations/images"))
			require.NoError(t, h5.Put(f, "/observations/qpos", make([]float32, 42), 3, 14))
			require.NoError(t, c.put(f))
		})
		r, err := codec.Formats{Format}.Open(path)
		require.NoError(t, err)
		defer r.Close()
		info, err := r.Info()
		require.NoError(t, err)
		require.False(t, info.Complete)
		require.Equal(t, uint64(12), info.MessageCount)
		require.Len(t, info.Events, 1)
		require.Contains(t, info.Events[0].Text, c.want)
	}
}

// In files of other tools, the colour and depth images of a camera have one name. They become two cameras.
func TestColourAndDepthOfOneName(t *testing.T) {
	path := createFile(t, func(f *h5.File) {
		require.NoError(t, f.MakeGroup("/observations/images"))
		require.NoError(t, f.MakeGroup("/observations/images_depth"))
		require.NoError(t, h5.Put(f, "/observations/qpos", make([]float32, 42), 3, 14))
		require.NoError(t, h5.Put(f, "/observations/images/cam_high", make([]uint8, 3*4*6*3), 3, 4, 6, 3))
		require.NoError(t, h5.Put(f, "/observations/images_depth/cam_high", make([]uint16, 3*4*6), 3, 4, 6))
	})
	e := readEpisodes(t, path)[0]
	require.Equal(t, []string{"cam_high", "cam_high_depth"}, []string{e.Cameras[0].Name, e.Cameras[1].Name})
	path = writeEpisodes(t, Options{}, alignRows(t, e, align.Options{}))
	e = readEpisodes(t, path)[0]
	require.Equal(t, []string{"cam_high", "cam_high_depth"}, []string{e.Cameras[0].Name, e.Cameras[1].Name})
}

// Errors name the layouts of other projects.
func TestUnsupportedLayouts(t *testing.T) {
	for group, want := range map[string]string{
		"/data/demo_0/obs": "the layout of robomimic and LIBERO (/data/demo_0 with obs and actions) is not supported",
		"/joint_action":    "the layout of RoboTwin (/joint_action) is not supported; convert the file to ",
		"/other":           "no episodes in a known layout; the file has /other; convert the file to ",
	} {
		s, err := Open(nil, createFile(t, func(f *h5.File) { require.NoError(t, f.MakeGroup(group)) }))
		require.NoError(t, err)
		_, err = s.Episodes()
		require.ErrorContains(t, err, want)
		require.NoError(t, s.Close())
	}
}

// Images that are compressed with LZF, a filter of h5py, can be read. An image with invalid LZF is damaged, and others
// can still be read.
func TestLZF(t *testing.T) {
	content, err := os.ReadFile(samples.Path(t, "faults/hdf5_lzf.hdf5"))
	require.NoError(t, err)
	black := []byte{1, 0, 0, 0xe0, 0x3b, 0, 1, 0, 0}
	require.Equal(t, 3, bytes.Count(content, black))
	for want, compressed := range map[string][]byte{
		strings.Repeat("\x00", 72):          black,
		strings.Repeat("abcde", 15)[:72]:    append([]byte("\x04abcde"), 0xe0, 0x3a, 4),
		"ends within a reference":           append([]byte("\x05abcdef"), 0xe0, 0x39)[:9],
		"reference to before the beginning": {1, 0, 0, 0xe0, 0x3b, 9, 1, 0, 0},
		"longer than a chunk":               {1, 0, 0, 0xe0, 0xff, 0, 1, 0, 0},
		"more literal bytes than there are": {20, 0, 0, 0xe0, 0x3b, 0, 1, 0, 0},
	} {
		path := filepath.Join(t.TempDir(), "a.hdf5")
		require.NoError(t, os.WriteFile(path, bytes.Replace(content, black, compressed, 1), 0o666))
		e := readEpisodes(t, path)[0]
		frames, err := e.Cameras[0].Open()
		require.NoError(t, err)
		f, err := frames.Frame(0)
		if len(want) == 72 {
			require.NoError(t, err, want)
			require.Equal(t, want, string(f.Data))
		} else {
			require.Error(t, err, want)
		}
		_, err = frames.Frame(1)
		require.NoError(t, err)
		require.NoError(t, frames.Close())
	}
}
