package mavros

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/mavlink"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/samples/generate"
)

const tiny = 1e-12

// TestKnownLog publishes a synthetic log and compares the messages with the numbers in the log.
func TestKnownLog(t *testing.T) {
	link, err := mavlink.Open(generate.Path(t, "mavlink/synthetic_px4_v2.tlog"), mavlink.Options{})
	require.NoError(t, err)
	s := newTestVehicle(t)
	require.NoError(t, link.Run(t.Context(), func(f *mavlink.Frame) {
		require.True(t, f.Autopilot)
		s.Handle(f)
	}))
	counts := map[Topic]int{}
	for topic, list := range s.sent {
		counts[topic] = len(list)
	}
	require.Equal(t, map[Topic]int{
		imuData: 500, imuRaw: 500, imuMag: 500, imuStaticPressure: 500, imuDiffPressure: 500, imuTemperature: 500,
		gpsFix: 50, gpsVelocity: 50, gpsSatellites: 50, gpsRaw: 50, globalFix: 50, globalLocal: 50,
		globalRelativeAltitude: 50, globalHeading: 50,
		localPose: 250, localVelocity: 250, localVelocityBody: 250, localOdometry: 250, odometryIn: 250,
		vehicleState: 10, batteryState: 10, sysStatus: 10, rcIn: 10, timeReference: 10, timesyncStatus: 10,
	}, counts)

	for i := range 500 {
		at := builtin_interfaces.TimeAt(logStart + int64(i)*20e6)
		var raw, imu sensor_msgs.Imu
		s.message(imuRaw, i, &raw)
		require.Equal(t, std_msgs.Header{Stamp: at, FrameId: "base_link"}, raw.Header)
		require.Equal(t, geometry_msgs.Vector3{X: f64(0.1), Y: f64(0.2), Z: f64(9.81)}, raw.LinearAcceleration)
		require.Equal(t, geometry_msgs.Vector3{X: f64(0.001), Y: -f64(0.002), Z: -f64(0.5)}, raw.AngularVelocity)
		require.Equal(t, [9]float64{-1}, raw.OrientationCovariance)
		require.Equal(t, [9]float64{0: 9e-8, 4: 9e-8, 8: 9e-8}, roundCovariance(raw.LinearAccelerationCovariance))
		require.InDelta(t, math.Pow(0.02*math.Pi/180, 2), raw.AngularVelocityCovariance[4], 1e-20)

		s.message(imuData, i, &imu)
		require.Equal(t, raw.Header, imu.Header)
		requireYaw(t, math.Pi/2-0.01*float64(i), imu.Orientation, 1e-6)
		require.Equal(t, raw.AngularVelocity, imu.AngularVelocity)
		require.Equal(t, raw.LinearAcceleration, imu.LinearAcceleration)
		require.Equal(t, raw.LinearAccelerationCovariance, imu.LinearAccelerationCovariance)
		require.Equal(t, [9]float64{0: 1, 4: 1, 8: 1}, imu.OrientationCovariance)

		mag := publishedMessage[sensor_msgs.MagneticField](s, imuMag, i)
		requireVector(t, [3]float64{0.21e-4, -0.01e-4, -0.42e-4}, mag.MagneticField, 1e-11)
		require.Equal(t, [9]float64{-1}, mag.MagneticFieldCovariance)
		pressure := publishedMessage[sensor_msgs.FluidPressure](s, imuStaticPressure, i)
		require.InDelta(t, 95598, pressure.FluidPressure, 0.005)
		s.message(imuDiffPressure, i, &pressure)
		require.Zero(t, pressure.FluidPressure)
		temperature := publishedMessage[sensor_msgs.Temperature](s, imuTemperature, i)
		require.Equal(t, 35.5, temperature.Temperature)
	}

	for i := range 250 {
		yaw := math.Pi/2 - 0.02*float64(i) // in ENU
		at := builtin_interfaces.TimeAt(logStart + int64(i)*40e6)
		var odometry, local nav_msgs.Odometry
		s.message(odometryIn, i, &odometry)
		require.Equal(t, std_msgs.Header{Stamp: at, FrameId: "odom"}, odometry.Header)
		require.Equal(t, "base_link", odometry.ChildFrameId)
		require.Equal(t, geometry_msgs.Point{X: 2, Y: f64(1 + float32(2*i)/100), Z: 3}, odometry.Pose.Pose.Position)
		requireYaw(t, yaw, odometry.Pose.Pose.Orientation, 1e-6)
		require.Equal(t, geometry_msgs.Vector3{X: 1, Y: -0.5, Z: f64(0.1)}, odometry.Twist.Twist.Linear)
		require.Equal(t, geometry_msgs.Vector3{X: f64(0.001), Y: -f64(0.002), Z: -f64(0.5)},
			odometry.Twist.Twist.Angular)
		want := diagonal6(0.02, 0.01, 0.03, 0.05, 0.04, 0.06)
		if i == 0 {
			want = unknownCovariance()
		}
		requireCovariance(t, want, odometry.Pose.Covariance, 1e-8)
		requireCovariance(t, diagonal6(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), odometry.Twist.Covariance, 1e-7)

		s.message(localOdometry, i, &local)
		require.Equal(t, std_msgs.Header{Stamp: at, FrameId: "map"}, local.Header)
		require.Equal(t, odometry.Pose.Pose.Position, local.Pose.Pose.Position)
		requireYaw(t, yaw, local.Pose.Pose.Orientation, 1e-6)
		require.EqualValues(t, unknownCovariance(), local.Pose.Covariance)
		require.EqualValues(t, unknownCovariance(), local.Twist.Covariance)
		sin, cos := math.Sincos(yaw) // of (0.5, 1) in ENU
		requireVector(t, [3]float64{0.5*cos + sin, cos - 0.5*sin, 0.1}, local.Twist.Twist.Linear, 1e-6)
		require.Equal(t, odometry.Twist.Twist.Angular, local.Twist.Twist.Angular)
		pose := publishedMessage[geometry_msgs.PoseStamped](s, localPose, i)
		require.Equal(t, geometry_msgs.PoseStamped{Header: local.Header, Pose: local.Pose.Pose}, pose)
		twist := publishedMessage[geometry_msgs.TwistStamped](s, localVelocity, i)
		require.Equal(t, local.Header, twist.Header)
		require.Equal(t, geometry_msgs.Vector3{X: 0.5, Y: 1, Z: f64(0.1)}, twist.Twist.Linear)
		requireVector(t, [3]float64{0.001*cos + 0.002*sin, 0.001*sin - 0.002*cos, -0.5}, twist.Twist.Angular, 1e-6)
		s.message(localVelocityBody, i, &twist)
		require.Equal(t, geometry_msgs.TwistStamped{Header: std_msgs.Header{Stamp: at, FrameId: "base_link"},
			Twist: local.Twist.Twist}, twist)
	}

	for i := range 50 {
		at := builtin_interfaces.TimeAt(logStart + int64(i)*200e6)
		fix := publishedMessage[sensor_msgs.NavSatFix](s, gpsFix, i)
		want := sensor_msgs.NavSatFix{
			Header:   std_msgs.Header{Stamp: at, FrameId: "base_link"},
			Status:   sensor_msgs.NavSatStatus{Service: sensor_msgs.NavSatStatus_SERVICE_GPS},
			Latitude: 47.3977418, Longitude: 8.5455939, Altitude: 535.4,
			PositionCovariance:     [9]float64{0: 0.9 * 0.9, 4: 0.9 * 0.9, 8: 1.4 * 1.4},
			PositionCovarianceType: sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN,
		}
		fix.PositionCovariance, want.PositionCovariance = roundCovariance(fix.PositionCovariance),
			roundCovariance(want.PositionCovariance)
		require.Equal(t, want, fix)
		twist := publishedMessage[geometry_msgs.TwistStamped](s, gpsVelocity, i)
		require.Equal(t, "map", twist.Header.FrameId)
		sin, cos := math.Sincos(26.57 * math.Pi / 180)
		requireVector(t, [3]float64{1.12 * sin, 1.12 * cos, 0}, twist.Twist.Linear, tiny)
		count := publishedMessage[std_msgs.UInt32](s, gpsSatellites, i)
		require.EqualValues(t, 14, count.Data)
		raw := publishedMessage[mavros_msgs.GPSRAW](s, gpsRaw, i)
		require.Equal(t, mavros_msgs.GPSRAW{
			Header: want.Header, FixType: mavros_msgs.GPSRAW_GPS_FIX_TYPE_3D_FIX, Lat: 473977418, Lon: 85455939,
			Alt: 488000,
			Eph: 70, Epv: 110,
			Vel: 112, Cog: 2657, SatellitesVisible: 14, AltEllipsoid: 535400, HAcc: 900, VAcc: 1400, DgpsNumch: 255,
			DgpsAge: math.MaxUint32,
		}, raw)

		s.message(globalFix, i, &fix)
		want.Latitude = float64(473977418+10*i) / 1e7
		fix.PositionCovariance = roundCovariance(fix.PositionCovariance)
		require.InDelta(t, want.Altitude, fix.Altitude, 1e-9)
		fix.Altitude = want.Altitude
		require.Equal(t, want, fix)
		odometry := publishedMessage[nav_msgs.Odometry](s, globalLocal, i)
		require.Equal(t, std_msgs.Header{Stamp: at, FrameId: "map"}, odometry.Header)
		require.InDelta(t, 0, odometry.Pose.Pose.Position.X, 1e-8)
		// a degree along the meridian, 535 m above the ellipsoid
		require.InDelta(t, float64(i)*1e-6*111187.94, odometry.Pose.Pose.Position.Y, 1e-6)
		require.InDelta(t, 0, odometry.Pose.Pose.Position.Z, 1e-5)
		requireYaw(t, math.Pi/2-0.1*float64(i), odometry.Pose.Pose.Orientation, 1e-6)
		requireVector(t, [3]float64{0.5, 1, 0.1}, odometry.Twist.Twist.Linear, tiny)
		requireCovariance(t, diagonal6(0.81, 0.81, 1.96, 99999, 99999, 99999), odometry.Pose.Covariance, tiny)
		require.EqualValues(t, unknownCovariance(), odometry.Twist.Covariance)
		number := publishedMessage[std_msgs.Float64](s, globalRelativeAltitude, i)
		require.Equal(t, 3.0, number.Data)
		s.message(globalHeading, i, &number)
		require.Equal(t, 90.0, number.Data)
	}

	for i := range 10 {
		at := logStart + int64(i)*1e9
		header := std_msgs.Header{Stamp: builtin_interfaces.TimeAt(at)}
		state := publishedMessage[mavros_msgs.State](s, vehicleState, i)
		require.Equal(t, mavros_msgs.State{Header: header, Connected: true, Armed: true, Mode: "POSCTL",
			SystemStatus: 4},
			state)
		power := publishedMessage[sensor_msgs.BatteryState](s, batteryState, i)
		if i == 0 { // BATTERY_STATUS comes before SYS_STATUS
			require.True(t, math.IsNaN(float64(power.Charge)) && math.IsNaN(float64(power.Capacity)) &&
				math.IsNaN(float64(power.DesignCapacity)))
		}
		power.Charge, power.Capacity, power.DesignCapacity = 0, 0, 0
		require.Equal(t, sensor_msgs.BatteryState{
			Header: header, Voltage: 16.4, Temperature: 25.5, Current: -12.34, Percentage: 0.87, Present: true,
			PowerSupplyStatus:     sensor_msgs.BatteryState_POWER_SUPPLY_STATUS_DISCHARGING,
			PowerSupplyTechnology: sensor_msgs.BatteryState_POWER_SUPPLY_TECHNOLOGY_LIPO,
			CellVoltage:           []float32{4.1, 4.101, 4.099, 4.1}, CellTemperature: []float32{}, Location: "id0",
		}, power)
		system := publishedMessage[mavros_msgs.SysStatus](s, sysStatus, i)
		require.Equal(t, mavros_msgs.SysStatus{Header: header, VoltageBattery: 16400, CurrentBattery: 1234,
			BatteryRemaining: 87}, system)
		radio := publishedMessage[mavros_msgs.RCIn](s, rcIn, i)
		require.Equal(t, mavros_msgs.RCIn{Header: header, Rssi: 200,
			Channels: []uint16{1500, 1500, 1100, 1500, 2000, 1000, 65535, 1500}}, radio)
		reference := publishedMessage[sensor_msgs.TimeReference](s, timeReference, i)
		require.Equal(t, sensor_msgs.TimeReference{Header: header, TimeRef: header.Stamp, Source: "fcu"}, reference)
		sync := publishedMessage[mavros_msgs.TimesyncStatus](s, timesyncStatus, i)
		require.Equal(t, mavros_msgs.TimesyncStatus{
			Header: header, RemoteTimestampNs: uint64(5e9 + float64(i)*1e9), ObservedOffsetNs: logStart - 5e9 - 1e6,
			EstimatedOffsetNs: logStart,
			RoundTripTimeMs:   2,
		}, sync)
	}
	require.Empty(t, s.lines)
}
