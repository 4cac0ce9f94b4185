package carla

// PositionList lists the positions of all actors in a frame, except lights, signs and sensors.
type PositionList = List[Position, *Position]

// Position is the position of an actor.
type Position struct {
	Actor    uint32
	Location Vector // cm, in the world
	Rotation Vector // degrees
}

func (*Position) packet(p Profile) (uint8, int) { return IDPosition, 4 + 2*p.vectorSize() }

func (r *Position) code(c *coder) {
	c.uint32(&r.Actor)
	c.vector(&r.Location)
	c.vector(&r.Rotation)
}

// KinematicsList lists the velocities of the vehicles and walkers in a frame; only with additional data.
type KinematicsList = List[Kinematics, *Kinematics]

// Kinematics is the velocity of an actor.
type Kinematics struct {
	Actor          uint32
	LinearVelocity Vector // m/s, in the world
	// degrees/s about the axes of the world; roll and pitch have the opposite direction of rotations
	AngularVelocity Vector
}

func (*Kinematics) packet(p Profile) (uint8, int) { return IDKinematics, 4 + 2*p.vectorSize() }

func (r *Kinematics) code(c *coder) {
	c.uint32(&r.Actor)
	c.vector(&r.LinearVelocity)
	c.vector(&r.AngularVelocity)
}

// WalkerBonesList lists the skeletons of the walkers in a frame; only with additional data, from 0.9.14 on.
type WalkerBonesList = List[WalkerBones, *WalkerBones]

// WalkerBones is the skeleton of a walker.
type WalkerBones struct {
	Actor uint32
	Bones []Bone
}

func (*WalkerBones) packet(Profile) (uint8, int) { return IDWalkerBones, 6 }

func (r *WalkerBones) code(c *coder) {
	c.uint32(&r.Actor)
	codeList(c, &r.Bones, 2+2*c.profile.vectorSize())
}

// Bone is a bone of a walker, relative to its parent.
type Bone struct {
	Name     string
	Location Vector // cm
	Rotation Vector // degrees
}

func (r *Bone) code(c *coder) {
	c.string(&r.Name)
	c.vector(&r.Location)
	c.vector(&r.Rotation)
}

// AnimWalkerList lists the speeds of the walkers in a frame.
type AnimWalkerList = List[AnimWalker, *AnimWalker]

// AnimWalker is the speed of a walker.
type AnimWalker struct {
	Actor uint32
	Speed float32 // cm/s
}

func (*AnimWalker) packet(Profile) (uint8, int) { return IDAnimWalker, 8 }

func (r *AnimWalker) code(c *coder) {
	c.uint32(&r.Actor)
	c.float32(&r.Speed)
}

// AnimBikerList lists the pedalling of the bikers in a frame; from 0.9.15 on.
type AnimBikerList = List[AnimBiker, *AnimBiker]

// AnimBiker is the pedalling of a biker.
type AnimBiker struct {
	Actor          uint32
	ForwardSpeed   float32 // cm/s
	EngineRotation float32 // ratio
}

func (*AnimBiker) packet(p Profile) (uint8, int) { return p.BikersID, 12 }

func (r *AnimBiker) code(c *coder) {
	c.uint32(&r.Actor)
	c.float32(&r.ForwardSpeed, &r.EngineRotation)
}
