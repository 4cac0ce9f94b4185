package hdf5

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/store/storetest"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// memoryFrames implements episode.Frames in memory.
type memoryFrames []episode.Frame

func (m memoryFrames) Frame(i int) (episode.Frame, error) { return m[i], nil }

func (m memoryFrames) Close() error { return nil }

const startTime = int64(1_764_000_000_000_000_000) // ns since the Unix epoch

// newFrame returns an image that depends on number: its green is 10*number, and its depths grow with number. The
// encoding png16 stands for a PNG of depths.
func newFrame(encoding string, number, width, height int) episode.Frame {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.Set(x, y, color.RGBA{200, uint8(number * 10), 30, 255})
		}
	}
	var b bytes.Buffer
	switch encoding {
	case "jpeg":
		jpeg.Encode(&b, m, &jpeg.Options{Quality: 90})
		return episode.Frame{Encoding: encoding, Data: b.Bytes()}
	case "png":
		png.Encode(&b, m)
		return episode.Frame{Encoding: encoding, Data: b.Bytes()}
	case "png16":
		g := image.NewGray16(m.Rect)
		for x := range width {
			g.SetGray16(x, 0, color.Gray16{Y: uint16(1000*number + x)})
		}
		png.Encode(&b, g)
		return episode.Frame{Encoding: "png", Data: b.Bytes()}
	}
	f := episode.Frame{Encoding: encoding, Width: width, Height: height}
	for y := range height {
		for x := range width {
			c := m.RGBAAt(x, y)
			switch encoding {
			case "rgb8":
				f.Data = append(f.Data, c.R, c.G, c.B)
			case "bgr8":
				f.Data = append(f.Data, c.B, c.G, c.R)
			case "bgra8":
				f.Data = append(f.Data, c.B, c.G, c.R, 0)
			case "mono8":
				f.Data = append(f.Data, c.G)
			case "16UC1":
				f.Data = append(f.Data, uint8(x), uint8(number))
			}
		}
		f.Data = append(f.Data, 1, 2, 3) // padding
	}
	f.Step = len(f.Data) / height
	return f
}

// newCamera returns a camera with a frame every 40 ms.
func newCamera(name string, frames ...episode.Frame) *episode.Camera {
	c := &episode.Camera{Track: align.Track{Name: name, Topic: "/" + name},
		Device: json.RawMessage(`{"serial":"` + name + `"}`)}
	for i := range frames {
		c.Stamps = append(c.Stamps, startTime+int64(i)*40_000_000)
	}
	c.Open = func() (episode.Frames, error) { return memoryFrames(frames), nil }
	return c
}

// newFrames returns n frames with the numbers 0 to n - 1.
func newFrames(encoding string, n, width, height int) []episode.Frame {
	var frames []episode.Frame
	for i := range n {
		frames = append(frames, newFrame(encoding, i, width, height))
	}
	return frames
}

// newVector returns values every 20 ms. The value of a row and a column is scale * (row + column/10).
func newVector(name string, rows int, scale float64, columns ...align.Column) *align.Vector {
	v := &align.Vector{Name: name, Topic: "/" + name, Columns: columns}
	for i := range rows {
		v.Stamps = append(v.Stamps, startTime+int64(i)*20_000_000)
		for c := range columns {
			v.Values = append(v.Values, scale*(float64(i)+0.1*float64(c)))
		}
	}
	return v
}

// linearColumns returns columns with one unit that are interpolated linearly.
func linearColumns(unit string, names ...string) []align.Column {
	var all []align.Column
	for _, name := range names {
		all = append(all, align.Column{Name: name, Unit: unit, Interp: align.Linear})
	}
	return all
}

var joints = linearColumns("deg", "joint_0", "joint_1", "joint_2", "joint_3", "joint_4", "joint_5")

// newArm returns an arm with streams of poses, joints and a gripper.
func newArm(name string, rows int) *episode.Arm {
	return &episode.Arm{
		Name: name, Device: json.RawMessage(`{"type":"RealMan"}`),
		Streams: episode.Streams{
			episode.Pose: newVector(name+"/pose", rows, 0.01,
				append(linearColumns("m", "x", "y", "z"),
					align.Column{Name: "rx", Unit: "rad", Interp: align.Euler},
					align.Column{Name: "ry", Unit: "rad", Interp: align.Euler},
					align.Column{Name: "rz", Unit: "rad", Interp: align.Euler})...),
			episode.Joint: newVector(name+"/joint", rows, 1, joints...),
			episode.Gripper: newVector(name+"/gripper", rows, 0.01,
				align.Column{Name: "force", Unit: "N", Interp: align.Linear},
				align.Column{Name: "position", Interp: align.Linear},
				align.Column{Name: "status", Interp: align.Hold}),
		},
	}
}

// newEpisode returns an episode of three cameras with JPEGs, PNGs and pixels, and of two arms.
func newEpisode(frames int) *episode.Episode {
	success := true
	return &episode.Episode{
		Name: "take", Task: "fold the Grüße", Start: startTime, End: startTime + 1e9, Success: &success,
		Metadata: json.RawMessage(`{"a":1}`),
		Cameras: []*episode.Camera{
			newCamera("camera_0", newFrames("jpeg", frames, 32, 24)...),
			newCamera("camera_1", newFrames("png", frames, 32, 24)...),
			newCamera("camera_2", newFrames("bgr8", frames, 32, 24)...),
		},
		Arms: []*episode.Arm{newArm("arm_0", 2*frames), newArm("arm_1", 2*frames)},
	}
}

// alignRows aligns the streams and frames of an episode.
func alignRows(t *testing.T, e *episode.Episode, o align.Options) *episode.Rows {
	rows, err := episode.Align(e, o)
	require.NoError(t, err)
	return rows
}

// writeEpisodes writes episodes to a file and returns the path of the file.
func writeEpisodes(t *testing.T, o Options, episodes ...*episode.Rows) string {
	path := filepath.Join(t.TempDir(), "episodes.hdf5")
	w, err := Create(path, o)
	require.NoError(t, err)
	for _, rows := range episodes {
		require.NoError(t, w.Write(rows))
	}
	require.NoError(t, w.Close())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "temporary files beside the file")
	return path
}

// readEpisodes returns the episodes of a file, which stays open until the test ends.
func readEpisodes(t *testing.T, path string) []*episode.Episode {
	s, err := Open(nil, path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	episodes, err := s.Episodes()
	require.NoError(t, err)
	return episodes
}

// requireNear checks that values are equal to the precision of float32.
func requireNear(t *testing.T, want, got []float64) {
	require.Len(t, got, len(want))
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-6*max(1, math.Abs(want[i])), "number %d", i)
	}
}

// TestRoundTrip writes an episode with different options, and compares the read episode with the written one.
func TestRoundTrip(t *testing.T) {
	for _, o := range []Options{
		{}, {Images: ImagesPadded}, {Images: ImagesRaw}, {JointUnit: JointDeg, Workers: 3}, {SwapRB: true},
		{Images: ImagesRaw, SwapRB: true},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			e := newEpisode(10)
			rows := alignRows(t, e, align.Options{})
			require.Len(t, rows.Stamps, 10)
			got := readEpisodes(t, writeEpisodes(t, o, rows))[0]
			require.Equal(t, e.Name, got.Name)
			require.Equal(t, e.Task, got.Task)
			require.Equal(t, []int64{e.Start, e.End}, []int64{got.Start, got.End})
			require.Equal(t, e.Success, got.Success)
			require.JSONEq(t, string(e.Metadata), string(got.Metadata))

			require.Len(t, got.Arms, 2)
			for i, a := range got.Arms {
				want := rows.Arms[i]
				require.Equal(t, want.Arm.Name, a.Name)
				require.JSONEq(t, string(want.Arm.Device), string(a.Device))
				require.Equal(t, rows.Stamps, a.Streams[episode.Pose].Stamps)
				require.Equal(t, want.Arm.Streams[episode.Pose].Columns, a.Streams[episode.Pose].Columns)
				require.Equal(t, "/"+a.Name+"/pose", a.Streams[episode.Pose].Topic)
				requireNear(t, want.Streams[episode.Pose].Values, a.Streams[episode.Pose].Values)
				requireNear(t, want.Streams[episode.Gripper].Values, a.Streams[episode.Gripper].Values)
				require.Equal(t, want.Arm.Streams[episode.Gripper].Columns, a.Streams[episode.Gripper].Columns)
				scale, unit := math.Pi/180, "rad"
				if o.JointUnit == JointDeg {
					scale, unit = 1, "deg"
				}
				require.Equal(t, linearColumns(unit, "joint_0")[0], a.Streams[episode.Joint].Columns[0])
				for k, v := range want.Streams[episode.Joint].Values {
					require.InDelta(t, v*scale, a.Streams[episode.Joint].Values[k], 1e-5)
				}
				require.Nil(t, a.Streams[episode.CommandJoint], "actions that were made of states are not commands")
			}

			require.Len(t, got.Cameras, 3)
			for i, c := range got.Cameras {
				unchanged := i == 0 && o.Images != ImagesRaw && !o.SwapRB
				requireCamera(t, e.Cameras[i], c, unchanged)
			}
		})
	}
}

// requireCamera compares a read camera with the written one. unchanged reports whether frames are stored unchanged.
func requireCamera(t *testing.T, want, got *episode.Camera, unchanged bool) {
	require.Equal(t, want.Track, got.Track)
	require.JSONEq(t, string(want.Device), string(got.Device))
	written, err := want.Open()
	require.NoError(t, err)
	frames, err := got.Open()
	require.NoError(t, err)
	for i := range got.Stamps {
		f, err := frames.Frame(i)
		require.NoError(t, err)
		if unchanged {
			original, err := written.Frame(i)
			require.NoError(t, err)
			require.Equal(t, original, f)
		}
		m, err := f.Decode()
		require.NoError(t, err)
		require.Equal(t, image.Pt(32, 24), m.Bounds().Size())
		r, g, b, _ := m.At(16, 12).RGBA()
		require.InDelta(t, 200, r>>8, 6)
		require.InDelta(t, 10*i, g>>8, 6)
		require.InDelta(t, 30, b>>8, 6)
	}
	_, err = frames.Frame(len(got.Stamps))
	require.Error(t, err)
	require.NoError(t, frames.Close())
}

// Aligning an episode that was read returns the written rows.
func TestReadAgain(t *testing.T) {
	e := newEpisode(10)
	e.Arms[0].Streams[episode.CommandJoint] = newVector("arm_0/command/joint", 20, 2, joints...)
	rows := alignRows(t, e, align.Options{})
	got := alignRows(t, readEpisodes(t, writeEpisodes(t, Options{}, rows))[0], align.Options{})
	require.Equal(t, rows.Stamps, got.Stamps)
	require.Equal(t, rows.Frames, got.Frames)
	require.Equal(t, rows.ActionSource, got.ActionSource)
	for _, join := range []func(*episode.Rows) (*align.Vector, error){(*episode.Rows).QPos, (*episode.Rows).Action} {
		want, err := join(rows)
		require.NoError(t, err)
		vector, err := join(got)
		require.NoError(t, err)
		requireNear(t, want.Values, vector.Values)
	}
}

// TestSeveralEpisodes reads the episodes of one file, and of a file with links to two files.
func TestSeveralEpisodes(t *testing.T) {
	path := writeEpisodes(t, Options{}, alignRows(t, newEpisode(10), align.Options{}),
		alignRows(t, newEpisode(5), align.Options{}))
	episodes := readEpisodes(t, path)
	require.Len(t, episodes, 2)
	require.Len(t, episodes[0].Cameras[0].Stamps, 10)
	require.Len(t, episodes[1].Cameras[0].Stamps, 5)

	// Link joins the episodes of several files in a file in another folder.
	index := filepath.Join(t.TempDir(), "dataset.hdf5")
	third := writeEpisodes(t, Options{}, alignRows(t, newEpisode(3), align.Options{}))
	require.NoError(t, Link(index, []string{path, third}, false))
	require.ErrorIs(t, Link(index, []string{path}, false), fs.ErrExist)
	episodes = readEpisodes(t, index)
	require.Len(t, episodes, 3)
	require.Len(t, episodes[2].Cameras[1].Stamps, 3)
	frames, err := episodes[2].Cameras[1].Open()
	require.NoError(t, err)
	_, err = frames.Frame(2)
	require.NoError(t, err)
	require.Error(t, Link(filepath.Join(t.TempDir(), "none.hdf5"), nil, false))

	f := child.New(index, index)
	require.NoError(t, f.Acquire())
	defer f.Release()
	for path, want := range map[string]int64{"/info/total_episodes": 3, "/info/total_frames": 18,
		"/info/num_cameras": 3, "/info/num_arms": 2} {
		got, err := integers(f, path)
		require.NoError(t, err)
		require.Equal(t, []int64{want}, got, path)
	}
}

// Rows without a frame have black images and the index -1. A frame of several rows is read as one frame.
func TestMissingFrames(t *testing.T) {
	e := newEpisode(10)
	e.Cameras[1].Stamps = e.Cameras[1].Stamps[:4] // the camera stops
	e.Cameras = append(e.Cameras, newCamera("side"))
	rows := alignRows(t, e, align.Options{MissingImage: align.MissingBlack, Optional: []string{"camera_1", "side"}})
	require.Len(t, rows.Stamps, 10)
	rows.Frames[2][5] = rows.Frames[2][4]
	path := writeEpisodes(t, Options{}, rows)
	got := readEpisodes(t, path)[0]
	require.Equal(t, e.Cameras[1].Stamps, got.Cameras[1].Stamps)
	require.Len(t, got.Cameras[2].Stamps, 9)
	require.Equal(t, "side", got.Cameras[3].Name)
	require.Empty(t, got.Cameras[3].Stamps)

	f := child.New(path, path)
	require.NoError(t, f.Acquire())
	defer f.Release()
	index, err := integers(f, "/observations/image_index/cam_1")
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 2, 3, -1, -1, -1, -1, -1, -1}, index)
	valid, err := integers(f, "/observations/image_valid/cam_1")
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1, 1, 1, 0, 0, 0, 0, 0, 0}, valid)
	for _, path := range []string{"/observations/images/cam_high", "/observations/images/side"} {
		images, err := f.Dataset(path)
		require.NoError(t, err)
		data, err := images.Sequence(9, nil)
		require.NoError(t, err)
		m, err := jpeg.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		require.Equal(t, image.Pt(32, 24), m.Bounds().Size(), "a black image has the size of the other images")
		require.Equal(t, color.Gray{}, color.GrayModel.Convert(m.At(3, 3)))
	}
}

// With ImagesRaw, frames of any encoding become pixels.
func TestPixels(t *testing.T) {
	for _, encoding := range []string{"rgb8", "bgra8", "mono8", "png", "jpeg"} {
		t.Run(encoding, func(t *testing.T) {
			e := newEpisode(3)
			e.Cameras = []*episode.Camera{newCamera("front", newFrames(encoding, 3, 31, 17)...)}
			frames, err := readEpisodes(t, writeEpisodes(t, Options{Images: ImagesRaw},
				alignRows(t, e, align.Options{})))[0].Cameras[0].Open()
			require.NoError(t, err)
			f, err := frames.Frame(2)
			require.NoError(t, err)
			require.Equal(t, "rgb8", f.Encoding)
			want := []byte{200, 20, 30}
			if encoding == "mono8" {
				want = []byte{20, 20, 20}
			}
			for i, v := range want {
				require.InDelta(t, v, f.Data[f.Step*16+3*30+i], 5)
			}
		})
	}
}

// ImagesKeep stores JPEGs unchanged, and other images as pixels.
func TestKeep(t *testing.T) {
	e := newEpisode(3)
	e.Cameras = nil
	for _, encoding := range []string{"jpeg", "png", "rgb8", "16UC1"} {
		e.Cameras = append(e.Cameras, newCamera(encoding, newFrames(encoding, 3, 31, 17)...))
	}
	path := writeEpisodes(t, Options{Images: ImagesKeep}, alignRows(t, e, align.Options{}))
	for i, c := range readEpisodes(t, path)[0].Cameras {
		require.NoError(t, c.EachFrame([]int{2}, func(_ int, f *episode.Frame) error {
			return e.Cameras[i].EachFrame([]int{2}, func(_ int, want *episode.Frame) error {
				require.Equal(t, []string{"jpeg", "rgb8", "rgb8", "16UC1"}[i], f.Encoding)
				if want.Encoding == "jpeg" {
					require.Equal(t, want.Data, f.Data)
				}
				picture, err := want.Decode()
				require.NoError(t, err)
				got, err := f.Decode()
				require.NoError(t, err)
				require.Equal(t, pixel.RGBA(picture, nil).Pix, pixel.RGBA(got, nil).Pix)
				return nil
			})
		}))
	}
}

// Depth images are stored as pixels of 16 bits.
func TestDepth(t *testing.T) {
	e := newEpisode(3)
	e.Cameras = append(e.Cameras, newCamera("depth", newFrames("16UC1", 3, 30, 20)...),
		newCamera("depth_png", newFrames("png16", 3, 30, 20)...))
	got := readEpisodes(t, writeEpisodes(t, Options{}, alignRows(t, e, align.Options{})))[0]
	for i, want := range map[int][]byte{3: {5, 2}, 4: {0xd5, 0x07}} {
		frames, err := got.Cameras[i].Open()
		require.NoError(t, err)
		f, err := frames.Frame(2)
		require.NoError(t, err)
		require.Equal(t, "16UC1", f.Encoding)
		require.Equal(t, []int{30, 20, 60}, []int{f.Width, f.Height, f.Step})
		require.Equal(t, want, f.Data[10:12])
	}
}

// Episodes that cannot be stored are refused, and no file remains.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*episode.Episode)
		o      Options
		want   string
	}{
		"another size": {func(e *episode.Episode) {
			e.Cameras[1] = newCamera("camera_1", append(newFrames("png", 9, 32, 24), newFrame("png", 1, 8, 8))...)
		},
			Options{}, "camera_1: frame 9: image size 8×8, want 32×24 as in earlier frames"},
		"not enough pixels": {func(e *episode.Episode) {
			f := newFrame("rgb8", 1, 32, 24)
			f.Data = f.Data[:60]
			e.Cameras[1] = newCamera("camera_1", append([]episode.Frame{f}, newFrames("rgb8", 9, 32, 24)...)...)
		}, Options{}, "camera_1: frame 0: 60 bytes of data, want"},
		"unknown encoding": {func(e *episode.Episode) {
			f := newFrame("rgb8", 1, 32, 24)
			f.Encoding = "bayer_rggb8"
			e.Cameras[1] = newCamera("camera_1", append([]episode.Frame{f}, newFrames("rgb8", 9, 32, 24)...)...)
		}, Options{}, "bayer_rggb8"},
		"two cameras of one name": {func(e *episode.Episode) { e.Cameras[1].Name = "cam_wrist" }, Options{},
			"two cameras have the name cam_wrist"},
		"two arms of one name": {func(e *episode.Episode) { e.Arms[1].Name = "/arm_0" }, Options{},
			"two arms have the name arm_0"},
		"gripper out of range": {func(e *episode.Episode) {
			for i := range e.Arms[0].Streams[episode.Gripper].Values {
				e.Arms[0].Streams[episode.Gripper].Values[i] = 1.5
			}
		}, Options{}, "set the gripper's range"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEpisode(10)
			c.change(e)
			path := filepath.Join(t.TempDir(), "a.hdf5")
			w, err := Create(path, c.o)
			require.NoError(t, err)
			rows := alignRows(t, e, align.Options{})
			require.ErrorContains(t, w.Write(rows), c.want)
			require.ErrorContains(t, w.Write(rows), c.want, "a second Write returns the error of the first")
			require.ErrorContains(t, w.Close(), c.want)
			require.NoError(t, w.Close())
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// Damaged images are not written. Rows get other frames instead. If all images are damaged, writing fails.
func TestDamagedImages(t *testing.T) {
	truncate := func(encoding string) episode.Frame {
		f := newFrame(encoding, 1, 32, 24)
		f.Data = f.Data[:len(f.Data)-20]
		return f
	}
	for name, c := range map[string]struct {
		images string
		frame  episode.Frame
		want   string
	}{
		"not a JPEG":     {ImagesVLen, episode.Frame{Encoding: "jpeg", Data: []byte("GIF89a")}, "not a JPEG"},
		"truncated JPEG": {ImagesVLen, truncate("jpeg"), "the JPEG is cut off: its end is missing"},
		"truncated PNG":  {ImagesPadded, truncate("png"), "the PNG is cut off: its end is missing"},
		"undecodable JPEG": {ImagesRaw, func() episode.Frame {
			f := newFrame("jpeg", 1, 32, 24)
			at := bytes.Index(f.Data, []byte("\xff\xda")) + 14
			copy(f.Data[at:], bytes.Repeat([]byte{0xfe}, 8))
			return f
		}(), "invalid JPEG format"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEpisode(10)
			images := newFrames(c.frame.Encoding, 10, 32, 24)
			images[4], images[9] = c.frame, c.frame
			e.Cameras[1] = newCamera("camera_1", images...)
			var layout episode.Layout
			require.NoError(t, layout.Add(e))
			path := filepath.Join(t.TempDir(), "a.hdf5")
			w, err := Create(path, Options{Images: c.images})
			require.NoError(t, err)
			report, err := layout.Write(e, align.Options{MissingImage: align.MissingHold}, w.Write)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.Equal(t, 2, report.Cameras[1].Damaged)
			require.Contains(t, report.Cameras[1].Damage, "frame 4: ")
			require.Contains(t, report.String(), c.want)
			got := readEpisodes(t, path)[0]
			require.Len(t, got.Cameras[0].Stamps, 10)
			require.Len(t, got.Cameras[1].Stamps, 8)

			for i := range images {
				images[i] = c.frame
			}
			w, err = Create(path+"2", Options{Images: c.images})
			require.NoError(t, err)
			defer w.Abort()
			_, err = layout.Write(e, align.Options{}, w.Write)
			require.ErrorContains(t, err, "camera_1")
			require.ErrorContains(t, err, "without 10 damaged images, the first: camera_1: frame 0: "+c.want)
		})
	}
}

// Invalid options, existing files and files without episodes are errors.
func TestCreate(t *testing.T) {
	path := writeEpisodes(t, Options{}, alignRows(t, newEpisode(3), align.Options{}))
	_, err := Create(path, Options{})
	require.ErrorIs(t, err, fs.ErrExist)
	w, err := Create(path+"2", Options{})
	require.NoError(t, err)
	require.ErrorContains(t, w.Close(), "no episodes")
	for _, o := range []Options{{Images: "gif"}, {JointUnit: "turns"}, {Quality: 101}} {
		_, err := Create(filepath.Join(t.TempDir(), "a.hdf5"), o)
		require.Error(t, err)
	}
}

// TestCodec recognises and reads files through package codec.
func TestCodec(t *testing.T) {
	path := writeEpisodes(t, Options{}, alignRows(t, newEpisode(10), align.Options{}))
	// A block of other data may precede the HDF5 data.
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	shifted := filepath.Join(t.TempDir(), "shifted")
	require.NoError(t, os.WriteFile(shifted, append(make([]byte, 1024), data...), 0o644))
	for _, path := range []string{path, shifted} {
		r, err := codec.Formats{Format}.Open(path)
		require.NoError(t, err)
		info, err := r.Info()
		require.NoError(t, err)
		require.Equal(t, "hdf5", info.Format)
		require.Equal(t, uint64(3*10+2*3*10), info.MessageCount)
		require.True(t, info.Complete)
		require.Len(t, codectest.Read(t, r, codec.Query{}), 90)
		require.NoError(t, r.Close())
	}
	for _, head := range [][]byte{data[1:], nil} {
		ok, err := isHDF5(bytes.NewReader(head), int64(len(head)))
		require.NoError(t, err)
		require.False(t, ok)
	}
	require.True(t, hasExtension("a.HDF5"))
	require.False(t, hasExtension("a.mcap"))
	_, err = codec.Formats{Format}.Create(filepath.Join(t.TempDir(), "a.hdf5"), codec.CreateOptions{})
	require.ErrorContains(t, err, "hdf5 can be read, not written")
}

// Errors about a file in a store name the URL, not the local copy.
func TestURL(t *testing.T) {
	s := storetest.New(t)
	for key, content := range map[string]string{"none.hdf5": "no HDF5", "cut.hdf5": "\x89HDF\r\n\x1a\n cut"} {
		s.Put(key, []byte(content))
		_, err := Open(s.Files(), s.URL(key))
		require.ErrorContains(t, err, s.URL(key))
		require.NotContains(t, err.Error(), os.TempDir())
	}
}

// Images whose pixels change because they become JPEGs are counted as losses.
func TestLostPixels(t *testing.T) {
	for _, c := range []struct {
		images, encoding string
		swap, lost       bool
	}{
		{ImagesVLen, "png", false, true},
		{ImagesPadded, "rgb8", false, true},
		{ImagesVLen, "jpeg", false, false},
		{ImagesVLen, "jpeg", true, true},
		{ImagesRaw, "png", false, false},
		{ImagesKeep, "rgb8", false, false},
		{ImagesVLen, "16UC1", false, false},
	} {
		e := newEpisode(3)
		e.Cameras = []*episode.Camera{newCamera("cam", newFrames(c.encoding, 3, 16, 16)...)}
		w, err := Create(filepath.Join(t.TempDir(), "x.hdf5"), Options{Images: c.images, SwapRB: c.swap})
		require.NoError(t, err)
		rows := alignRows(t, e, align.Options{})
		rows.Frames[0][1] = rows.Frames[0][0] // a repeated frame counts once
		require.NoError(t, w.Write(rows))
		require.NoError(t, w.Close())
		require.Equal(t, c.lost, len(w.Losses()) == 1, c)
		if c.lost {
			require.Contains(t, w.Losses()[0].What, "--images raw", c)
			require.EqualValues(t, len(rows.Stamps)-1, w.Losses()[0].Messages, c)
		}
	}
}
