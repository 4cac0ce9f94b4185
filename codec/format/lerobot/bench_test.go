package lerobot

import (
	"image"
	"image/color"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// BenchmarkWriter writes datasets of 1 and 4 episodes. An episode has three cameras with 1000 JPEGs each. MB-peak is
// the peak memory of the process.
func BenchmarkWriter(b *testing.B) {
	for _, episodes := range []int{1, 4} {
		b.Run("episodes="+strconv.Itoa(episodes), func(b *testing.B) { benchmarkWriter(b, episodes) })
	}
}

func benchmarkWriter(b *testing.B, episodes int) {
	const n = 1000
	random := rand.New(rand.NewPCG(1, 2))
	m := image.NewRGBA(image.Rect(0, 0, 640, 480))
	for y := range 480 {
		for x := range 640 {
			m.Set(x, y, color.RGBA{uint8(x/3 + random.IntN(12)), uint8(y/2 + random.IntN(12)), uint8(x+y) / 2, 255})
		}
	}
	data, err := pixel.AppendJPEG(nil, m, 95)
	require.NoError(b, err)
	e := newEpisode(b, "episode", "pick", 1e18, n)
	e.Cameras = append(e.Cameras, newCamera(b, "camera_2", 1e18, n, 30))
	frames := make(memoryFrames, n)
	for i := range frames {
		frames[i] = episode.Frame{Encoding: "jpeg", Data: data}
	}
	for _, c := range e.Cameras {
		c.Open = func() (episode.Frames, error) { return frames, nil }
	}
	rows := alignRows(b, e, align.Options{})
	b.SetBytes(int64(episodes * 3 * n * len(data)))
	for b.Loop() {
		w, err := Create(filepath.Join(b.TempDir(), "set"), Options{})
		require.NoError(b, err)
		for range episodes {
			require.NoError(b, w.Write(rows))
		}
		require.NoError(b, w.Close())
	}
	b.ReportMetric(peakMemory(b), "MB-peak")
}

// peakMemory returns the peak resident memory of the process in MB.
func peakMemory(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(b, err)
	return kb / 1024
}
