package session

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// cameraFrame returns a frame similar to a camera's: shapes, shades, and the noise of a sensor.
func cameraFrame(width, height int) episode.Frame {
	random := rand.New(rand.NewPCG(1, 2))
	f := episode.Frame{Encoding: "rgb8", Width: width, Height: height, Data: make([]byte, width*height*3)}
	for y := range height {
		for x := range width {
			shade := 110 + 60*math.Sin(float64(x)/70) + 40*math.Cos(float64(y)/50)
			if (x/80+y/60)%3 == 0 {
				shade /= 2
			}
			for c := range 3 {
				f.Data[(y*width+x)*3+c] = byte(min(max(shade*(1-0.15*float64(c))+random.NormFloat64()*2, 0), 255))
			}
		}
	}
	return f
}

// BenchmarkFrame writes uncompressed frames of three cameras, which workers encode as PNG.
func BenchmarkFrame(b *testing.B) {
	f := cameraFrame(640, 480)
	w, err := Create(filepath.Join(b.TempDir(), "session"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	var cameras []*episode.Camera
	for _, name := range []string{"camera_0", "camera_1", "camera_2"} {
		cameras = append(cameras, &episode.Camera{Track: align.Track{Name: name}})
	}
	i := 0
	for b.Loop() {
		if err := w.Frame(cameras[i%3], int64(i)*1e6, f); err != nil {
			b.Fatal(err)
		}
		i++
	}
	if err := w.Complete(false); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}

// BenchmarkSample writes samples of the joints of an arm.
func BenchmarkSample(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "session"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Complete(false)
	v := &align.Vector{Name: "arm_0/joint", Columns: make([]align.Column, 6)}
	a := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: v}}
	values := []float64{8.414709848078965, 0, -9.869151692846454, 1.5, 3, 1e-7}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Sample(a, episode.Joint, int64(i)*1e6, values); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
