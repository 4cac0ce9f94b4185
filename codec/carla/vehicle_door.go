package carla

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
