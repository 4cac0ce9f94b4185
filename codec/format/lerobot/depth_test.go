package lerobot

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/tiff"

	"tapedeck/codec"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// depthAt returns the depth in mm at a pixel of frame i: 0 (unknown) in the first column, 12 m in the last row, which
// videos cannot hold.
func depthAt(i, x, y int) uint16 {
	switch {
	case x == 0:
		return 0
	case y == height-1:
		return 12000
	}
	return uint16(20 + x*y*3 + 7*i)
}

// depthFrame returns frame i with the depths of depthAt.
func depthFrame(encoding string, width, height, i int) episode.Frame {
	f := episode.Frame{Encoding: encoding, Width: width, Height: height}
	m := image.NewGray16(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			mm := depthAt(i, x, y)
			m.SetGray16(x, y, color.Gray16{Y: mm})
			switch {
			case encoding == "16UC1":
				f.Data = binary.LittleEndian.AppendUint16(f.Data, mm)
			case mm == 0:
				f.Data = binary.LittleEndian.AppendUint32(f.Data, math.Float32bits(float32(math.NaN())))
			default:
				f.Data = binary.LittleEndian.AppendUint32(f.Data, math.Float32bits(float32(mm)/1000))
			}
		}
		f.Data = append(f.Data, 1, 2, 3, 4) // padding
	}
	f.Step = len(f.Data) / height
	if encoding == "png" {
		var b bytes.Buffer
		_ = png.Encode(&b, m)
		f = episode.Frame{Encoding: encoding, Data: b.Bytes()}
	}
	return f
}

// alignDepths returns the rows of an episode whose first camera has depths. Rows 3 and 4 of this camera are black.
func alignDepths(t testing.TB, encoding string, start int64, n int) *episode.Rows {
	e := newEpisode(t, "episode", "pick", start, n)
	for i := range n {
		replaceFrame(e.Cameras[0], i, depthFrame(encoding, width, height, i))
	}
	removeFrames(e.Cameras[0], 3, 5)
	return alignRows(t, e, align.Options{MissingImage: align.MissingBlack})
}

// writeDepths writes a dataset of two episodes with 9 and 7 rows. It returns the path and the losses.
func writeDepths(t *testing.T, o Options, encoding string) (string, []codec.Loss) {
	path := filepath.Join(t.TempDir(), "set")
	w, err := Create(path, o)
	require.NoError(t, err)
	require.NoError(t, w.Write(alignDepths(t, encoding, 1e18, 9)))
	require.NoError(t, w.Write(alignDepths(t, encoding, 1e18+1e12, 7)))
	require.NoError(t, w.Close())
	return path, w.Losses()
}

// depthInfo returns the feature of the depth camera in info.json.
func depthInfo(t *testing.T, path string) *feature {
	var i info
	text, err := os.ReadFile(filepath.Join(path, infoPath))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &i))
	f := i.Features.get(imagePrefix + "camera_0")
	require.True(t, f.isDepth())
	require.False(t, i.Features.get(imagePrefix+"camera_1").isDepth())
	return f
}

// requireDepths compares the depths of a dataset with depthAt. tolerance returns the greatest error in mm.
func requireDepths(t *testing.T, path string, tolerance func(mm uint16) float64) {
	s, err := Open(nil, path)
	require.NoError(t, err)
	episodes, err := s.Episodes()
	require.NoError(t, err)
	require.Len(t, episodes, 2)
	for _, e := range episodes {
		require.True(t, e.Cameras[0].Raw)
		indices := make([]int, len(e.Cameras[0].Stamps))
		for i := range indices {
			indices[i] = i
		}
		require.NoError(t, e.Cameras[0].EachFrame(indices, func(i int, f *episode.Frame) error {
			require.Equal(t, []any{"16UC1", width, height, 2 * width}, []any{f.Encoding, f.Width, f.Height, f.Step})
			for y := range height {
				for x := range width {
					want := depthAt(i, x, y)
					if i == 3 || i == 4 {
						want = 0
					}
					got := binary.LittleEndian.Uint16(f.Data[2*(y*width+x):])
					if math.Abs(float64(want)-float64(got)) > tolerance(want) {
						require.InDelta(t, want, got, tolerance(want), "frame %d at %d, %d", i, x, y)
					}
				}
			}
			return nil
		}))
	}
}

// TestDepthImages writes depths of several encodings to tables. Exactly the recorded depths must be read.
func TestDepthImages(t *testing.T) {
	for _, encoding := range []string{"16UC1", "32FC1", "png"} {
		t.Run(encoding, func(t *testing.T) {
			path, losses := writeDepths(t, Options{}, encoding)
			require.Empty(t, losses)
			f := depthInfo(t, path)
			require.Equal(t, []int{height, width, 1}, f.Shape)
			require.Equal(t, "image", f.DType)
			require.Equal(t, map[string]any{"is_depth_map": true, "depth_unit": "mm"}, f.Info)
			requireDepths(t, path, func(uint16) float64 { return 0 })

			// Statistics are in mm and have the shape 1×1×1.
			var sum, count, most float64
			for _, n := range []int{9, 7} {
				for i := range n {
					for k := range width * height {
						mm := float64(depthAt(i, k%width, k/width))
						if i == 3 || i == 4 {
							mm = 0
						}
						sum, count, most = sum+mm, count+1, max(most, mm)
					}
				}
			}
			var all map[string]struct{ Mean, Max [][][]float64 }
			text, err := os.ReadFile(filepath.Join(path, statsPath))
			require.NoError(t, err)
			require.NoError(t, unmarshalPictures(text, &all))
			require.Len(t, all[f.key].Mean, 1)
			require.InDelta(t, sum/count, all[f.key].Mean[0][0][0], 1e-6)
			require.Equal(t, [][][]float64{{{most}}}, all[f.key].Max)
		})
	}
}

// TestDepthVideo writes a video of depths. ffmpeg must decode LeRobot's codes of 12 bits without any loss.
func TestDepthVideo(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed (Debian: ffmpeg); videos are not tested")
	}
	path, losses := writeDepths(t, Options{Video: true, Codec: "libx264"}, "16UC1")
	require.Len(t, losses, 4)
	require.Equal(t, codec.Loss{Topic: "camera_0", Messages: 12,
		What: "millimetres of depths, as videos of LeRobot have 12 bits, which are kept without --video"}, losses[1])
	require.Equal(t, codec.Loss{Topic: "camera_0", Messages: 16 - 4,
		What: "depths beyond 10 m, which are 10 m in videos of LeRobot and are kept without --video"}, losses[0])
	require.Equal(t, codec.Loss{Topic: "camera_0", Messages: 16,
		What: "unknown depths, which are 10 mm in videos of LeRobot and are kept without --video"}, losses[2])
	require.Equal(t, codec.Loss{Topic: "camera_1", Messages: 16,
		What: "pixels of images that become video, which are kept without --video"}, losses[3])
	f := depthInfo(t, path)
	require.Equal(t, "video", f.DType)
	require.Equal(t, []int{height, width, 1}, f.Shape)
	require.Equal(t, map[string]any{
		"is_depth_map": true, "depth_unit": "mm", "has_audio": false, "video.height": 48., "video.width": 64.,
		"video.codec": "hevc", "video.pix_fmt": "gray12le", "video.fps": 30., "video.channels": 1., "video.g": 2.,
		"video.fast_decode": 0., "video.extra_options": map[string]any{"x265-params": "lossless=1"},
		"video.depth_min": 0.01, "video.depth_max": 10., "video.shift": 3.5, "video.use_log": true,
	}, f.Info)

	file := filepath.Join(path, "videos", f.key, "chunk-000/file-000.mp4")
	probed, err := exec.Command("ffprobe", "-v", "error", "-show_entries",
		"stream=codec_name,profile,pix_fmt,width,height,nb_frames", "-of", "csv", file).Output()
	require.NoError(t, err)
	require.Equal(t, "stream,hevc,Rext,64,48,gray12le,16\n", string(probed))
	decoded, err := exec.Command("ffmpeg", "-v", "error", "-i", file, "-f", "rawvideo", "-pix_fmt", "gray12le",
		"-").Output()
	require.NoError(t, err)
	require.Len(t, decoded, 16*2*width*height)
	low, high := math.Log(0.01+3.5), math.Log(10+3.5)
	for k := range 9 * width * height {
		i, x, y := k/(width*height), k%width, k/width%height
		code := binary.LittleEndian.Uint16(decoded[2*k:])
		want := min(max(float64(depthAt(i, x, y))/1000, 0.01), 10)
		if i == 3 || i == 4 {
			want = 0.01
		}
		got := min(max(math.Exp(low+(high-low)*float64(code)/4095)-3.5, 0.01), 10)
		// A step of the code is 1.2 mm for near depths and 4.4 mm for far ones. The error is at most half a step.
		if tolerance := codeStep(want)/2 + 1e-9; math.Abs(want-got) > tolerance {
			require.InDelta(t, want, got, tolerance, "frame %d at %d, %d", i, x, y)
		}
	}
	requireDepths(t, path, func(mm uint16) float64 {
		switch {
		case mm == 0:
			return 0
		case mm > 10000:
			return float64(mm - 10000)
		}
		return codeStep(float64(mm)/1000)*1000/2 + 0.5
	})
}

// codeStep returns the greatest distance in m between the depths of consecutive codes near a depth in m.
func codeStep(m float64) float64 {
	return (m + 3.5) * (math.Exp(math.Log(13.5/3.51)/4095) - 1) * 1.001
}

// TestQuantizer compares codes and depths with results of LeRobot's quantize_depth and dequantize_depth.
func TestQuantizer(t *testing.T) {
	q := defaultQuantizer
	for mm, want := range map[int]struct {
		code  int
		depth float64 // mm
	}{
		500: {397, 499.668}, 1000: {755, 999.551}, 2000: {1365, 1999.409}, 5000: {2689, 5000.95},
		10000: {4095, 10000}, 65535: {4095, 10000}, 0: {0, 0}, 10: {0, 0},
	} {
		require.EqualValues(t, want.code, q.codes()[mm], mm)
		require.EqualValues(t, math.Round(want.depth), q.depths()[want.code], mm)
	}
	linear := quantizer{min: 0, max: 4.095}
	require.EqualValues(t, 1234, linear.codes()[1234])
	require.EqualValues(t, 1234, linear.depths()[1234])
	far := quantizer{min: 1, max: 1000}
	require.EqualValues(t, 65535, far.depths()[maxCode], "depths beyond 16 bits become the greatest one")

	for text, want := range map[string]string{
		`{}`: "",
		`{"video.depth_min": 0.5, "video.depth_max": 2,
			"video.shift": 0, "video.use_log": false}`: "",
		`{"video.depth_min": 2, "video.depth_max": 1}`: "depths from 2 to 1 m",
		`{"video.depth_min": 0, "video.shift": 0}`:     "depths from 0 to 10 m",
	} {
		f := feature{key: "depth"}
		require.NoError(t, json.Unmarshal([]byte(text), &f.Info))
		got, err := f.quantizer()
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		if len(f.Info) > 0 {
			require.Equal(t, quantizer{0.5, 2, 0, false}, got)
		}
	}
}

// TestDepthMarkers reads features with the markers of depths that versions of LeRobot have written.
func TestDepthMarkers(t *testing.T) {
	for text, want := range map[string]bool{
		`{"info": {"is_depth_map": true}}`:             true,
		`{"info": {"video.is_depth_map": true}}`:       true,
		`{"video_info": {"video.is_depth_map": true}}`: true,
		`{"info": {"is_depth_map": false}}`:            false,
		`{"info": null, "shape": [4, 4, 1]}`:           false,
	} {
		var f feature
		require.NoError(t, json.Unmarshal([]byte(text), &f))
		require.Equal(t, want, f.isDepth(), text)
	}
}

// TestSmallVideo writes images that are too small for the preferred encoder. libx264 must encode them, unless the
// options name an encoder.
func TestSmallVideo(t *testing.T) {
	if _, err := chooseEncoder("libsvtav1", "libsvtav1"); err != nil {
		t.Skipf("small videos are not tested: %v", err)
	}
	small := func() *episode.Rows {
		e := newEpisode(t, "episode", "pick", 1e18, 4)
		for i := range 4 {
			replaceFrame(e.Cameras[0], i, jpegFrame(t, 32, 24))
		}
		e.Cameras = e.Cameras[:1]
		return alignRows(t, e, align.Options{})
	}
	path := filepath.Join(t.TempDir(), "set")
	w, err := Create(path, Options{Video: true})
	require.NoError(t, err)
	require.NoError(t, w.Write(small()))
	require.NoError(t, w.Write(small()))
	require.NoError(t, w.Close())
	require.Equal(t, []string{"camera_0: 32×24 pixels are too small for libsvtav1, libx264 makes the video"},
		w.Notes())
	s, err := Open(nil, path)
	require.NoError(t, err)
	f := s.info.Features.get(imagePrefix + "camera_0")
	require.Equal(t, []any{"h264", 23., "veryfast"},
		[]any{f.Info["video.codec"], f.Info["video.crf"], f.Info["video.preset"]})

	w, err = Create(path+"-av1", Options{Video: true, Codec: "libsvtav1"})
	require.NoError(t, err)
	defer w.Abort()
	require.ErrorContains(t, w.Write(small()), "camera_0: libsvtav1 cannot encode 32×24 pixels")
}

// encodeTIFF returns a frame of depths as a TIFF.
func encodeTIFF(f *episode.Frame) ([]byte, error) {
	m, err := f.Decode()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = tiff.Encode(&out, m, nil)
	return out.Bytes(), err
}

// FuzzTIFF decodes depths from any bytes. Decoded frames must be valid.
func FuzzTIFF(f *testing.F) {
	for i := range 2 {
		frame := episode.Frame{Encoding: "16UC1", Width: 2, Height: 1, Step: 4, Data: []byte{1, 2, 3, byte(i)}}
		data, err := encodeTIFF(&frame)
		require.NoError(f, err)
		got, err := decodeTIFF(nil, data)
		require.NoError(f, err)
		require.Equal(f, frame, got)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeTIFF(nil, data)
		if err == nil {
			_, err = m.Config()
			require.NoError(t, err)
		}
	})
}
