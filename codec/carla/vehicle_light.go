package carla

// VehicleLightList is the lights of the vehicles in a frame.
type VehicleLightList []VehicleLight

// ID implements Body.
func (*VehicleLightList) ID(Profile) (uint8, bool) { return IDVehicleLight, true }

// Code implements Body.
func (l *VehicleLightList) Code(c *Coder) { codeList(c, (*[]VehicleLight)(l), 8) }

// VehicleLight is which lights of a vehicle are on.
type VehicleLight struct {
	Actor  uint32
	Lights VehicleLights
}

func (r *VehicleLight) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Uint32((*uint32)(&r.Lights))
}

// VehicleLights is a set of a vehicle's lights.
type VehicleLights uint32

// The lights of a vehicle.
const (
	LightPosition VehicleLights = 1 << iota
	LightLowBeam
	LightHighBeam
	LightBrake
	LightRightBlinker
	LightLeftBlinker
	LightReverse
	LightFog
	LightInterior
	LightSpecial1
	LightSpecial2
)
