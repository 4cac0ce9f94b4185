package convert

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// TestExports converts to formats that can only be written. It checks the options, the reports and the paths of files.
func TestExports(t *testing.T) {
	stamp := std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 1000}}
	image := func(encoding string) []byte {
		return payload(t, &sensor_msgs.Image{Header: stamp, Encoding: encoding, Width: 2, Height: 2, Step: 2,
			Data: []byte{1, 2, 3, 4}})
	}
	camera, fixes := channel(t, "/cam/image", "sensor_msgs/msg/Image"), channel(t, "/fix", "sensor_msgs/msg/NavSatFix")
	other := channel(t, "/other", "sensor_msgs/msg/Image")
	in := write(t, "in.mcap",
		codec.Message{Channel: camera, LogTime: 1000 * second, Data: image("mono8")},
		codec.Message{Channel: camera, LogTime: 1001 * second, Data: image("smoke")},
		codec.Message{Channel: camera, LogTime: 1001 * second, Data: image("fog")},
		codec.Message{Channel: other, LogTime: 1001 * second, Data: image("mist")},
		codec.Message{Channel: fixes, LogTime: 1000 * second, Data: payload(t, &sensor_msgs.NavSatFix{Header: stamp})},
		codec.Message{Channel: channel(t, "/odom", "nav_msgs/msg/Odometry"), LogTime: 1000 * second,
			Data: payload(t, &nav_msgs.Odometry{Header: stamp, Pose: geometry_msgs.PoseWithCovariance{
				Pose: geometry_msgs.Pose{Orientation: geometry_msgs.Quaternion{W: 1}}}})},
		codec.Message{Channel: channel(t, "/scan", "sensor_msgs/msg/LaserScan"), LogTime: 1000 * second,
			Data: payload(t, &sensor_msgs.LaserScan{Header: stamp, RangeMax: 2, Ranges: []float32{1}})})
	const fog = `unsupported image encoding "smoke": want one of jpeg, png, mono8, mono16, 32FC1, rgb8, bgr8, rgba8, ` +
		`bgra8, yuv422_yuy2, yuv422`
	const mist = `unsupported image encoding "mist": want one of jpeg, png, mono8, mono16, 32FC1, rgb8, bgr8, rgba8, ` +
		`bgra8, yuv422_yuy2, yuv422`
	for _, c := range []struct {
		name, to, origin string
		files            []string
		lost             string
		messages         int
	}{
		{"out", "images", "", []string{"out/cam_image/1000.000000000.png", "out/cam_image/index.csv"},
			"topics that images cannot hold: the messages are neither images nor calibrations (3 messages on " +
				"/fix, /odom, /scan)\n" +
				"messages that images does not accept: " + fog + " (2 messages on /cam/image)\n" +
				"messages that images does not accept: " + mist + " (1 message on /other)\n", 1},
		{"out", "pcd", "", []string{"out/scan/1000.000000000.pcd", "out/scan/index.csv"},
			"topics that pcd cannot hold: the messages are neither point clouds nor laser scans (6 messages on " +
				"/cam/image, /other, /fix, /odom)\nall of laser scans but points and intensities (1 message on " +
				"/scan)\n", 1},
		{"out", "ply", "", []string{"out/scan/1000.000000000.ply", "out/scan/index.csv"}, "", 1},
		{"out.gpx", "", "", []string{"out.gpx"}, "topics that gpx cannot hold: the messages have no positions " +
			"(5 messages on /cam/image, /other, /scan)\ntopics that gpx cannot hold: their places are in metres; use " +
			"--track-origin to say where that is (1 message on /odom)\nall but times and positions (1 message on " +
			"/fix)\n", 1},
		{"out.GeoJSON", "", "1,2", []string{"out.GeoJSON"}, "", 2},
		{"track", "kml", "1,2", []string{"track"}, "", 2},
		{"out", "tum", "", []string{"out/fix.tum", "out/odom.tum"}, "", 2},
	} {
		t.Run(c.to+c.name, func(t *testing.T) {
			o := DefaultOptions()
			o.To, o.Origin = c.to, c.origin
			folder := t.TempDir()
			for range 2 { // the second time it replaces the output
				r, err := run(t, o, filepath.Join(folder, c.name), in)
				require.NoError(t, err)
				require.EqualValues(t, c.messages, r.Messages)
				if c.lost != "" {
					require.Equal(t, c.lost, texts(r.Losses))
				}
				var files []string
				require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						name, _ := filepath.Rel(folder, path)
						files = append(files, name)
					}
					return err
				}))
				require.Equal(t, c.files, files)
				if !o.Overwrite {
					_, err = run(t, o, filepath.Join(folder, c.name), in)
					require.ErrorContains(t, err, "exists; name another output")
				}
				o.Overwrite = true
			}
			if len(c.files) == 1 {
				return
			}
			require.NoError(t, os.WriteFile(filepath.Join(folder, c.name, "notes.txt"), nil, 0o666))
			_, err := run(t, o, filepath.Join(folder, c.name), in)
			require.ErrorContains(t, err, "holds more than a recording")
		})
	}

	// A failed conversion leaves no files.
	none := write(t, "none.mcap", codec.Message{Channel: fixes, LogTime: 1000 * second, Data: payload(t,
		&sensor_msgs.NavSatFix{Header: stamp, Status: sensor_msgs.NavSatStatus{Status: -1}})},
		codec.Message{Channel: camera, LogTime: 1001 * second, Data: image("smoke")})
	for name, want := range map[string]string{"out.gpx": "there is no fix", "out.kml": "there is no fix"} {
		path := filepath.Join(t.TempDir(), name)
		_, err := run(t, DefaultOptions(), path, none)
		require.ErrorContains(t, err, want)
		require.NoFileExists(t, path)
	}
	o := DefaultOptions()
	o.To = "images"
	path := filepath.Join(t.TempDir(), "out")
	_, err := run(t, o, path, none)
	require.ErrorContains(t, err, `unsupported image encoding "smoke"`)
	require.NoDirExists(t, path)
}

// TestExportsToFullDisk leaves nothing on a disk that is too small.
func TestExportsToFullDisk(t *testing.T) {
	stamp := func(i int) std_msgs.Header {
		return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(1000 + i)}}
	}
	var all []codec.Message
	fixes, clouds := channel(t, "/fix", "sensor_msgs/msg/NavSatFix"), channel(t, "/points", "sensor_msgs/msg/PointCloud2")
	for i := range 1000 {
		all = append(all,
			codec.Message{Channel: fixes, LogTime: int64(1000+i) * second, Data: payload(t,
				&sensor_msgs.NavSatFix{Header: stamp(i)})},
			codec.Message{Channel: clouds, LogTime: int64(1000+i) * second, Data: payload(t, &sensor_msgs.PointCloud2{
				Header: stamp(i), Fields: []sensor_msgs.PointField{{Name: "i", Datatype: 2, Count: 1}}, PointStep: 1,
				Width: 1000, Height: 1, RowStep: 1000, Data: make([]byte, 1000)})})
	}
	in := write(t, "in.mcap", all...)
	for _, to := range []string{"gpx", "tum", "pcd"} {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=50k"); err != nil {
			t.Skip("a small tmpfs cannot be mounted here, only root may: ", err)
		}
		t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
		o := DefaultOptions()
		o.To = to
		_, err := run(t, o, filepath.Join(disk, "out"), in)
		require.EqualError(t, err, "write "+filepath.Join(disk, "out")+": no space left on device")
		entries, err := os.ReadDir(disk)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}
