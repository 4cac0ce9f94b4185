package carla

import (
	"tapedeck/codec/format/carla"
	"tapedeck/msgs/carla_msgs"
)

// translateClock emits the clock.
func (r *logTranslator) translateClock() {
	r.scratch.clock.Clock = r.stamp
	r.emit(r.clock, &r.scratch.clock)
}

// translateWorld emits the clock, the world, the status, the list of actors and the weather.
func (r *logTranslator) translateWorld() {
	r.translateClock()
	if !r.started {
		r.emit(r.world, &carla_msgs.CarlaWorldInfo{MapName: r.survey.header.Map})
	}
	r.scratch.status = carla_msgs.CarlaStatus{Frame: r.frame.Frame,
		FixedDeltaSeconds: float32(max(r.frame.Duration, 0))}
	r.emit(r.status, &r.scratch.status)
	if r.bodies.changes.actors || !r.started && len(r.state.Actors) > 0 {
		var list carla_msgs.CarlaActorList
		for _, a := range r.state.Sorted() {
			if s := r.byID[a.Actor]; s != nil && r.options.ignores(s) {
				continue
			}
			list.Actors = append(list.Actors, carla_msgs.CarlaActorInfo{
				Id: a.Actor, ParentId: a.Parent, Type: a.BlueprintID, Rolename: a.Attribute("role_name"),
			})
		}
		r.emit(r.actorList, &list)
	}
	if w := r.state.Weather; w != nil && (!r.started || r.bodies.weather) {
		r.emit(r.weather, weatherMessage(w))
	}
}

// weatherMessage returns the message about a weather.
func weatherMessage(w *carla.Weather) *carla_msgs.CarlaWeatherParameters {
	return &carla_msgs.CarlaWeatherParameters{
		Cloudiness: w.Cloudiness, Precipitation: w.Precipitation, PrecipitationDeposits: w.PrecipitationDeposits,
		WindIntensity: w.WindIntensity, FogDensity: w.FogDensity, FogDistance: w.FogDistance, Wetness: w.Wetness,
		SunAzimuthAngle: w.SunAzimuthAngle, SunAltitudeAngle: w.SunAltitudeAngle,
	}
}

// translateCollisions emits each collision on the topic of its first actor.
func (r *logTranslator) translateCollisions() {
	if r.bodies.collisions == nil {
		return
	}
	for _, c := range *r.bodies.collisions {
		if n := r.names[c.Actor1]; n != nil {
			r.emit(n.collisions, &carla_msgs.CarlaCollisionEvent{Header: r.header(), OtherActorId: c.Actor2})
		}
	}
}

// translateTrafficLights emits the states of traffic lights in each frame, and their places when lights come or go.
func (r *logTranslator) translateTrafficLights() {
	if !r.started || r.bodies.changes.lights {
		var list carla_msgs.CarlaTrafficLightInfoList
		for _, a := range r.state.Sorted() {
			if kindOf(&a.EventAdd) != light {
				continue
			}
			info := carla_msgs.CarlaTrafficLightInfo{Id: a.Actor, Transform: pose(a.Location, a.Rotation)}
			if v := a.TriggerVolume; v != nil {
				info.TriggerVolume = carla_msgs.CarlaBoundingBox{
					Center: relativeTo(info.Transform, finiteOrZero(v.Origin)),
					Size:   fullSize(finiteOrZero(v.Extension)),
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
		// CARLA and CarlaTrafficLightStatus number the colours equally.
		r.scratch.lights.TrafficLights = append(r.scratch.lights.TrafficLights, carla_msgs.CarlaTrafficLightStatus{
			Id: s.Actor, State: min(uint8(s.Colour), carla_msgs.CarlaTrafficLightStatus_UNKNOWN),
		})
	}
	r.emit(r.lightStatus, &r.scratch.lights)
}
