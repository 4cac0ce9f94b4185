package carla

// StateList lists the states of all traffic lights in a frame.
type StateList = List[TrafficLight, *TrafficLight]

// TrafficLight is the state of a traffic light.
type TrafficLight struct {
	Actor   uint32
	Frozen  bool
	Elapsed float32 // s since the light changed
	Colour  Colour
}

func (*TrafficLight) packet(Profile) (uint8, int) { return IDState, 10 }

func (r *TrafficLight) code(c *coder) {
	c.uint32(&r.Actor)
	c.bool(&r.Frozen)
	c.float32(&r.Elapsed)
	c.uint8((*uint8)(&r.Colour))
}

// Colour is the colour of a traffic light.
type Colour uint8

// The colours of a traffic light.
const (
	Red Colour = iota
	Yellow
	Green
	Off
)

// TrafficLightTimeList lists the times of the traffic lights that appeared in a frame; only with additional data.
type TrafficLightTimeList = List[TrafficLightTime, *TrafficLightTime]

// TrafficLightTime has the times for which a traffic light shows each colour.
type TrafficLightTime struct {
	Actor              uint32
	Green, Yellow, Red float32 // s
}

func (*TrafficLightTime) packet(Profile) (uint8, int) { return IDTrafficLightTime, 16 }

func (r *TrafficLightTime) code(c *coder) {
	c.uint32(&r.Actor)
	c.float32(&r.Green, &r.Yellow, &r.Red)
}

// SceneLightList lists the lights of the scene that changed in a frame. The first frame lists all lights.
type SceneLightList = List[SceneLight, *SceneLight]

// SceneLight is a light of the scene.
type SceneLight struct {
	Light      int32 // id of the light, which may be negative
	Intensity  float32
	R, G, B, A float32 // linear
	On         bool
	Type       uint8 // 0 none, 1 vehicle, 2 street, 3 building, 4 other
}

func (*SceneLight) packet(Profile) (uint8, int) { return IDSceneLight, 26 }

func (r *SceneLight) code(c *coder) {
	c.int32(&r.Light)
	c.float32(&r.Intensity, &r.R, &r.G, &r.B, &r.A)
	c.bool(&r.On)
	c.uint8(&r.Type)
}

// WeatherList has one element, the weather, in the first frame and in frames in which the weather changed. Only builds
// of 2026 write weather.
type WeatherList = List[Weather, *Weather]

// Weather is the weather, with the values of carla.WeatherParameters.
type Weather struct {
	Cloudiness              float32 // 0 to 100, as all values without another comment, except scales
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

func (*Weather) packet(Profile) (uint8, int) { return IDWeather, 56 }

func (r *Weather) code(c *coder) {
	c.float32(&r.Cloudiness, &r.Precipitation, &r.PrecipitationDeposits, &r.WindIntensity, &r.SunAzimuthAngle,
		&r.SunAltitudeAngle, &r.FogDensity, &r.FogDistance, &r.FogFalloff, &r.Wetness, &r.ScatteringIntensity,
		&r.MieScatteringScale, &r.RayleighScatteringScale, &r.DustStorm)
}
