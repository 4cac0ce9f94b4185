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
