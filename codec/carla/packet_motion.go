package carla

// PositionList is where the vehicles, walkers and other actors but lights, signs and sensors are in a frame.
type PositionList []Position

// ID implements Body.
func (*PositionList) ID(Profile) (uint8, bool) { return IDPosition, true }

// Code implements Body.
func (l *PositionList) Code(c *Coder) { codeList(c, (*[]Position)(l), 4+2*c.vectorSize()) }

// Position is where an actor is.
type Position struct {
	Actor    uint32
	Location Vector // cm, in the world
	Rotation Vector // degrees
}

func (r *Position) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Vector(&r.Location)
	c.Vector(&r.Rotation)
}

// KinematicsList is how the vehicles and walkers move in a frame; only with additional data.
type KinematicsList []Kinematics

// ID implements Body.
func (*KinematicsList) ID(Profile) (uint8, bool) { return IDKinematics, true }

// Code implements Body.
func (l *KinematicsList) Code(c *Coder) { codeList(c, (*[]Kinematics)(l), 4+2*c.vectorSize()) }

// Kinematics is how an actor moves.
type Kinematics struct {
	Actor          uint32
	LinearVelocity Vector // m/s, in the world
	// degrees/s about the axes of the world: the direction of roll and pitch is not that of rotations
	AngularVelocity Vector
}

func (r *Kinematics) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Vector(&r.LinearVelocity)
	c.Vector(&r.AngularVelocity)
}

// WalkerBonesList is the skeletons of the walkers in a frame; only with additional data, from 0.9.14 on.
type WalkerBonesList []WalkerBones

// ID implements Body.
func (*WalkerBonesList) ID(Profile) (uint8, bool) { return IDWalkerBones, true }

// Code implements Body.
func (l *WalkerBonesList) Code(c *Coder) { codeList(c, (*[]WalkerBones)(l), 6) }

// WalkerBones is the skeleton of a walker.
type WalkerBones struct {
	Actor uint32
	Bones []Bone
}

func (r *WalkerBones) code(c *Coder) {
	c.Uint32(&r.Actor)
	codeList(c, &r.Bones, 2+2*c.vectorSize())
}

// Bone is a bone of a walker, relative to its parent.
type Bone struct {
	Name     string
	Location Vector // cm
	Rotation Vector // degrees
}

func (r *Bone) code(c *Coder) {
	c.String(&r.Name)
	c.Vector(&r.Location)
	c.Vector(&r.Rotation)
}

// AnimWalkerList is how fast the walkers walk in a frame.
type AnimWalkerList []AnimWalker

// ID implements Body.
func (*AnimWalkerList) ID(Profile) (uint8, bool) { return IDAnimWalker, true }

// Code implements Body.
func (l *AnimWalkerList) Code(c *Coder) { codeList(c, (*[]AnimWalker)(l), 8) }

// AnimWalker is how fast a walker walks.
type AnimWalker struct {
	Actor uint32
	Speed float32 // cm/s
}

func (r *AnimWalker) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Float32(&r.Speed)
}

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
