package mp4_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mp4"
	"tapedeck/codec/internal/codectest"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// times are the times of frames at an irregular rate, in ns after 1e18.
var times = []int64{0, 33_000_000, 34_000_000, 1_234_567_000, 1_300_000_000, 20_000_000_000}

// header returns a header with a stamp at ns after 1e18.
func header(at int64) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(1e9 + at/1e9), Nanosec: uint32(at % 1e9)}}
}

// gray returns an Image with equal bytes in all pixels.
func gray(at int64, encoding string, width, height int, brightness byte) msgs.Message {
	channels := map[string]int{"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "yuv422": 2, "yuv422_yuy2": 2}[encoding]
	step := width*max(channels, 1) + 3
	m := &sensor_msgs.Image{Header: header(at), Encoding: encoding, Width: uint32(width), Height: uint32(height),
		Step: uint32(step), Data: bytes.Repeat([]byte{brightness}, step*height*2)}
	return m
}

// compressed returns a grey CompressedImage.
func compressed(t *testing.T, at int64, format string, width, height int, brightness byte) msgs.Message {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = brightness
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	var b bytes.Buffer
	if format == "jpeg" {
		require.NoError(t, jpeg.Encode(&b, m, nil))
	} else {
		require.NoError(t, png.Encode(&b, m))
	}
	return &sensor_msgs.CompressedImage{Header: header(at), Format: format, Data: b.Bytes()}
}

// needFFmpeg skips the test if ffmpeg is not installed.
func needFFmpeg(t *testing.T) {
	for _, program := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed (Debian: ffmpeg); no videos are encoded")
		}
	}
}

// probe returns the times of packets, in s, and the size of a video.
func probe(t *testing.T, path string) (times []string, size string) {
	output, err := exec.Command("ffprobe", "-v", "error", "-show_entries", "packet=pts_time:stream=width,height", "-of",
		"csv=p=0", path).CombinedOutput()
	require.NoError(t, err, string(output))
	lines := strings.Fields(string(output))
	last := len(lines) - 1
	for _, line := range lines[:last] {
		times = append(times, strings.Trim(line, ","))
	}
	return times, lines[last]
}

// brightness returns the brightness of the middle of each frame.
func brightness(t *testing.T, path string) (all []byte) {
	output, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-vf", "crop=2:2", "-fps_mode", "passthrough",
		"-f", "rawvideo", "-pix_fmt", "gray", "pipe:1").Output()
	require.NoError(t, err)
	for i := 0; i < len(output); i += 4 {
		all = append(all, output[i])
	}
	return all
}

// TestVideos writes videos of several encodings. The videos must have the size, the times and the brightness of the
// frames.
func TestVideos(t *testing.T) {
	needFFmpeg(t)
	for _, c := range []struct {
		encoding, codec, size string
		width, height         int
	}{
		{"rgb8", "", "64,48", 64, 48}, {"bgr8", "", "66,50", 65, 49}, {"mono8", "", "2,2", 2, 2},
		{"rgba8", "", "64,48", 64, 48},
		{"bgra8", "", "64,48", 64, 48}, {"yuv422", "", "64,48", 64, 48}, {"yuv422_yuy2", "", "64,48", 64, 48},
		{"nv12", "", "64,48", 64, 48}, {"bayer_rggb8", "", "64,48", 64, 48}, {"bayer_bggr8", "", "64,48", 64, 48},
		{"jpeg", "", "64,48", 64, 48},
		{"png", "", "64,48", 63, 48}, {"jpeg", "libsvtav1", "64,64", 64, 64},
	} {
		t.Run(c.encoding+c.codec, func(t *testing.T) {
			if testing.Short() && c.encoding != "bgr8" && c.encoding != "jpeg" {
				t.Skip("ffmpeg takes long")
			}
			topics := codectest.Topics{}
			var messages []codec.Message
			levels := []byte{40, 80, 120, 160, 200, 90}
			for i, at := range times {
				m := gray(at, c.encoding, c.width, c.height, levels[i])
				if c.encoding == "jpeg" || c.encoding == "png" {
					m = compressed(t, at, c.encoding, c.width, c.height, levels[i])
				}
				messages = append(messages, topics.Message(t, "/cam", at, m))
			}
			path := filepath.Join(t.TempDir(), "cam.mp4")
			lost, refused := codectest.Export(t, mp4.Options{Codec: c.codec}.Format(), path, messages...)
			require.Empty(t, refused)
			require.Equal(t, []codec.Loss{{Topic: "/cam", What: "pixels of images that become video",
				Messages: 6}}, lost)
			got, size := probe(t, path)
			require.Equal(t, c.size, size)
			require.Equal(t, []string{"0.000000", "0.033000", "0.034000", "1.234567", "1.300000", "20.000000"}, got)
			if strings.HasPrefix(c.encoding, "yuv") || c.encoding == "nv12" {
				return // these frames are not grey
			}
			for i, b := range brightness(t, path) {
				require.InDelta(t, levels[i], b, 12, "frame %d", i)
			}
		})
	}
}

// TestWrongFrames checks that frames that do not fit a video are refused, and that later frames are written.
func TestWrongFrames(t *testing.T) {
	needFFmpeg(t)
	topics := codectest.Topics{}
	at := func(ns int64, m msgs.Message) codec.Message { return topics.Message(t, "/cam", ns+1, m) }
	cut := compressed(t, 2, "jpeg", 64, 48, 9).(*sensor_msgs.CompressedImage)
	cut.Data = cut.Data[:len(cut.Data)-2]
	path := filepath.Join(t.TempDir(), "videos")
	lost, refused := codectest.Export(t, mp4.Options{}.Format(), path,
		topics.Message(t, "/depth", 5, gray(1, "16UC1", 2, 2, 9)),
		topics.Message(t, "/none", 5, gray(1, "fog", 2, 2, 9)),
		topics.Message(t, "/tiny", 5, gray(1, "mono8", 1, 2, 9)),
		topics.Message(t, "/lens", 5, gray(1, "mono8", 2, 2, 9)),
		topics.Message(t, "/lens", 5, gray(2000, "yuv422", 3, 2, 9)),
		topics.Message(t, "/jpeg", 5, cut),
		at(1, gray(1e9, "rgb8", 64, 48, 50)), at(2, gray(1e9, "rgb8", 64, 48, 50)),
		at(3, gray(5e8, "rgb8", 64, 48, 50)),
		at(4, gray(1e9+1e6, "rgb8", 48, 64, 50)), at(4, gray(1e9+1e6, "mono8", 64, 48, 50)),
		at(5, gray(1e9+3601e9, "rgb8", 64, 48, 50)), at(6, gray(1e9+2e6, "rgb8", 64, 48, 50)))
	pixels := "pixels of images that become video"
	require.Equal(t, []codec.Loss{{Topic: "/lens", What: pixels, Messages: 1},
		{Topic: "/lens", What: "ns of times, as videos have µs", Messages: 1},
		{Topic: "/cam", What: pixels, Messages: 2}}, lost)
	for i, want := range []string{"16 bits", "bytes of data cannot hold|unsupported image encoding \"fog\"",
		"at least 2", "odd width", "cut off", "not after the stamp of the previous frame", "not after",
		"rgb8 image of 48×64 pixels in a video of rgb8",
		"mono8 image", "more than 1h0m0s"} {
		require.Regexp(t, want, refused[i])
	}
	require.Len(t, refused, 10)
	require.Equal(t, []string{"cam.mp4", "lens.mp4"}, slices.Sorted(maps.Keys(codectest.Tree(t, path))))
	got, _ := probe(t, filepath.Join(path, "cam.mp4"))
	require.Equal(t, []string{"0.000000", "0.002000"}, got)
}

// TestOneFile checks that a file refuses a second camera.
func TestOneFile(t *testing.T) {
	needFFmpeg(t)
	w, err := mp4.Options{}.Format().Create(filepath.Join(t.TempDir(), "x.mp4"), codec.CreateOptions{})
	require.NoError(t, err)
	topics := codectest.Topics{}
	a, b := topics.Message(t, "/a", 1, gray(1, "mono8", 2, 2, 1)), topics.Message(t, "/b", 1, gray(1, "mono8", 2, 2, 1))
	require.NoError(t, w.Declare(a.Channel))
	require.ErrorContains(t, w.Declare(b.Channel), "can hold only one camera, and there are /a and /b: select one with")
	require.ErrorContains(t, w.Write(&b), "only one camera")
	require.NoError(t, w.Close())
}

// TestFFmpegFails checks that the error of a failed ffmpeg ends the conversion.
func TestFFmpegFails(t *testing.T) {
	needFFmpeg(t)
	program := filepath.Join(t.TempDir(), "ffmpeg")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nfor a; do [ \"$a\" != -encoders ] || "+
		"{ echo ' V libx264 x'; exit; }; done\necho no such luck >&2\nexit 3\n"), 0o755))
	w, err := mp4.Options{FFmpeg: program}.Format().Create(filepath.Join(t.TempDir(), "x.mp4"), codec.CreateOptions{})
	require.NoError(t, err)
	topics := codectest.Topics{}
	for at := int64(0); err == nil && at < 100; at++ {
		m := topics.Message(t, "/a", 1, gray(at*1e6, "mono8", 640, 480, 1))
		err = w.Write(&m)
	}
	var missing *codec.MissingError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, missing.Err, "no such luck")
	require.NoError(t, w.Close())

	_, err = mp4.Options{FFmpeg: "ffmpeg-that-is-not-there"}.Format().Create("x.mp4", codec.CreateOptions{})
	require.ErrorContains(t, err, "cannot find ffmpeg-that-is-not-there")
	_, err = mp4.Options{Codec: "mpeg1"}.Format().Create("x.mp4", codec.CreateOptions{})
	require.ErrorContains(t, err, `codec "mpeg1": want libx264 or libsvtav1`)
}
