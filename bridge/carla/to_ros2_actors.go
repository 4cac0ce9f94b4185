package carla

import (
	"tapedeck/bridge/internal/quaternion"
	"tapedeck/codec/carla"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
)

// translateActors emits the messages about vehicles and walkers.
func (r *reading) translateActors() {
	if !r.begun || r.bodies.changes.actors {
		r.translatePhysics()
	}
	if r.bodies.vehicles != nil {
		for i := range *r.bodies.vehicles {
			v := &(*r.bodies.vehicles)[i]
			if n := r.names[v.Actor]; n != nil {
				r.translateVehicle(n, v, r.current(v.Actor))
			}
		}
	}
	if r.bodies.walkers != nil {
		for _, w := range *r.bodies.walkers {
			n, t := r.names[w.Actor], r.current(w.Actor)
			if n == nil || t == nil {
				continue
			}
			r.scratch.walker.Direction = quaternion.Rotate(t.pose.Orientation, geometry_msgs.Vector3{X: 1})
			r.scratch.walker.Speed = w.Speed / metre
			r.emit(n.walking, &r.scratch.walker)
		}
	}
}

// current returns the track of an actor that has a place in this frame; nil for others.
func (r *reading) current(actor uint32) *track {
	if t := r.tracks[actor]; t != nil && t.frame == r.frame.Frame {
		return t
	}
	return nil
}

func (r *reading) translateOdometry(n *actorTopics, m motion) {
	r.scratch.odometry = nav_msgs.Odometry{Header: r.header(), ChildFrameId: n.name}
	r.scratch.odometry.Pose.Pose = m.pose
	r.scratch.odometry.Twist.Twist = geometry_msgs.Twist{
		Linear: quaternion.Into(m.pose.Orientation, m.linear), Angular: quaternion.Into(m.pose.Orientation, m.angular),
	}
	r.emit(n.odometry, &r.scratch.odometry)
}

func (r *reading) translateVehicle(n *actorTopics, v *carla.AnimVehicle, t *track) {
	r.scratch.control = carla_msgs.CarlaEgoVehicleControl{
		Header: r.header(), Throttle: v.Throttle, Steer: v.Steering, Brake: v.Brake,
		HandBrake: v.HandBrake, Reverse: v.Gear < 0, Gear: v.Gear,
	}
	r.emit(n.control, &r.scratch.control)
	if t == nil {
		return
	}
	r.scratch.vehicle = carla_msgs.CarlaEgoVehicleStatus{
		Header: r.header(), Velocity: float32(length(t.linear)),
		Acceleration: geometry_msgs.Accel{Linear: t.acceleration()},
		Orientation:  t.pose.Orientation, Control: r.scratch.control,
	}
	r.emit(n.status, &r.scratch.vehicle)
}

// translatePhysics emits the vehicle_info of vehicles that appeared.
func (r *reading) translatePhysics() {
	for id := range r.physicsSent {
		if r.state.Actors[id] == nil {
			delete(r.physicsSent, id)
		}
	}
	for _, a := range r.state.Sorted() {
		if n := r.names[a.Actor]; n != nil && n.info != nil && !r.physicsSent[a.Actor] {
			r.physicsSent[a.Actor] = true
			r.emit(n.info, vehicleInfo(a))
		}
	}
}
