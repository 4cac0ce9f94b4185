package carla

import (
	"regexp"

	"tapedeck/codec/format/carla"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/visualization_msgs"
)

// translateActors emits the messages about vehicles and walkers.
func (r *logTranslator) translateActors() {
	if !r.started || r.bodies.changes.actors {
		r.translatePhysics()
	}
	if r.bodies.vehicles != nil {
		for i := range *r.bodies.vehicles {
			v := &(*r.bodies.vehicles)[i]
			if n := r.names[v.Actor]; n != nil {
				r.translateVehicle(n, v, r.currentTrack(v.Actor))
			}
		}
	}
	if r.bodies.walkers != nil {
		for _, w := range *r.bodies.walkers {
			n, t := r.names[w.Actor], r.currentTrack(w.Actor)
			if n == nil || t == nil {
				continue
			}
			r.scratch.walker.Direction = t.pose.Orientation.Rotate(geometry_msgs.Vector3{X: 1})
			r.scratch.walker.Speed = w.Speed / metre
			r.emit(n.walkerControl, &r.scratch.walker)
		}
	}
}

// currentTrack returns the track of an actor, or nil if the actor has no place in the current frame.
func (r *logTranslator) currentTrack(actor uint32) *track {
	if t := r.tracks[actor]; t != nil && t.frame == r.frame.Frame {
		return t
	}
	return nil
}

// translateOdometry emits the odometry of an actor.
func (r *logTranslator) translateOdometry(n *actorTopics, m motion) {
	r.scratch.odometry = nav_msgs.Odometry{Header: r.header(), ChildFrameId: n.name}
	r.scratch.odometry.Pose.Pose = m.pose
	r.scratch.odometry.Twist.Twist = geometry_msgs.Twist{
		Linear: m.pose.Orientation.RotateBack(m.linear), Angular: m.pose.Orientation.RotateBack(m.angular),
	}
	r.emit(n.odometry, &r.scratch.odometry)
}

// translateVehicle emits the controls and the status of a vehicle. t is nil if the place of the vehicle is unknown.
func (r *logTranslator) translateVehicle(n *actorTopics, v *carla.AnimVehicle, t *track) {
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
func (r *logTranslator) translatePhysics() {
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

// Colours of markers in CARLA's ROS bridge. The bridge sends values up to 255 instead of 1. Viewers show values above 1
// as 1.
var (
	egoColor     = std_msgs.ColorRGBA{G: 255, A: 0.3}
	vehicleColor = std_msgs.ColorRGBA{R: 255, A: 0.3}
	walkerColor  = std_msgs.ColorRGBA{B: 255, A: 0.3}
)

// egoRoles matches the roles of the vehicles that CARLA's ROS bridge regards as ego vehicles.
var egoRoles = regexp.MustCompile(`^(ego_vehicle|hero[0-9]?)$`)

// translateMarkers emits the boxes of vehicles and walkers. It deletes all earlier boxes if actors come or go.
func (r *logTranslator) translateMarkers() {
	if !r.wantsMarkers {
		return
	}
	list := r.scratch.markers.Markers[:0]
	if !r.started || r.bodies.changes.actors {
		list = append(list, visualization_msgs.Marker{Header: r.header(), Action: visualization_msgs.Marker_DELETEALL})
	}
	if r.bodies.positions != nil {
		for _, p := range *r.bodies.positions {
			actor, a := r.byID[p.Actor], r.state.Actors[p.Actor]
			if a != nil && r.names[p.Actor] != nil && hasBox(actor.kind, a.BoundingBox) {
				list = append(list, r.marker(actor, a.BoundingBox.Extension, r.tracks[p.Actor].pose))
			}
		}
	}
	r.scratch.markers.Markers = list
	r.emit(r.markers, &r.scratch.markers)
}

// hasBox reports whether an actor has a box, which becomes a marker.
func hasBox(k kind, b *carla.BoundingBox) bool {
	return (k == vehicle || k == walker) && b != nil && finiteOrZero(b.Extension) != carla.Vector{}
}

// marker returns the marker of an actor at a pose. extension is half the size of the actor. The origin of a vehicle
// is at the bottom of its box.
func (r *logTranslator) marker(a *actorSurvey, extension carla.Vector,
	at geometry_msgs.Pose) visualization_msgs.Marker {
	color := walkerColor
	if a.kind == vehicle {
		up := at.Orientation.Rotate(geometry_msgs.Vector3{Z: extension.Z / metre})
		at.Position.X, at.Position.Y, at.Position.Z = at.Position.X+up.X, at.Position.Y+up.Y, at.Position.Z+up.Z
		color = vehicleColor
		if egoRoles.MatchString(a.role) {
			color = egoColor
		}
	}
	return visualization_msgs.Marker{
		Header: r.header(), Id: int32(a.id), Type: visualization_msgs.Marker_CUBE, Pose: at, Scale: fullSize(extension),
		Color: color,
	}
}
