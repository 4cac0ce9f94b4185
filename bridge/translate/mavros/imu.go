package mavros

import (
	"tapedeck/bridge"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// Units of MAVLink, in units of ROS 2.
const (
	gauss        = 1e-4           // T
	milligauss   = 1e-7           // T
	hectopascal  = 100.0          // Pa
	milliradian  = 1e-3           // rad
	milligravity = 9.80665 / 1000 // m/s²
	millimetre   = 1e-3           // m
	centidegree  = 1e-2           // degrees
)

// imuKind is a kind of messages with IMU measurements. Vehicle publishes the greatest kind that it received recently.
type imuKind int

const (
	rawIMU imuKind = iota + 1
	scaledIMU
	highresIMU
)

// imuState holds the attitude and the sensor values of the autopilot.
type imuState struct {
	receivedKind imuKind

	// Last receptions, in ns since the Unix epoch; 0: never.
	receivedKindAt    int64 // of receivedKind
	highresPressureAt int64 // of HIGHRES_IMU with a pressure
	quaternionAt      int64 // of ATTITUDE_QUATERNION

	oriented    bool                     // an attitude was received
	orientation geometry_msgs.Quaternion // of FLU in ENU
	rates       vector                   // angular velocity in FLU, in rad/s

	// Messages. Each publication overwrites them.
	data, measured sensor_msgs.Imu // of imu/data and imu/data_raw
	field          sensor_msgs.MagneticField
	pressure       sensor_msgs.FluidPressure
	temperature    sensor_msgs.Temperature
}

func (v *Vehicle) initIMU() {
	v.data.OrientationCovariance = diagonal(v.o.OrientationStdev)
	v.measured.OrientationCovariance = diagonal(0)
	v.data.LinearAccelerationCovariance = diagonal(0)
	v.data.AngularVelocityCovariance = diagonal(v.o.AngularVelocityStdev)
	v.field.MagneticFieldCovariance = diagonal(v.o.MagneticStdev)
}

// diagonal returns the covariance for a standard deviation; 0 means unknown.
func diagonal(stdev float64) [9]float64 {
	if stdev == 0 {
		return [9]float64{-1}
	}
	return [9]float64{0: stdev * stdev, 4: stdev * stdev, 8: stdev * stdev}
}

func (v *Vehicle) attitude(m *common.MessageAttitude) {
	if !v.isRecent(v.quaternionAt) {
		v.sendAttitude(geometry_msgs.FromEuler(float64(m.Roll), float64(m.Pitch), float64(m.Yaw)),
			newVector(m.Rollspeed, m.Pitchspeed, m.Yawspeed))
	}
}

func (v *Vehicle) attitudeQuaternion(m *common.MessageAttitudeQuaternion) {
	v.quaternionAt = v.now
	v.sendAttitude(newQuaternion(m.Q1, m.Q2, m.Q3, m.Q4), newVector(m.Rollspeed, m.Pitchspeed, m.Yawspeed))
}

func (v *Vehicle) sendAttitude(q geometry_msgs.Quaternion, rates vector) {
	v.orientation, v.rates, v.oriented = convertAttitude(q, toENU, toFLU), toFLU.m.rotate(rates), true
	v.data.Header = v.header(v.o.BaseFrame)
	v.data.Orientation = v.orientation
	v.data.AngularVelocity = v.rates.vector3()
	v.out.Send(imuData, &v.data)
}

// prefers reports whether kind, which was just received, is the greatest kind that was received recently.
func (v *Vehicle) prefers(kind imuKind) bool {
	if kind < v.receivedKind && v.isRecent(v.receivedKindAt) {
		return false
	}
	v.receivedKind, v.receivedKindAt = kind, v.now
	return true
}

func (v *Vehicle) highresIMU(m *common.MessageHighresImu) {
	const acceleration, rates, field = 7, 7 << 3, 7 << 6 // three axes each
	if m.Id != 0 {
		return
	}
	has := func(bits ardupilotmega.HIGHRES_IMU_UPDATED_FLAGS) bool { return m.FieldsUpdated&bits == bits }
	if (has(acceleration) || has(rates)) && v.prefers(highresIMU) {
		v.sendIMU(newVector(m.Xgyro, m.Ygyro, m.Zgyro), newVector(m.Xacc, m.Yacc, m.Zacc), has(rates),
			has(acceleration))
	}
	if has(field) {
		v.sendField(newVector(m.Xmag, m.Ymag, m.Zmag).scale(gauss))
	}
	if has(ardupilotmega.HIGHRES_IMU_UPDATED_ABS_PRESSURE) {
		v.highresPressureAt = v.now
		v.sendPressure(imuStaticPressure, m.AbsPressure)
	}
	if has(ardupilotmega.HIGHRES_IMU_UPDATED_DIFF_PRESSURE) {
		v.sendPressure(imuDiffPressure, m.DiffPressure)
	}
	if has(ardupilotmega.HIGHRES_IMU_UPDATED_TEMPERATURE) {
		v.sendTemperature(imuTemperature, float64(m.Temperature))
	}
}

func (v *Vehicle) scaledIMU(m *common.MessageScaledImu) {
	if !v.prefers(scaledIMU) {
		return
	}
	v.sendIMU(newVector(m.Xgyro, m.Ygyro, m.Zgyro).scale(milliradian),
		newVector(m.Xacc, m.Yacc, m.Zacc).scale(milligravity), true, true)
	v.sendField(newVector(m.Xmag, m.Ymag, m.Zmag).scale(milligauss))
	v.sendIMUTemperature(m.Temperature)
}

func (v *Vehicle) rawIMU(m *common.MessageRawImu) {
	if m.Id != 0 || v.heartbeatAt == 0 || !v.prefers(rawIMU) { // the units depend on the firmware
		return
	}
	var unit float64
	switch v.firmware {
	case ardupilotmega.MAV_AUTOPILOT_ARDUPILOTMEGA:
		unit = milligravity
	case ardupilotmega.MAV_AUTOPILOT_PX4:
		unit = millimetre
	default:
		v.logOnce(bridge.Warn, "%s is not published from RAW_IMU: the units of this autopilot (%v) are unknown",
			Topics[imuRaw].Name, v.firmware)
		return
	}
	v.sendIMU(newVector(m.Xgyro, m.Ygyro, m.Zgyro).scale(milliradian), newVector(m.Xacc, m.Yacc, m.Zacc).scale(unit),
		true, true)
	v.sendField(newVector(m.Xmag, m.Ymag, m.Zmag).scale(milligauss))
	v.sendIMUTemperature(m.Temperature)
}

func (v *Vehicle) scaledPressure(m *common.MessageScaledPressure) {
	if v.isRecent(v.highresPressureAt) {
		return
	}
	v.sendTemperature(imuBaroTemperature, float64(m.Temperature)*centidegree)
	v.sendPressure(imuStaticPressure, m.PressAbs)
	v.sendPressure(imuDiffPressure, m.PressDiff)
}

// sendIMU publishes measurements of an IMU, in FRD. It marks values that are not new as unknown.
func (v *Vehicle) sendIMU(rates, acceleration vector, newRates, newAcceleration bool) {
	v.measured.Header = v.header(v.o.BaseFrame)
	v.measured.AngularVelocity = toFLU.m.rotate(rates).vector3()
	v.measured.LinearAcceleration = toFLU.m.rotate(acceleration).vector3()
	v.measured.AngularVelocityCovariance, v.measured.LinearAccelerationCovariance = diagonal(0), diagonal(0)
	if newRates {
		v.measured.AngularVelocityCovariance = diagonal(v.o.AngularVelocityStdev)
	}
	if newAcceleration {
		v.measured.LinearAccelerationCovariance = diagonal(v.o.LinearAccelerationStdev)
		v.data.LinearAcceleration, v.data.LinearAccelerationCovariance = v.measured.LinearAcceleration,
			v.measured.LinearAccelerationCovariance
	}
	v.out.Send(imuRaw, &v.measured)
}

// sendField publishes a magnetic field in T, in FRD.
func (v *Vehicle) sendField(field vector) {
	v.field.Header = v.header(v.o.BaseFrame)
	v.field.MagneticField = toFLU.m.rotate(field).vector3()
	v.out.Send(imuMag, &v.field)
}

func (v *Vehicle) sendPressure(t Topic, hPa float32) {
	v.pressure.Header = v.header(v.o.BaseFrame)
	v.pressure.FluidPressure = float64(hPa) * hectopascal
	v.out.Send(t, &v.pressure)
}

// sendIMUTemperature publishes a temperature in 0.01 °C; 0 means that there is none.
func (v *Vehicle) sendIMUTemperature(t int16) {
	if t != 0 {
		v.sendTemperature(imuTemperature, float64(t)*centidegree)
	}
}

func (v *Vehicle) sendTemperature(t Topic, celsius float64) {
	v.temperature.Header = v.header(v.o.BaseFrame)
	v.temperature.Temperature = celsius
	v.out.Send(t, &v.temperature)
}
