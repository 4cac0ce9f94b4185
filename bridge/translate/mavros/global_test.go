package mavros

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// TestGPSReceiver checks accuracies and omitted topics by the fields of GPS_RAW_INT.
func TestGPSReceiver(t *testing.T) {
	for name, test := range map[string]struct {
		m         common.MessageGpsRawInt
		status    int8
		altitude  float64
		variances [3]float64 // east, north, up
		kind      uint8
		silent    []Topic
	}{
		"dilution": {common.MessageGpsRawInt{FixType: 3, Alt: 1500, Eph: 120, Epv: 200, Vel: 100, SatellitesVisible: 8},
			0,
			1.5,
			[3]float64{1.44, 1.44, 4}, sensor_msgs.NavSatFix_COVARIANCE_TYPE_APPROXIMATED, nil},
		"accuracy": {common.MessageGpsRawInt{FixType: 6, Alt: 1500, AltEllipsoid: -2000, Eph: 120, Epv: 200, HAcc: 500,
			VAcc: 2000}, 0, -2,
			[3]float64{0.25, 0.25, 4}, sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN, nil},
		"nothing": {common.MessageGpsRawInt{FixType: 1, Eph: 65535, Epv: 65535, Vel: 65535, Cog: 65535,
			SatellitesVisible: 255}, -1, 0,
			[3]float64{-1, 0, 0}, sensor_msgs.NavSatFix_COVARIANCE_TYPE_UNKNOWN, []Topic{gpsVelocity, gpsSatellites}},
		"2D": {common.MessageGpsRawInt{FixType: 2, Eph: 65535, Epv: 100, Vel: 5, Cog: 65535}, -1, 0,
			[3]float64{-1, 0, 0}, sensor_msgs.NavSatFix_COVARIANCE_TYPE_UNKNOWN, []Topic{gpsVelocity}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestVehicle(t)
			s.receive(&test.m)
			fix := publishedMessage[sensor_msgs.NavSatFix](s, gpsFix, 0)
			require.Equal(t, test.status, fix.Status.Status)
			require.InDelta(t, test.altitude, fix.Altitude, 1e-9)
			require.Equal(t, test.kind, fix.PositionCovarianceType)
			require.InDeltaSlice(t, test.variances[:],
				[]float64{fix.PositionCovariance[0], fix.PositionCovariance[4], fix.PositionCovariance[8]}, 1e-12)
			for _, topic := range test.silent {
				require.Empty(t, s.sent[topic], Topics[topic].Name)
			}
			require.Len(t, s.sent, 4-len(test.silent))
		})
	}
}

// TestGlobalPosition checks when the position is valid, and positions relative to the first position.
func TestGlobalPosition(t *testing.T) {
	s := newTestVehicle(t)
	place := func(lat, lon, alt int32) *ardupilotmega.MessageGlobalPositionInt {
		return &ardupilotmega.MessageGlobalPositionInt{Lat: lat, Lon: lon, Alt: alt, RelativeAlt: 10, Hdg: 65535}
	}
	// First neither receiver nor estimator knows the position, then one of them, then both.
	s.receive(&common.MessageGpsRawInt{FixType: 1}, place(0, 0, 5), &common.MessageGpsRawInt{FixType: 3},
		place(0, 0, 5))
	require.Empty(t, s.sent[globalLocal])
	var fix sensor_msgs.NavSatFix
	for i := range 2 {
		s.message(globalFix, i, &fix)
		require.EqualValues(t, -1, fix.Status.Status)
	}
	heading := publishedMessage[std_msgs.Float64](s, globalHeading, 0)
	require.True(t, math.IsNaN(heading.Data))

	s.receive(place(473977418, 85455939, 488000), place(473977418, 85455939, 489000), place(0, 0, 5),
		place(473977418, 85456939, 488000))
	require.Len(t, s.sent[globalLocal], 3)
	local := publishedMessage[nav_msgs.Odometry](s, globalLocal, 0)
	require.Zero(t, local.Pose.Pose.Position)
	require.Equal(t, 1.0, local.Pose.Pose.Orientation.W)
	require.Equal(t, 99999.0, local.Pose.Covariance[35])
	s.message(globalLocal, 1, &local)
	require.InDelta(t, 1, local.Pose.Pose.Position.Z, 1e-8)
	s.message(globalLocal, 2, &local)
	require.InDelta(t, 7.545, local.Pose.Pose.Position.X, 0.01) // 1e-5 degrees of longitude
	require.InDelta(t, 0, local.Pose.Pose.Position.Y, 1e-5)

	// Without a receiver, the estimator's position counts.
	s = newTestVehicle(t)
	s.receive(place(473977418, 85455939, 488000))
	s.message(globalFix, 0, &fix)
	require.EqualValues(t, 0, fix.Status.Status)
	require.Equal(t, -1.0, fix.PositionCovariance[0])
	require.Len(t, s.sent[globalLocal], 1)
	require.Empty(t, s.lines, "a receiver may still send the height")
	s.now += preferenceTimeout
	s.receive(place(473977418, 85455939, 488000))
	require.Len(t, s.lines, 1)
	require.Contains(t, s.lines[0], "there is no geoid")
	require.NotZero(t, s.noGeoidSince)
}

// TestLateEllipsoidAltitude checks that positions do not jump when the receiver begins to send the height above the
// ellipsoid, which needs a fix.
func TestLateEllipsoidAltitude(t *testing.T) {
	s := newTestVehicle(t)
	place := &ardupilotmega.MessageGlobalPositionInt{Lat: 473977418, Lon: 85455939, Alt: 488000}
	s.receive(&common.MessageGpsRawInt{FixType: 1})
	require.Empty(t, s.lines)
	s = newTestVehicle(t)
	s.receive(place, &common.MessageGpsRawInt{FixType: 3, Lat: 473977418, Lon: 85455939, Alt: 488000,
		AltEllipsoid: 535400},
		place)
	require.Empty(t, s.lines)
	require.Zero(t, s.noGeoidSince, "altitudes must be above the ellipsoid again")
	fix := publishedMessage[sensor_msgs.NavSatFix](s, globalFix, 1)
	require.InDelta(t, 535.4, fix.Altitude, 1e-9)
	local := publishedMessage[nav_msgs.Odometry](s, globalLocal, 1)
	require.InDelta(t, 0, local.Pose.Pose.Position.Z, 1e-6, "the vehicle has not moved")
}

// TestVehicleGeoid checks that the geoid gives the height of mean sea level if the receiver does not send it.
func TestVehicleGeoid(t *testing.T) {
	s := newTestVehicle(t)
	var err error
	s.geoid, err = openGeoid(writeGeoid(t, testGeoid))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.geoid.Close()) }()
	s.receive(&common.MessageGpsRawInt{FixType: 3, Lat: 0, Lon: 900000000, Alt: 1000},
		&ardupilotmega.MessageGlobalPositionInt{Lat: 1, Lon: 900000000, Alt: 2000},
		&common.MessageGpsRawInt{FixType: 3, Lat: 0, Lon: 900000000, Alt: 1000, AltEllipsoid: 3500},
		&ardupilotmega.MessageGlobalPositionInt{Lat: 1, Lon: 900000000, Alt: 2000},
		&common.MessageGpsRawInt{FixType: 3, Lat: 0, Lon: 900000000, Alt: 1000})
	var fix sensor_msgs.NavSatFix
	for i, want := range []float64{7, 3.5, 7} { // the geoid has 6 m, the receiver sends other heights
		s.message(gpsFix, i, &fix)
		require.InDelta(t, want, fix.Altitude, 1e-6)
	}
	for i, want := range []float64{8, 4.5} {
		s.message(globalFix, i, &fix)
		require.InDelta(t, want, fix.Altitude, 1e-6)
	}
	require.Empty(t, s.lines)
}

// TestAltitudeAndHUD checks messages whose fields are copied.
func TestAltitudeAndHUD(t *testing.T) {
	s := newTestVehicle(t)
	s.receive(&common.MessageAltitude{AltitudeMonotonic: 1, AltitudeAmsl: 2, AltitudeLocal: 3, AltitudeRelative: 4,
		AltitudeTerrain: 5, BottomClearance: 6},
		&common.MessageVfrHud{Airspeed: 1, Groundspeed: 2, Heading: 270, Throttle: 45, Alt: 3, Climb: -1})
	a := publishedMessage[mavros_msgs.Altitude](s, altitude, 0)
	require.Equal(t, mavros_msgs.Altitude{Header: a.Header, Monotonic: 1, Amsl: 2, Local: 3, Relative: 4, Terrain: 5,
		BottomClearance: 6}, a)
	require.Equal(t, "map", a.Header.FrameId)
	h := publishedMessage[mavros_msgs.VfrHud](s, vfrHUD, 0)
	require.Equal(t, mavros_msgs.VfrHud{Header: h.Header, Airspeed: 1, Groundspeed: 2, Heading: 270, Throttle: 0.45,
		Altitude: 3, Climb: -1}, h)
}
