package carla

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
