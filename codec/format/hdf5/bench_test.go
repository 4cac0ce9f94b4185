package hdf5

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

const (
	benchFrames = 1000   // of each camera
	benchSize   = 60_000 // bytes of a JPEG
)

// repeatedFrames implements episode.Frames with endless repetitions of a few frames.
type repeatedFrames []episode.Frame

func (r repeatedFrames) Frame(i int) (episode.Frame, error) { return r[i%len(r)], nil }

func (r repeatedFrames) Close() error { return nil }

// longRows returns the rows of an episode of three cameras with repeated frames.
func longRows(b *testing.B, frames int, images repeatedFrames) *episode.Rows {
	e := &episode.Episode{Name: "long", Arms: []*episode.Arm{newArm("arm_0", 2*frames)}}
	for i := range e.Arms[0].Streams[episode.Gripper].Values {
		e.Arms[0].Streams[episode.Gripper].Values[i] = 0.5
	}
	for i := range 3 {
		c := &episode.Camera{Track: align.Track{Name: fmt.Sprintf("camera_%d", i)},
			Open: func() (episode.Frames, error) { return images, nil }}
		for k := range frames {
			c.Stamps = append(c.Stamps, startTime+int64(k)*40_000_000)
		}
		e.Cameras = append(e.Cameras, c)
	}
	rows, err := episode.Align(e, align.Options{})
	require.NoError(b, err)
	return rows
}

// noiseJPEGs returns n JPEGs of noise, padded to size bytes.
func noiseJPEGs(b *testing.B, n, size int) repeatedFrames {
	var frames repeatedFrames
	for i := range n {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		m := image.NewGray(image.Rect(0, 0, 640, 480))
		for k := range m.Pix {
			m.Pix[k] = uint8(k/97 + random.IntN(8))
		}
		var data bytes.Buffer
		require.NoError(b, jpeg.Encode(&data, m, &jpeg.Options{Quality: 50}))
		require.Less(b, data.Len(), size)
		frames = append(frames, episode.Frame{Encoding: "jpeg",
			Data: append(data.Bytes(), make([]byte, size-data.Len())...)})
	}
	return frames
}

// memoryFolder returns a folder in memory, if the system has one, so that benchmarks do not measure the disk.
func memoryFolder(b *testing.B) string {
	folder, err := os.MkdirTemp("/dev/shm", "hdf5-*")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// write writes one episode to a new file at path.
func write(b *testing.B, path string, rows *episode.Rows, o Options) {
	os.Remove(path)
	w, err := Create(path, o)
	require.NoError(b, err)
	require.NoError(b, w.Write(rows))
	require.NoError(b, w.Close())
}

// BenchmarkJPEG writes 3 cameras with 1,000 JPEGs of 60 kB each, from frames to the finished file. After each file, a C
// program writes as much data with the corresponding calls of libhdf5. The metric of-C is the speed relative to the C
// program.
func BenchmarkJPEG(b *testing.B) {
	folder := memoryFolder(b)
	baseline := filepath.Join(folder, "baseline")
	out, err := exec.Command("cc", "-O2", "-o", baseline, "testdata/baseline.c", "-I/usr/include/hdf5/serial",
		"-L/usr/lib/x86_64-linux-gnu/hdf5/serial", "-L/usr/lib/aarch64-linux-gnu/hdf5/serial",
		"-lhdf5").CombinedOutput()
	require.NoError(b, err, "%s", out)
	rows := longRows(b, benchFrames, noiseJPEGs(b, 16, benchSize))
	var goTime, cTime time.Duration
	b.SetBytes(3 * benchFrames * benchSize)
	for b.Loop() {
		start := time.Now()
		write(b, filepath.Join(folder, "go.hdf5"), rows, Options{})
		goTime += time.Since(start)
		b.StopTimer()
		out, err := exec.Command(baseline, filepath.Join(folder, "c.hdf5"), "3", strconv.Itoa(benchFrames),
			strconv.Itoa(benchSize), "32").Output()
		require.NoError(b, err)
		seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		require.NoError(b, err)
		cTime += time.Duration(seconds * 1e9)
		b.StartTimer()
	}
	b.ReportMetric(cTime.Seconds()/goTime.Seconds(), "of-C")
}

// BenchmarkRead reads the frames of 3 cameras with 1,000 JPEGs of 60 kB each through the child process.
func BenchmarkRead(b *testing.B) {
	path := filepath.Join(memoryFolder(b), "a.hdf5")
	write(b, path, longRows(b, benchFrames, noiseJPEGs(b, 16, benchSize)), Options{})
	b.SetBytes(3 * benchFrames * benchSize)
	for b.Loop() {
		require.NoError(b, readAll(path))
	}
}

// BenchmarkEncode encodes pixels as JPEGs, with one worker and with a worker for each processor. The metric cores is
// the mean number of busy processors.
func BenchmarkEncode(b *testing.B) {
	frames := repeatedFrames(newFrames("rgb8", 4, 640, 480))
	for _, workers := range []int{1, 0} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			path, rows := filepath.Join(memoryFolder(b), "a.hdf5"), longRows(b, 128, frames)
			before := processorTime(b)
			for b.Loop() {
				write(b, path, rows, Options{Workers: workers})
			}
			b.ReportMetric((processorTime(b)-before).Seconds()/b.Elapsed().Seconds(), "cores")
			b.ReportMetric(float64(b.N*3*128)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}

// processorTime returns the processor time of the process so far.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkMemory writes episodes of different lengths. The metric peak-MB is the peak memory of the process so far.
func BenchmarkMemory(b *testing.B) {
	images := noiseJPEGs(b, 16, benchSize)
	for _, storage := range []string{ImagesVLen, ImagesPadded} {
		for _, frames := range []int{1000, 4000} {
			b.Run(fmt.Sprintf("%s/frames=%d", storage, frames), func(b *testing.B) {
				path, rows := filepath.Join(b.TempDir(), "a.hdf5"), longRows(b, frames, images)
				for b.Loop() {
					write(b, path, rows, Options{Images: storage})
				}
				status, err := os.ReadFile("/proc/self/status")
				require.NoError(b, err)
				_, peak, _ := strings.Cut(string(status), "VmHWM:")
				kB, _, _ := strings.Cut(strings.TrimSpace(peak), " ")
				n, err := strconv.ParseFloat(kB, 64)
				require.NoError(b, err)
				b.ReportMetric(n/1000, "peak-MB")
			})
		}
	}
}
