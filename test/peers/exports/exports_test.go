package exports

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/mcap"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
)

// times are the times of messages, in ns since the Unix epoch, at irregular intervals.
var times = []int64{1_700_000_000_000_000_001, 1_700_000_000_033_000_001, 1_700_000_000_100_000_001,
	1_700_000_002_000_001_001, 1_700_000_002_010_000_001}

// header returns a header with the stamp at.
func header(at int64) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(at / 1e9), Nanosec: uint32(at % 1e9)}, FrameId: "x"}
}

// messages returns the messages of times[i], by topic.
func messages(i int) map[string]msgs.Message {
	at := times[i]
	width, height := 64, 48
	pixels := make([]byte, 3*width*height)
	depth := make([]byte, 2*width*height)
	for k := range pixels {
		pixels[k] = byte(k%3*50 + 20*i)
	}
	for k := 0; k < len(depth); k += 2 {
		binary.LittleEndian.PutUint16(depth[k:], uint16(1000*i+k))
	}
	float := func(v float64) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v))) }
	point := func(x, y, z float64) []byte {
		return bytes.Join([][]byte{float(x), float(y), float(z), {9, 9, 9, 9, 30, 20, 10, 0}}, nil)
	}
	field := func(name string, offset uint32) sensor_msgs.PointField {
		return sensor_msgs.PointField{Name: name, Offset: offset, Datatype: sensor_msgs.PointField_FLOAT32, Count: 1}
	}
	return map[string]msgs.Message{
		"/cam/image_raw": &sensor_msgs.Image{Header: header(at), Encoding: "rgb8", Width: uint32(width),
			Height: uint32(height), Step: uint32(3 * width), Data: pixels},
		"/depth": &sensor_msgs.Image{Header: header(at), Encoding: "16UC1", Width: uint32(width),
			Height: uint32(height), Step: uint32(2 * width), Data: depth},
		"/cam/camera_info": &sensor_msgs.CameraInfo{Header: header(at), Width: 64, Height: 48,
			DistortionModel: "plumb_bob", D: []float64{1e-7, -2, 0, 0, 0}, K: [9]float64{500, 0, 32, 0, 500, 24, 0, 0, 1},
			R: [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, P: [12]float64{500, 0, 32, 0, 0, 500, 24, 0, 0, 0, 1, 0}},
		"/lidar": &sensor_msgs.PointCloud2{Header: header(at), Width: 2, Height: 1, PointStep: 20, RowStep: 40,
			Fields: []sensor_msgs.PointField{field("x", 0), field("y", 4), field("z", 8), field("rgb", 16)},
			Data:   append(point(1, 2, 3), point(4, 5, float64(i))...)},
		"/scan": &sensor_msgs.LaserScan{Header: header(at), AngleIncrement: math.Pi / 2, RangeMax: 9,
			Ranges: []float32{1, 20, 3}},
		"/gps": &sensor_msgs.NavSatFix{Header: header(at), Latitude: 48 + 1e-7*float64(i), Longitude: -1e-8 * float64(i),
			Altitude: 500.125},
		"/odom": &nav_msgs.Odometry{Header: header(at), Pose: geometry_msgs.PoseWithCovariance{Pose: geometry_msgs.Pose{
			Position: geometry_msgs.Point{X: 100 * float64(i), Y: -1e-9, Z: 1}, Orientation: geometry_msgs.Quaternion{W: 1}}}},
	}
}

// writeRecording writes a recording of all messages and returns its path.
func writeRecording(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "drive.mcap")
	w, err := codec.Formats{mcap.Format}.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	channels := map[string]*codec.Channel{}
	for i, at := range times {
		for topic, m := range messages(i) {
			c := channels[topic]
			if c == nil {
				text, err := msgs.Library().Concatenated(m.TypeName())
				require.NoError(t, err)
				c = &codec.Channel{Topic: topic, Type: m.TypeName(), Encoding: codec.EncodingCDR,
					Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}}
				channels[topic] = c
			}
			data, err := cdr.Marshal(m)
			require.NoError(t, err)
			require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: at + 1e6, PublishTime: at + 1e6, Data: data}))
		}
	}
	require.NoError(t, w.Close())
	return path
}

// run runs a program and returns its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	output, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, output)
	return string(output)
}

// convert runs the converter.
func convert(t *testing.T, args ...string) string {
	t.Helper()
	process.LookAtSources()
	return run(t, filepath.Join(bin, "converter"), args...)
}

// needPrograms skips the test if a program is not installed. debian names the packages.
func needPrograms(t *testing.T, debian string, programs ...string) {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian: %s); files of the converter are not read with it", program, debian)
		}
	}
}

// export converts a recording to all formats, and returns the folder of the files.
func export(t *testing.T, from string) string {
	out := t.TempDir()
	for _, to := range [][]string{{"images", "--to", "images"}, {"pcd", "--to", "pcd"}, {"ply", "--to", "ply"},
		{"drive.gpx", "--track-origin", "48,11"}, {"drive.kml", "--track-origin", "48,11"},
		{"drive.geojson", "--track-origin", "48,11"}, {"tum", "--to", "tum"}} {
		convert(t, append([]string{from, filepath.Join(out, to[0])}, to[1:]...)...)
	}
	return out
}

// readTree returns the contents of all files but tables, by path. Tables have publish times, which some formats lose.
func readTree(t *testing.T, folder string) map[string]string {
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".csv" {
			return err
		}
		content, err := os.ReadFile(path)
		name, relErr := filepath.Rel(folder, path)
		files[name] = string(content)
		return errors.Join(err, relErr)
	}))
	return files
}

// TestFromOtherFormats checks that recordings in formats of ROS 1, Apollo and rosbag2 give equal files.
func TestFromOtherFormats(t *testing.T) {
	from := writeRecording(t)
	want := readTree(t, export(t, from))
	require.Len(t, want, 2*5+1+4*5+3+2)
	for _, name := range []string{"drive.bag", "drive.record", "bag"} {
		other := filepath.Join(t.TempDir(), name)
		args := []string{from, other}
		if name == "bag" {
			args = append(args, "--to", "rosbag2", "--storage", "sqlite3")
		}
		convert(t, args...)
		got := readTree(t, export(t, other))
		require.Len(t, got, len(want))
		for path, content := range want {
			if !strings.HasPrefix(path, "drive.") { // these files have the tracks in another order
				require.Equal(t, content, got[path], "%s from %s", path, name)
			}
		}
	}
}

// TestJavaScript checks clouds, tracks and calibrations as JavaScript libraries read them.
func TestJavaScript(t *testing.T) {
	modules := process.Modules(t, "clouds, tracks and calibrations are not read with loaders.gl and others")
	script, err := filepath.Abs("peer.js")
	require.NoError(t, err)
	node := exec.Command("node", script, export(t, writeRecording(t)))
	node.Dir = modules
	var stderr bytes.Buffer
	node.Stderr = &stderr
	output, err := node.Output()
	require.NoError(t, err, stderr.String())
	var files map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(output, &files))
	read := func(name string, to any) {
		require.Contains(t, files, name)
		require.NoError(t, json.Unmarshal(files[name], to))
	}

	for i, at := range times {
		name := fmt.Sprintf("lidar/%d.%09d.", at/1e9, at%1e9)
		var pcd struct {
			Fields    []string
			Colors    []float64 `json:"COLOR_0"`
			Positions []float64 `json:"POSITION"`
		}
		for _, kind := range []string{"pcd", "ply"} {
			read(kind+"/"+name+kind, &pcd)
			require.Equal(t, []float64{1, 2, 3, 4, 5, float64(i)}, pcd.Positions, kind)
			if kind == "ply" {
				require.Equal(t, []float64{10, 20, 30, 10, 20, 30}, pcd.Colors)
				continue
			}
			require.Equal(t, []string{"x", "y", "z", "rgb"}, pcd.Fields)
			// loaders.gl returns the bytes in the order of the file, blue first.
			require.Equal(t, []float64{30, 20, 10, 30, 20, 10}, pcd.Colors)
		}
		read("pcd/scan/"+name[len("lidar/"):]+"pcd", &pcd)
		require.InDeltaSlice(t, []float64{1, 0, 0, -3, 0, 0}, pcd.Positions, 1e-5)
	}

	type feature struct {
		Properties struct {
			Name                 string
			CoordinateProperties struct{ Times []string }
		}
		Geometry struct {
			Type        string
			Coordinates [][]float64
		}
	}
	for _, name := range []string{"drive.gpx", "drive.kml"} {
		var tracks struct{ Features []feature }
		read(name, &tracks)
		require.Len(t, tracks.Features, 2)
		for _, f := range tracks.Features {
			require.Len(t, f.Geometry.Coordinates, len(times))
			for i, at := range times {
				require.Equal(t, xmlTime(at), f.Properties.CoordinateProperties.Times[i])
				if f.Properties.Name == "/gps" {
					require.Equal(t, []float64{-1e-8 * float64(i), 48 + 1e-7*float64(i), 500.125}, f.Geometry.Coordinates[i])
				} else {
					require.InDelta(t, 11+0.00134*float64(i), f.Geometry.Coordinates[i][0], 1e-4)
				}
			}
		}
	}

	var info map[string]any
	read("images/cam_image_raw/camera_info.yaml", &info)
	require.Equal(t, map[string]any{
		"image_width": 64., "image_height": 48., "camera_name": "cam", "distortion_model": "plumb_bob",
		"camera_matrix":           matrix(3, 3, 500, 0, 32, 0, 500, 24, 0, 0, 1),
		"distortion_coefficients": matrix(1, 5, 1e-7, -2, 0, 0, 0),
		"rectification_matrix":    matrix(3, 3, 1, 0, 0, 0, 1, 0, 0, 0, 1),
		"projection_matrix":       matrix(3, 4, 500, 0, 32, 0, 0, 500, 24, 0, 0, 0, 1, 0),
	}, info)
}

// matrix returns a decoded JSON object of a matrix.
func matrix(rows, cols float64, data ...any) map[string]any {
	for i, v := range data {
		if n, ok := v.(int); ok {
			data[i] = float64(n)
		}
	}
	return map[string]any{"rows": rows, "cols": cols, "data": data}
}

// xmlTime returns a time as GPX and KML have it.
func xmlTime(ns int64) string {
	return fmt.Sprintf("2023-11-14T22:13:%02d.%09dZ", 20+ns/1e9-1_700_000_000, ns%1e9)
}

// TestGDAL checks tracks as ogrinfo and gpsbabel read them.
func TestGDAL(t *testing.T) {
	needPrograms(t, "gpsbabel, gdal-bin", "gpsbabel", "ogrinfo")
	out := export(t, writeRecording(t))
	for _, c := range []struct{ file, layer string }{{"drive.gpx", "tracks"}, {"drive.kml", ""}, {"drive.geojson", ""}} {
		args := []string{"-ro", "-al", filepath.Join(out, c.file)}
		if c.layer != "" {
			args = []string{"--config", "GPX_ELE_AS_25D", "YES", "-ro", filepath.Join(out, c.file), c.layer}
		}
		text := run(t, "ogrinfo", args...)
		require.Contains(t, text, "Feature Count: 2", c.file)
		require.Regexp(t, `LINESTRING( Z)? \(+0 48(\.0*)? 500\.125,-?0\.00000001 48\.0000001 500\.125`, text, c.file)
	}
	// Latitude, longitude, elevation and time of each point of a track.
	text := run(t, "gpsbabel", "-t", "-i", "gpx", "-f", filepath.Join(out, "drive.gpx"), "-o", "unicsv,utc=0", "-F", "-")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+2*len(times))
	require.Contains(t, text, "48.000000,0.000000,500.1,2023/11/14,22:13:20")
	require.Contains(t, text, "22:13:22")
}

// TestEvo checks trajectories by the rules of evo: comments begin with #. Other lines have 8 numbers with one space
// between, and the first numbers ascend.
func TestEvo(t *testing.T) {
	out := export(t, writeRecording(t))
	files := readTree(t, filepath.Join(out, "tum"))
	require.Len(t, files, 2)
	for name, text := range files {
		last, n := 0.0, 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
			require.Len(t, fields, 8, name)
			var numbers []float64
			for _, f := range fields {
				v, err := strconv.ParseFloat(f, 64)
				require.NoError(t, err, name)
				require.NotContains(t, f, "e")
				numbers = append(numbers, v)
			}
			require.Greater(t, numbers[0], last)
			require.InDelta(t, 1, math.Hypot(math.Hypot(numbers[4], numbers[5]), math.Hypot(numbers[6], numbers[7])), 1e-9)
			require.Equal(t, fmt.Sprintf("%d.%09d", times[n]/1e9, times[n]%1e9), fields[0])
			last = numbers[0]
			n++
		}
		require.Equal(t, len(times), n)
	}
}

// TestFFprobe checks times and frames of videos, and pixels of images.
func TestFFprobe(t *testing.T) {
	needPrograms(t, "ffmpeg", "ffmpeg", "ffprobe")
	from := writeRecording(t)
	folder := t.TempDir()
	front := filepath.Join(folder, "front.mp4")
	convert(t, from, front, "-t", "/cam/image_raw")
	report := convert(t, from, filepath.Join(folder, "videos"), "--to", "mp4")
	require.Contains(t, report, "images of 16 bits, such as depths, have no place in a video; write images instead (5 "+
		"messages on /depth)")
	for _, path := range []string{front, filepath.Join(folder, "videos", "cam_image_raw.mp4")} {
		var video struct {
			Packets []struct {
				Time string `json:"pts_time"`
			}
			Streams []struct {
				Width, Height int
				Codec         string `json:"codec_name"`
				Pixels        string `json:"pix_fmt"`
				Frames        string `json:"nb_frames"`
			}
			Format struct{ Tags map[string]string }
		}
		require.NoError(t, json.Unmarshal([]byte(run(t, "ffprobe", "-v", "error", "-show_packets", "-show_streams",
			"-show_format", "-of", "json", path)), &video))
		require.Len(t, video.Packets, len(times))
		for i, p := range video.Packets {
			require.Equal(t, fmt.Sprintf("%.6f", float64(times[i]/1000-times[0]/1000)/1e6), p.Time)
		}
		require.Equal(t, "5", video.Streams[0].Frames)
		require.Equal(t, "yuv420p", video.Streams[0].Pixels)
		require.Equal(t, [2]int{64, 48}, [2]int{video.Streams[0].Width, video.Streams[0].Height})
		require.Equal(t, "first frame at 1700000000.000000001", video.Format.Tags["comment"])
		require.Equal(t, "2023-11-14T22:13:20.000000Z", video.Format.Tags["creation_time"])
	}
	out := export(t, from)
	for i, at := range times {
		name := fmt.Sprintf("%d.%09d.png", at/1e9, at%1e9)
		for _, c := range []struct {
			topic, pixels string
			topicName     string
		}{{"cam_image_raw", "rgb24", "/cam/image_raw"}, {"depth", "gray16le", "/depth"}} {
			decoded, err := exec.Command("ffmpeg", "-v", "error", "-i", filepath.Join(out, "images", c.topic, name), "-f",
				"rawvideo", "-pix_fmt", c.pixels, "pipe:1").Output()
			require.NoError(t, err)
			require.Equal(t, messages(i)[c.topicName].(*sensor_msgs.Image).Data, decoded, name)
		}
	}
}
