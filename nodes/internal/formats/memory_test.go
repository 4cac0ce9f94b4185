package formats

import (
	"bytes"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/format/hdf5/hdf5test"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

func TestMain(m *testing.M) {
	hdf5test.Main()
	os.Exit(m.Run())
}

const (
	memoryEpisodes = 3
	memoryFrames   = 150
	memoryBytes    = 200_000 // of a frame
)

// heap returns the number of bytes in memory that are still in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// measured are frames that measure the heap. Each has its own memory.
type measured struct {
	jpeg []byte
	most *int64
}

func (f *measured) Frame(i int) (episode.Frame, error) {
	if i%25 == 0 {
		*f.most = max(*f.most, heap())
	}
	return episode.Frame{Encoding: "jpeg", Data: append(bytes.Clone(f.jpeg), make([]byte, memoryBytes)...)}, nil
}

func (f *measured) Close() error { return nil }

// The numbers of all episodes are in memory at once, but not the frames: 90 MB pass through 16 MB. The number of
// processors is set, because each has frames in memory.
func TestFramesInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has one goroutine")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	jpeg, err := pixel.AppendJPEG(nil, image.NewRGBA(image.Rect(0, 0, 64, 48)), 90)
	require.NoError(t, err)
	for name, file := range map[string]bool{"hdf5": false, "hdf5 file": true, "lerobot": false, "session": false} {
		t.Run(name, func(t *testing.T) {
			var most int64
			var episodes []*episode.Episode
			var layout episode.Layout
			for k := range memoryEpisodes {
				joint := &align.Vector{Name: "arm_0/joint",
					Columns: []align.Column{{Name: "joint_0", Unit: "rad", Interp: align.Linear}}}
				c := &episode.Camera{Track: align.Track{Name: "camera_0"},
					Open: func() (episode.Frames, error) { return &measured{jpeg, &most}, nil }}
				for i := range memoryFrames {
					joint.Stamps = append(joint.Stamps, int64(k)*1e12+int64(i)*100_000_000)
					joint.Values = append(joint.Values, float64(i))
				}
				c.Stamps = joint.Stamps
				e := &episode.Episode{Name: fmt.Sprint("episode_", k), Cameras: []*episode.Camera{c},
					Arms: []*episode.Arm{{Name: "arm_0", Streams: episode.Streams{episode.Joint: joint}}}}
				require.NoError(t, layout.Add(e))
				episodes = append(episodes, e)
			}
			format := All()[slices.IndexFunc(All(), func(f Format) bool {
				return strings.HasPrefix(name, f.Name)
			})]
			o := DefaultOptions()
			w, err := format.Episodes.New(&o, filepath.Join(t.TempDir(), "out"), file, false, &layout)
			require.NoError(t, err)
			before := heap()
			for i, e := range episodes {
				_, err := w.Write(i, e, align.Options{Timeline: "fixed:10"})
				require.NoError(t, err)
			}
			require.NoError(t, w.Close())
			require.NotZero(t, most)
			require.Less(t, most-before, int64(16<<20), "bytes")
		})
	}
}
