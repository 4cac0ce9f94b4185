package apollo

import (
	"math"
	"strconv"

	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/radar_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/vision_msgs"
	"tapedeck/msgs/visualization_msgs"
)

// obstacles become boxes in the world, with their types as classes, and markers of the same, with arrows for the velocities.
func obstacles(m message, emit func(int, msgs.Message)) {
	header := m.header(worldFrame)
	out := &vision_msgs.Detection3DArray{Header: header}
	markers := &visualization_msgs.MarkerArray{Markers: []visualization_msgs.Marker{{Header: header, Action: visualization_msgs.Marker_DELETEALL}}}
	for _, o := range m.list("perception_obstacle") {
		box := boxOf(o)
		detection := vision_msgs.Detection3D{Header: header, Bbox: box, Id: strconv.Itoa(o.int("id"))}
		score := 1.0
		if o.has("confidence") {
			score = o.known("confidence")
		}
		for _, name := range []string{"type", "sub_type"} {
			if !o.has(name) {
				continue
			}
			result := vision_msgs.ObjectHypothesisWithPose{Hypothesis: vision_msgs.ObjectHypothesis{ClassId: o.enumName(name), Score: score}}
			result.Pose.Pose = box.Center
			if c := o.floats("position_covariance"); len(c) == 9 {
				for i, v := range c {
					result.Pose.Covariance[i/3*6+i%3] = v
				}
			}
			detection.Results = append(detection.Results, result)
		}
		out.Detections = append(out.Detections, detection)
		markers.Markers = append(markers.Markers, markersOf(header, o, box)...)
	}
	emit(0, out)
	emit(1, markers)
}

// boxOf returns the box of an obstacle, whose position is the middle of the box's bottom.
func boxOf(o message) vision_msgs.BoundingBox3D {
	box := vision_msgs.BoundingBox3D{
		Center: geometry_msgs.Pose{Position: o.position("position"), Orientation: about(2, o.known("theta"))},
		Size:   geometry_msgs.Vector3{X: o.known("length"), Y: o.known("width"), Z: o.known("height")},
	}
	box.Center.Position.Z += box.Size.Z / 2
	return box
}

// Types of apollo.perception.PerceptionObstacle.
const (
	obstaclePedestrian = 3
	obstacleBicycle    = 4
	obstacleVehicle    = 5
)

var obstacleColors = map[int]std_msgs.ColorRGBA{
	obstaclePedestrian: {R: 1, G: 0.6, A: 0.6},
	obstacleBicycle:    {R: 0.2, G: 0.8, B: 1, A: 0.6},
	obstacleVehicle:    {R: 0.2, G: 1, B: 0.3, A: 0.6},
}

// minVelocity is that of which an arrow is shown, in m/s. Arrows are as long as the way of a second.
const minVelocity = 0.1

func markersOf(header std_msgs.Header, o message, box vision_msgs.BoundingBox3D) []visualization_msgs.Marker {
	color, ok := obstacleColors[o.enum("type")]
	if !ok {
		color = std_msgs.ColorRGBA{R: 0.8, G: 0.8, B: 0.8, A: 0.6}
	}
	marker := visualization_msgs.Marker{
		Header: header, Ns: "box", Id: int32(o.int("id")), Type: visualization_msgs.Marker_CUBE,
		Pose: box.Center, Scale: box.Size, Color: color, Lifetime: builtin_interfaces.Duration{Sec: 1},
	}
	all := []visualization_msgs.Marker{marker}
	if v := o.vector("velocity"); math.Hypot(v.X, v.Y) >= minVelocity {
		p := box.Center.Position
		marker.Ns, marker.Type = "velocity", visualization_msgs.Marker_ARROW
		marker.Pose = geometry_msgs.Pose{Orientation: unturned}
		marker.Points = []geometry_msgs.Point{p, {X: p.X + v.X, Y: p.Y + v.Y, Z: p.Z + v.Z}}
		marker.Scale = geometry_msgs.Vector3{X: 0.2, Y: 0.4} // of the shaft and the head
		all = append(all, marker)
	}
	return all
}

// radarClasses are those of the ARS 408's objects as users of radar_msgs number them from 32000 on: unknown, car, truck, bus, trailer,
// motorcycle, bicycle, pedestrian.
var radarClasses = []uint16{0: radar_msgs.RadarTrack_NO_CLASSIFICATION, 1: 32001, 2: 32002, 3: 32007, 4: 32005, 5: 32006, 6: 32000, 7: 32000}

// radar has x forward and y left, as ROS has. The id of an object is in the last bytes of its UUID.
func radar(m message, emit func(int, msgs.Message)) {
	out := &radar_msgs.RadarTracks{Header: m.header(radarFrame)}
	for _, o := range m.list("contiobs") {
		track := radar_msgs.RadarTrack{
			Position:     geometry_msgs.Point{X: o.known("longitude_dist"), Y: o.known("lateral_dist")},
			Velocity:     geometry_msgs.Vector3{X: o.known("longitude_vel"), Y: o.known("lateral_vel")},
			Acceleration: geometry_msgs.Vector3{X: o.known("longitude_accel"), Y: o.known("lateral_accel")},
			Size:         geometry_msgs.Vector3{X: o.known("length"), Y: o.known("width")},

			PositionCovariance:     deviations(o.known("longitude_dist_rms"), o.known("lateral_dist_rms")),
			VelocityCovariance:     deviations(o.known("longitude_vel_rms"), o.known("lateral_vel_rms")),
			AccelerationCovariance: deviations(o.known("longitude_accel_rms"), o.known("lateral_accel_rms")),
		}
		id := uint32(o.int("obstacle_id"))
		track.Uuid.Uuid = [16]uint8{12: uint8(id >> 24), 13: uint8(id >> 16), 14: uint8(id >> 8), 15: uint8(id)}
		if class := o.int("obstacle_class"); class >= 0 && class < len(radarClasses) {
			track.Classification = radarClasses[class]
		}
		out.Tracks = append(out.Tracks, track)
	}
	emit(0, out)
}

// deviations returns the upper triangle of a covariance from standard deviations along x and y.
func deviations(x, y float64) [6]float32 { return [6]float32{0: float32(x * x), 3: float32(y * y)} }
