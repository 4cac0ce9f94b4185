package carla

import (
	"fmt"
	"slices"

	"tapedeck/codec/format/carla"
)

// unsupportedNames returns, by packet id, the names of the packets of a profile that have no ROS 2 message. The name is
// "" for a packet that has a message.
func unsupportedNames(p carla.Profile) (names [256]string) {
	for id := range names {
		names[id] = fmt.Sprintf("unknown packets with id %d", id)
	}
	names[p.DoorsID], names[p.WheelsID], names[p.BikersID] = "doors", "wheels", "bikers"
	names[carla.IDVehicleLight], names[carla.IDSceneLight] = "lights of vehicles", "lights of the scene"
	names[carla.IDBoundingBox] = "origins of boxes, and boxes of all but vehicles and walkers"
	names[carla.IDWalkerBones] = "bones of walkers"
	names[carla.IDPhysicsControl] = "curves, gears and ratios of vehicles"
	names[carla.IDTrafficLightTime] = "times of traffic lights"
	names[carla.IDPlatformTime], names[carla.IDVisualTime], names[carla.IDFrameCounter] = "platform time",
		"visual time",
		"frame counter"
	for _, id := range []uint8{
		carla.IDFrameStart, carla.IDFrameEnd, carla.IDEventAdd, carla.IDEventDel, carla.IDEventParent,
		carla.IDCollision, carla.IDPosition, carla.IDState, carla.IDAnimVehicle, carla.IDAnimWalker, carla.IDKinematics,
		carla.IDTriggerVolume, carla.IDWeather,
	} {
		names[id] = ""
	}
	return names
}

// omittedContent names the content of a packet that the packet's ROS 2 message does not hold. It returns "" if there is
// none.
func omittedContent(b carla.Body) string {
	switch l := b.(type) {
	case *carla.EventAddList:
		for i := range *l {
			if slices.ContainsFunc((*l)[i].Attributes, func(a carla.Attribute) bool { return a.ID != "role_name" }) {
				return "attributes of actors other than role_name"
			}
		}
	case *carla.StateList:
		if slices.ContainsFunc(*l, func(s carla.TrafficLight) bool { return s.Frozen || s.Elapsed != 0 }) {
			return "elapsed time and freezing of traffic lights"
		}
	case *carla.WeatherList:
		for _, w := range *l {
			if w != *weatherOf(weatherMessage(&w)) {
				return "scattering, fog falloff and dust"
			}
		}
	}
	return ""
}

// hasLights reports whether any vehicle has lights on.
func hasLights(list carla.VehicleLightList) bool {
	for _, l := range list {
		if l.Lights != 0 {
			return true
		}
	}
	return false
}
