package carla

// KinematicsList is how the vehicles and walkers move in a frame; only with additional data.
type KinematicsList []Kinematics

// ID implements Body.
func (*KinematicsList) ID(Profile) (uint8, bool) { return IDKinematics, true }

// Code implements Body.
func (l *KinematicsList) Code(c *Coder) { codeList(c, (*[]Kinematics)(l), 4+2*c.vectorSize()) }

// Kinematics is how an actor moves.
type Kinematics struct {
	Actor           uint32
	LinearVelocity  Vector // m/s, in the world
	AngularVelocity Vector // degrees/s about the axes of the world: the direction of roll and pitch is not that of rotations
}

func (r *Kinematics) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Vector(&r.LinearVelocity)
	c.Vector(&r.AngularVelocity)
}
