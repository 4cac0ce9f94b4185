package mavros

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/sensor_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
)

// TestAttitude compares the vehicle's forward and up axes in ENU with attitudes in NED.
func TestAttitude(t *testing.T) {
	const quarter = math.Pi / 2
	for name, test := range map[string]struct {
		roll, pitch, yaw float32
		forward, up      [3]float64
	}{
		"north":           {0, 0, 0, [3]float64{0, 1, 0}, [3]float64{0, 0, 1}},
		"east":            {0, 0, quarter, [3]float64{1, 0, 0}, [3]float64{0, 0, 1}},
		"south":           {0, 0, -2 * quarter, [3]float64{0, -1, 0}, [3]float64{0, 0, 1}},
		"nose up":         {0, quarter, 0, [3]float64{0, 0, 1}, [3]float64{0, -1, 0}},
		"right wing down": {quarter, 0, 0, [3]float64{0, 1, 0}, [3]float64{1, 0, 0}},
		"all": {0.3, -0.2, 1, [3]float64{math.Sin(1) * math.Cos(0.2), math.Cos(1) * math.Cos(0.2), -math.Sin(0.2)},
			// The third column of Rz·Ry·Rx is down in NED. Up in ENU is the negated column with x and y exchanged.
			[3]float64{-(math.Sin(1)*-math.Sin(0.2)*math.Cos(0.3) - math.Cos(1)*math.Sin(0.3)),
				-(math.Cos(1)*-math.Sin(0.2)*math.Cos(0.3) + math.Sin(1)*math.Sin(0.3)),
				math.Cos(0.2) * math.Cos(0.3)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestVehicle(t)
			q := geometry_msgs.FromEuler(float64(test.roll), float64(test.pitch), float64(test.yaw))
			s.receive(&common.MessageAttitude{Roll: test.roll, Pitch: test.pitch, Yaw: test.yaw, Rollspeed: 1,
				Pitchspeed: 2,
				Yawspeed:   3},
				&common.MessageAttitudeQuaternion{Q1: float32(q.W), Q2: float32(q.X), Q3: float32(q.Y),
					Q4: float32(q.Z)})
			for i := range 2 {
				imu := publishedMessage[sensor_msgs.Imu](s, imuData, i)
				o := imu.Orientation
				m := rotation(o)
				for axis := range 3 {
					require.InDelta(t, test.forward[axis], m[axis][0], 1e-6)
					require.InDelta(t, test.up[axis], m[axis][2], 1e-6)
				}
				require.Equal(t, -1.0, imu.LinearAccelerationCovariance[0], "no acceleration has come")
				if i == 0 {
					require.Equal(t, geometry_msgs.Vector3{X: 1, Y: -2, Z: -3}, imu.AngularVelocity)
				}
			}
			s.receive(&common.MessageAttitude{})
			require.Len(t, s.sent[imuData], 2, "quaternions are preferred")
		})
	}
}

// arduPilot returns a heartbeat of ArduPilot.
func arduPilot() *ardupilotmega.MessageHeartbeat {
	return &ardupilotmega.MessageHeartbeat{Type: ardupilotmega.MAV_TYPE_QUADROTOR,
		Autopilot: ardupilotmega.MAV_AUTOPILOT_ARDUPILOTMEGA}
}

// px4 returns a heartbeat of PX4.
func px4() *ardupilotmega.MessageHeartbeat {
	return &ardupilotmega.MessageHeartbeat{Type: ardupilotmega.MAV_TYPE_QUADROTOR,
		Autopilot: ardupilotmega.MAV_AUTOPILOT_PX4}
}

// TestRawIMU checks the units of RAW_IMU by autopilot.
func TestRawIMU(t *testing.T) {
	raw := &common.MessageRawImu{Xacc: 1000, Yacc: 500, Zacc: -1000, Xgyro: 100, Ygyro: 200, Zgyro: -300, Xmag: 200,
		Ymag: 10, Zmag: 400}
	for name, test := range map[string]struct {
		heartbeat    *ardupilotmega.MessageHeartbeat
		acceleration [3]float64
	}{
		"ArduPilot": {arduPilot(), [3]float64{9.80665, -9.80665 / 2, 9.80665}},
		"PX4":       {px4(), [3]float64{1, -0.5, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestVehicle(t)
			s.receive(raw)
			require.Empty(t, s.sent, "the units depend on the autopilot")
			require.Empty(t, s.lines, "no warning before the first heartbeat")
			s.receive(test.heartbeat, raw, &common.MessageRawImu{Id: 1}, &common.MessageAttitude{})
			require.Len(t, s.sent[imuRaw], 1)
			imu := publishedMessage[sensor_msgs.Imu](s, imuRaw, 0)
			requireVector(t, test.acceleration, imu.LinearAcceleration, 1e-12)
			requireVector(t, [3]float64{0.1, -0.2, 0.3}, imu.AngularVelocity, 1e-12)
			s.message(imuData, 0, &imu)
			requireVector(t, test.acceleration, imu.LinearAcceleration, 1e-12)
			mag := publishedMessage[sensor_msgs.MagneticField](s, imuMag, 0)
			requireVector(t, [3]float64{20e-6, -1e-6, -40e-6}, mag.MagneticField, 1e-18)
			require.Empty(t, s.sent[imuTemperature], "a temperature of 0 means that there is none")
		})
	}
}

// TestRawIMUInUnknownUnits checks that RAW_IMU of an unknown autopilot is not published.
func TestRawIMUInUnknownUnits(t *testing.T) {
	s := newTestVehicle(t)
	s.receive(&ardupilotmega.MessageHeartbeat{}, &common.MessageRawImu{}, &common.MessageRawImu{})
	require.Empty(t, s.sent[imuRaw])
	require.Len(t, s.lines, 1)
}

// TestPreferredMessagesStop checks that other messages replace preferred messages that stop while the vehicle stays
// connected.
func TestPreferredMessagesStop(t *testing.T) {
	s := newTestVehicle(t)
	fallbacks := []message.Message{
		&common.MessageAttitude{}, &common.MessageScaledImu{}, &common.MessageScaledPressure{},
		&common.MessageLocalPositionNed{},
		&common.MessageSysStatus{}, &common.MessageRcChannelsRaw{},
	}
	s.receive(arduPilot(), &common.MessageAttitudeQuaternion{Q1: 1}, &common.MessageHighresImu{FieldsUpdated: 0x1fff},
		&common.MessageLocalPositionNedCov{},
		&common.MessageBatteryStatus{}, &common.MessageRcChannels{Chancount: 18})
	s.receive(fallbacks...)
	counts := func() (list []int) {
		for _, topic := range []Topic{imuData, imuRaw, imuStaticPressure, localOdometry, batteryState, rcIn} {
			list = append(list, len(s.sent[topic]))
		}
		return list
	}
	require.Equal(t, []int{1, 1, 1, 1, 1, 1}, counts())
	for range int(preferenceTimeout / heartbeatTimeout) {
		s.now += heartbeatTimeout - 1e6
		s.receive(arduPilot())
	}
	s.receive(fallbacks...)
	require.Equal(t, []int{2, 2, 2, 2, 2, 2}, counts())
	received := publishedMessage[mavros_msgs.RCIn](s, rcIn, -1)
	require.Len(t, received.Channels, 8)
}

// TestKindsOfIMU checks that messages of the best kind replace messages of the other kinds.
func TestKindsOfIMU(t *testing.T) {
	s := newTestVehicle(t)
	raw := &common.MessageRawImu{Xacc: 1}
	scaled := &common.MessageScaledImu{Xacc: 1000, Xgyro: 1000, Xmag: 1000, Temperature: 2550}
	highres := &common.MessageHighresImu{Xacc: 3, FieldsUpdated: 0x1fff}
	pressure := &common.MessageScaledPressure{PressAbs: 1000, PressDiff: 1, Temperature: -250}
	requireAccelerations := func(want ...float64) {
		t.Helper()
		require.Len(t, s.sent[imuRaw], len(want))
		for i, x := range want {
			imu := publishedMessage[sensor_msgs.Imu](s, imuRaw, i)
			require.InDelta(t, x, imu.LinearAcceleration.X, 1e-12)
		}
	}
	s.receive(arduPilot(), raw, scaled, raw, pressure)
	requireAccelerations(0.00980665, 9.80665)
	mag := publishedMessage[sensor_msgs.MagneticField](s, imuMag, 1)
	require.InDelta(t, 1e-4, mag.MagneticField.X, 1e-18)
	temperature := publishedMessage[sensor_msgs.Temperature](s, imuTemperature, 0)
	require.InDelta(t, 25.5, temperature.Temperature, 1e-12)
	s.message(imuBaroTemperature, 0, &temperature)
	require.InDelta(t, -2.5, temperature.Temperature, 1e-12)
	static := publishedMessage[sensor_msgs.FluidPressure](s, imuStaticPressure, 0)
	require.Equal(t, 100000.0, static.FluidPressure)
	s.message(imuDiffPressure, 0, &static)
	require.Equal(t, 100.0, static.FluidPressure)

	s.receive(highres, scaled, raw, pressure)
	requireAccelerations(0.00980665, 9.80665, 3)
	require.Len(t, s.sent[imuStaticPressure], 2)
	require.Len(t, s.sent[imuBaroTemperature], 1)

	// The next vehicle may send fewer kinds of messages.
	s.now += heartbeatTimeout
	s.receive(arduPilot(), raw, pressure)
	requireAccelerations(0.00980665, 9.80665, 3, 0.00980665)
	require.Len(t, s.sent[imuStaticPressure], 3)
}

// TestFieldsOfHighresIMU checks that only the updated fields are published.
func TestFieldsOfHighresIMU(t *testing.T) {
	for name, test := range map[string]struct {
		fields           common.HIGHRES_IMU_UPDATED_FLAGS
		want             []Topic
		noAcc, noAngular bool
	}{
		"none":                {0, nil, false, false},
		"accelerometer":       {7, []Topic{imuRaw}, false, true},
		"gyroscope":           {7 << 3, []Topic{imuRaw}, true, false},
		"part of both":        {6<<3 | 3, nil, false, false},
		"magnetometer":        {7 << 6, []Topic{imuMag}, false, false},
		"pressure":            {1 << 9, []Topic{imuStaticPressure}, false, false},
		"difference pressure": {1 << 10, []Topic{imuDiffPressure}, false, false},
		"altitude":            {1 << 11, nil, false, false},
		"temperature":         {1 << 12, []Topic{imuTemperature}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestVehicle(t)
			s.receive(&common.MessageHighresImu{FieldsUpdated: test.fields},
				&common.MessageHighresImu{Id: 1, FieldsUpdated: 0x1fff})
			require.Len(t, s.sent, len(test.want))
			for _, topic := range test.want {
				require.Len(t, s.sent[topic], 1)
			}
			if len(s.sent[imuRaw]) > 0 {
				imu := publishedMessage[sensor_msgs.Imu](s, imuRaw, 0)
				require.Equal(t, test.noAcc, imu.LinearAccelerationCovariance[0] == -1)
				require.Equal(t, test.noAngular, imu.AngularVelocityCovariance[0] == -1)
			}
		})
	}
}
