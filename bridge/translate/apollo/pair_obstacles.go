package apollo

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/radar_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/vision_msgs"
	"tapedeck/msgs/visualization_msgs"
)

// obstacleTypes maps the names of Apollo's types of obstacles, which ROS 2 messages use as classes, to Apollo's
// numbers.
var obstacleTypes = map[string]int64{
	"UNKNOWN": 0, "UNKNOWN_MOVABLE": 1, "UNKNOWN_UNMOVABLE": 2, "PEDESTRIAN": 3, "BICYCLE": 4, "VEHICLE": 5,
}

// obstacleSubTypes maps the names of Apollo's subtypes, which ROS 2 messages use as classes, to Apollo's numbers.
var obstacleSubTypes = map[string]int64{
	"ST_UNKNOWN": 0, "ST_UNKNOWN_MOVABLE": 1, "ST_UNKNOWN_UNMOVABLE": 2, "ST_CAR": 3, "ST_VAN": 4, "ST_TRUCK": 5,
	"ST_BUS": 6, "ST_CYCLIST": 7, "ST_MOTORCYCLIST": 8, "ST_TRICYCLIST": 9, "ST_PEDESTRIAN": 10, "ST_TRAFFICCONE": 11,
}

// obstacles exchanges PerceptionObstacles: obstacles are boxes in the world, and types of obstacles are
// classes. To ROS 2, obstacles also makes markers, with arrows for velocities.
func obstacles(x exchanger, m *vision_msgs.Detection3DArray) {
	if x.toROS2 {
		x.header(&m.Header, worldFrame, "")
	}
	deleteAll := visualization_msgs.Marker{Header: m.Header, Action: visualization_msgs.Marker_DELETEALL}
	markers := &visualization_msgs.MarkerArray{Markers: []visualization_msgs.Marker{deleteAll}}
	elements(x, "perception_obstacle", &m.Detections, func(x exchanger, i int) {
		o := &m.Detections[i]
		at, size := &o.Bbox.Center.Position, &o.Bbox.Size
		if x.toROS2 {
			o.Header, o.Id = m.Header, strconv.Itoa(x.in.int("id"))
		} else {
			id, err := strconv.ParseInt(o.Id, 10, 32)
			if err != nil {
				id = int64(i)
				x.lose(o.Id != "", "ids that are not numbers")
			}
			x.out.integer("id", id)
			x.lose(hasRollOrPitch(o.Bbox.Center.Orientation), "roll and pitch of boxes")
			x.lose(o.Header.FrameId != "" && o.Header.FrameId != m.Header.FrameId, "frame_id of detections")
			at.Z -= size.Z / 2 // Apollo's position is the middle of the bottom
		}
		x.vector("position", (*geometry_msgs.Vector3)(at))
		x.yaw("theta", &o.Bbox.Center.Orientation)
		x.number("length", &size.X)
		x.number("width", &size.Y)
		x.number("height", &size.Z)
		if !x.toROS2 {
			x.writeClasses(o)
			return
		}
		at.Z += size.Z / 2
		x.readClasses(o)
		markers.Markers = append(markers.Markers, markersOf(m.Header, x.in, o.Bbox)...)
	})
	if x.toROS2 {
		*x.extra = append(*x.extra, markers)
	} else {
		x.header(&m.Header, worldFrame, "")
	}
}

// readClasses sets the results of a detection: one for the type, and one for the subtype.
func (x exchanger) readClasses(o *vision_msgs.Detection3D) {
	score := 1.0
	if x.in.has("confidence") {
		score = x.in.numberOrZero("confidence")
	}
	for _, name := range []string{"type", "sub_type"} {
		if !x.in.has(name) {
			continue
		}
		var result vision_msgs.ObjectHypothesisWithPose
		result.Hypothesis = vision_msgs.ObjectHypothesis{ClassId: x.in.enumName(name), Score: score}
		result.Pose.Pose = o.Bbox.Center
		if c := x.in.floats("position_covariance"); len(c) == 9 {
			for i, v := range c {
				result.Pose.Covariance[i/3*6+i%3] = v
			}
		}
		o.Results = append(o.Results, result)
	}
}

// writeClasses writes the results of a detection as type, sub_type, confidence and position_covariance.
func (x exchanger) writeClasses(o *vision_msgs.Detection3D) {
	for _, result := range o.Results {
		name, kind := result.Hypothesis.ClassId, "type"
		class, ok := obstacleTypes[name]
		if !ok {
			class, ok = obstacleSubTypes[name]
			kind = "sub_type"
		}
		if ok {
			x.out.integer(kind, class)
		}
		x.lose(!ok, "classes that Apollo does not have")
	}
	x.out.number("timestamp", seconds(o.Header.Stamp.Nanoseconds()))
	if len(o.Results) == 0 {
		return
	}
	best := &o.Results[0]
	x.out.number("confidence", best.Hypothesis.Score)
	var covariance [9]float64
	for i := range covariance {
		covariance[i] = best.Pose.Covariance[i/3*6+i%3]
	}
	if covariance != [9]float64{} {
		x.out.numbers("position_covariance", covariance[:])
	}
}

// Types of apollo.perception.PerceptionObstacle.
const (
	obstaclePedestrian = 3
	obstacleBicycle    = 4
	obstacleVehicle    = 5
)

// obstacleColors are the colors of markers by the type of the obstacle.
var obstacleColors = map[int]std_msgs.ColorRGBA{
	obstaclePedestrian: {R: 1, G: 0.6, A: 0.6},
	obstacleBicycle:    {R: 0.2, G: 0.8, B: 1, A: 0.6},
	obstacleVehicle:    {R: 0.2, G: 1, B: 0.3, A: 0.6},
}

// minVelocity is the smallest velocity with an arrow, in m/s. The length of the arrow is the distance in one second.
const minVelocity = 0.1

// markersOf returns the markers of an obstacle: a box and, if the obstacle moves, an arrow.
func markersOf(header std_msgs.Header, o message, box vision_msgs.BoundingBox3D) []visualization_msgs.Marker {
	color, ok := obstacleColors[o.enum("type")]
	if !ok {
		color = std_msgs.ColorRGBA{R: 0.8, G: 0.8, B: 0.8, A: 0.6}
	}
	marker := visualization_msgs.Marker{
		Header: header, Ns: "box", Id: int32(o.int("id")), Type: visualization_msgs.Marker_CUBE,
		Pose: box.Center, Scale: box.Size, Color: color, Lifetime: builtin_interfaces.Duration{Sec: 1},
	}
	markers := []visualization_msgs.Marker{marker}
	if v := o.vector("velocity"); math.Hypot(v.X, v.Y) >= minVelocity {
		p := box.Center.Position
		marker.Ns, marker.Type = "velocity", visualization_msgs.Marker_ARROW
		marker.Pose = geometry_msgs.Pose{Orientation: identity}
		marker.Points = []geometry_msgs.Point{p, {X: p.X + v.X, Y: p.Y + v.Y, Z: p.Z + v.Z}}
		marker.Scale = geometry_msgs.Vector3{X: 0.2, Y: 0.4} // of the shaft and the head
		markers = append(markers, marker)
	}
	return markers
}

// radarClasses maps classes of the ARS 408 to classes of radar_msgs, which begin at 32000 by convention. The classes of
// the ARS 408 are: unknown, car, truck, bus, trailer, motorcycle, bicycle, pedestrian.
var radarClasses = []uint16{
	radar_msgs.RadarTrack_NO_CLASSIFICATION, 32001, 32002, 32007, 32005, 32006, 32000, 32000,
}

// radar exchanges a ContiRadar. Its axes are x forward and y left, as in ROS. The last 4 bytes of a UUID are the id of
// the object. In covariances, elements 0 and 3 are the variances along x and y.
func radar(x exchanger, m *radar_msgs.RadarTracks) {
	x.header(&m.Header, radarFrame, "radar_timestamp")
	elements(x, "contiobs", &m.Tracks, func(x exchanger, i int) {
		o := &m.Tracks[i]
		id := o.Uuid.Uuid[12:]
		if x.toROS2 {
			binary.BigEndian.PutUint32(id, uint32(x.in.int("obstacle_id")))
			if class := x.in.int("obstacle_class"); class >= 0 && class < len(radarClasses) {
				o.Classification = radarClasses[class]
			}
		} else {
			x.header(&m.Header, radarFrame, "radar_timestamp")
			x.out.integer("obstacle_id", int64(int32(binary.BigEndian.Uint32(id))))
		}
		x.number("longitude_dist", &o.Position.X)
		x.number("lateral_dist", &o.Position.Y)
		x.number("longitude_vel", &o.Velocity.X)
		x.number("lateral_vel", &o.Velocity.Y)
		x.variance("longitude_dist_rms", &o.PositionCovariance[0])
		x.variance("lateral_dist_rms", &o.PositionCovariance[3])
		x.variance("longitude_vel_rms", &o.VelocityCovariance[0])
		x.variance("lateral_vel_rms", &o.VelocityCovariance[3])
		x.number("longitude_accel", &o.Acceleration.X)
		x.number("lateral_accel", &o.Acceleration.Y)
		x.variance("longitude_accel_rms", &o.AccelerationCovariance[0])
		x.variance("lateral_accel_rms", &o.AccelerationCovariance[3])
		x.number("length", &o.Size.X)
		x.number("width", &o.Size.Y)
		if x.toROS2 {
			return
		}
		class := slices.Index(radarClasses, o.Classification)
		x.out.integer("obstacle_class", int64(max(class, 0)))
		x.lose([12]uint8(o.Uuid.Uuid[:12]) != [12]uint8{}, "uuids that are not numbers")
		x.lose(class < 0, "classifications that Apollo does not have")
		x.lose(o.Position.Z != 0 || o.Velocity.Z != 0 || o.Acceleration.Z != 0 || o.Size.Z != 0, "z values")
		const couplings = "covariances between axes, along z and of sizes"
		for _, c := range [][6]float32{o.PositionCovariance, o.VelocityCovariance, o.AccelerationCovariance} {
			c[0], c[3] = 0, 0
			x.lose(c != [6]float32{}, couplings)
		}
		x.lose(o.SizeCovariance != [6]float32{}, couplings)
	})
}
