package lerobot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// TestWriteRefusesEpisode writes episodes that a dataset cannot hold. Write must return an UnwrittenError with the path
// and the reason, and must then accept a good episode. Without episodes, Close must fail and leave no files.
func TestWriteRefusesEpisode(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		fps     float64 // rows per second of the dataset; 0: unknown before the first episode
		align   align.Options
		change  func(e *episode.Episode) // makes an episode invalid; nil: no change
		want    string                   // text of the error
		late    bool                     // a frame after the first one is invalid; tested in short tests too
	}{
		{name: "no fixed rate", align: align.Options{Timeline: "camera"}, want: "align on a timeline such as fixed:30"},
		{name: "fractional rate", align: align.Options{Timeline: "fixed:29.97"},
			want: "whole number of rows per second, not 29.97: align on a timeline such as fixed:30"},
		{name: "another rate", fps: 25,
			want: "the episode has 30 rows per second, the dataset 25: align on the timeline fixed:25"},
		{
			name: "jitter", fps: 30, align: align.Options{Timeline: "camera"},
			change: func(e *episode.Episode) { e.Cameras[0].Stamps[7] += 2e6 },
			want:   "row 7 is 2ms from its time at 30 rows per second",
		},
		{
			name: "one hole", change: func(e *episode.Episode) { removeFrames(e.Cameras[0], 9, 12) },
			want: "rows are missing after row 8 (camera_0: 3 rows dropped: no frame near enough): avoid this",
		},
		{
			name: "two holes", change: func(e *episode.Episode) {
				removeFrames(e.Cameras[0], 13, 16)
				removeFrames(e.Cameras[0], 5, 8)
			},
			want: "rows are missing after row 4 and in 1 more place (camera_0",
		},
		{
			name: "NaN", align: align.Options{Gaps: align.GapsNaN},
			change: func(e *episode.Episode) {
				for i := range 5 {
					e.Arms[0].Streams[episode.Joint].Values[i*3+1] = align.Missing()
				}
			},
			want: "row 0: arm_0.joint_1 of observation.state is NaN",
		},
		{
			name:   "another image size",
			change: func(e *episode.Episode) { replaceFrame(e.Cameras[1], 5, jpegFrame(t, 32, 48)) },
			want:   "camera_1: frame 5 has 32×48 pixels, others have 64×48", late: true,
		},
		{
			name: "damaged frame", change: func(e *episode.Episode) { replaceFrame(e.Cameras[0], 5, episode.Frame{}) },
			want: "camera_0: frame 5: frame 5 is broken", late: true,
		},
		{
			name: "unsupported encoding", change: func(e *episode.Episode) {
				replaceFrame(e.Cameras[0], 0, episode.Frame{Encoding: "yuyv", Data: []byte{1, 2}})
			},
			want: `images of encoding "yuyv" are neither colours nor depths; leave the camera out`,
		},
		{
			name: "depth among colours", change: func(e *episode.Episode) {
				replaceFrame(e.Cameras[0], 5, depthFrame("16UC1", width, height, 5))
			},
			want: `frame 5 is of encoding 16UC1: all images of a feature must be colours, or all depths`,
			late: true,
		},
		{
			name: "depths without a size", change: func(e *episode.Episode) {
				replaceFrame(e.Cameras[0], 0, episode.Frame{Encoding: "16UC1", Data: []byte{1, 2}})
			},
			want: "camera_0: frame 0: invalid image size 0×0",
		},
		{
			name: "no arms", align: align.Options{Partial: true}, change: func(e *episode.Episode) { e.Arms = nil },
			want: "no joints and no poses",
		},
		{
			name:    "two cameras with one name",
			options: Options{Cameras: map[string]string{"camera_0": "front", "camera_1": "front"}},
			want:    "two cameras have the name front",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "set")
			w, err := Create(path, c.options)
			require.NoError(t, err)
			w.info.FPS = c.fps
			e := newEpisode(t, "episode", "pick", 1e18, 20)
			if c.change != nil {
				c.change(e)
			}
			err = w.Write(alignRows(t, e, c.align))
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path+": episode: ")
			require.ErrorAs(t, err, new(*episode.UnwrittenError))

			// Other episodes can still be written.
			if c.fps == 0 && c.options.Cameras == nil && (c.late || !testing.Short()) {
				require.NoError(t, w.Write(alignRows(t, newEpisode(t, "good", "pick", 1e18, 20), align.Options{})))
				require.NoError(t, w.Close())
				return
			}
			require.ErrorContains(t, w.Close(), "no episodes")
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// removeFrames removes the frames of a camera from index from to index to-1.
func removeFrames(c *episode.Camera, from, to int) {
	frames, _ := c.Open()
	kept := append(append(memoryFrames{}, frames.(memoryFrames)[:from]...), frames.(memoryFrames)[to:]...)
	c.Stamps = append(append([]int64{}, c.Stamps[:from]...), c.Stamps[to:]...)
	c.Open = func() (episode.Frames, error) { return kept, nil }
}

// replaceFrame replaces frame i of a camera.
func replaceFrame(c *episode.Camera, i int, f episode.Frame) {
	frames, _ := c.Open()
	frames.(memoryFrames)[i] = f
}

// jpegFrame returns a black JPEG.
func jpegFrame(t *testing.T, width, height int) episode.Frame {
	return episode.Frame{Encoding: "jpeg", Data: encodeJPEG(t, width, height, color.Black)}
}

// TestWriteRefusesOtherFeatures writes episodes whose features differ from the first episode. Write must refuse them.
// A closed dataset must refuse all episodes, and Create must refuse an existing folder.
func TestWriteRefusesOtherFeatures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	w, err := Create(path, Options{})
	require.NoError(t, err)
	require.NoError(t, w.Write(alignRows(t, newEpisode(t, "first", "pick", 1e18, 20), align.Options{})))
	for _, c := range []struct {
		want   string
		change func(e *episode.Episode)
	}{
		{"observation.state has the columns [arm_0.joint_0 arm_0.elbow", func(e *episode.Episode) {
			e.Arms[0].Streams[episode.Joint].Columns[1].Name = "elbow"
			e.Arms[0].Streams[episode.CommandJoint] = nil
		}},
		{"the episode lacks cameras or streams that earlier episodes have", func(e *episode.Episode) {
			e.Cameras = e.Cameras[:1]
		}},
		{"the episode has observation.images.other, which earlier episodes do not have", func(e *episode.Episode) {
			e.Cameras[0].Name = "other"
		}},
	} {
		e := newEpisode(t, "second", "pick", 1e18, 20)
		c.change(e)
		require.ErrorContains(t, w.Write(alignRows(t, e, align.Options{})), c.want)
	}
	require.NoError(t, w.Close())
	require.ErrorContains(t, w.Write(alignRows(t, newEpisode(t, "late", "pick", 1e18, 20), align.Options{})),
		"the dataset is closed")

	_, err = Create(path, Options{})
	require.ErrorIs(t, err, fs.ErrExist)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// TestSplitEpisode writes an episode with a single row between two holes. The dataset must have two episodes: the rows
// before and after the holes.
func TestSplitEpisode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	w, err := Create(path, Options{Holes: HolesSplit})
	require.NoError(t, err)
	e := newEpisode(t, "episode", "pick", 1e18, 30)
	removeFrames(e.Cameras[0], 9, 12)
	removeFrames(e.Cameras[0], 10, 11) // a single row remains between the holes
	require.NoError(t, w.Write(alignRows(t, e, align.Options{})))
	require.NoError(t, w.Close())
	s, err := Open(nil, path)
	require.NoError(t, err)
	episodes, err := s.Episodes()
	require.NoError(t, err)
	require.Len(t, episodes, 2)
	for i, want := range [][]int64{e.Cameras[1].Stamps[:9], e.Cameras[1].Stamps[14:]} {
		got := episodes[i].Cameras[1].Stamps
		require.Len(t, got, len(want))
		for k := range want {
			require.InDelta(t, 0, got[k]-want[k], 1, "row %d of episode %d", k, i)
		}
	}
}

// TestPictures writes images of several encodings. They must be read as PNGs of their colours, and as black PNGs where
// frames are missing. The statistics must include the black images.
func TestPictures(t *testing.T) {
	gray := image.NewGray(image.Rect(0, 0, width, height))
	for i := range gray.Pix {
		gray.Pix[i] = 51
	}
	var grayPNG bytes.Buffer
	require.NoError(t, png.Encode(&grayPNG, gray))
	pixels := func(encoding string, pixel ...byte) episode.Frame {
		step := width*len(pixel) + 5
		f := episode.Frame{Encoding: encoding, Width: width, Height: height, Step: step,
			Data: make([]byte, step*height)}
		for y := range height {
			for x := range width {
				copy(f.Data[y*step+x*len(pixel):], pixel)
			}
		}
		return f
	}
	for name, c := range map[string]struct {
		frame episode.Frame
		want  [3]uint8
	}{
		"rgb8":  {pixels("rgb8", 10, 20, 30), [3]uint8{10, 20, 30}},
		"bgr8":  {pixels("bgr8", 10, 20, 30), [3]uint8{30, 20, 10}},
		"bgra8": {pixels("bgra8", 10, 20, 30, 0), [3]uint8{30, 20, 10}},
		"mono8": {pixels("mono8", 77), [3]uint8{77, 77, 77}},
		"gray":  {episode.Frame{Encoding: "png", Data: grayPNG.Bytes()}, [3]uint8{51, 51, 51}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "set")
			w, err := Create(path, Options{Cameras: map[string]string{"camera_0": "front", "camera_1": ""}})
			require.NoError(t, err)
			e := newEpisode(t, "episode", "pick", 1e18, 10)
			for i := range e.Cameras[0].Stamps {
				replaceFrame(e.Cameras[0], i, c.frame)
			}
			removeFrames(e.Cameras[0], 3, 5)
			require.NoError(t, w.Write(alignRows(t, e, align.Options{MissingImage: align.MissingBlack})))
			require.NoError(t, w.Close())
			s, err := Open(nil, path)
			require.NoError(t, err)
			episodes, err := s.Episodes()
			require.NoError(t, err)
			require.Len(t, episodes[0].Cameras, 1)
			require.Equal(t, imagePrefix+"front", episodes[0].Cameras[0].Topic)
			frames, err := episodes[0].Cameras[0].Open()
			require.NoError(t, err)
			defer frames.Close()
			for i := range 10 {
				f, err := frames.Frame(i)
				require.NoError(t, err)
				require.Equal(t, "png", f.Encoding)
				m, err := f.Decode()
				require.NoError(t, err)
				require.Equal(t, image.Rect(0, 0, width, height), m.Bounds())
				want := c.want
				if i == 3 || i == 4 {
					want = [3]uint8{}
				}
				require.Equal(t, color.RGBA{want[0], want[1], want[2], 255},
					color.RGBAModel.Convert(m.At(width-1, height-1)),
					"row %d", i)
			}
			var all map[string]struct {
				Mean [][][]float64
				Std  [][][]float64
			}
			text, err := os.ReadFile(filepath.Join(path, statsPath))
			require.NoError(t, err)
			require.NoError(t, unmarshalPictures(text, &all))
			for i, x := range c.want {
				colour := float64(x) / 255
				require.InDelta(t, colour*0.8, all[imagePrefix+"front"].Mean[i][0][0], 1e-12)
				require.InDelta(t, colour*math.Sqrt(0.16), all[imagePrefix+"front"].Std[i][0][0], 1e-12)
			}
		})
	}
}
