package carla

// SceneLightList is the lights of the scene that changed in a frame; in the first one all.
type SceneLightList []SceneLight

// ID implements Body.
func (*SceneLightList) ID(Profile) (uint8, bool) { return IDSceneLight, true }

// Code implements Body.
func (l *SceneLightList) Code(c *Coder) { codeList(c, (*[]SceneLight)(l), 26) }

// SceneLight is a light of the scene.
type SceneLight struct {
	Light      int32 // its id, which may be negative
	Intensity  float32
	R, G, B, A float32 // linear
	On         bool
	Type       uint8 // 0 none, 1 of a vehicle, 2 street, 3 building, 4 other
}

func (r *SceneLight) code(c *Coder) {
	c.Int32(&r.Light)
	c.Float32(&r.Intensity, &r.R, &r.G, &r.B, &r.A)
	c.Bool(&r.On)
	c.Uint8(&r.Type)
}
