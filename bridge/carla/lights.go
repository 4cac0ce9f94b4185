package carla

import (
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
)

// translateTrafficLights tells of the traffic lights: their states in each frame, their places when there are others.
func (r *reading) translateTrafficLights() {
	if !r.begun || r.bodies.changes.lights {
		var list carla_msgs.CarlaTrafficLightInfoList
		for _, a := range r.state.Sorted() {
			if kindOf(&a.EventAdd) != light {
				continue
			}
			info := carla_msgs.CarlaTrafficLightInfo{Id: a.Actor, Transform: pose(a.Location, a.Rotation)}
			if v := a.TriggerVolume; v != nil {
				size := finite(v.Extension)
				info.TriggerVolume = carla_msgs.CarlaBoundingBox{
					Center: relative(info.Transform, finite(v.Origin)),
					Size:   geometry_msgs.Vector3{X: 2 * size.X / metre, Y: 2 * size.Y / metre, Z: 2 * size.Z / metre},
				}
			}
			list.TrafficLights = append(list.TrafficLights, info)
		}
		if r.bodies.changes.lights || len(list.TrafficLights) > 0 {
			r.emit(r.lightInfo, &list)
		}
	}
	if r.bodies.states == nil || len(*r.bodies.states) == 0 {
		return
	}
	r.scratch.lights.TrafficLights = r.scratch.lights.TrafficLights[:0]
	for _, s := range *r.bodies.states {
		// The colours have the same numbers.
		r.scratch.lights.TrafficLights = append(r.scratch.lights.TrafficLights, carla_msgs.CarlaTrafficLightStatus{
			Id: s.Actor, State: min(uint8(s.Colour), carla_msgs.CarlaTrafficLightStatus_UNKNOWN),
		})
	}
	r.emit(r.lightStatus, &r.scratch.lights)
}
