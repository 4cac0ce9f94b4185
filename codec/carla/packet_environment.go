package carla

// StateList is the states of the traffic lights in a frame.
type StateList []TrafficLight

// ID implements Body.
func (*StateList) ID(Profile) (uint8, bool) { return IDState, true }

// Code implements Body.
func (l *StateList) Code(c *Coder) { codeList(c, (*[]TrafficLight)(l), 10) }

// TrafficLight is the state of a traffic light.
type TrafficLight struct {
	Actor   uint32
	Frozen  bool
	Elapsed float32 // s since it changed
	Colour  Colour
}

func (r *TrafficLight) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Bool(&r.Frozen)
	c.Float32(&r.Elapsed)
	c.Uint8((*uint8)(&r.Colour))
}

// Colour is what a traffic light shows.
type Colour uint8

// What a traffic light shows.
const (
	Red Colour = iota
	Yellow
	Green
	Off
)

// TrafficLightTimeList is the times of the traffic lights that appeared in a frame; only with additional data.
type TrafficLightTimeList []TrafficLightTime

// ID implements Body.
func (*TrafficLightTimeList) ID(Profile) (uint8, bool) { return IDTrafficLightTime, true }

// Code implements Body.
func (l *TrafficLightTimeList) Code(c *Coder) { codeList(c, (*[]TrafficLightTime)(l), 16) }

// TrafficLightTime is how long a traffic light shows each colour.
type TrafficLightTime struct {
	Actor              uint32
	Green, Yellow, Red float32 // s
}

func (r *TrafficLightTime) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Float32(&r.Green, &r.Yellow, &r.Red)
}

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

// WeatherList is the weather, when it changed in a frame and in the first one; in builds of 2026.
type WeatherList []Weather

// ID implements Body.
func (*WeatherList) ID(Profile) (uint8, bool) { return IDWeather, true }

// Code implements Body.
func (l *WeatherList) Code(c *Coder) { codeList(c, (*[]Weather)(l), 56) }

// Weather is the weather, with the values of carla.WeatherParameters.
type Weather struct {
	Cloudiness              float32 // 0 to 100, and so are all without a unit that are no scale
	Precipitation           float32
	PrecipitationDeposits   float32
	WindIntensity           float32
	SunAzimuthAngle         float32 // degrees
	SunAltitudeAngle        float32 // degrees
	FogDensity              float32
	FogDistance             float32 // m
	FogFalloff              float32
	Wetness                 float32
	ScatteringIntensity     float32
	MieScatteringScale      float32
	RayleighScatteringScale float32
	DustStorm               float32
}

func (r *Weather) code(c *Coder) {
	c.Float32(&r.Cloudiness, &r.Precipitation, &r.PrecipitationDeposits, &r.WindIntensity, &r.SunAzimuthAngle,
		&r.SunAltitudeAngle, &r.FogDensity, &r.FogDistance, &r.FogFalloff, &r.Wetness, &r.ScatteringIntensity,
		&r.MieScatteringScale, &r.RayleighScatteringScale, &r.DustStorm)
}
