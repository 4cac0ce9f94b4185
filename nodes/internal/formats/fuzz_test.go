package formats

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// A file of any format with any content is opened, described and read to an end, unchanged and as ROS 2 messages, with
// and without damaged messages. That takes no more memory than the file's size allows. "make fuzz" runs longer.

func FuzzRecord(f *testing.F) {
	fuzz(f, "x.record", "apollo/multichunk.record", "apollo/example.record.00000", "apollo/apollo_cpp_sensors.record",
		"apollo/incomplete_killed.record")
}

func FuzzMCAP(f *testing.F) {
	fuzz(f, "x.mcap", "rosbag2/rosbags_rs/test_bag_mcap/test_bag_mcap.mcap", "rosbag2/*/*/*.mcap", "rosbag2/*/*.mcap")
}

func FuzzBag(f *testing.F) {
	fuzz(f, "x.bag", "bag/*.bag")
}

func FuzzSQLite(f *testing.F) {
	fuzz(f, "x.db3", "rosbag2/*/*.db3", "rosbag2/*/*/*.db3")
}

func FuzzCARLA(f *testing.F) {
	fuzz(f, "x.log", "carla/*.log")
}

func FuzzULog(f *testing.F) {
	f.Add(generate.Flight())
	fuzz(f, "x.ulg", "ulog/*.ulg")
}

func FuzzTlog(f *testing.F) {
	b, err := os.ReadFile(generate.Path(f, "mavlink/synthetic_px4_v2.tlog"))
	require.NoError(f, err)
	f.Add(b[:4000])
	var stream []byte // without times
	for at := 0; at < 4000; {
		size := 12 + int(b[at+9])
		stream = append(stream, b[at+8:at+8+size]...)
		at += 8 + size
	}
	f.Add(stream)
	fuzz(f, "x.tlog", "mavlink/*.tlog")
}

// longestSeed is the number of bytes of a sample that are tried.
const longestSeed = 96 << 10

// fuzz reads mutated samples, under a name that a format has.
func fuzz(f *testing.F, name string, patterns ...string) {
	for _, b := range samples.Seeds(f, patterns...) {
		f.Add(b[:min(len(b), longestSeed)])
	}
	f.Add([]byte("no recording"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, b, 0o666))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read(t, path, func(path string) (codec.Reader, error) { return All().Open(nil, path) })
		read(t, path, func(path string) (codec.Reader, error) {
			o := ReadOptions{FlightOptions: FlightOptions{Raw: true, Standard: true}}
			r, err := recordings.Open([]string{path}, o.Options(All(), nil))
			if err != nil {
				return nil, err
			}
			return r, nil
		})
		runtime.ReadMemStats(&after)
		// Memory for buffers and indices of each of six readings, and for decompressed data, up to a part of LZ4's
		// largest ratio.
		allowed := uint64(128<<20 + 1000*len(b))
		require.Less(t, after.TotalAlloc-before.TotalAlloc, allowed)
	})
}

// read reads a recording in all ways.
func read(t *testing.T, path string, open func(string) (codec.Reader, error)) {
	r, err := open(path)
	if err != nil {
		return
	}
	defer r.Close()
	info, err := r.Info()
	if err != nil {
		return
	}
	middle := info.StartTime + (info.EndTime-info.StartTime)/2
	damaged := func(err error) { require.Error(t, err) }
	for _, q := range []codec.Query{{}, {Damaged: damaged}, {Start: middle, Damaged: damaged}} {
		it, err := r.Read(q)
		if err != nil {
			continue
		}
		for {
			m, err := it.Next()
			if err != nil {
				_, again := it.Next()
				require.Equal(t, err, again)
				require.True(t, q.Damaged == nil || errors.Is(err, io.EOF), "%v", err)
				break
			}
			require.NotNil(t, m.Channel)
			require.True(t, q.Start == 0 || q.Covers(m.LogTime), "%d, asked for %+v", m.LogTime, q)
		}
		require.NoError(t, it.Close())
	}
}
