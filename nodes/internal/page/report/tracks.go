package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/tf2_msgs"
)

const (
	mostTracks = 64     // tracks of a topic
	mostNames  = 10_000 // names of omitted tracks that are counted
)

// fixes is the frame of tracks with latitude and longitude.
const fixes = "WGS 84"

// tracker collects the tracks of a topic, with at most one position in each of Bins bins.
type tracker struct {
	builder *builder
	topic   string
	names   []string // names of tracks, in the order of their first positions
	tracks  map[string]*growingTrack
	more    map[string]bool // names of omitted tracks
	visit   func(t *tracker, payload []byte, at float64) error
	origin  *[2]float64 // Origin of tracks with the frame fixes
}

// growingTrack is a track that is being collected.
type growingTrack struct {
	Track
	bin int // bin of the last point
}

// trackers are constructors of tracker.visit by type.
var trackers = map[string]func() func(t *tracker, payload []byte, at float64) error{
	"sensor_msgs/msg/NavSatFix": decoded(func(t *tracker, m *sensor_msgs.NavSatFix, at float64) {
		if m.Status.Status >= 0 {
			t.fix(m.Latitude, m.Longitude, m.Altitude, at)
		}
	}),
	"nav_msgs/msg/Odometry": decoded(func(t *tracker, m *nav_msgs.Odometry, at float64) {
		v := m.Twist.Twist.Linear
		t.put("", m.Header.FrameId, m.Pose.Pose.Position, math.Sqrt(v.X*v.X+v.Y*v.Y+v.Z*v.Z), at)
	}),
	"geometry_msgs/msg/Pose": decoded(func(t *tracker, m *geometry_msgs.Pose, at float64) {
		t.put("", "", m.Position, math.NaN(), at)
	}),
	"geometry_msgs/msg/PoseStamped": decoded(func(t *tracker, m *geometry_msgs.PoseStamped, at float64) {
		t.put("", m.Header.FrameId, m.Pose.Position, math.NaN(), at)
	}),
	"geometry_msgs/msg/PoseWithCovarianceStamped": decoded(func(t *tracker,
		m *geometry_msgs.PoseWithCovarianceStamped, at float64) {
		t.put("", m.Header.FrameId, m.Pose.Pose.Position, math.NaN(), at)
	}),
	"tf2_msgs/msg/TFMessage": decoded(func(t *tracker, m *tf2_msgs.TFMessage, at float64) {
		for i := range m.Transforms {
			frame, child := strings.TrimPrefix(m.Transforms[i].Header.FrameId, "/"),
				strings.TrimPrefix(m.Transforms[i].ChildFrameId, "/")
			if slices.Contains([]string{"map", "odom", "world", "earth", "utm", "local", "localization"}, frame) {
				position := m.Transforms[i].Transform.Translation
				t.put(child, frame, geometry_msgs.Point(position), math.NaN(), at)
			}
		}
	}),
}

// decoded returns a constructor of functions that decode payloads and call visit. Each function reuses one message.
func decoded[M any, P interface {
	*M
	msgs.Message
}](visit func(t *tracker, m *M, at float64)) func() func(*tracker, []byte, float64) error {
	return func() func(*tracker, []byte, float64) error {
		var m M
		return func(t *tracker, payload []byte, at float64) error {
			if err := cdr.Unmarshal(payload, P(&m)); err != nil {
				return err
			}
			visit(t, &m, at)
			return nil
		}
	}
}

// track returns a sink for positions, nil for other types.
func (b *builder) track(c *codec.Channel, _ *cdr.Schema) sink {
	visit := trackers[c.Type]
	if visit == nil || strings.HasSuffix(c.Topic, "/tf_static") {
		return nil
	}
	t := &tracker{builder: b, topic: c.Topic, tracks: map[string]*growingTrack{}, more: map[string]bool{},
		visit: visit()}
	b.tracks = append(b.tracks, t)
	return t
}

func (t *tracker) add(m *codec.Message, at float64) error { return t.visit(t, m.Data, at) }

// fix adds a position in degrees and m. It converts it to m from the first position, on a sphere, which is exact enough
// for a map of some km.
func (t *tracker) fix(latitude, longitude, altitude, at float64) {
	if !(math.Abs(latitude) <= 90 && math.Abs(longitude) <= 180) {
		return
	}
	if t.origin == nil {
		t.origin = &[2]float64{latitude, longitude}
	}
	const degree = 6371008.8 * math.Pi / 180 // m
	east := math.Remainder(longitude-t.origin[1], 360)
	p := geometry_msgs.Point{X: east * degree * math.Cos(t.origin[0]*math.Pi/180),
		Y: (latitude - t.origin[0]) * degree, Z: altitude}
	t.put("", fixes, p, math.NaN(), at)
	t.tracks[""].Origin = t.origin
}

// put adds a position in m to a named track. speed in m/s is NaN if it is unknown.
func (t *tracker) put(name, frame string, p geometry_msgs.Point, speed, at float64) {
	w := t.tracks[name]
	if w == nil && len(t.tracks) == mostTracks {
		if len(t.more) < mostNames {
			t.more[name] = true
		}
		return
	}
	if w == nil {
		w = &growingTrack{Track: Track{Topic: t.topic, Name: name, Frame: strings.TrimPrefix(frame, "/")}, bin: -1}
		t.names = append(t.names, name)
		t.tracks[name] = w
	}
	bin := min(int(at/max(t.builder.density.seconds(), 1e-9)*Bins), Bins-1)
	if bin == w.bin || math.IsNaN(p.X+p.Y) || math.IsInf(p.X+p.Y, 0) {
		return
	}
	w.bin = bin
	w.Points = append(w.Points, [4]Number{Number(at), Number(p.X), Number(p.Y), Number(p.Z)})
	w.Speed = append(w.Speed, float32(speed))
}

// addTracks adds the tracks of a topic.
func (b *builder) addTracks(t *tracker) {
	if more := len(t.more); more > 0 {
		b.omitted[fmt.Sprintf("%d more tracks of %s", more, t.topic)]++
	}
	for _, name := range t.names {
		w := t.tracks[name]
		w.speeds()
		if len(w.Points) > 0 {
			b.data.Tracks = append(b.data.Tracks, w.Track)
		}
	}
}

// speeds computes the missing speeds from the positions.
func (w *growingTrack) speeds() {
	for i := 1; i < len(w.Points); i++ {
		p, q := w.Points[i-1], w.Points[i]
		if step := float64(q[0] - p[0]); step > 0 && math.IsNaN(float64(w.Speed[i])) {
			w.Speed[i] = float32(math.Hypot(float64(q[1]-p[1]), float64(q[2]-p[2])) / step)
		}
	}
}
