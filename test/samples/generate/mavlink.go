package generate

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"

	"github.com/bluenviron/gomavlib/v3/pkg/dialect"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
)

// flight writes a log of MAVLink 2 with 10 s of a PX4 quadrotor on a steady course. TestKnownLog of
// bridge/translate/mavros expects its values.
func flight(path string) error {
	messages := &dialect.ReadWriter{Dialect: common.Dialect}
	if err := messages.Initialize(); err != nil {
		return err
	}
	var log bytes.Buffer
	frames := &frame.Writer{ByteWriter: &log, DialectRW: messages}
	if err := frames.Initialize(); err != nil {
		return err
	}
	w := streamwriter.Writer{FrameWriter: frames, Version: streamwriter.V2, SystemID: 1}
	if err := w.Initialize(); err != nil {
		return err
	}
	for i := range 500 {
		const unix = 1_764_000_000_000_000 // µs
		boot := 5000 + 20*uint32(i)        // ms
		_ = binary.Write(&log, binary.BigEndian, uint64(unix+20_000*i))
		for k, m := range step(i, unix+20_000*uint64(i), boot) {
			if k > 0 {
				_ = binary.Write(&log, binary.BigEndian, uint64(unix+20_000*i))
			}
			if err := w.Write(m); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(path, log.Bytes(), 0o666)
}

// step returns the messages of step i. unix is the Unix time in µs, and boot the time since boot in ms.
func step(i int, unix uint64, boot uint32) []message.Message {
	sin, cos := math.Sincos(0.01 * float64(i) / 2)
	q := [4]float32{float32(cos), 0, 0, float32(sin)}
	all := []message.Message{
		&common.MessageHighresImu{
			TimeUsec: uint64(boot) * 1000, Xacc: 0.1, Yacc: -0.2, Zacc: -9.81, Xgyro: 0.001, Ygyro: 0.002, Zgyro: 0.5,
			Xmag: 0.21, Ymag: 0.01, Zmag: 0.42, AbsPressure: 955.98, PressureAlt: 488, Temperature: 35.5,
			FieldsUpdated: 0x1fff,
		},
		&common.MessageAttitudeQuaternion{
			TimeBootMs: boot, Q1: q[0], Q2: q[1], Q3: q[2], Q4: q[3], Rollspeed: 0.001, Pitchspeed: 0.002,
			Yawspeed: 0.5,
		},
	}
	if i%2 == 0 {
		o := &common.MessageOdometry{
			TimeUsec: uint64(boot) * 1000, X: 1 + float32(i)/100, Y: 2, Z: -3, Q: q, Vx: 1, Vy: 0.5, Vz: -0.1,
			Rollspeed: 0.001, Pitchspeed: 0.002, Yawspeed: 0.5, FrameId: common.MAV_FRAME_LOCAL_NED,
			ChildFrameId: common.MAV_FRAME_BODY_FRD, EstimatorType: common.MAV_ESTIMATOR_TYPE_AUTOPILOT,
		}
		for k, at := range []int{0, 6, 11, 15, 18, 20} { // the diagonal
			o.PoseCovariance[at], o.VelocityCovariance[at] = float32(0.01)*float32(k+1), float32(0.1)*float32(k+1)
		}
		if i == 0 {
			o.PoseCovariance[0] = float32(math.NaN()) // unknown
		}
		all = append(all, o,
			&common.MessageLocalPositionNed{TimeBootMs: boot, X: o.X, Y: o.Y, Z: o.Z, Vx: o.Vx, Vy: o.Vy, Vz: o.Vz})
	}
	if i%10 == 0 {
		all = append(all,
			&common.MessageGpsRawInt{
				TimeUsec: uint64(boot) * 1000, FixType: common.GPS_FIX_TYPE_3D_FIX, Lat: 473977418, Lon: 85455939,
				Alt: 488000,
				Eph: 70, Epv: 110, Vel: 112, Cog: 2657, SatellitesVisible: 14, AltEllipsoid: 535400, HAcc: 900,
				VAcc: 1400,
			},
			&common.MessageGlobalPositionInt{
				TimeBootMs: boot, Lat: 473977418 + int32(i), Lon: 85455939, Alt: 488000, RelativeAlt: 3000,
				Vx: 100, Vy: 50, Vz: -10, Hdg: 9000,
			})
	}
	if i%50 == 0 {
		battery := &common.MessageBatteryStatus{
			Type: common.MAV_BATTERY_TYPE_LIPO, Temperature: 2550, CurrentBattery: 1234, CurrentConsumed: 100,
			EnergyConsumed: -1, BatteryRemaining: 87, TimeRemaining: 600,
			ChargeState: common.MAV_BATTERY_CHARGE_STATE_OK,
			Voltages:    [10]uint16{4100, 4101, 4099, 4100, 65535, 65535, 65535, 65535, 65535, 65535},
		}
		all = append(all,
			&common.MessageHeartbeat{
				Type: common.MAV_TYPE_QUADROTOR, Autopilot: common.MAV_AUTOPILOT_PX4, CustomMode: 4<<24 | 3<<16,
				MavlinkVersion: 3,
				BaseMode:       common.MAV_MODE_FLAG_SAFETY_ARMED | common.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED,
				SystemStatus:   common.MAV_STATE_ACTIVE,
			},
			battery,
			&common.MessageSysStatus{VoltageBattery: 16400, CurrentBattery: 1234, BatteryRemaining: 87},
			&common.MessageRcChannels{
				TimeBootMs: boot, Chancount: 8, Rssi: 200, Chan1Raw: 1500, Chan2Raw: 1500, Chan3Raw: 1100,
				Chan4Raw: 1500,
				Chan5Raw: 2000, Chan6Raw: 1000, Chan7Raw: 65535, Chan8Raw: 1500,
			},
			&common.MessageSystemTime{TimeUnixUsec: unix, TimeBootMs: boot},
			&common.MessageTimesync{Tc1: int64(boot) * 1e6, Ts1: int64(unix)*1000 - 2e6})
	}
	return all
}
