package formats_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/store/storetest"
	"tapedeck/nodes/internal/formats"
)

// TestRequests counts the requests for describing a large recording in a store, and for reading the first message in
// its middle.
func TestRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("this test writes recordings of 1 GB")
	}
	const size = 1_000_000_000
	for _, test := range []struct {
		name   string
		format codec.Format
		key    string // of the recording
		most   int    // limit of requests for Info; 0: any number
		bytes  int64  // for Info
		trips  int    // for the first message; SQLite sends 35 requests, most of them together
		first  int64  // bytes for the first message: three chunks, or pages and two payloads
	}{
		{"mcap", writes(t, "mcap", ""), "drive.mcap", 4, 1 << 20, 10, 16_000_000},
		{"record", writes(t, "record", ""), "drive.record", 12, size / 1000, 10, 51_000_000},
		{"bag", writes(t, "bag", ""), "drive.bag", 12, size / 1000, 10, 3_200_000},
		{"db3", writes(t, "rosbag2", "sqlite3"), "drive/drive_0.db3", 0, size / 100, 17, 8_000_000},
		{"rosbag2", writes(t, "rosbag2", "sqlite3"), "drive", 0, size / 100, 17, 8_000_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := storetest.New(t)
			writeDrive(t, s, test.format, size)
			r, err := formats.All().Open(s.Files(), s.URL(test.key))
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			n, bytes := s.Count()
			t.Logf("info: %d requests, %d bytes, %.4f %%", n, bytes, float64(bytes)*100/size)
			require.Equal(t, uint64(3*size/payloadSize+1), info.MessageCount)
			require.LessOrEqual(t, bytes, test.bytes)
			if test.most > 0 {
				require.LessOrEqual(t, n, test.most)
			}

			s.Reset()
			s.Slow(100*time.Millisecond, 0)
			middle := (info.StartTime + info.EndTime) / 2
			all := func(*codec.Channel) bool { return true }
			damaged := func(err error) { require.NoError(t, err) }
			latest, err := r.Read(codec.Query{End: middle, Topics: all, Damaged: damaged,
				Last: codec.LatchedDepth})
			require.NoError(t, err)
			m, err := latest.Next()
			require.NoError(t, err)
			require.Equal(t, "/tf_static", m.Channel.Topic)
			require.NoError(t, latest.Close())
			it, err := r.Read(codec.Query{Start: middle, Damaged: damaged})
			require.NoError(t, err)
			m, err = it.Next()
			require.NoError(t, err)
			require.GreaterOrEqual(t, m.LogTime, middle)
			n, bytes = s.Count()
			trips := s.RoundTrips()
			t.Logf("first message: %d requests, %d round trips, %d bytes", n, trips, bytes)
			require.LessOrEqual(t, trips, test.trips)
			require.LessOrEqual(t, bytes, test.first)
			require.NoError(t, it.Close())
		})
	}
}

func writes(t *testing.T, name, storage string) codec.Format {
	for _, f := range formats.All() {
		if f.Name == name {
			f, err := f.Configured(&formats.Options{Rosbag2Options: formats.Rosbag2Options{Storage: storage}})
			require.NoError(t, err)
			return f.Format
		}
	}
	t.Fatal("there is no format", name)
	return codec.Format{}
}

const payloadSize = 1_000_000

// writeDrive writes a recording of size bytes of 1 MB images, of an IMU and a latched transform, and puts it into a
// store.
func writeDrive(t testing.TB, s *storetest.Server, format codec.Format, size int64) {
	dir := t.TempDir()
	w, err := format.Create(filepath.Join(dir, "drive"+format.Extension), codec.CreateOptions{Compression: "none"})
	require.NoError(t, err)
	encoding := codec.EncodingCDR
	if format.Name == "bag" {
		encoding = codec.EncodingROS1
	}
	channel := func(topic, name string, qos ...codec.QoS) *codec.Channel {
		return &codec.Channel{Topic: topic, Type: name, Encoding: encoding, QoS: qos}
	}
	image, imu := channel("/camera", "sensor_msgs/msg/Image"), channel("/imu", "sensor_msgs/msg/Imu")
	static := channel("/tf_static", "tf2_msgs/msg/TFMessage", codec.QoS{Durability: "transient_local", Depth: 1})
	payload := make([]byte, payloadSize)
	copy(payload, []byte{0, 1, 0, 0})
	write := func(c *codec.Channel, ns int64, n int) {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: ns, PublishTime: ns, Data: payload[:n]}))
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	write(static, start, 8)
	for i := range size / payloadSize {
		ns := start + i*int64(time.Second)/30
		write(image, ns, payloadSize)
		write(imu, ns+1000, 324)
		write(imu, ns+2000, 324)
	}
	require.NoError(t, w.Close())
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		if filepath.Ext(key) == ".yaml" {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			s.Put(key, content)
			return nil
		}
		s.Put(key, nil) // for listings
		file, err := os.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { file.Close() })
		stat, err := file.Stat()
		s.Serve(key, file, stat.Size(), "one")
		return err
	}))
}
