package carla

// AnimVehicleList lists the controls of the vehicles in a frame.
type AnimVehicleList = List[AnimVehicle, *AnimVehicle]

// AnimVehicle is the controls of a vehicle.
type AnimVehicle struct {
	Actor     uint32
	Steering  float32 // -1 is left, 1 is right
	Throttle  float32 // 0 to 1
	Brake     float32 // 0 to 1
	HandBrake bool
	Gear      int32 // negative: reverse
}

func (*AnimVehicle) packet(Profile) (uint8, int) { return IDAnimVehicle, 21 }

func (r *AnimVehicle) code(c *coder) {
	c.uint32(&r.Actor)
	c.float32(&r.Steering, &r.Throttle, &r.Brake)
	c.bool(&r.HandBrake)
	c.int32(&r.Gear)
}

// AnimVehicleWheelsList lists the angles of the wheels of the vehicles in a frame; from 0.9.15 on.
type AnimVehicleWheelsList = List[AnimVehicleWheels, *AnimVehicleWheels]

// AnimVehicleWheels is the angles of the wheels of a vehicle.
type AnimVehicleWheels struct {
	Actor  uint32
	Wheels []AnimWheel
}

func (*AnimVehicleWheels) packet(p Profile) (uint8, int) { return p.WheelsID, 8 }

func (r *AnimVehicleWheels) code(c *coder) {
	c.uint32(&r.Actor)
	codeList32(c, &r.Wheels, 9)
}

// AnimWheel is the angles of a wheel.
type AnimWheel struct {
	// 0 front left, 1 front right, 2 back left, 3 back right, 4 middle left, 5 middle right. If the vehicle has two
	// wheels: 0 front, 1 back.
	Location uint8
	Steering float32 // degrees
	Rotation float32 // degrees
}

func (r *AnimWheel) code(c *coder) {
	c.uint8(&r.Location)
	c.float32(&r.Steering, &r.Rotation)
}

// VehicleDoorList lists the doors that were opened or closed in a frame.
type VehicleDoorList = List[VehicleDoor, *VehicleDoor]

// VehicleDoor is a door of a vehicle that was opened or closed.
type VehicleDoor struct {
	Actor uint32
	Door  Door
	Open  bool
}

func (*VehicleDoor) packet(p Profile) (uint8, int) { return p.DoorsID, 6 }

func (r *VehicleDoor) code(c *coder) {
	c.uint32(&r.Actor)
	c.uint8((*uint8)(&r.Door))
	c.bool(&r.Open)
}

// Door is a door of a vehicle.
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

// VehicleLightList lists the lights of the vehicles in a frame.
type VehicleLightList = List[VehicleLight, *VehicleLight]

// VehicleLight is the lights of a vehicle that are on.
type VehicleLight struct {
	Actor  uint32
	Lights VehicleLights
}

func (*VehicleLight) packet(Profile) (uint8, int) { return IDVehicleLight, 8 }

func (r *VehicleLight) code(c *coder) {
	c.uint32(&r.Actor)
	c.uint32((*uint32)(&r.Lights))
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
