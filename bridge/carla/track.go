package carla

import (
	"math"

	"tapedeck/codec/carla"
	"tapedeck/msgs/geometry_msgs"
)

// track is what is known of an actor's motion, in a frame and in the one before. Vectors are in the map.
type track struct {
	place   carla.Position // as it is in the log
	told    carla.Position // the place that is in the static transforms
	pose    geometry_msgs.Pose
	frame   uint64  // that has the pose
	elapsed float64 // s, of that frame
	step    float64 // s since the frame before

	from            motion                // in the frame before, if continuous
	continuous      bool                  // it was in the frame before
	linear, angular geometry_msgs.Vector3 // m/s, rad/s
	known           bool                  // linear is
	before          geometry_msgs.Vector3 // linear in the frame before
	knownBefore     bool
}

// motion is where an actor is and how it moves, in the map.
type motion struct {
	pose            geometry_msgs.Pose
	linear, angular geometry_msgs.Vector3
}

// at returns the motion between the frame before, at 0, and the frame, at 1. What was not in the frame before is where it is.
func (t *track) at(at float64) motion {
	if !t.continuous || at >= 1 {
		return motion{t.pose, t.linear, t.angular}
	}
	return motion{
		geometry_msgs.Pose{
			Position:    geometry_msgs.Point(between(geometry_msgs.Vector3(t.from.pose.Position), geometry_msgs.Vector3(t.pose.Position), at)),
			Orientation: slerp(t.from.pose.Orientation, t.pose.Orientation, at),
		},
		between(t.from.linear, t.linear, at), between(t.from.angular, t.angular, at),
	}
}

// move takes a place from a frame. Velocities are those with which the actor got there. before is the time of the frame before, in s.
func (t *track) move(p carla.Position, f *carla.FrameStart, before float64) {
	first, last, rested := t.frame == 0, t.pose, p == t.place
	t.from, t.continuous = motion{t.pose, t.linear, t.angular}, !first && t.elapsed == before
	t.step = f.Elapsed - t.elapsed
	t.before, t.knownBefore = t.linear, t.known
	t.linear, t.angular = geometry_msgs.Vector3{}, geometry_msgs.Vector3{}
	t.place, t.frame, t.elapsed = p, f.Frame, f.Elapsed
	if first || !rested {
		t.pose = pose(p.Location, p.Rotation)
	}
	t.known = !first && t.step > 0
	if t.known && !rested {
		t.linear = difference(geometry_msgs.Vector3(t.pose.Position), geometry_msgs.Vector3(last.Position), t.step)
		t.angular = turning(last.Orientation, t.pose.Orientation, t.step)
	}
}

// drive takes the velocities from a frame.
func (t *track) drive(k *carla.Kinematics) {
	t.linear, t.angular, t.known = Velocity(k.LinearVelocity), Rate(k.AngularVelocity), true
}

// acceleration returns the change of the velocity since the frame before, in m/s²; zero when that is not known.
func (t *track) acceleration() geometry_msgs.Vector3 {
	if t.step <= 0 || !t.known || !t.knownBefore {
		return geometry_msgs.Vector3{}
	}
	return difference(t.linear, t.before, t.step)
}

// strayed says whether the actor is not any more where it was told to be, by more than 1 mm or 0.01 degrees.
func (t *track) strayed() bool {
	return apart(t.place.Location, t.told.Location) > 0.1 || apart(t.place.Rotation, t.told.Rotation) > 0.01
}

func apart(a, b carla.Vector) float64 {
	return max(math.Abs(a.X-b.X), math.Abs(a.Y-b.Y), math.Abs(a.Z-b.Z))
}
