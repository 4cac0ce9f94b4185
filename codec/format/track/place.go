package track

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The ellipsoid of WGS 84.
const (
	semiMajor  = 6378137.0
	flattening = 1 / 298.257223563
	semiMinor  = semiMajor * (1 - flattening)
	e2         = flattening * (2 - flattening)
)

// placement converts between metres and latitude, longitude and altitude.
type placement struct {
	geographic bool     // the file has latitudes and longitudes, otherwise metres
	zone       int      // UTM zone, negative in the south; 0: use origin
	origin     *tangent // nil before the first fix, unless it is an option
}

// tangent is a plane that touches the ellipsoid, with the axes east, north and up.
type tangent struct {
	at                     [3]float64 // the origin, from the centre of Earth, in metres
	sinP, cosP, sinL, cosL float64    // sine and cosine of latitude and longitude
}

var zoneForm = regexp.MustCompile(`^([1-9]|[1-5][0-9]|60)([NS])$`)

// newPlacement parses Options.Origin.
func newPlacement(origin string, geographic bool) (placement, error) {
	p := placement{geographic: geographic}
	if origin == "" {
		return p, nil
	}
	if zone := zoneForm.FindStringSubmatch(origin); zone != nil {
		if !geographic {
			return p, fmt.Errorf("track origin %s: a track in metres needs LATITUDE,LONGITUDE, not a zone of UTM",
				origin)
		}
		p.zone, _ = strconv.Atoi(zone[1]) // it is a number
		if zone[2] == "S" {
			p.zone = -p.zone
		}
		return p, nil
	}
	var at [3]float64
	parts := strings.Split(origin, ",")
	ok := len(parts) == 2 || len(parts) == 3
	for i := 0; ok && i < len(parts); i++ {
		var err error
		at[i], err = strconv.ParseFloat(strings.TrimSpace(parts[i]), 64)
		ok = err == nil && !math.IsInf(at[i], 0)
	}
	if !ok || !(math.Abs(at[0]) <= 90 && math.Abs(at[1]) <= 180 && !math.IsNaN(at[2])) {
		return p, fmt.Errorf("invalid track origin %q: want LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,ALTITUDE in "+
			"degrees and metres, or a zone of UTM with its hemisphere, as 10N", origin)
	}
	p.origin = newTangent(at)
	return p, nil
}

// fix converts latitude, longitude and altitude to the coordinates of the file.
func (p *placement) fix(at [3]float64) [3]float64 {
	if p.geographic {
		return at
	}
	if p.origin == nil {
		p.origin = newTangent(at)
	}
	o, c := p.origin, centric(at)
	x, y, z := c[0]-o.at[0], c[1]-o.at[1], c[2]-o.at[2]
	out := o.cosL*x + o.sinL*y
	return [3]float64{o.cosL*y - o.sinL*x, o.cosP*z - o.sinP*out, o.cosP*out + o.sinP*z}
}

// metres converts metres to the coordinates of the file. It returns false if the place is not near Earth.
func (p *placement) metres(at [3]float64) ([3]float64, bool) {
	switch {
	case !p.geographic:
		return at, true
	case p.zone != 0:
		return fromUTM(p.zone, at)
	}
	o := p.origin
	out := o.cosP*at[2] - o.sinP*at[1]
	c := [3]float64{o.at[0] + o.cosL*out - o.sinL*at[0], o.at[1] + o.sinL*out + o.cosL*at[0],
		o.at[2] + o.cosP*at[1] + o.sinP*at[2]}
	away := math.Hypot(c[0], c[1])
	// B. R. Bowring, 1976: exact to micrometres near the ground.
	sin, cos := math.Sincos(math.Atan2(c[2]*semiMajor, away*semiMinor))
	latitude := math.Atan2(c[2]+e2/(1-e2)*semiMinor*sin*sin*sin, away-e2*semiMajor*cos*cos*cos)
	sin, cos = math.Sincos(latitude)
	altitude := away*cos + c[2]*sin - semiMajor*math.Sqrt(1-e2*sin*sin)
	return [3]float64{degrees(latitude), degrees(math.Atan2(c[1], c[0])), altitude}, math.Abs(altitude) < semiMajor
}

func degrees(radians float64) float64 { return radians * 180 / math.Pi }

// centric converts latitude, longitude and altitude to metres from the centre of Earth.
func centric(at [3]float64) [3]float64 {
	sinP, cosP := math.Sincos(at[0] * math.Pi / 180)
	sinL, cosL := math.Sincos(at[1] * math.Pi / 180)
	n := semiMajor / math.Sqrt(1-e2*sinP*sinP)
	return [3]float64{(n + at[2]) * cosP * cosL, (n + at[2]) * cosP * sinL, (n*(1-e2) + at[2]) * sinP}
}

func newTangent(at [3]float64) *tangent {
	t := &tangent{at: centric(at)}
	t.sinP, t.cosP = math.Sincos(at[0] * math.Pi / 180)
	t.sinL, t.cosL = math.Sincos(at[1] * math.Pi / 180)
	return t
}

// fromUTM converts UTM coordinates to latitude and longitude, by the series of Krüger up to the cube of the third
// flattening. It is exact to a millimetre in a zone.
func fromUTM(zone int, at [3]float64) ([3]float64, bool) {
	if !(at[0] > 0 && at[0] < 1e6 && at[1] >= 0 && at[1] <= 1e7) {
		return at, false
	}
	const n = flattening / (2 - flattening)
	const radius = 0.9996 * semiMajor / (1 + n) * (1 + n*n/4 + n*n*n*n/64)
	north, meridian := at[1], float64(6*zone-183)
	if zone < 0 {
		north, meridian = north-1e7, float64(-6*zone-183)
	}
	xi, eta := north/radius, (at[0]-5e5)/radius
	x, y := xi, eta
	for i, b := range []float64{n/2 - 2*n*n/3 + 37*n*n*n/96, n*n/48 + n*n*n/15, 17 * n * n * n / 480} {
		k := float64(2 * (i + 1))
		x -= b * math.Sin(k*xi) * math.Cosh(k*eta)
		y -= b * math.Cos(k*xi) * math.Sinh(k*eta)
	}
	chi := math.Asin(math.Sin(x) / math.Cosh(y))
	latitude := chi
	for i, d := range []float64{2*n - 2*n*n/3 - 2*n*n*n, 7*n*n/3 - 8*n*n*n/5, 56 * n * n * n / 15} {
		latitude += d * math.Sin(float64(2*(i+1))*chi)
	}
	longitude := meridian + degrees(math.Atan2(math.Sinh(y), math.Cos(x)))
	if longitude < -180 {
		longitude += 360
	} else if longitude > 180 {
		longitude -= 360
	}
	return [3]float64{degrees(latitude), longitude, at[2]}, true
}
