package track_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/track"
	"tapedeck/codec/internal/codectest"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
)

const start = 1_700_000_000

func header(sec int32) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: start + sec, Nanosec: 5}, FrameId: "map"}
}

func fix(sec int32, latitude, longitude, altitude float64) *sensor_msgs.NavSatFix {
	return &sensor_msgs.NavSatFix{Header: header(sec), Latitude: latitude, Longitude: longitude, Altitude: altitude}
}

func pose(x, y, z, qw float64) geometry_msgs.Pose {
	return geometry_msgs.Pose{Position: geometry_msgs.Point{X: x, Y: y, Z: z},
		Orientation: geometry_msgs.Quaternion{W: qw}}
}

// export writes messages to a file, and returns its content.
func export(t *testing.T, f codec.Format, messages ...codec.Message) (file string, lost []codec.Loss,
	refused []string) {
	path := filepath.Join(t.TempDir(), "out."+f.Name)
	lost, refused = codectest.Export(t, f, path, messages...)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	return string(content), lost, refused
}

func TestFixes(t *testing.T) {
	topics := codectest.Topics{}
	message := func(m msgs.Message) codec.Message { return topics.Message(t, "/gps<1>", start*1e9, m) }
	none := fix(3, 1, 1, 1)
	none.Status.Status = -1
	messages := []codec.Message{
		message(fix(1, 48.1234567891234, 0.0000000012, 500)), message(none), message(fix(4, math.NaN(), 1, 1)),
		message(fix(5, 91, 1, 1)), message(fix(6, 1, 180.5, 1)), message(fix(7, -1e-7, 180, math.NaN())),
		message(fix(7, 1, 1, 1)), message(fix(6, 1, 1, 1)), message(fix(8, 1, 2, 3)),
		topics.Message(t, "/empty", 1, none),
	}
	o := track.Options{}
	for _, c := range []struct {
		format codec.Format
		want   string
	}{
		{o.GPX(), xml.Header + `<gpx version="1.1" creator="tapedeck" xmlns="http://www.topografix.com/GPX/1/1">
<trk><name>/gps&lt;1&gt;</name><desc>elevations are above the WGS 84 ellipsoid</desc><trkseg>
<trkpt lat="48.1234567891234" lon="0.0000000012"><ele>500</ele><time>2023-11-14T22:13:21.000000005Z</time></trkpt>
</trkseg><trkseg>
<trkpt lat="-0.0000001" lon="-180"><ele>0</ele><time>2023-11-14T22:13:27.000000005Z</time></trkpt>
<trkpt lat="1" lon="2"><ele>3</ele><time>2023-11-14T22:13:28.000000005Z</time></trkpt>
</trkseg></trk>
</gpx>
`},
		{o.KML(), xml.Header + `<kml xmlns="http://www.opengis.net/kml/2.2" ` +
			`xmlns:gx="http://www.google.com/kml/ext/2.2">
<Document>
<Placemark><name>/gps&lt;1&gt;</name><gx:Track>
<altitudeMode>absolute</altitudeMode>
<when>2023-11-14T22:13:21.000000005Z</when>
<when>2023-11-14T22:13:27.000000005Z</when>
<when>2023-11-14T22:13:28.000000005Z</when>
<gx:coord>0.0000000012 48.1234567891234 500</gx:coord>
<gx:coord>180 -0.0000001 0</gx:coord>
<gx:coord>2 1 3</gx:coord>
</gx:Track></Placemark>
</Document>
</kml>
`},
		{o.GeoJSON(), `{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{"name":"/gps\u003c1\u003e","coordTimes":["2023-11-14T22:13:21.000000005Z",` +
			`"2023-11-14T22:13:27.000000005Z","2023-11-14T22:13:28.000000005Z"]},"geometry":{"type":"LineString",` +
			`"coordinates":[[0.0000000012,48.1234567891234,500],[180,-0.0000001,0],[2,1,3]]}}
]}
`},
	} {
		t.Run(c.format.Name, func(t *testing.T) {
			got, lost, refused := export(t, c.format, messages...)
			require.Equal(t, c.want, got)
			require.Equal(t, []codec.Loss{{Topic: "/gps<1>", What: "all but times and positions", Messages: 3},
				{Topic: "/gps<1>", What: "altitudes that are no numbers, written as 0", Messages: 1}}, lost)
			require.Len(t, refused, 7)
			for i, text := range refused {
				want := "there is no fix"
				if i == 4 || i == 5 {
					want = "not after"
				}
				require.Contains(t, text, want)
			}
		})
	}
}

// feature is a feature of GeoJSON.
type feature struct {
	Properties struct{ CoordTimes json.RawMessage }
	Geometry   struct {
		Type        string
		Coordinates json.RawMessage
	}
}

func features(t *testing.T, text string) []feature {
	var all struct{ Features []feature }
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	return all.Features
}

// TestAntimeridian checks that lines are cut at ±180°, and only there.
func TestAntimeridian(t *testing.T) {
	topics := codectest.Topics{}
	at := func(topic string, m msgs.Message) codec.Message { return topics.Message(t, topic, start*1e9, m) }
	text, _, refused := export(t, track.Options{}.GeoJSON(),
		at("/ship", fix(0, 0, 179, 0)), at("/ship", fix(4, 4, -177, 8)), at("/ship", fix(5, 4, -178, 8)),
		at("/ship", fix(6, 4, 180, 8)), at("/one", fix(6, 4, 180, 8)), at("/on", fix(0, 1, 180, 0)),
		at("/on", fix(1, 2, -180, 0)))
	require.Empty(t, refused)
	all := features(t, text)
	require.Len(t, all, 3)
	require.JSONEq(t, "[[[180,1,0],[180,1,0]],[[-180,1,0],[-180,2,0]]]", string(all[2].Geometry.Coordinates))
	require.Equal(t, "MultiLineString", all[0].Geometry.Type)
	require.JSONEq(t, "[[[179,0,0],[180,1,2]],[[-180,1,2],[-177,4,8],[-178,4,8],[-180,4,8]],[[180,4,8],[180,4,8]]]",
		string(all[0].Geometry.Coordinates))
	var times [][]string
	require.NoError(t, json.Unmarshal(all[0].Properties.CoordTimes, &times))
	require.Len(t, times, 3)
	require.Equal(t, []string{"2023-11-14T22:13:20.000000005Z", "2023-11-14T22:13:21.000000005Z"}, times[0])
	require.Equal(t, "Point", all[1].Geometry.Type)
	require.Equal(t, "[180,4,8]", string(all[1].Geometry.Coordinates))
	require.Equal(t, `"2023-11-14T22:13:26.000000005Z"`, string(all[1].Properties.CoordTimes))
}

func TestTUM(t *testing.T) {
	topics := codectest.Topics{}
	odometry := func(sec int32, p geometry_msgs.Pose) *nav_msgs.Odometry {
		return &nav_msgs.Odometry{Header: header(sec), Pose: geometry_msgs.PoseWithCovariance{Pose: p}}
	}
	path := filepath.Join(t.TempDir(), "out")
	stamped := &geometry_msgs.PoseStamped{Header: header(1), Pose: pose(1, 2, 3, 1)}
	both := &geometry_msgs.PoseWithCovarianceStamped{Header: header(1)}
	both.Pose.Pose = pose(4, 5, 6, 1)
	plain, covariance := pose(7, 8, 9, 1), &geometry_msgs.PoseWithCovariance{Pose: pose(1, 1, 1, 1)}
	at := int64(start) * 1e9
	lost, refused := codectest.Export(t, track.Options{}.TUM(), path,
		topics.Message(t, "/odom", 1, odometry(1, pose(1e-9, -1e21, 0.1, 1))),
		topics.Message(t, "/odom", 1, odometry(2, pose(1, 1, 1, 0))),
		topics.Message(t, "/odom", 1, odometry(2, pose(2, 1, 1, 1))), // not later
		topics.Message(t, "/odom", 1, odometry(3, pose(math.Inf(1), 1, 1, 1))),
		topics.Message(t, "/odom", 1, odometry(4, pose(1, 1, 1, math.NaN()))),
		topics.Message(t, "/p1", 1, stamped), topics.Message(t, "/p2", 1, both),
		topics.Message(t, "/p3", at, &plain), topics.Message(t, "/p4", at, covariance),
		topics.Message(t, "/gps", 1, fix(1, 48, 11, 500)), topics.Message(t, "/gps", 1, fix(2, 48, 11, 510)),
		topics.Message(t, "/gps", 1, fix(3, 48.001, 11, 500)))
	require.Len(t, refused, 2)
	require.Contains(t, refused[0], "not after")
	require.Contains(t, refused[1], "not a number")
	require.Contains(t, lost, codec.Loss{Topic: "/odom", What: "orientations that are no rotations, written as 0 0 0 1",
		Messages: 2})
	files := codectest.Tree(t, path)
	const head = "# timestamp tx ty tz qx qy qz qw\n"
	require.Equal(t, head+"1700000001.000000005 0.000000001 -1000000000000000000000 0.1 0 0 0 1\n"+
		"1700000002.000000005 1 1 1 0 0 0 1\n1700000004.000000005 1 1 1 0 0 0 1\n", files["odom.tum"])
	require.Equal(t, head+"1700000001.000000005 1 2 3 0 0 0 1\n", files["p1.tum"])
	require.Equal(t, head+"1700000001.000000005 4 5 6 0 0 0 1\n", files["p2.tum"])
	require.Equal(t, head+"1700000000.000000000 7 8 9 0 0 0 1\n", files["p3.tum"])
	require.Equal(t, head+"1700000000.000000000 1 1 1 0 0 0 1\n", files["p4.tum"])
	rows := strings.Split(files["gps.tum"], "\n")
	require.Equal(t, "1700000001.000000005 0 0 0 0 0 0 1", rows[1])
	for i, want := range [][3]float64{{0, 0, 10}, {0, 111.199, -0.001}} {
		fields := strings.Split(rows[2+i], " ")
		for k := range want {
			v, err := strconv.ParseFloat(fields[1+k], 64)
			require.NoError(t, err)
			require.InDelta(t, want[k], v, 1e-3)
		}
	}

	w, err := track.Options{}.TUM().Create(filepath.Join(t.TempDir(), "x.tum"), codec.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Declare(topics["/odom"]))
	require.NoError(t, w.Declare(topics["/odom"]))
	require.ErrorContains(t, w.Declare(topics["/p1"]), "can hold only one track, and there are /odom and /p1")
	require.NoError(t, w.Close())
}

// TestOrigin places metres on Earth. PROJ gave the expected values.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		origin string
		at     geometry_msgs.Pose
		want   [3]float64 // longitude, latitude, altitude
		off    float64
	}{
		{"48.1,11.5,520", pose(0, 0, 0, 1), [3]float64{11.5, 48.1, 520}, 1e-11},
		{"48.1, 11.5", pose(0, 0, 100, 1), [3]float64{11.5, 48.1, 100}, 1e-11},
		{"48.1,11.5,520", pose(1000, -2000, 30, 1), [3]float64{11.5134204022059, 48.0820138790573, 550.39214383252},
			1e-10},
		{"0,0", pose(0, 110574.27582159, 0, 1), [3]float64{0, 0.999897460346838, 964.868625449017}, 1e-10},
		{"-80,-170,-50", pose(-50000, 40000, 100, 1), [3]float64{-172.488330066685, -79.6322067034026, 370.38262923155},
			1e-10},
		{"10N", pose(500000, 0, 7, 1), [3]float64{-123, 0, 7}, 1e-11},
		{"32N", pose(691607.86, 5334760.37, 0, 1), [3]float64{11.5755559851945, 48.137221836659, 0}, 1e-8},
		{"33N", pose(950000.5, 9000000.25, 7, 1), [3]float64{39.376523637754, 80.2020538053174, 7}, 1e-8},
		{"56S", pose(334873.15, 6252266.09, 0, 1), [3]float64{151.214999471994, -33.8570000087897, 0}, 1e-8},
	} {
		t.Run(c.origin, func(t *testing.T) {
			topics := codectest.Topics{}
			text, _, refused := export(t, track.Options{Origin: c.origin}.GeoJSON(),
				topics.Message(t, "/p", start*1e9, &geometry_msgs.PoseStamped{Header: header(1), Pose: c.at}))
			require.Empty(t, refused)
			var got [3]float64
			require.NoError(t, json.Unmarshal(features(t, text)[0].Geometry.Coordinates, &got))
			for i := range got {
				off := c.off
				if i == 2 {
					off = 1e-5
				}
				require.InDelta(t, c.want[i], got[i], off, "%v", got)
			}
		})
	}
	for _, bad := range []string{"here", "1", "1,2,3,4", "91,0", "0,181", "NaN,1", "1,1,Inf", "61N", "0S", "10",
		"1,1,nan"} {
		_, err := track.Options{Origin: bad}.GPX().Create(filepath.Join(t.TempDir(), "x"), codec.CreateOptions{})
		require.ErrorContains(t, err, "invalid track origin", bad)
	}
	topics := codectest.Topics{}
	far := topics.Message(t, "/p", start*1e9, &geometry_msgs.PoseStamped{Header: header(1),
		Pose: pose(1e9, 1e300, 0, 1)})
	for _, origin := range []string{"0,0", "10N"} {
		_, _, refused := export(t, track.Options{Origin: origin}.KML(), far)
		require.Len(t, refused, 1)
		require.Contains(t, refused[0], "nowhere on Earth")
	}
}

// TestFrames writes the tracks of frames of transforms.
func TestFrames(t *testing.T) {
	topics := codectest.Topics{}
	transform := func(sec int32, parent, child string, x float64,
		q geometry_msgs.Quaternion) geometry_msgs.TransformStamped {
		h := header(sec)
		h.FrameId = parent
		return geometry_msgs.TransformStamped{Header: h, ChildFrameId: child, Transform: geometry_msgs.Transform{
			Translation: geometry_msgs.Vector3{X: x}, Rotation: q}}
	}
	tf := func(topic string, all ...geometry_msgs.TransformStamped) codec.Message {
		return topics.Message(t, topic, 7, &tf2_msgs.TFMessage{Transforms: all})
	}
	none, left := geometry_msgs.Quaternion{W: 1}, geometry_msgs.Quaternion{Z: math.Sqrt2 / 2, W: math.Sqrt2 / 2}
	path := filepath.Join(t.TempDir(), "out")
	lost, refused := codectest.Export(t, track.Options{Frames: []string{"base_link=map,/wheel", "none"}}.TUM(), path,
		tf("/tf", transform(1, "odom", "base_link", 2, none)), // nothing leads to map yet
		tf("/tf_static", transform(1, "map", "odom", 10, left)),
		tf("/tf", transform(2, "/odom", "/base_link", 3, none), transform(2, "base_link", "wheel", 1, left)),
		tf("/tf", transform(3, "loop", "base_link", 1, none), transform(3, "base_link", "loop", 1, none)))
	require.Empty(t, refused)
	require.Contains(t, lost, codec.Loss{Topic: "/tf", What: "transforms of base_link: no transforms lead to map",
		Messages: 2})
	require.Contains(t, lost, codec.Loss{Topic: "none", What: "frames of --track-frames without transforms"})
	files := codectest.Tree(t, path)
	require.Len(t, files, 2)
	require.Regexp(t, `\n1700000002.000000005 10 3[.0-9]* 0 0 0 0.707\d+ 0.707\d+\n$`, files["base_link.tum"])
	require.Regexp(t, `\n1700000002.000000005 1 0 0 0 0 0.707\d+ 0.707\d+\n$`, files["wheel.tum"])

	// The sensor moves with the vehicle that carries it.
	path = filepath.Join(t.TempDir(), "carried")
	lost, refused = codectest.Export(t, track.Options{Frames: []string{"lidar=map", "mast=map"}}.TUM(), path,
		tf("/tf_static", transform(1, "mount", "lidar", 2, none), transform(1, "base_link", "mount", 0, left),
			transform(1, "site", "mast", 5, none)),
		tf("/tf_static", transform(2, "map", "site", 7, none)),
		tf("/tf", transform(2, "map", "odom", 10, none), transform(2, "odom", "base_link", 3, none)),
		tf("/tf", transform(3, "odom", "base_link", 4, left)))
	require.Empty(t, refused)
	require.NotContains(t, fmt.Sprint(lost), "lead to map")
	files = codectest.Tree(t, path)
	require.Regexp(t, `\n1700000002.000000005 13 2[.0-9]* 0 .*\n1700000003.000000005 12 [-.e0-9]+ 0 .*\n$`,
		files["lidar.tum"])
	require.Regexp(t, `\n1700000002.000000005 12 0 0 0 0 0 1\n$`, files["mast.tum"])

	o := track.Options{}
	require.ErrorContains(t, o.TUM().Accepts(topics["/tf"]), "--track-frames")
	require.ErrorContains(t, o.GPX().Accepts(&codec.Channel{Type: "nav_msgs/msg/Odometry"}), "--track-origin")
	require.ErrorContains(t, o.GPX().Accepts(&codec.Channel{Type: "sensor_msgs/msg/Imu"}), "have no positions")

	o.Frames = []string{"nobody"}
	w, err := o.TUM().Create(filepath.Join(t.TempDir(), "x.tum"), codec.CreateOptions{})
	require.NoError(t, err)
	m := tf("/tf", transform(1, "map", "odom", 1, none))
	require.NoError(t, w.Write(&m))
	require.ErrorContains(t, w.Close(), "no transform leads from the frames")
}

// TestSimulation has stamps that begin at 0. Files with latitudes must contain the times of receipt.
func TestSimulation(t *testing.T) {
	for _, c := range []struct {
		first  int32
		format codec.Format
		want   string
	}{
		{0, track.Options{Origin: "0,0"}.GPX(), "2023-11-14T22:13:20.5Z"},
		{1, track.Options{Origin: "0,0"}.GPX(), "2023-11-14T22:13:20.5Z"},
		{0, track.Options{}.TUM(), "\n1700000000.500000000 "}, {1, track.Options{}.TUM(), "\n2.000000000 "},
	} {
		topics := codectest.Topics{}
		at := func(log int64, sec int32) codec.Message {
			return topics.Message(t, "/odom", log, &nav_msgs.Odometry{Header: std_msgs.Header{
				Stamp: builtin_interfaces.Time{Sec: sec}}})
		}
		text, _, refused := export(t, c.format, at(start*1e9, c.first), at(start*1e9+5e8, c.first+1))
		require.Empty(t, refused)
		require.Contains(t, text, c.want)
	}
}

// TestLongTracks has tracks with more points than a block.
func TestLongTracks(t *testing.T) {
	topics := codectest.Topics{}
	var messages []codec.Message
	for i := range 1000 {
		for k := range 3 {
			m := fix(int32(i), float64(k), float64(i)/10, 0)
			messages = append(messages, topics.Message(t, fmt.Sprint("/p", k), start*1e9, m))
		}
	}
	text, _, refused := export(t, track.Options{}.GeoJSON(), messages...)
	require.Empty(t, refused)
	for k, f := range features(t, text) {
		var all [][3]float64
		require.NoError(t, json.Unmarshal(f.Geometry.Coordinates, &all))
		require.Len(t, all, 1000)
		for i, p := range all {
			require.Equal(t, [3]float64{float64(i) / 10, float64(k), 0}, p)
		}
	}
}

// FuzzTracks writes messages of random bytes, and checks that the file is valid JSON.
func FuzzTracks(f *testing.F) {
	topics := codectest.Topics{}
	for topic, m := range map[string]msgs.Message{
		"/fix": fix(1, 2, 3, 4), "/odom": &nav_msgs.Odometry{Header: header(1)}, "/tf": &tf2_msgs.TFMessage{
			Transforms: []geometry_msgs.TransformStamped{{Header: header(1), ChildFrameId: "a"}}},
		"/pose": &geometry_msgs.PoseStamped{Header: header(1)},
	} {
		f.Add(topics.Message(f, topic, 1, m).Data)
	}
	o := track.Options{Origin: "10,20", Frames: []string{"a", "b=map"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "out.geojson")
		w, err := o.GeoJSON().Create(path, codec.CreateOptions{})
		require.NoError(t, err)
		for _, c := range topics {
			_ = w.Write(&codec.Message{Channel: c, LogTime: 1, Data: data})
		}
		if w.Close() != nil {
			return
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, json.Valid(text), string(text))
	})
}

func TestRefusedOptions(t *testing.T) {
	for _, c := range []struct {
		options track.Options
		format  func(track.Options) codec.Format
		want    string
	}{
		{track.Options{Origin: "33N"}, track.Options.TUM, "needs LATITUDE,LONGITUDE, not a zone of UTM"},
		{track.Options{Frames: []string{"base_link=map,base_link=odom"}}, track.Options.GPX, "name base_link twice"},
	} {
		f := c.format(c.options)
		_, err := f.Create(filepath.Join(t.TempDir(), "a."+f.Name), codec.CreateOptions{})
		require.ErrorContains(t, err, c.want)
	}
}
