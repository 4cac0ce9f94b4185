// Package hdf5 tests that other programs read tapedeck's HDF5 files, and that tapedeck's files have the contents of
// EasyTeleop's.
package hdf5

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/hdf5"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/samples"
)

const (
	rows  = 12
	begin = int64(1_764_000_000_000_000_000)
)

// memoryFrames implements episode.Frames.
type memoryFrames []episode.Frame

func (m memoryFrames) Frame(i int) (episode.Frame, error) { return m[i], nil }

func (m memoryFrames) Close() error { return nil }

// newEpisode returns an episode with three cameras and two arms with commands.
func newEpisode(t *testing.T) *episode.Episode {
	e := &episode.Episode{Name: "take", Task: "fold the Grüße"}
	for i := range 3 {
		var frames memoryFrames
		c := &episode.Camera{Track: align.Track{Name: fmt.Sprintf("camera_%d", i)},
			Device: json.RawMessage(`{"fps":25}`)}
		for k := range rows {
			var b bytes.Buffer
			m := image.NewGray(image.Rect(0, 0, 64, 48))
			m.Pix[k*64] = 255
			require.NoError(t, jpeg.Encode(&b, m, nil))
			frames = append(frames, episode.Frame{Encoding: "jpeg", Data: b.Bytes()})
			c.Stamps = append(c.Stamps, begin+int64(k)*40_000_000)
		}
		c.Open = func() (episode.Frames, error) { return frames, nil }
		e.Cameras = append(e.Cameras, c)
	}
	stream := func(name string, offset float64, columns ...align.Column) *align.Vector {
		v := &align.Vector{Name: name, Columns: columns}
		for k := range rows {
			v.Stamps = append(v.Stamps, begin+int64(k)*40_000_000)
			for i := range columns {
				v.Values = append(v.Values, offset+float64(i)+float64(k)/rows)
			}
		}
		return v
	}
	for i := range 2 {
		name := fmt.Sprintf("arm_%d", i)
		var joints []align.Column
		for k := range 6 {
			joints = append(joints, align.Column{Name: fmt.Sprintf("joint_%d", k), Unit: "rad", Interp: align.Linear})
		}
		position := align.Column{Name: "position", Interp: align.Linear}
		e.Arms = append(e.Arms, &episode.Arm{
			Name: name, Device: json.RawMessage(`{"type":"RealMan"}`),
			Streams: episode.Streams{episode.Joint: stream(name+"/joint", float64(10*i), joints...),
				episode.Gripper:      stream(name+"/gripper", 0, position),
				episode.Effort:       stream(name+"/effort", 5, joints...),
				episode.CommandJoint: stream(name+"/command/joint", float64(10*i)+0.5, joints...)},
		})
	}
	return e
}

// write aligns an episode, writes it to a file at path, and returns the aligned rows.
func write(t *testing.T, path string, e *episode.Episode, a align.Options, o hdf5.Options) *episode.Rows {
	r, err := episode.Align(e, a)
	require.NoError(t, err)
	w, err := hdf5.Create(path, o)
	require.NoError(t, err)
	require.NoError(t, w.Write(r))
	require.NoError(t, w.Close())
	return r
}

// item is an object of a file as h5py reads it.
type item struct {
	Link        string
	Shape       []int
	Type        string
	Compression string
	Chunks      []int
	Attributes  map[string]any
}

// found is the content of a file as h5py reads it.
type found struct {
	root   map[string]any             // attributes of the root
	items  map[string]item            // by path
	values map[string]json.RawMessage // requested values, by path
}

// numbers returns the numbers at a path.
func (f *found) numbers(t *testing.T, path string) [][]float64 {
	var v [][]float64
	require.NoError(t, json.Unmarshal(f.values[path], &v), path)
	return v
}

// h5py reads a file. Each of values is numbers:PATH, strings:PATH or pictures:PATH. h5py skips the test if h5py is not
// installed.
func h5py(t *testing.T, path string, values ...string) *found {
	python := "/usr/bin/python3" // Debian's, which has Debian's h5py
	if err := exec.Command(python, "-c", "import h5py").Run(); err != nil {
		t.Skip("h5py is not installed (Debian: python3-h5py): ", err)
	}
	out, err := exec.Command(python, append([]string{"peer.py", path}, values...)...).Output()
	if exit, ok := err.(*exec.ExitError); ok {
		t.Fatalf("%v: %s", err, exit.Stderr)
	}
	require.NoError(t, err)
	f := &found{}
	require.NoError(t, json.Unmarshal(out, &f.values))
	require.NoError(t, json.Unmarshal(f.values["root"], &f.root))
	require.NoError(t, json.Unmarshal(f.values["items"], &f.items))
	return f
}

// TestH5pyDepth checks depths as h5py reads theirFile, in mm.
func TestH5pyDepth(t *testing.T) {
	e := newEpisode(t)
	depth := &episode.Camera{Track: align.Track{Name: "depth", Stamps: e.Cameras[0].Stamps}}
	var frames memoryFrames
	for k := range rows {
		frames = append(frames, episode.Frame{Encoding: "16UC1", Width: 3, Height: 2, Step: 6,
			Data: []byte{0, 0, byte(k), 1, 2, 2, 3, 3, 4, 4, 0x10, 0x27}})
	}
	depth.Open = func() (episode.Frames, error) { return frames, nil }
	e.Cameras = append(e.Cameras, depth)
	path := filepath.Join(t.TempDir(), "episode_0.hdf5")
	write(t, path, e, align.Options{}, hdf5.Options{})
	const name = "/observations/images_depth/depth"
	f := h5py(t, path, "numbers:"+name)
	i := f.items["/episodes/episode_0"+name]
	require.Equal(t, []int{rows, 2, 3}, i.Shape)
	require.Equal(t, "<u2", i.Type)
	var values [][][]float64
	require.NoError(t, json.Unmarshal(f.values[name], &values))
	require.Equal(t, [][]float64{{0, 256 + 5, 514}, {771, 1028, 10_000}}, values[5])
}

// TestH5py checks files as training code reads theirFile.
func TestH5py(t *testing.T) {
	for _, images := range []string{hdf5.ImagesVLen, hdf5.ImagesPadded, hdf5.ImagesRaw} {
		t.Run(images, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "episode_0.hdf5")
			want := write(t, path, newEpisode(t), align.Options{}, hdf5.Options{Images: images})
			arguments := []string{"numbers:/observations/qpos", "numbers:/observations/qvel",
				"numbers:/observations/effort",
				"numbers:/action",
				"strings:/metadata/cameras", "strings:/metadata/robots", "strings:/info/version"}
			cameras := []string{"cam_wrist", "cam_1", "cam_2", "cam_high", "cam_low", "cam_left_wrist",
				"cam_right_wrist"}
			for _, name := range cameras {
				arguments = append(arguments, "pictures:/observations/images/"+name)
			}
			f := h5py(t, path, arguments...)

			// Attributes and links of the root.
			require.EqualValues(t, 0, f.root["sim"])
			compress := 1
			if images == hdf5.ImagesRaw {
				compress = 0
			}
			require.EqualValues(t, compress, f.root["compress"])
			require.Equal(t, "camera", f.root["alignment/timeline"])
			require.Equal(t, "nearest", f.root["alignment/image"])
			require.Equal(t, "/episodes/episode_0/observations", f.items["/observations"].Link)
			require.Equal(t, "/episodes/episode_0/action", f.items["/action"].Link)

			// The layout of EasyTeleop.
			const root = "/episodes/episode_0"
			for path, want := range map[string]item{
				"/observations/state/arm_0/joint":      {Shape: []int{rows, 6}, Type: "<f4"},
				"/observations/state/arm_1/gripper":    {Shape: []int{rows, 1}, Type: "<f4"},
				"/actions/arm_0/joint":                 {Shape: []int{rows, 6}, Type: "<f4"},
				"/actions/arm_0/gripper":               {Shape: []int{rows, 1}, Type: "<f4"},
				"/actions/timestamps":                  {Shape: []int{rows}, Type: "<f8"},
				"/actions/timestamps_ns":               {Shape: []int{rows}, Type: "<i8"},
				"/rewards/values":                      {Shape: []int{rows}, Type: "<f4"},
				"/observations/qpos":                   {Shape: []int{rows, 14}, Type: "<f4"},
				"/observations/qvel":                   {Shape: []int{rows, 14}, Type: "<f4"},
				"/observations/effort":                 {Shape: []int{rows, 14}, Type: "<f4"},
				"/action":                              {Shape: []int{rows, 14}, Type: "<f4"},
				"/observations/image_index/cam_1":      {Shape: []int{rows}, Type: "<i8"},
				"/observations/image_timestamps/cam_1": {Shape: []int{rows}, Type: "<f8"},
				"/observations/image_valid/cam_wrist":  {Shape: []int{rows}, Type: "|u1"},
			} {
				got := f.items[root+path]
				require.Equal(t, want.Shape, got.Shape, path)
				require.Equal(t, want.Type, got.Type, path)
				require.Equal(t, "gzip", got.Compression, path)
			}
			for path, want := range map[string]item{
				"/metadata/cameras":    {Shape: []int{3}, Type: "utf-8"},
				"/metadata/robots":     {Shape: []int{2}, Type: "utf-8"},
				"/info/version":        {Shape: []int{1}, Type: "utf-8"},
				"/info/total_episodes": {Shape: []int{1}, Type: "<i8"},
				"/info/total_frames":   {Shape: []int{1}, Type: "<i8"},
				"/info/num_cameras":    {Shape: []int{1}, Type: "<i8"},
				"/info/num_arms":       {Shape: []int{1}, Type: "<i8"},
			} {
				require.Equal(t, want.Shape, f.items[path].Shape, path)
				require.Equal(t, want.Type, f.items[path].Type, path)
			}
			attributes := f.items[root].Attributes
			require.Equal(t, "fold the Grüße", attributes["task"])
			require.Equal(t, "command, next-state for arm_0/gripper arm_1/gripper", attributes["action_source"])
			require.Equal(t, "rad", f.items[root+"/observations/state/arm_0/joint"].Attributes["units"])
			require.EqualValues(t, 1, f.items[root+"/rewards/values"].Attributes["synthetic"])
			var robots []string
			require.NoError(t, json.Unmarshal(f.values["/metadata/robots"], &robots))
			require.JSONEq(t, `{"name":"arm_1","source":"arm_1","device":{"type":"RealMan"}}`, robots[1])

			// Numbers, rounded to float32.
			for path, vector := range map[string]func() (*align.Vector, error){
				"/observations/qpos": want.QPos, "/observations/qvel": want.QVel, "/action": want.Action,
			} {
				v, err := vector()
				require.NoError(t, err)
				for i, row := range f.numbers(t, path) {
					for c, x := range row {
						require.Equal(t, float64(float32(v.Row(i)[c])), x, "%s %d %d", path, i, c)
					}
				}
			}

			// Pictures: JPEGs or pixels.
			for _, name := range cameras {
				var ends [][3]any
				require.NoError(t, json.Unmarshal(f.values["/observations/images/"+name], &ends))
				require.Len(t, ends, rows)
				for i, e := range ends {
					if images == hdf5.ImagesRaw {
						require.EqualValues(t, 64*48*3, e[0])
						continue
					}
					frames, _ := want.Episode.Cameras[0].Open()
					frame, _ := frames.Frame(i)
					require.EqualValues(t, len(frame.Data), e[0])
					require.Equal(t, []any{"ffd8", "ffd9"}, e[1:])
				}
			}
			pictures := f.items[root+"/observations/images/cam_1"]
			require.Equal(t, "", pictures.Compression, "datasets of pictures must not be compressed")
			switch images {
			case hdf5.ImagesVLen:
				require.Equal(t, []int{rows}, pictures.Shape)
				require.Equal(t, "vlen |u1", pictures.Type)
			case hdf5.ImagesPadded:
				require.Len(t, pictures.Shape, 2)
				require.Equal(t, []int{1, pictures.Shape[1]}, pictures.Chunks)
				require.Equal(t, []int{3, rows}, f.items[root+"/compress_len"].Shape)
			case hdf5.ImagesRaw:
				require.Equal(t, []int{rows, 48, 64, 3}, pictures.Shape)
				require.Equal(t, []int{1, 48, 64, 3}, pictures.Chunks)
			}
		})
	}
}

// TestLinks checks a file that links the episodes of several files.
func TestLinks(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "train"), 0o755))
	var files []string
	for i := range 2 {
		files = append(files, filepath.Join(folder, "train", fmt.Sprintf("episode_%d.hdf5", i)))
		write(t, files[i], newEpisode(t), align.Options{}, hdf5.Options{})
	}
	path := filepath.Join(folder, "dataset.hdf5")
	require.NoError(t, hdf5.Link(path, files, false))
	f := h5py(t, path, "numbers:/info/total_frames", "pictures:/episodes/episode_1/observations/images/cam_wrist",
		"numbers:/episodes/episode_1/observations/state/arm_0/joint")
	require.Equal(t, "train/episode_1.hdf5:/episodes/episode_0", f.items["/episodes/episode_1"].Link)
	require.JSONEq(t, fmt.Sprintf("[%d.0]", 2*rows), string(f.values["/info/total_frames"]))
	require.Len(t, f.numbers(t, "/episodes/episode_1/observations/state/arm_0/joint"), rows)
}

// TestDump checks that HDF5's h5dump reads whole files.
func TestDump(t *testing.T) {
	h5dump, err := exec.LookPath("h5dump")
	if err != nil {
		t.Skip("h5dump is not installed (Debian: hdf5-tools): ", err)
	}
	for _, images := range []string{hdf5.ImagesVLen, hdf5.ImagesPadded, hdf5.ImagesRaw} {
		path := filepath.Join(t.TempDir(), "a.hdf5")
		write(t, path, newEpisode(t), align.Options{}, hdf5.Options{Images: images})
		out, err := exec.Command(h5dump, "-p", path).CombinedOutput()
		require.NoError(t, err, "%.2000s", out)
		for _, want := range []string{
			`SOFTLINK "cam_high" {`, `COMPRESSION DEFLATE { LEVEL 4 }`, `LINKTARGET "/episodes/episode_0/observations"`,
			`H5T_CSET_UTF8`,
		} {
			require.Contains(t, string(out), want)
		}
	}
}

// TestReference compares EasyTeleop's file of a session with tapedeck's file of the session by EasyTeleop's rules. Only
// the status of a gripper, 1 and then 2, may differ: EasyTeleop interpolates it.
func TestReference(t *testing.T) {
	reference := samples.Path(t, "session/easyteleop_reference")
	folder := filepath.Join(reference, "temp", "20261121_082214")
	source, err := session.Open(nil, folder)
	require.NoError(t, err)
	episodes, err := source.Episodes()
	require.NoError(t, err)
	defer source.Close()
	path := filepath.Join(t.TempDir(), "episode_0.hdf5")
	write(t, path, episodes[0], align.Options{
		Ends: align.EndsClamp, MaxExtrapolation: align.Unlimited, MaxGap: align.Unlimited,
		MaxImageSkew:  align.Unlimited,
		Action:        align.ActionCopy,
		LinearColumns: []string{"arm_1/gripper/0"}, // interpolated, although it has whole numbers
	}, hdf5.Options{JointUnit: hdf5.JointDeg})

	var theirs, ours []string
	for _, arm := range []string{"arm_0", "arm_1"} {
		for _, name := range []string{"pose", "joint", "end_effector"} {
			theirs = append(theirs, "numbers:/observations/state/"+arm+"/"+name)
			if name == "end_effector" {
				name = "gripper"
			}
			ours = append(ours, "numbers:/observations/state/"+arm+"/"+name)
		}
	}
	theirFile := h5py(t, filepath.Join(reference, "hdf5", "20261121_082214.hdf5"),
		append(theirs, "numbers:/actions/timestamps")...)
	ourFile := h5py(t, path, append(ours, "numbers:/actions/timestamps")...)
	require.JSONEq(t, string(theirFile.values["/actions/timestamps"]), string(ourFile.values["/actions/timestamps"]))
	for k := range ours {
		want, got := theirFile.numbers(t, theirs[k][8:]), ourFile.numbers(t, ours[k][8:])
		require.Len(t, got, len(want))
		for i := range want {
			require.Len(t, got[i], len(want[i]))
			for c := range want[i] {
				if ours[k] == "numbers:/observations/state/arm_0/gripper" && c == 2 &&
					want[i][c] != math.Trunc(want[i][c]) {
					require.Contains(t, []float64{1, 2}, got[i][c])
					continue
				}
				require.InDelta(t, want[i][c], got[i][c], 1e-5*max(1, math.Abs(want[i][c])), "%s, row %d, column %d",
					ours[k], i, c)
			}
		}
	}
}
