package carla

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
	Location uint8   // 0 front left, 1 front right, 2 back left, 3 back right, 4 middle left, 5 middle right; of two: 0 front, 1 back
	Steering float32 // degrees
	Rotation float32 // degrees
}

func (r *AnimWheel) code(c *Coder) {
	c.Uint8(&r.Location)
	c.Float32(&r.Steering, &r.Rotation)
}
