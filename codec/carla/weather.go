package carla

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
