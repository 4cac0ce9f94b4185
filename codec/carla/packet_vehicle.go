package carla

// AnimVehicleList is how the vehicles are controlled in a frame.
type AnimVehicleList []AnimVehicle

// ID implements Body.
func (*AnimVehicleList) ID(Profile) (uint8, bool) { return IDAnimVehicle, true }

// Code implements Body.
func (l *AnimVehicleList) Code(c *Coder) { codeList(c, (*[]AnimVehicle)(l), 21) }

// AnimVehicle is how a vehicle is controlled.
type AnimVehicle struct {
	Actor     uint32
	Steering  float32 // -1 is left, 1 is right
	Throttle  float32 // 0 to 1
	Brake     float32 // 0 to 1
	HandBrake bool
	Gear      int32 // negative: reverse
}

func (r *AnimVehicle) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Float32(&r.Steering, &r.Throttle, &r.Brake)
	c.Bool(&r.HandBrake)
	c.Int32(&r.Gear)
}

// AnimVehicleWheelsList is how the wheels of the vehicles stand in a frame; from 0.9.15 on.
type AnimVehicleWheelsList []AnimVehicleWheels

// ID implements Body.
func (*AnimVehicleWheelsList) ID(p Profile) (uint8, bool) { return p.Wheels, p.Wheels != 0 }

// Code implements Body.
func (l *AnimVehicleWheelsList) Code(c *Coder) { codeList(c, (*[]AnimVehicleWheels)(l), 8) }

// AnimVehicleWheels is how the wheels of a vehicle stand.
type AnimVehicleWheels struct {
	Actor  uint32
	Wheels []AnimWheel
}

func (r *AnimVehicleWheels) code(c *Coder) {
	c.Uint32(&r.Actor)
	codeList32(c, &r.Wheels, 9)
}

// AnimWheel is how a wheel stands.
type AnimWheel struct {
	// 0 front left, 1 front right, 2 back left, 3 back right, 4 middle left, 5 middle right; of two: 0 front, 1 back
	Location uint8
	Steering float32 // degrees
	Rotation float32 // degrees
}

func (r *AnimWheel) code(c *Coder) {
	c.Uint8(&r.Location)
	c.Float32(&r.Steering, &r.Rotation)
}

// VehicleDoorList is the doors that were opened or closed in a frame.
type VehicleDoorList []VehicleDoor

// ID implements Body.
func (*VehicleDoorList) ID(p Profile) (uint8, bool) { return p.Doors, p.Doors != 0 }

// Code implements Body.
func (l *VehicleDoorList) Code(c *Coder) { codeList(c, (*[]VehicleDoor)(l), 6) }

// VehicleDoor is a door of a vehicle that was opened or closed.
type VehicleDoor struct {
	Actor uint32
	Door  Door
	Open  bool
}

func (r *VehicleDoor) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Uint8((*uint8)(&r.Door))
	c.Bool(&r.Open)
}

// Door is one of a vehicle's doors.
type Door uint8

// The doors of a vehicle.
const (
	DoorFrontLeft Door = iota
	DoorFrontRight
	DoorRearLeft
	DoorRearRight
	DoorHood
	DoorTrunk
	DoorAll
)

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
