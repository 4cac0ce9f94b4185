package lerobot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// encodeJPEG returns a JPEG of one colour.
func encodeJPEG(t testing.TB, width, height int, c color.Color) []byte {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		m.Set(i%width, i/width, c)
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}))
	return b.Bytes()
}

// memoryFrames implements episode.Frames in memory. A frame without data cannot be read.
type memoryFrames []episode.Frame

func (f memoryFrames) Frame(i int) (episode.Frame, error) {
	if f[i].Data == nil {
		return episode.Frame{}, fmt.Errorf("frame %d is broken", i)
	}
	return f[i], nil
}

func (f memoryFrames) Close() error { return nil }

// Size of the frames of newCamera, in pixels.
const width, height = 64, 48

// brightness returns the grey value of frame i of newCamera.
func brightness(i int) uint8 { return uint8(16 + i*7%200) }

// newCamera returns a camera with n grey JPEGs at fps frames per second. start is the time of the first frame, in ns
// since the Unix epoch.
func newCamera(t testing.TB, name string, start int64, n, fps int) *episode.Camera {
	var frames memoryFrames
	c := &episode.Camera{Track: align.Track{Name: name}, Device: json.RawMessage(`{"kind":"test"}`)}
	for i := range n {
		g := brightness(i)
		frames = append(frames, episode.Frame{Encoding: "jpeg",
			Data: encodeJPEG(t, width, height, color.RGBA{g, g, g, 255})})
		c.Stamps = append(c.Stamps, start+int64(math.Round(float64(i)*1e9/float64(fps))))
	}
	c.Open = func() (episode.Frames, error) { return frames, nil }
	return c
}

// newVector returns n rows of numbers at fps rows per second. value returns the number in a row and column. start is
// the time of the first row, in ns since the Unix epoch.
func newVector(name string, start int64, n, fps int, value func(row, column int) float64,
	columns ...align.Column) *align.Vector {
	v := &align.Vector{Name: name, Columns: columns}
	for i := range n {
		v.Stamps = append(v.Stamps, start+int64(math.Round(float64(i)*1e9/float64(fps))))
		for c := range columns {
			v.Values = append(v.Values, value(i, c))
		}
	}
	return v
}

// linearColumns returns columns that are interpolated linearly.
func linearColumns(unit string, names ...string) (columns []align.Column) {
	for _, n := range names {
		columns = append(columns, align.Column{Name: n, Unit: unit, Interp: align.Linear})
	}
	return columns
}

// newEpisode returns an episode of one arm and two cameras with n rows at 30 rows per second. start is the time of the
// first row, in ns since the Unix epoch.
func newEpisode(t testing.TB, name, task string, start int64, n int) *episode.Episode {
	wave := func(amplitude float64) func(row, column int) float64 {
		return func(row, column int) float64 { return amplitude * math.Sin(float64(row)/9+float64(column)) }
	}
	a := &episode.Arm{Name: "arm_0", Device: json.RawMessage(`{"model":"RM65"}`), GripperRange: [2]float64{0, 1000}}
	a.Streams[episode.Joint] = newVector("arm_0/joint", start, n, 30, wave(90),
		linearColumns("deg", "joint_0", "joint_1", "joint_2")...)
	a.Streams[episode.Pose] = newVector("arm_0/pose", start, n, 30, wave(0.5), linearColumns("m", "x", "y", "z")...)
	a.Streams[episode.Gripper] = newVector("arm_0/gripper", start, n, 30,
		func(row, column int) float64 { return float64((row*13 + column) % 1000) },
		linearColumns("", "force", "position")...)
	a.Streams[episode.CommandJoint] = newVector("arm_0/command/joint", start, n, 30, wave(80),
		linearColumns("deg", "joint_0", "joint_1", "joint_2")...)
	success := true
	return &episode.Episode{
		Name: name, Task: task, Success: &success, Metadata: json.RawMessage(`{"session_id":"x"}`),
		Cameras: []*episode.Camera{newCamera(t, "camera_0", start, n, 30), newCamera(t, "camera_1", start, n, 30)},
		Arms:    []*episode.Arm{a},
	}
}

// alignRows aligns an episode. The default timeline has 30 rows per second.
func alignRows(t testing.TB, e *episode.Episode, o align.Options) *episode.Rows {
	if o.Timeline == "" {
		o.Timeline = "fixed:30"
	}
	r, err := episode.Align(e, o)
	require.NoError(t, err)
	return r
}

// float32s rounds numbers to the precision of tables.
func float32s(numbers []float64) []float64 {
	rounded := make([]float64, len(numbers))
	for i, x := range numbers {
		rounded[i] = float64(float32(x))
	}
	return rounded
}

// requireEqualRows compares the rows of a dataset with the written rows.
func requireEqualRows(t *testing.T, want, got *episode.Rows) {
	require.Equal(t, want.Stamps, got.Stamps)
	wantState, err := want.QPos()
	require.NoError(t, err)
	gotState, err := got.QPos()
	require.NoError(t, err)
	require.Equal(t, wantState.Columns, gotState.Columns)
	require.Equal(t, float32s(wantState.Values), gotState.Values)

	// Columns of actions may differ: actions that were made of the next state are read as commands.
	wantAction, err := want.Action()
	require.NoError(t, err)
	gotAction, err := got.Action()
	require.NoError(t, err)
	require.Equal(t, float32s(wantAction.Values), gotAction.Values)
	require.Equal(t, float32s(want.Arms[0].Streams[episode.Pose].Values), got.Arms[0].Streams[episode.Pose].Values)
	require.Equal(t, want.Rewards, got.Rewards)
}

// TestRoundTrip writes three episodes and reads them. Numbers, times, images, names and notes must be equal.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	w, err := Create(path, Options{RobotType: "test"})
	require.NoError(t, err)
	var episodes []*episode.Rows
	for i, n := range []int{40, 2, 25} {
		task := []string{"pick", "place", "pick"}[i]
		e := newEpisode(t, fmt.Sprintf("episode_%d", i), task, 1e18+int64(i)*1e11, n)
		episodes = append(episodes, alignRows(t, e, align.Options{}))
		require.NoError(t, w.Write(episodes[i]))
	}
	require.NoDirExists(t, path)
	require.NoError(t, w.Close())
	require.NoDirExists(t, path+tempSuffix)

	s, err := Open(nil, path)
	require.NoError(t, err)
	read, err := s.Episodes()
	require.NoError(t, err)
	require.Len(t, read, 3)
	for i, e := range read {
		want := episodes[i].Episode
		require.Equal(t, want.Name, e.Name)
		require.Equal(t, want.Task, e.Task)
		require.Equal(t, want.Success, e.Success)
		require.JSONEq(t, string(want.Metadata), string(e.Metadata))
		require.JSONEq(t, string(want.Arms[0].Device), string(e.Arms[0].Device))
		requireEqualRows(t, episodes[i], alignRows(t, e, align.Options{}))
		require.Len(t, e.Cameras, 2)
		for c, camera := range e.Cameras {
			require.Equal(t, want.Cameras[c].Name, camera.Name)
			require.Equal(t, want.Cameras[c].Stamps, camera.Stamps)
			original, _ := want.Cameras[c].Open()
			frames, err := camera.Open()
			require.NoError(t, err)
			for k := range camera.Stamps {
				k = k * 7 % len(camera.Stamps) // seek forwards and backwards
				f, err := frames.Frame(k)
				require.NoError(t, err)
				o, _ := original.Frame(k)
				require.Equal(t, o.Encoding, f.Encoding)
				require.Equal(t, o.Data, f.Data)
			}
			_, err = frames.Frame(len(camera.Stamps))
			require.ErrorContains(t, err, "no frame")
			require.NoError(t, frames.Close())
		}
	}

	r, err := codec.Formats{Format}.Open(path)
	require.NoError(t, err)
	defer r.Close()
	i, err := r.Info()
	require.NoError(t, err)
	require.Equal(t, "lerobot", i.Format)
	// Each row of each episode has pose, joints, gripper, two commands and two cameras.
	require.EqualValues(t, (40+2+25)*7, i.MessageCount)
}

// TestVideo writes two episodes with videos of H.264 and reads the frames. Frames of an odd or another size, and a huge
// frame in a small file, must be errors.
func TestVideo(t *testing.T) {
	if testing.Short() {
		t.Skip("videos take seconds to make")
	}
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed (Debian: ffmpeg); videos are not tested")
	}
	path := filepath.Join(t.TempDir(), "set")
	w, err := Create(path, Options{Video: true, Codec: "libx264", VideoFileSize: 1})
	require.NoError(t, err)
	for i, n := range []int{31, 20} {
		require.NoError(t, w.Write(alignRows(t, newEpisode(t, "episode", "pick", 1e18+int64(i)*1e11, n),
			align.Options{})))
	}
	odd := newEpisode(t, "odd", "pick", 1e18, 5)
	odd.Cameras = nil
	for _, name := range []string{"camera_0", "camera_1"} {
		c := newCamera(t, name, 1e18, 5, 30)
		for i := range 5 {
			replaceFrame(c, i, jpegFrame(t, 63, height))
		}
		odd.Cameras = append(odd.Cameras, c)
	}
	require.ErrorContains(t, w.Write(alignRows(t, odd, align.Options{})),
		"frame 0 has 63×48 pixels, others have 64×48")
	other, err := Create(path+"-odd", Options{Video: true, Codec: "libx264"})
	require.NoError(t, err)
	require.ErrorContains(t, other.Write(alignRows(t, odd, align.Options{})),
		"camera_0: libx264 cannot encode 63×48 pixels")
	other.Abort()
	require.NoError(t, w.Close())
	require.FileExists(t, filepath.Join(path, "videos/observation.images.camera_1/chunk-000/file-001.mp4"))
	s, err := Open(nil, path)
	require.NoError(t, err)
	read, err := s.Episodes()
	require.NoError(t, err)
	for _, e := range read {
		frames, err := e.Cameras[1].Open()
		require.NoError(t, err)
		for _, k := range []int{0, 1, 2, 3, 19, 7, 8} {
			f, err := frames.Frame(k)
			require.NoError(t, err)
			require.Equal(t, []int{width, height, 3 * width}, []int{f.Width, f.Height, f.Step})
			require.InDelta(t, brightness(k), f.Data[len(f.Data)/2], 4, "frame %d", k)
		}
		require.NoError(t, frames.Close())
	}

	// A video of a few kB can have frames of 100 MB.
	huge := filepath.Join(path, "videos/observation.images.camera_1/chunk-000/file-001.mp4")
	output, err := exec.Command("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "color=size=8192x4160:rate=30",
		"-frames:v", "1", "-c:v", "libx264", "-preset", "ultrafast", huge).CombinedOutput()
	require.NoError(t, err, string(output))
	frames, err := read[1].Cameras[1].Open()
	require.NoError(t, err)
	_, err = frames.Frame(0)
	require.ErrorContains(t, err, huge)
	require.ErrorContains(t, err, "exceeds specified max pixel count 33554432")
	require.NoError(t, frames.Close())
}

func TestVideoWithoutFFmpeg(t *testing.T) {
	t.Setenv("PATH", "")
	_, err := Create(filepath.Join(t.TempDir(), "set"), Options{Video: true})
	require.ErrorContains(t, err, "cannot find ffmpeg, which encodes videos: install it (Debian: ffmpeg)")
}

// TestReportOfHoles splits an episode at two holes, around a single row. The report must count written episodes, rows
// and single rows. Notes must mention the missing task once.
func TestReportOfHoles(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "set"), Options{Holes: HolesSplit})
	require.NoError(t, err)
	e := newEpisode(t, "episode", "", 1e18, 20)
	removeFrames(e.Cameras[0], 13, 16)
	removeFrames(e.Cameras[0], 11, 12)
	rows := alignRows(t, e, align.Options{})
	require.NoError(t, w.Write(rows))
	require.Equal(t, w.info.TotalEpisodes, rows.Report.Episodes())
	require.Equal(t, w.info.TotalFrames, rows.Report.Written())
	require.Equal(t, 1, rows.Report.Single)
	require.Equal(t, []string{noTask}, w.Notes())
	require.NoError(t, w.Close())
}
