package carla

import (
	"fmt"
	"strings"
)

// Sizes of a wheel in PhysicsControl.
const (
	oldWheelSize   = 36  // up to 0.9.11
	wheelSize      = 48  // from 0.9.12 on
	chaosWheelSize = 208 // UE5
)

// Profile is the layout of packets in a version of CARLA. The version in the header does not determine the profile.
type Profile struct {
	Name          string
	Version       uint16 // in the header; attribute types are counted from 1 in version 2, from 0 in version 1
	DoubleVectors bool   // components of vectors have 8 bytes: UE5
	WheelSize     int    // bytes of a wheel in PhysicsControl: 36, 48, or 208 in UE5, where all of the packet differs

	// Ids of VehicleDoor, AnimVehicleWheels and AnimBiker, which differ between versions. 0: there is no such packet.
	DoorsID, WheelsID, BikersID uint8
}

// The profiles of logs.
var (
	// UE4Old is the profile of 0.9.5 to 0.9.11.
	UE4Old = Profile{Name: "ue4-0.9.11", Version: 1, WheelSize: oldWheelSize, WheelsID: 21, BikersID: 22}
	// UE4 is the profile of 0.9.12 to 0.9.15.
	UE4 = Profile{Name: "ue4-0.9.15", Version: 1, WheelSize: wheelSize, WheelsID: 21, BikersID: 22}
	// UE4Dev is the profile of builds of UE4's development branch before UE4Mid.
	UE4Dev = Profile{Name: "ue4-dev", Version: 1, WheelSize: wheelSize, DoorsID: 21, WheelsID: 22, BikersID: 23}
	// UE4Mid is the profile of builds of UE4's development branch between UE4Dev and UE4New.
	UE4Mid = Profile{Name: "ue4-dev-2025", Version: 1, WheelSize: wheelSize, WheelsID: 21, BikersID: 22, DoorsID: 23}
	// UE4New is the profile of 0.9.16 and later.
	UE4New = Profile{Name: "ue4-0.9.16", Version: 2, WheelSize: wheelSize, WheelsID: 21, BikersID: 22, DoorsID: 23}
	// UE5 is the profile of the versions on Unreal Engine 5.
	UE5 = Profile{Name: "ue5", Version: 1, DoubleVectors: true, WheelSize: chaosWheelSize, DoorsID: 21, WheelsID: 22,
		BikersID: 23}
)

// vectorSize returns the bytes of a Vector.
func (p Profile) vectorSize() int {
	if p.DoubleVectors {
		return 24
	}
	return 12
}

// Profiles returns all profiles.
func Profiles() []Profile { return []Profile{UE4Old, UE4, UE4Dev, UE4Mid, UE4New, UE5} }

// ProfileNamed returns the profile with a name.
func ProfileNamed(name string) (Profile, error) {
	var names []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("unknown CARLA profile %q: want one of %s", name, strings.Join(names, ", "))
}

// otherLayouts returns profiles other than p in whose layout builds of CARLA between releases wrote packets with an id.
func (p Profile) otherLayouts(id uint8) []Profile {
	other := p
	switch id {
	case IDEventAdd, IDPosition, IDKinematics, IDBoundingBox, IDTriggerVolume, IDWalkerBones:
		other.DoubleVectors = !p.DoubleVectors
		return []Profile{other}
	case IDPhysicsControl:
		var list []Profile
		for _, size := range []int{wheelSize, oldWheelSize, chaosWheelSize} {
			other.WheelSize = size
			if size != p.WheelSize {
				list = append(list, other)
			}
		}
		return list
	}
	return nil
}

// PacketName returns the name of a packet in CARLA's sources, or its id as text if it has no name.
func (p Profile) PacketName(id uint8) string {
	if k := p.kind(id); k.name != "" {
		return k.name
	}
	return fmt.Sprint(id)
}
