package carla

import (
	"fmt"

	"tapedeck/codec/carla"
)

// untold returns what the packets of a profile have, by id, of which no message tells; "" for those that are told of.
func untold(p carla.Profile) (names [256]string) {
	for id := range names {
		names[id] = fmt.Sprintf("packets with the id %d", id)
	}
	names[p.Doors], names[p.Wheels], names[p.Bikers] = "doors", "wheels", "bikers"
	names[carla.IDVehicleLight], names[carla.IDSceneLight] = "lights of vehicles", "lights of the scene"
	names[carla.IDBoundingBox], names[carla.IDWalkerBones] = "boxes of actors", "bones of walkers"
	names[carla.IDTrafficLightTime] = "times of traffic lights"
	names[carla.IDPlatformTime], names[carla.IDVisualTime], names[carla.IDFrameCounter] = "platform time", "visual time", "frame counter"
	for _, id := range []uint8{
		carla.IDFrameStart, carla.IDFrameEnd, carla.IDEventAdd, carla.IDEventDel, carla.IDEventParent, carla.IDCollision, carla.IDPosition,
		carla.IDState, carla.IDAnimVehicle, carla.IDAnimWalker, carla.IDKinematics, carla.IDPhysicsControl, carla.IDTriggerVolume, carla.IDWeather,
	} {
		names[id] = ""
	}
	return names
}

// lit says whether any vehicle has lights on.
func lit(list carla.VehicleLightList) bool {
	for _, l := range list {
		if l.Lights != 0 {
			return true
		}
	}
	return false
}
