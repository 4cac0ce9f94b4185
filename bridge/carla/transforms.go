package carla

import (
	"tapedeck/codec/carla"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/std_msgs"
)

// follow follows the motion of all actors.
func (r *reading) follow() {
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
			t.move(p, &r.frame, r.before)
		}
	}
	if r.bodies.kinematics != nil {
		for i := range *r.bodies.kinematics {
			k := &(*r.bodies.kinematics)[i]
			if t := r.tracks[k.Actor]; t != nil && t.frame == r.frame.Frame {
				t.drive(k)
			}
		}
	}
}

// translateMoving tells where the actors are that move, between the frame before, at 0, and the frame, at 1.
func (r *reading) translateMoving(at float64) {
	if r.bodies.positions == nil {
		return
	}
	list := r.scratch.moving.Transforms[:0]
	for _, p := range *r.bodies.positions {
		a, n := r.byID[p.Actor], r.names[p.Actor]
		if a == nil || a.kind == sensor || a.kind == thing || a.kind == light {
			continue
		}
		m := r.tracks[p.Actor].at(at)
		if p.Actor == r.followed {
			list = append(list, r.transform("spectator", compose(m.pose, behind)))
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
			r.translateOdometry(n, r.tracks[p.Actor].at(at))
		}
	}
}

func (r *reading) transform(name string, at geometry_msgs.Pose) geometry_msgs.TransformStamped {
	return geometry_msgs.TransformStamped{Header: r.header(), ChildFrameId: name, Transform: transform(at)}
}

// translateFixed tells where the actors are that don't move, when that is something else than before.
func (r *reading) translateFixed() {
	fixed := !r.begun || r.bodies.changes.fixed
	if r.bodies.positions != nil {
		for _, p := range *r.bodies.positions {
			if a := r.byID[p.Actor]; a != nil && a.kind == thing {
				fixed = fixed || r.tracks[p.Actor].strayed()
			}
		}
	}
	if !fixed {
		return
	}
	r.scratch.fixed.Transforms = r.scratch.fixed.Transforms[:0]
	for _, a := range r.state.Sorted() {
		if frame, at, ok := r.place(a); ok {
			r.scratch.fixed.Transforms = append(r.scratch.fixed.Transforms, geometry_msgs.TransformStamped{
				Header: std_msgs.Header{Stamp: r.stamp, FrameId: frame}, ChildFrameId: r.names[a.Actor].name, Transform: transform(at),
			})
		}
	}
	if r.bodies.changes.fixed || len(r.scratch.fixed.Transforms) > 0 {
		r.emit(r.tfStatic, &r.scratch.fixed)
	}
}

// place returns where an actor that does not move is, in a frame. A sensor that was attached has its place in the vehicle; of
// others, which were there before the recording began, is not known what they are attached to.
func (r *reading) place(a *carla.Actor) (frame string, at geometry_msgs.Pose, ok bool) {
	at = pose(a.Location, a.Rotation)
	switch kindOf(&a.EventAdd) {
	case light:
		return mapFrame, at, true
	case thing:
		if t := r.tracks[a.Actor]; t != nil {
			t.told = t.place
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
