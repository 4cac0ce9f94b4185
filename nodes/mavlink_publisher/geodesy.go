package main

import "math"

// The ellipsoid of WGS 84.
const (
	wgs84A  = 6378137.0             // m
	wgs84F  = 1 / 298.257223563     // flattening
	wgs84E2 = wgs84F * (2 - wgs84F) // square of the eccentricity
)

// earthFixed returns a place in the frame that is fixed to the Earth (ECEF), in m. Latitude and longitude are in
// degrees, the altitude is above the ellipsoid.
func earthFixed(latitude, longitude, altitude float64) vector {
	sinLat, cosLat := math.Sincos(latitude * math.Pi / 180)
	sinLon, cosLon := math.Sincos(longitude * math.Pi / 180)
	n := wgs84A / math.Sqrt(1-wgs84E2*sinLat*sinLat)
	return vector{(n + altitude) * cosLat * cosLon, (n + altitude) * cosLat * sinLon, (n*(1-wgs84E2) + altitude) * sinLat}
}

// tangentPlane has places as east, north and up of its origin.
type tangentPlane struct {
	origin vector // fixed to the Earth
	toENU  matrix
}

func newTangentPlane(latitude, longitude, altitude float64) *tangentPlane {
	sinLat, cosLat := math.Sincos(latitude * math.Pi / 180)
	sinLon, cosLon := math.Sincos(longitude * math.Pi / 180)
	return &tangentPlane{origin: earthFixed(latitude, longitude, altitude), toENU: matrix{
		{-sinLon, cosLon, 0},
		{-sinLat * cosLon, -sinLat * sinLon, cosLat},
		{cosLat * cosLon, cosLat * sinLon, sinLat},
	}}
}

// place returns where a place is from the origin.
func (p *tangentPlane) place(latitude, longitude, altitude float64) vector {
	v := earthFixed(latitude, longitude, altitude)
	return p.toENU.rotate(vector{v[0] - p.origin[0], v[1] - p.origin[1], v[2] - p.origin[2]})
}
