package apollo

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/radar_msgs"
	"tapedeck/msgs/vision_msgs"
)

// obstacleTypes and obstacleSubTypes are the numbers of those that messages of ROS 2 name.
var obstacleTypes = map[string]int64{
	"UNKNOWN": 0, "UNKNOWN_MOVABLE": 1, "UNKNOWN_UNMOVABLE": 2, "PEDESTRIAN": 3, "BICYCLE": 4, "VEHICLE": 5,
}

var obstacleSubTypes = map[string]int64{
	"ST_UNKNOWN": 0, "ST_UNKNOWN_MOVABLE": 1, "ST_UNKNOWN_UNMOVABLE": 2, "ST_CAR": 3, "ST_VAN": 4, "ST_TRUCK": 5, "ST_BUS": 6,
	"ST_CYCLIST": 7, "ST_MOTORCYCLIST": 8, "ST_TRICYCLIST": 9, "ST_PEDESTRIAN": 10, "ST_TRAFFICCONE": 11,
}

func obstaclesOf(r *reversing, m *vision_msgs.Detection3DArray, w writer) {
	var ids, classes, tilts, frames bool
	for i := range m.Detections {
		o := &m.Detections[i]
		w.message("perception_obstacle", func(w writer) {
			id, err := strconv.ParseInt(o.Id, 10, 32)
			if err != nil {
				id = int64(i)
				ids = ids || o.Id != ""
			}
			w.integer("id", id)
			at, q := o.Bbox.Center.Position, o.Bbox.Center.Orientation
			w.vector("position", geometry_msgs.Vector3{X: at.X, Y: at.Y, Z: at.Z - o.Bbox.Size.Z/2}) // of the bottom
			w.number("theta", yaw(q))
			w.number("length", o.Bbox.Size.X)
			w.number("width", o.Bbox.Size.Y)
			w.number("height", o.Bbox.Size.Z)
			tilts = tilts || math.Abs(q.X) > 1e-6 || math.Abs(q.Y) > 1e-6
			for _, result := range o.Results {
				name, kind := result.Hypothesis.ClassId, protoreflect.Name("type")
				class, ok := obstacleTypes[name]
				if !ok {
					class, ok = obstacleSubTypes[name]
					kind = "sub_type"
				}
				if ok {
					w.integer(kind, class)
				}
				classes = classes || !ok
			}
			w.number("timestamp", seconds(nanoseconds(o.Header.Stamp)))
			if len(o.Results) > 0 {
				best := &o.Results[0]
				w.number("confidence", best.Hypothesis.Score)
				var covariance [9]float64
				for j := range covariance {
					covariance[j] = best.Pose.Covariance[j/3*6+j%3]
				}
				if covariance != [9]float64{} {
					w.numbers("position_covariance", covariance[:])
				}
			}
			frames = frames || o.Header.FrameId != "" && o.Header.FrameId != m.Header.FrameId
		})
	}
	r.header(w, &m.Header, "")
	r.lose(ids, "ids that are no numbers")
	r.lose(classes, "classes that Apollo does not have")
	r.lose(tilts, "roll and pitch of boxes")
	r.lose(frames, "frame_id of detections")
}

func radarOf(r *reversing, m *radar_msgs.RadarTracks, w writer) {
	r.header(w, &m.Header, "radar_timestamp")
	var ids, classes, heights, couplings bool
	for i := range m.Tracks {
		o := &m.Tracks[i]
		w.message("contiobs", func(w writer) {
			r.header(w, &m.Header, "radar_timestamp")
			w.integer("obstacle_id", int64(int32(binary.BigEndian.Uint32(o.Uuid.Uuid[12:]))))
			ids = ids || [12]uint8(o.Uuid.Uuid[:12]) != [12]uint8{}
			w.number("longitude_dist", o.Position.X)
			w.number("lateral_dist", o.Position.Y)
			w.number("longitude_vel", o.Velocity.X)
			w.number("lateral_vel", o.Velocity.Y)
			w.number("longitude_dist_rms", math.Sqrt(float64(o.PositionCovariance[0])))
			w.number("lateral_dist_rms", math.Sqrt(float64(o.PositionCovariance[3])))
			w.number("longitude_vel_rms", math.Sqrt(float64(o.VelocityCovariance[0])))
			w.number("lateral_vel_rms", math.Sqrt(float64(o.VelocityCovariance[3])))
			w.number("longitude_accel", o.Acceleration.X)
			w.number("lateral_accel", o.Acceleration.Y)
			w.number("longitude_accel_rms", math.Sqrt(float64(o.AccelerationCovariance[0])))
			w.number("lateral_accel_rms", math.Sqrt(float64(o.AccelerationCovariance[3])))
			w.number("length", o.Size.X)
			w.number("width", o.Size.Y)
			class := slices.Index(radarClasses, o.Classification)
			w.integer("obstacle_class", int64(max(class, 0)))
			classes = classes || class < 0
		})
		heights = heights || o.Position.Z != 0 || o.Velocity.Z != 0 || o.Acceleration.Z != 0 || o.Size.Z != 0
		for _, c := range [][6]float32{o.PositionCovariance, o.VelocityCovariance, o.AccelerationCovariance} {
			c[0], c[3] = 0, 0
			couplings = couplings || c != [6]float32{}
		}
		couplings = couplings || o.SizeCovariance != [6]float32{}
	}
	r.lose(ids, "uuids that are no numbers")
	r.lose(classes, "classifications that Apollo does not have")
	r.lose(heights, "values along z")
	r.lose(couplings, "covariances between axes, along z and of sizes")
}
