package carla

import (
	"math"

	"tapedeck/codec/format/carla"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/std_msgs"
)

// updateTracks updates the tracks of all actors.
func (r *logTranslator) updateTracks() {
	if r.bodies.changes.actors {
		for id := range r.tracks {
			if r.state.Actors[id] == nil {
				delete(r.tracks, id)
			}
		}
	}
	if r.bodies.positions != nil {
		for _, p := range *r.bodies.positions {
			t := r.tracks[p.Actor]
			if t == nil {
				t = new(track)
				r.tracks[p.Actor] = t
			}
			t.setPlace(p, &r.frame, r.previousElapsed)
		}
	}
	if r.bodies.kinematics != nil {
		for i := range *r.bodies.kinematics {
			k := &(*r.bodies.kinematics)[i]
			if t := r.tracks[k.Actor]; t != nil && t.frame == r.frame.Frame {
				t.setVelocities(k)
			}
		}
	}
}

// translateMoving emits the places of moving actors. at is from 0 (previous frame) to 1 (current frame).
func (r *logTranslator) translateMoving(at float64) {
	if r.bodies.positions == nil {
		return
	}
	list := r.scratch.moving.Transforms[:0]
	for _, p := range *r.bodies.positions {
		a, n := r.byID[p.Actor], r.names[p.Actor]
		if a == nil || a.kind == sensor || a.kind == thing || a.kind == light {
			continue
		}
		m := r.tracks[p.Actor].interpolate(at)
		if p.Actor == r.followed {
			list = append(list, r.transform("spectator", compose(m.pose, spectatorOffset)))
		}
		if n == nil || a.kind == spectator && (r.followed != 0 || r.options.IgnoreSpectator) {
			continue
		}
		list = append(list, r.transform(n.name, m.pose))
	}
	r.scratch.moving.Transforms = list
	if len(list) > 0 {
		r.emit(r.tf, &r.scratch.moving)
	}
	for _, p := range *r.bodies.positions {
		if n := r.names[p.Actor]; n != nil && n.odometry != nil {
			r.translateOdometry(n, r.tracks[p.Actor].interpolate(at))
		}
	}
}

// transform returns the transform of a frame in the map.
func (r *logTranslator) transform(name string, at geometry_msgs.Pose) geometry_msgs.TransformStamped {
	return geometry_msgs.TransformStamped{Header: r.header(), ChildFrameId: name, Transform: transform(at)}
}

// translateFixed emits the places of actors that do not move, if the places have changed.
func (r *logTranslator) translateFixed() {
	changed := !r.started || r.bodies.changes.fixed
	if r.bodies.positions != nil {
		for _, p := range *r.bodies.positions {
			if a := r.byID[p.Actor]; a != nil && a.kind == thing {
				changed = changed || r.tracks[p.Actor].movedSinceSent()
			}
		}
	}
	if !changed {
		return
	}
	r.scratch.fixed.Transforms = r.scratch.fixed.Transforms[:0]
	for _, a := range r.state.Sorted() {
		if frame, at, ok := r.staticPose(a); ok {
			r.scratch.fixed.Transforms = append(r.scratch.fixed.Transforms, geometry_msgs.TransformStamped{
				Header: std_msgs.Header{Stamp: r.stamp, FrameId: frame}, ChildFrameId: r.names[a.Actor].name,
				Transform: transform(at),
			})
		}
	}
	if r.bodies.changes.fixed || len(r.scratch.fixed.Transforms) > 0 {
		r.emit(r.tfStatic, &r.scratch.fixed)
	}
}

// staticPose returns the pose of an actor that does not move, and the frame of the pose. The pose of a sensor is in the
// frame of its vehicle. ok is false for an actor of another kind, and for a sensor without a known vehicle: the log
// does not have the vehicle if the sensor was attached before the recording began.
func (r *logTranslator) staticPose(a *carla.Actor) (frame string, at geometry_msgs.Pose, ok bool) {
	at = pose(a.Location, a.Rotation)
	switch kindOf(&a.EventAdd) {
	case light:
		return mapFrame, at, true
	case thing:
		if t := r.tracks[a.Actor]; t != nil {
			t.sentPlace = t.place
			at = t.pose
		}
		return mapFrame, at, true
	case sensor:
		if parent := r.names[a.Parent]; parent != nil {
			return parent.name, at, true
		}
	}
	return "", at, false
}

// track is the motion of an actor in the current and in the previous frame. Vectors are in the map.
type track struct {
	place     carla.Position // place in the log
	sentPlace carla.Position // place in the last static transforms
	pose      geometry_msgs.Pose
	frame     uint64  // number of the frame with the pose
	elapsed   float64 // time of the frame with the pose, in s
	step      float64 // time between the last two poses, in s

	from            motion                // motion in the previous frame, if continuous
	continuous      bool                  // the previous frame had the actor
	linear, angular geometry_msgs.Vector3 // velocities in m/s and rad/s
	hasVelocity     bool                  // linear is known
	previousLinear  geometry_msgs.Vector3 // linear in the previous frame
	hadVelocity     bool                  // previousLinear is known
}

// motion is the pose and the velocity of an actor, in the map.
type motion struct {
	pose            geometry_msgs.Pose
	linear, angular geometry_msgs.Vector3
}

// interpolate returns the motion at a time between the previous frame (0) and the current frame (1). If the previous
// frame did not have the actor, interpolate returns the motion in the current frame.
func (t *track) interpolate(at float64) motion {
	if !t.continuous || at >= 1 {
		return motion{t.pose, t.linear, t.angular}
	}
	return motion{
		geometry_msgs.Pose{
			Position: geometry_msgs.Point(between(geometry_msgs.Vector3(t.from.pose.Position),
				geometry_msgs.Vector3(t.pose.Position), at)),
			Orientation: slerp(t.from.pose.Orientation, t.pose.Orientation, at),
		},
		between(t.from.linear, t.linear, at), between(t.from.angular, t.angular, at),
	}
}

// setPlace sets the place of the actor in the frame f, and computes velocities from the distance to the previous place.
// previousElapsed is the time of the previous frame in s.
func (t *track) setPlace(p carla.Position, f *carla.FrameStart, previousElapsed float64) {
	first, previousPose, atRest := t.frame == 0, t.pose, p == t.place
	t.from, t.continuous = motion{t.pose, t.linear, t.angular}, !first && t.elapsed == previousElapsed
	t.step = f.Elapsed - t.elapsed
	t.previousLinear, t.hadVelocity = t.linear, t.hasVelocity
	t.linear, t.angular = geometry_msgs.Vector3{}, geometry_msgs.Vector3{}
	t.place, t.frame, t.elapsed = p, f.Frame, f.Elapsed
	if first || !atRest {
		t.pose = pose(p.Location, p.Rotation)
	}
	t.hasVelocity = !first && t.step > 0
	if t.hasVelocity && !atRest {
		position, previous := geometry_msgs.Vector3(t.pose.Position), geometry_msgs.Vector3(previousPose.Position)
		t.linear = rateOfChange(position, previous, t.step)
		t.angular = angularVelocityBetween(previousPose.Orientation, t.pose.Orientation, t.step)
	}
}

// setVelocities sets the velocities from a packet. Zero in the first frame of an actor may mean that the velocity was
// unknown.
func (t *track) setVelocities(k *carla.Kinematics) {
	t.hasVelocity = t.hasVelocity || k.LinearVelocity != carla.Vector{}
	t.linear, t.angular = Velocity(k.LinearVelocity), Rate(k.AngularVelocity)
}

// acceleration returns the acceleration since the previous frame in m/s²; zero if it is unknown.
func (t *track) acceleration() geometry_msgs.Vector3 {
	if t.step <= 0 || !t.hasVelocity || !t.hadVelocity {
		return geometry_msgs.Vector3{}
	}
	return rateOfChange(t.linear, t.previousLinear, t.step)
}

// movedSinceSent reports whether the actor is more than 1 mm or 0.01 degrees away from the place that was sent.
func (t *track) movedSinceSent() bool {
	return maxDifference(t.place.Location, t.sentPlace.Location) > 0.1 ||
		maxDifference(t.place.Rotation, t.sentPlace.Rotation) > 0.01
}

// maxDifference returns the largest distance between two components of a and b.
func maxDifference(a, b carla.Vector) float64 {
	return max(math.Abs(a.X-b.X), math.Abs(a.Y-b.Y), math.Abs(a.Z-b.Z))
}
