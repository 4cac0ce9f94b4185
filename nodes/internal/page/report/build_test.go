package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/format/mcap"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/vision_msgs"
)

const begin = int64(1_700_000_000e9)

// driveFile is a recording being written.
type driveFile struct {
	t        testing.TB
	path     string
	w        codec.Writer
	channels map[string]*codec.Channel
}

func newDrive(t testing.TB) *driveFile {
	d := &driveFile{t: t, path: filepath.Join(t.TempDir(), "drive.mcap"), channels: map[string]*codec.Channel{}}
	w, err := codec.Formats{mcap.Format}.Create(d.path, codec.CreateOptions{})
	require.NoError(t, err)
	d.w = w
	return d
}

// put writes a message that is received at s after the start.
func (d *driveFile) put(topic string, at float64, m msgs.Message) {
	data, err := cdr.Marshal(m)
	require.NoError(d.t, err)
	d.putBytes(topic, at, m.TypeName(), data)
}

func (d *driveFile) putBytes(topic string, at float64, typeName string, data []byte) {
	c := d.channels[topic]
	if c == nil {
		c = channelOf(d.t, topic, typeName)
		d.channels[topic] = c
	}
	ns := begin + int64(at*1e9)
	require.NoError(d.t, d.w.Write(&codec.Message{Channel: c, LogTime: ns, PublishTime: ns, Data: data}))
}

func channelOf(t testing.TB, topic, typeName string) *codec.Channel {
	text, err := msgs.Library().Concatenated(typeName)
	require.NoError(t, err)
	return &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR,
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}}
}

func (d *driveFile) open() codec.Reader {
	require.NoError(d.t, d.w.Close())
	r, err := codec.Formats{mcap.Format}.Open(d.path)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { require.NoError(d.t, r.Close()) })
	return r
}

func header(at float64) std_msgs.Header {
	ns := begin + int64(at*1e9)
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(ns / 1e9), Nanosec: uint32(ns % 1e9)},
		FrameId: "map"}
}

// pictureOf returns a JPEG.
func pictureOf(t *testing.T, c color.Color) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 400, 300))
	for i := range 400 * 300 {
		m.Set(i%400, i/400, c)
	}
	data, err := pixel.AppendJPEG(nil, m, 90)
	require.NoError(t, err)
	return data
}

func TestBuild(t *testing.T) {
	d := newDrive(t)
	jpeg := pictureOf(t, color.RGBA{200, 30, 30, 255})
	for i := range 1001 {
		at := float64(i) / 100
		if i < 700 || i > 800 {
			d.put("/imu", at, &sensor_msgs.Imu{Header: header(at - 0.02),
				LinearAcceleration: geometry_msgs.Vector3{X: math.Sin(at), Y: math.NaN(), Z: 9.81}})
		}
		if i < 100 || i > 105 {
			d.put("/late", at, &std_msgs.Float64{})
		}
		if i%10 == 0 {
			d.put("/odom", at, &nav_msgs.Odometry{Header: header(at),
				Pose: geometry_msgs.PoseWithCovariance{Pose: geometry_msgs.Pose{
					Position: geometry_msgs.Point{X: 587000 + at, Y: 4141000.125, Z: 1}}},
				Twist: geometry_msgs.TwistWithCovariance{Twist: geometry_msgs.Twist{
					Linear: geometry_msgs.Vector3{X: 3, Y: 4}}}})
			d.put("/fix", at, &sensor_msgs.NavSatFix{Latitude: 60, Longitude: 24 + at/1000, Altitude: 10})
			d.put("/camera", at, &sensor_msgs.CompressedImage{Header: header(at), Format: "jpeg", Data: jpeg})
			d.put("/depth", at, &sensor_msgs.Image{Header: header(at), Encoding: "16UC1", Width: 2, Height: 2, Step: 4,
				Data: []byte{0, 0, 0, 1, 0, 2, 0, 3}})
			d.put("/scan", at, &sensor_msgs.LaserScan{Header: header(at), AngleIncrement: 0.1, RangeMax: 10,
				Ranges: []float32{1, 2, float32(math.Inf(1)), 4}})
			d.put("/objects", at, &vision_msgs.Detection3DArray{Header: header(at),
				Detections: []vision_msgs.Detection3D{{Bbox: vision_msgs.BoundingBox3D{
					Center: geometry_msgs.Pose{Position: geometry_msgs.Point{X: 5},
						Orientation: geometry_msgs.Quaternion{W: 1}},
					Size: geometry_msgs.Vector3{X: 4, Y: 2, Z: 1.5}}}}})
		}
		if i%500 == 0 {
			d.put("/rosout", at, &rcl_interfaces.Log{Level: uint8(rcl_interfaces.Log_INFO) + uint8(i/50),
				Name: "planner", Msg: "<script>alert(1)</script>"})
			d.put("/diagnostics", at, &diagnostic_msgs.DiagnosticArray{Status: []diagnostic_msgs.DiagnosticStatus{
				{Name: "gps", Level: uint8(i / 500 % 2 * 2), Message: "no fix"}}})
		}
	}
	d.putBytes("/bad", 10, "sensor_msgs/msg/Imu", []byte{0, 1, 0, 0, 1})
	data, err := Build(t.Context(), d.open(), nil, Options{Plots: []string{"/odom.pose.pose.position.x"}})
	require.NoError(t, err)

	require.Equal(t, "drive.mcap", data.Name)
	require.InDelta(t, 10, data.Duration, 1e-6)
	var found []string
	for _, e := range data.Events {
		require.Equal(t, "check", e.Kind)
		found = append(found, e.Topic+" "+strings.Fields(e.Text)[0])
	}
	require.Equal(t, []string{"/camera frozen:", "/depth frozen:", "/bad payload:"}, found)
	require.False(t, data.Good)
	require.Contains(t, strings.Join(data.Verdict, " "), "gap")
	topics := map[string]Topic{}
	for _, topic := range data.Topics {
		topics[topic.Name] = topic
		require.Len(t, topic.Density, Bins)
	}
	imu := topics["/imu"]
	require.InDelta(t, 0.02, imu.Latency[0], 1e-3)
	require.InDelta(t, 1.02, imu.Gap, 1e-6)
	require.InDelta(t, 0.07, topics["/late"].Gap, 1e-6)
	require.Len(t, imu.Gaps, 1)
	require.InDelta(t, 6.99, imu.Gaps[0][0], 1e-6)
	require.Zero(t, imu.Density[Bins*75/100])
	sum := 0.0
	for _, rate := range imu.Density[Bins/5 : Bins/4] {
		sum += float64(rate)
	}
	require.InDelta(t, 100, sum/float64(Bins/4-Bins/5), 3)

	require.Len(t, data.Cameras, 2)
	require.Equal(t, [2]int{400, 300}, [2]int{data.Cameras[0].Width, data.Cameras[0].Height})
	require.Len(t, data.Cameras[0].Thumbs, maxThumbsPerCamera)
	thumb, err := (&pixel.Image{Encoding: "jpeg", Data: data.Cameras[0].Thumbs[3].JPEG}).Decode()
	require.NoError(t, err)
	require.Equal(t, image.Pt(thumbWidth, 144), thumb.Bounds().Size())
	red, green, _, _ := thumb.At(9, 9).RGBA()
	require.Greater(t, red, 2*green)

	signals := map[string]Signal{}
	for _, s := range data.Signals {
		signals[s.Topic+"."+s.Path] = s
	}
	x := signals["/imu.linear_acceleration.x"]
	require.Equal(t, "linear_acceleration", x.Group)
	require.InDelta(t, math.Sin(2.5), x.High[Bins/4], 0.02)
	require.NotContains(t, signals, "/imu.linear_acceleration.y", "a field without values has a signal")
	require.Contains(t, signals, "/odom.pose.pose.position.x")
	require.Contains(t, data.Fields, Field{"/odom", "pose.pose.position.y", false})
	require.Contains(t, data.Fields, Field{"/odom", "pose.pose.position.x", true})

	require.Len(t, data.Tracks, 2)
	fix := data.Tracks[0]
	if fix.Topic != "/fix" {
		fix = data.Tracks[1]
	}
	require.Equal(t, [2]float64{60, 24}, *fix.Origin)
	last := fix.Points[len(fix.Points)-1]
	require.InDelta(t, 0.01*111195*math.Cos(math.Pi/3), float64(last[1]), 1)
	require.InDelta(t, 55.6, float64(fix.Speed[5]), 0.5)

	var scans, boxes int
	for _, c := range data.Clouds {
		switch c.Topic {
		case "/scan":
			scans++
			require.Len(t, c.XYZ, 3*6)
			require.Equal(t, []byte{100, 0, 0, 0, 0, 0}, c.XYZ[:6])
		case "/objects":
			boxes++
			require.Equal(t, [][7]int{{500, 0, 0, 400, 200, 150, 0}}, c.Boxes)
		}
	}
	require.Equal(t, [2]int{mostClouds, mostClouds}, [2]int{scans, boxes})

	var words []string
	for _, w := range data.LogLines {
		words = append(words, w.Level+" "+w.From)
	}
	require.Equal(t, []string{"warn planner", "error gps", "error planner", "info gps"}, words)
	require.Len(t, data.Omitted, 1)
	require.Contains(t, data.Omitted[0], "messages of /bad cannot be read")

	var page bytes.Buffer
	require.NoError(t, Write(&page, []*Data{data}))
	require.NotContains(t, page.String(), "<script>alert")
	require.Contains(t, page.String(), "587010", "positions in UTM keep their digits")
	_, rest, _ := strings.Cut(page.String(), `id="data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	require.True(t, json.Valid([]byte(text)))
}

// Data that are too large get fewer pictures and bins, or are refused.
func TestBuildFits(t *testing.T) {
	d := newDrive(t)
	for i := range 5000 {
		at := float64(i) / 500
		d.put("/imu", at, &sensor_msgs.Imu{Header: header(at),
			LinearAcceleration: geometry_msgs.Vector3{X: math.Sin(9 * at)}})
	}
	r := d.open()
	for _, c := range []struct {
		size int64
		bins int
	}{{0, Bins}, {100_000, Bins / 2}, {40_000, Bins / 4}} {
		data, err := Build(t.Context(), r, nil, Options{MaxSize: c.size})
		require.NoError(t, err)
		require.LessOrEqual(t, len(data.Signals[3].Low), c.bins)
		require.Len(t, data.Topics[0].Density, len(data.Signals[3].Low))
		text, err := json.Marshal(data)
		require.NoError(t, err)
		require.True(t, c.size == 0 || int64(len(text)) <= c.size, "%d", len(text))
		require.InDelta(t, 1, data.Signals[3].High[len(data.Signals[3].High)/58], 0.1)
	}
	_, err := Build(t.Context(), r, nil, Options{MaxSize: 100})
	require.ErrorContains(t, err, "--max-size")
	_, err = Build(t.Context(), r, nil, Options{Plots: []string{"/other.x"}})
	require.ErrorContains(t, err, "--plot /other.x")
	_, err = Build(t.Context(), r, nil, Options{Plots: []string{"/other.x"}, Elsewhere: []string{"/other.x"}})
	require.NoError(t, err)
	_, err = Build(t.Context(), r, nil, Options{Plots: []string{"/imu"}})
	require.ErrorContains(t, err, "--plot /imu: want /topic.field")
	for _, field := range []string{"foo", "angular_velocity", "header.frame_id", "orientation_covariance"} {
		_, err = Build(t.Context(), r, nil, Options{Plots: []string{"/imu." + field},
			Reading: func(int64) { t.Error("the recording is read despite a wrong option") }})
		require.EqualError(t, err, "--plot /imu."+field+": sensor_msgs/msg/Imu has no numeric field "+field)
	}
}

// An empty recording, a single message and times far from all others can be shown.
func TestBuildOdd(t *testing.T) {
	empty, err := Build(t.Context(), newDrive(t).open(), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"complete, and empty"}, empty.Verdict)
	one := newDrive(t)
	one.put("/imu", 0, &sensor_msgs.Imu{})
	data, err := Build(t.Context(), one.open(), []error{errors.New("/other: no")}, Options{})
	require.NoError(t, err)
	require.Zero(t, data.Duration)
	require.Equal(t, []string{"/other: no"}, data.Omitted)
	require.NotEmpty(t, data.Signals)
	far := newDrive(t)
	far.put("/imu", -1_699_999_999, &sensor_msgs.Imu{})
	for i := range 1000 {
		far.put("/imu", float64(i)/100, &sensor_msgs.Imu{})
	}
	outlying, err := recordings.WithOutlying(far.open())
	require.NoError(t, err)
	data, err = Build(t.Context(), outlying, nil, Options{})
	require.NoError(t, err)
	require.Less(t, data.Duration, 1e7)
	require.Contains(t, data.Verdict[len(data.Verdict)-1], "1 message at times far from the others")
	require.Len(t, data.Events, 1)
	require.Equal(t, codec.EventTimes, data.Events[0].Kind)
	require.Contains(t, data.Events[0].Text, "the times of 1 message are ")
	require.Zero(t, data.Events[0].From)
	require.LessOrEqual(t, data.Events[0].Until, data.Duration)
	require.Nil(t, data.Topics[0].Latency)
}

// Channels of one topic are shown as one: ROS 1 bags have a channel for each publisher.
func TestBuildChannels(t *testing.T) {
	d := newDrive(t)
	for i, durability := range []codec.Durability{codec.Volatile, codec.TransientLocal, codec.Volatile} {
		d.channels["/odom"] = channelOf(t, "/odom", "nav_msgs/msg/Odometry")
		qos := codec.QoS{Reliability: codec.Reliable, Durability: durability, History: codec.KeepAll}
		d.channels["/odom"].QoS = []codec.QoS{qos}
		for j := range 10 {
			at := float64(10*i + j)
			d.put("/odom", at, &nav_msgs.Odometry{Header: header(at - float64(i+1))})
		}
	}
	data, err := Build(t.Context(), d.open(), nil, Options{})
	require.NoError(t, err)
	require.Len(t, data.Topics, 1)
	topic := data.Topics[0]
	require.EqualValues(t, 30, topic.Messages)
	require.InEpsilon(t, 2, topic.Latency[0], 0.04)
	require.InEpsilon(t, 3, topic.Latency[1], 0.04)
	require.Equal(t, "reliable volatile keep_all + reliable transient_local keep_all", topic.QoS)
}

// Latched topics have no gaps, and messages with the same time make no rhythm.
func TestNoGaps(t *testing.T) {
	for topic, want := range map[string]int{"/a": 2, "/tf_static": 0} {
		d := newDensity(0, 100e9)
		r := d.row(&codec.Channel{Topic: topic})
		for i := range int64(200) {
			d.add(r, i*1e8+i/100*30e9)
		}
		require.Len(t, d.rows[0].gaps(d.end), want, topic)
	}
	d := newDensity(0, 100e9)
	r := d.row(&codec.Channel{Topic: "/a"})
	for i := range int64(40) {
		d.add(r, i/39*50e9)
	}
	require.Empty(t, d.rows[0].gaps(d.end))
}

// Data with many log lines and fields fit a small size, too, and name what is omitted.
func TestBuildFitsLeast(t *testing.T) {
	d := newDrive(t)
	joints := &sensor_msgs.JointState{}
	for i := range 16 {
		joints.Position = append(joints.Position, float64(i)/3)
	}
	for i := range 1000 {
		at := float64(i) / 100
		for j := range 12 {
			d.put(fmt.Sprintf("/joints_%d", j), at, joints)
		}
		d.put("/rosout", at, &rcl_interfaces.Log{Level: rcl_interfaces.Log_WARN, Msg: strings.Repeat("x", 900)})
		d.put("/box", at, &vision_msgs.Detection3D{})
	}
	const least = 64_000
	data, err := Build(t.Context(), d.open(), nil, Options{MaxSize: least})
	require.NoError(t, err)
	text, err := json.Marshal(data)
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), least)
	require.NotEmpty(t, data.Signals)
	require.Len(t, data.Fields, len(data.Signals))
	for _, part := range []string{"lines", "curves", "fields"} {
		require.Regexp(t, `\d+ more `+part+", for want of space: --max-size", strings.Join(data.Omitted, "; "))
	}
}

func TestManyTracksAndPoints(t *testing.T) {
	b := &builder{density: newDensity(0, 1e9), omitted: map[string]int{}}
	tracks := b.track(&codec.Channel{Topic: "/tf", Type: "tf2_msgs/msg/TFMessage"}, nil).(*tracker)
	for i := range mostNames + mostTracks + 5 {
		tracks.put(fmt.Sprint(i), "map", geometry_msgs.Point{}, 0, 0)
	}
	b.addTracks(tracks)
	require.Len(t, tracks.tracks, mostTracks)
	require.Len(t, b.data.Tracks, mostTracks)
	require.Equal(t, map[string]int{"10000 more tracks of /tf": 1}, b.omitted)

	scan, err := cdr.Marshal(&sensor_msgs.LaserScan{AngleIncrement: 1e-3, RangeMax: 50,
		Ranges: slices.Repeat([]float32{7}, 2*mostPoints-1)})
	require.NoError(t, err)
	c := b.cloud(&codec.Channel{Type: "sensor_msgs/msg/LaserScan"}, nil).(*clouds)
	require.NoError(t, c.add(&codec.Message{Channel: &codec.Channel{}, Data: scan}, 0))
	require.InDelta(t, 6*mostPoints, len(c.list[0].XYZ), 12)
}

// A report takes little longer than reading its recording.
func BenchmarkBuild(b *testing.B) {
	image := &sensor_msgs.Image{Width: 1280, Height: 720, Encoding: "bgr8", Step: 3840, Data: make([]byte, 3840*720)}
	cloud := &sensor_msgs.PointCloud2{Width: 60_000, Height: 1, PointStep: 12, RowStep: 720_000,
		Data: make([]byte, 720_000)}
	for i, name := range []string{"x", "y", "z"} {
		cloud.Fields = append(cloud.Fields, sensor_msgs.PointField{Name: name, Offset: uint32(4 * i),
			Datatype: sensor_msgs.PointField_FLOAT32, Count: 1})
	}
	for name, rates := range map[string][3]int{"drive": {30, 10, 400}, "images": {30, 0, 0}, "imu": {0, 0, 9600}} {
		d := newDrive(b)
		for i := range 96_000 { // 10 s
			at := float64(i) / 9600
			for j, m := range []msgs.Message{image, cloud,
				&sensor_msgs.Imu{Header: header(at), AngularVelocity: geometry_msgs.Vector3{X: math.Sin(at)}}} {
				if rates[j] > 0 && i%(9600/rates[j]) == 0 {
					image.Data[9] = uint8(i / 320)
					d.put([]string{"/camera", "/points", "/imu"}[j], at, m)
				}
			}
		}
		r := d.open()
		info, err := r.Info()
		require.NoError(b, err)
		b.Run(name+"/read", func(b *testing.B) {
			b.SetBytes(info.Size)
			for b.Loop() {
				it, err := r.Read(codec.Query{})
				require.NoError(b, err)
				for err == nil {
					_, err = it.Next()
				}
				require.Equal(b, io.EOF, err)
				require.NoError(b, it.Close())
			}
		})
		b.Run(name+"/report", func(b *testing.B) {
			b.SetBytes(info.Size)
			for b.Loop() {
				_, err := Build(b.Context(), r, nil, Options{})
				require.NoError(b, err)
			}
		})
	}
}
