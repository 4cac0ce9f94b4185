package mavros

import (
	"math"

	"tapedeck/bridge"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// Values of MAVLink that stand for unknown numbers.
const (
	unknown8  = math.MaxUint8
	unknown16 = math.MaxUint16
)

// globalState is the autopilot's position on Earth, from several kinds of messages.
type globalState struct {
	hasRaw     bool    // a GPS_RAW_INT was received
	satellites int     // number in the last GPS_RAW_INT; -1: unknown
	undulation float64 // height of the geoid above the ellipsoid by the GPS receiver, in m; NaN: not sent
	// noGeoidSince is the time since when altitudes are above mean sea level for lack of a geoid, in ns since the Unix
	// epoch; 0: altitudes are above the ellipsoid.
	noGeoidSince int64
	plane        *tangentPlane // nil before the first position
	planeGeoid   float64       // height of mean sea level above the ellipsoid at the plane's origin, in m

	// Messages. Each publication overwrites them.
	receiver       sensor_msgs.NavSatFix // from the last GPS_RAW_INT
	receiverRaw    mavros_msgs.GPSRAW
	speed          geometry_msgs.TwistStamped
	satelliteCount std_msgs.UInt32
	fused          sensor_msgs.NavSatFix // from the last GLOBAL_POSITION_INT
	odometry       nav_msgs.Odometry
	number         std_msgs.Float64
	altitudes      mavros_msgs.Altitude
	hud            mavros_msgs.VfrHud
}

func (v *Vehicle) initGlobal() {
	v.satellites, v.undulation = -1, math.NaN()
	v.receiver.Status = sensor_msgs.NavSatStatus{Status: sensor_msgs.NavSatStatus_STATUS_NO_FIX,
		Service: sensor_msgs.NavSatStatus_SERVICE_GPS}
	v.receiver.PositionCovariance[0] = -1
}

// gpsRawInt publishes a measurement of the GPS receiver.
func (v *Vehicle) gpsRawInt(m *common.MessageGpsRawInt) {
	v.hasRaw = true
	fix := &v.receiver
	fix.Header = v.header(v.o.BaseFrame)
	fix.Status.Status = sensor_msgs.NavSatStatus_STATUS_NO_FIX
	if m.FixType > ardupilotmega.GPS_FIX_TYPE_2D_FIX {
		fix.Status.Status = sensor_msgs.NavSatStatus_STATUS_FIX
	}
	v.undulation = math.NaN()
	if m.AltEllipsoid != 0 {
		v.undulation = float64(m.AltEllipsoid-m.Alt) * millimetre
	}
	v.setPlace(fix, m.Lat, m.Lon, m.Alt)
	if m.AltEllipsoid != 0 {
		fix.Altitude = float64(m.AltEllipsoid) / 1e3
	}
	switch {
	case m.HAcc > 0 && m.VAcc > 0:
		v.setAccuracy(float64(m.HAcc)/1e3, float64(m.VAcc)/1e3, sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN)
	case m.Eph != unknown16 && m.Epv != unknown16:
		v.setAccuracy(float64(m.Eph)/100*v.o.GPSError, float64(m.Epv)/100*v.o.GPSError,
			sensor_msgs.NavSatFix_COVARIANCE_TYPE_APPROXIMATED)
	default:
		fix.PositionCovariance, fix.PositionCovarianceType = [9]float64{-1},
			sensor_msgs.NavSatFix_COVARIANCE_TYPE_UNKNOWN
	}
	v.out.Send(gpsFix, fix)

	if m.Vel != unknown16 && m.Cog != unknown16 {
		east, north := math.Sincos(float64(m.Cog) / 100 * math.Pi / 180)
		speed := float64(m.Vel) / 100
		v.speed.Header = v.header(v.o.MapFrame)
		v.speed.Twist.Linear = geometry_msgs.Vector3{X: speed * east, Y: speed * north}
		v.out.Send(gpsVelocity, &v.speed)
	}
	v.satellites = -1
	if m.SatellitesVisible != unknown8 {
		v.satellites = int(m.SatellitesVisible)
		v.satelliteCount.Data = uint32(m.SatellitesVisible)
		v.out.Send(gpsSatellites, &v.satelliteCount)
	}
	v.receiverRaw = mavros_msgs.GPSRAW{
		Header: v.header(v.o.BaseFrame), FixType: uint8(m.FixType), Lat: m.Lat, Lon: m.Lon, Alt: m.Alt, Eph: m.Eph,
		Epv: m.Epv, Vel: m.Vel, Cog: m.Cog, SatellitesVisible: m.SatellitesVisible, AltEllipsoid: m.AltEllipsoid,
		HAcc: m.HAcc, VAcc: m.VAcc, VelAcc: m.VelAcc, HdgAcc: int32(m.HdgAcc), Yaw: m.Yaw, DgpsNumch: unknown8,
		DgpsAge: math.MaxUint32,
	}
	v.out.Send(gpsRaw, &v.receiverRaw)
}

// setAccuracy sets the covariance of the receiver's fix from standard deviations in m.
func (v *Vehicle) setAccuracy(horizontal, vertical float64, kind uint8) {
	v.receiver.PositionCovariance = [9]float64{0: horizontal * horizontal, 4: horizontal * horizontal,
		8: vertical * vertical}
	v.receiver.PositionCovarianceType = kind
}

// globalPositionInt publishes the position that the autopilot estimates.
func (v *Vehicle) globalPositionInt(m *ardupilotmega.MessageGlobalPositionInt) {
	fix := &v.fused
	fix.Header = v.header(v.o.BaseFrame)
	v.setPlace(fix, m.Lat, m.Lon, m.Alt)
	fix.Status, fix.PositionCovariance, fix.PositionCovarianceType = v.receiver.Status, v.receiver.PositionCovariance,
		v.receiver.PositionCovarianceType
	switch {
	case m.Lat == 0 && m.Lon == 0: // the estimator has no position yet
		fix.Status.Status = sensor_msgs.NavSatStatus_STATUS_NO_FIX
	case !v.hasRaw:
		fix.Status.Status = sensor_msgs.NavSatStatus_STATUS_FIX
	}
	v.out.Send(globalFix, fix)
	v.number.Data = float64(m.RelativeAlt) / 1e3
	v.out.Send(globalRelativeAltitude, &v.number)
	v.number.Data = math.NaN()
	if m.Hdg != unknown16 {
		v.number.Data = float64(m.Hdg) / 100
	}
	v.out.Send(globalHeading, &v.number)

	fixed := fix.Status.Status >= sensor_msgs.NavSatStatus_STATUS_FIX
	if v.plane == nil && fixed {
		v.plane = newTangentPlane(fix.Latitude, fix.Longitude, fix.Altitude)
		v.planeGeoid = fix.Altitude - float64(m.Alt)/1e3
	}
	if v.plane == nil || m.Lat == 0 && m.Lon == 0 {
		return
	}
	o := &v.globalState.odometry
	o.Header, o.ChildFrameId = v.header(v.o.MapFrame), v.o.BaseFrame
	// The position uses the geoid's height at the origin, even if another height becomes known later: the position must
	// not jump.
	o.Pose.Pose.Position = v.plane.place(fix.Latitude, fix.Longitude, float64(m.Alt)/1e3+v.planeGeoid).point()
	o.Pose.Pose.Orientation = geometry_msgs.Quaternion{W: 1} // covariance marks the orientation as unknown
	if v.oriented {
		o.Pose.Pose.Orientation = v.orientation
	}
	o.Pose.Covariance = covariance{}
	for i := range 3 {
		copy(o.Pose.Covariance[6*i:6*i+3], fix.PositionCovariance[3*i:3*i+3])
		o.Pose.Covariance[7*(i+3)] = v.o.RotationVariance
	}
	// mavros sends this velocity in ENU, although the message's child frame has the body axes.
	o.Twist.Twist.Linear = toENU.m.rotate(newVector(m.Vx, m.Vy, m.Vz).scale(0.01)).vector3()
	o.Twist.Covariance = unknownCovariance()
	v.out.Send(globalLocal, o)
}

// setPlace sets the position of a fix from 1e-7 degrees and mm above mean sea level.
func (v *Vehicle) setPlace(fix *sensor_msgs.NavSatFix, lat, lon, alt int32) {
	fix.Latitude, fix.Longitude = float64(lat)/1e7, float64(lon)/1e7
	fix.Altitude = float64(alt)/1e3 + v.geoidHeight(fix.Latitude, fix.Longitude)
}

// geoidHeight returns the height of mean sea level above the ellipsoid in m. The height comes from the GPS receiver, or
// else from the geoid; without both it is 0.
func (v *Vehicle) geoidHeight(latitude, longitude float64) float64 {
	switch {
	case !math.IsNaN(v.undulation):
		v.noGeoidSince = 0
		return v.undulation
	case latitude == 0 && longitude == 0: // no position yet
		return 0
	case v.geoid == nil:
		if v.noGeoidSince == 0 {
			v.noGeoidSince = v.now
		}
		if v.hasRaw || !v.isRecent(v.noGeoidSince) { // a receiver without a message yet may still send the height
			v.logOnce(bridge.Warn, "altitudes are above mean sea level, not above the ellipsoid: the autopilot does "+
				"not send the latter, and there is no geoid; install GeographicLib's egm96-5 "+
				"(geographiclib-get-geoids egm96-5) or name the file with geoid")
		}
		return 0
	}
	height, err := v.geoid.heightAt(latitude, longitude)
	if err != nil {
		v.logOnce(bridge.Error, "altitudes are above mean sea level: %v", err)
		v.noGeoidSince = v.now
	}
	return height
}
