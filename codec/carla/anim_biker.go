package carla

// AnimBikerList is how the bikers pedal in a frame; from 0.9.15 on.
type AnimBikerList []AnimBiker

// ID implements Body.
func (*AnimBikerList) ID(p Profile) (uint8, bool) { return p.Bikers, p.Bikers != 0 }

// Code implements Body.
func (l *AnimBikerList) Code(c *Coder) { codeList(c, (*[]AnimBiker)(l), 12) }

// AnimBiker is how a biker pedals.
type AnimBiker struct {
	Actor          uint32
	ForwardSpeed   float32 // cm/s
	EngineRotation float32 // ratio
}

func (r *AnimBiker) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Float32(&r.ForwardSpeed, &r.EngineRotation)
}
