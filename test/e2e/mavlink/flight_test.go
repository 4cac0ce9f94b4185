// Package mavlink tests the messages that mavlink_publisher, as a process, publishes of autopilots on DDS.
package mavlink

import (
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples"
)

var formats = codec.Formats{rosbag2.Format}

var bin string // folder of the executables

func TestMain(m *testing.M) {
	process.Short("TestTwoVehiclesOnOneLink")
	process.Isolate()
	os.Exit(process.Main(m, &bin, "mavlink_publisher", "recorder"))
}

// record publishes a log as fast as the recorder takes it and returns the recorded messages, by topic.
func record(t *testing.T, log string) map[string][][]byte {
	path := filepath.Join(t.TempDir(), "flight")
	recorder := process.Start(t, exec.Command(filepath.Join(bin, "recorder"), "--regex", "^/mavros/", "-s", "mcap",
		"-o",
		path))
	publisher := process.Start(t, exec.Command(filepath.Join(bin, "mavlink_publisher"),
		append([]string{log, "--rate", "0", "--wait-for-subscribers"}, process.Patient...)...))
	publisher.Wait(0)
	recorder.Interrupt()

	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	all, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer all.Close()
	recorded := map[string][][]byte{}
	for {
		m, err := all.Next()
		if errors.Is(err, io.EOF) {
			return recorded
		}
		require.NoError(t, err)
		if name, ok := strings.CutPrefix(m.Channel.Topic, "/mavros/"); ok {
			recorded[name] = append(recorded[name], slices.Clone(m.Data))
		}
	}
}

// flight is a log and the recording of its messages.
type flight struct {
	t        *testing.T
	frames   []frame // of the autopilot, from the log
	recorded map[string][][]byte
}

// compare requires that the topic has a message for each frame with this id that wanted accepts, in the order of
// frames. It calls same with each frame and its message.
func compare[T any, P interface {
	*T
	msgs.Message
}](f *flight, topic string, id byte, wanted func(frame) bool, same func(f frame, m P)) {
	f.t.Helper()
	i := 0
	for _, frame := range f.frames {
		if frame.id != id || wanted != nil && !wanted(frame) {
			continue
		}
		require.Less(f.t, i, len(f.recorded[topic]), "%s has too few messages", topic)
		var m T
		require.NoError(f.t, cdr.Unmarshal(f.recorded[topic][i], P(&m)))
		same(frame, &m)
		i++
	}
	require.Positive(f.t, i, topic)
	require.Len(f.t, f.recorded[topic], i, "%s has too many messages", topic)
	delete(f.recorded, topic)
}

const (
	g       = 9.80665
	degrees = math.Pi / 180
)

// TestFlight compares the recording of a real flight with the bytes of its log.
func TestFlight(t *testing.T) {
	if testing.Short() {
		t.Skip("-short skips the whole flight")
	}
	path := samples.Path(t, "mavlink/dronekit_flight.tlog")
	log, err := os.ReadFile(path)
	require.NoError(t, err)
	all, err := frames(log)
	require.NoError(t, err)
	f := &flight{t: t, recorded: record(t, path)}
	for _, frame := range all {
		if frame.system == 1 {
			f.frames = append(f.frames, frame)
		}
	}
	require.Greater(t, len(f.frames), 30000)
	near := func(want, got float64) {
		t.Helper()
		require.InDelta(t, want, got, 1e-6)
	}
	vector := func(x, y, z float64, v geometry_msgs.Vector3) {
		t.Helper()
		near(x, v.X)
		near(y, v.Y)
		near(z, v.Z)
	}
	// Stamps of messages are the time of reception, or an earlier time if the message has a time.
	received := func(f frame, stamp builtin_interfaces.Time) {
		t.Helper()
		near(0, float64(ns(stamp)-f.time)/1e9)
	}
	measured := func(f frame, h std_msgs.Header, frameID string) {
		t.Helper()
		require.Equal(t, frameID, h.FrameId)
		late := float64(f.time-ns(h.Stamp)) / 1e9
		require.True(t, -1e-3 < late && late < 10, "a message of %d has the stamp %d", f.time, ns(h.Stamp))
	}

	compare(f, "imu/data", attitude, nil, func(f frame, m *sensor_msgs.Imu) {
		measured(f, m.Header, "base_link")
		pitch, yaw := f.f32(8), f.f32(12)
		q := m.Orientation
		near(math.Cos(pitch)*math.Sin(yaw), 1-2*(q.Y*q.Y+q.Z*q.Z))    // how much forward points east
		near(math.Cos(pitch)*math.Cos(yaw), 2*(q.X*q.Y+q.W*q.Z))      // north
		near(math.Sin(pitch), 2*(q.X*q.Z-q.W*q.Y))                    // and up
		near(math.Sin(f.f32(4))*math.Cos(pitch), 2*(q.Y*q.Z+q.W*q.X)) // how much left points up
		vector(f.f32(16), -f.f32(20), -f.f32(24), m.AngularVelocity)
	})
	compare(f, "imu/data_raw", rawIMU, nil, func(f frame, m *sensor_msgs.Imu) {
		measured(f, m.Header, "base_link")
		vector(f.i16(8)*g/1e3, -f.i16(10)*g/1e3, -f.i16(12)*g/1e3, m.LinearAcceleration)
		vector(f.i16(14)/1e3, -f.i16(16)/1e3, -f.i16(18)/1e3, m.AngularVelocity)
		require.Equal(t, -1.0, m.OrientationCovariance[0])
	})
	compare(f, "imu/mag", rawIMU, nil, func(f frame, m *sensor_msgs.MagneticField) {
		near(f.i16(20)/10, 1e6*m.MagneticField.X) // mgauss and µT
		near(-f.i16(22)/10, 1e6*m.MagneticField.Y)
		near(-f.i16(24)/10, 1e6*m.MagneticField.Z)
	})
	compare(f, "imu/static_pressure", scaledPressure, nil,
		func(f frame, m *sensor_msgs.FluidPressure) { near(100*f.f32(4), m.FluidPressure) })
	compare(f, "imu/diff_pressure", scaledPressure, nil,
		func(f frame, m *sensor_msgs.FluidPressure) { near(100*f.f32(8), m.FluidPressure) })
	compare(f, "imu/temperature_baro", scaledPressure, nil,
		func(f frame, m *sensor_msgs.Temperature) { near(f.i16(12)/100, m.Temperature) })

	compare(f, "global_position/raw/fix", gpsRaw, nil, func(f frame, m *sensor_msgs.NavSatFix) {
		measured(f, m.Header, "base_link")
		require.Equal(t, f.payload[28] >= 3, m.Status.Status >= sensor_msgs.NavSatStatus_STATUS_FIX)
		near(f.i32(8)/1e7, m.Latitude)
		near(f.i32(12)/1e7, m.Longitude)
		near(f.i32(16)/1e3, m.Altitude)
		if eph, epv := f.u16(20), f.u16(22); eph == 65535 || epv == 65535 {
			require.Equal(t, -1.0, m.PositionCovariance[0])
		} else {
			near(math.Pow(float64(eph)/100, 2), m.PositionCovariance[4])
			near(math.Pow(float64(epv)/100, 2), m.PositionCovariance[8])
		}
	})
	compare(f, "global_position/raw/gps_vel", gpsRaw, nil, func(f frame, m *geometry_msgs.TwistStamped) {
		sin, cos := math.Sincos(float64(f.u16(26)) / 100 * degrees)
		vector(float64(f.u16(24))/100*sin, float64(f.u16(24))/100*cos, 0, m.Twist.Linear)
	})
	compare(f, "global_position/raw/satellites", gpsRaw, nil,
		func(f frame, m *std_msgs.UInt32) { require.EqualValues(t, f.payload[29], m.Data) })
	compare(f, "gpsstatus/gps1/raw", gpsRaw, nil, func(f frame, m *mavros_msgs.GPSRAW) {
		require.Equal(t, [3]float64{f.i32(8), f.i32(12), f.i32(16)},
			[3]float64{float64(m.Lat), float64(m.Lon), float64(m.Alt)})
	})
	compare(f, "global_position/global", globalPosition, nil, func(f frame, m *sensor_msgs.NavSatFix) {
		measured(f, m.Header, "base_link")
		near(f.i32(4)/1e7, m.Latitude)
		near(f.i32(8)/1e7, m.Longitude)
		near(f.i32(12)/1e3, m.Altitude)
	})
	compare(f, "global_position/rel_alt", globalPosition, nil,
		func(f frame, m *std_msgs.Float64) { near(f.i32(16)/1e3, m.Data) })
	compare(f, "global_position/compass_hdg", globalPosition, nil,
		func(f frame, m *std_msgs.Float64) { near(float64(f.u16(26))/100, m.Data) })
	var origin *frame
	fixes := validPositions(f.frames)
	compare(f, "global_position/local", globalPosition, func(f frame) bool { return fixes[f.time] },
		func(f frame, m *nav_msgs.Odometry) {
			measured(f, m.Header, "map")
			if origin == nil {
				origin = &f
				require.Equal(t, geometry_msgs.Point{}, m.Pose.Pose.Position)
			}
			// Within some kilometres, the Earth is a plane.
			const radius = 6371e3
			north := (f.i32(4) - origin.i32(4)) / 1e7 * degrees * radius
			east := (f.i32(8) - origin.i32(8)) / 1e7 * degrees * radius * math.Cos(origin.i32(4)/1e7*degrees)
			require.InDelta(t, east, m.Pose.Pose.Position.X, 0.1+0.01*math.Abs(east))
			require.InDelta(t, north, m.Pose.Pose.Position.Y, 0.1+0.01*math.Abs(north))
			require.InDelta(t, (f.i32(12)-origin.i32(12))/1e3, m.Pose.Pose.Position.Z, 0.1)
			vector(f.i16(22)/100, f.i16(20)/100, -f.i16(24)/100, m.Twist.Twist.Linear)
		})

	compare(f, "local_position/pose", localPosition, nil, func(f frame, m *geometry_msgs.PoseStamped) {
		measured(f, m.Header, "map")
		vector(f.f32(8), f.f32(4), -f.f32(12), geometry_msgs.Vector3(m.Pose.Position))
	})
	compare(f, "local_position/velocity_local", localPosition, nil, func(f frame, m *geometry_msgs.TwistStamped) {
		measured(f, m.Header, "map")
		vector(f.f32(20), f.f32(16), -f.f32(24), m.Twist.Linear)
	})
	compare(f, "local_position/velocity_body", localPosition, nil, func(f frame, m *geometry_msgs.TwistStamped) {
		v := m.Twist.Linear
		require.InDelta(t, math.Hypot(f.f32(16), math.Hypot(f.f32(20), f.f32(24))),
			math.Hypot(v.X, math.Hypot(v.Y, v.Z)),
			1e-5)
	})
	compare(f, "local_position/odom", localPosition, nil,
		func(f frame, m *nav_msgs.Odometry) { measured(f, m.Header, "map") })

	compare(f, "sys_status", sysStatus, nil, func(f frame, m *mavros_msgs.SysStatus) {
		received(f, m.Header.Stamp)
		require.Equal(t, f.u32(0), m.SensorsPresent)
		require.Equal(t, f.u32(8), m.SensorsHealth)
		require.Equal(t, f.u16(12), m.Load)
	})
	compare(f, "battery", sysStatus, nil, func(f frame, m *sensor_msgs.BatteryState) {
		near(float64(f.u16(14))/1e3, float64(m.Voltage))
		requireUnless(t, f.i16(16) == -1, -f.i16(16)/100, m.Current)
		requireUnless(t, f.payload[30] == 0xff, float64(f.payload[30])/100, m.Percentage)
	})
	modes := map[uint32]string{0: "STABILIZE", 2: "ALT_HOLD", 3: "AUTO", 4: "GUIDED", 5: "LOITER", 6: "RTL", 9: "LAND",
		16: "POSHOLD"}
	gone, armed := silences(f.frames, all[len(all)-1].time), 0
	f.recorded["state"] = withoutDisconnected(t, f.recorded["state"], gone)
	compare(f, "state", heartbeat, nil, func(f frame, m *mavros_msgs.State) {
		received(f, m.Header.Stamp)
		require.True(t, m.Connected)
		require.Equal(t, f.payload[6]&0x80 != 0, m.Armed)
		require.Equal(t, f.payload[6]&0x08 != 0, m.Guided)
		require.Equal(t, f.payload[6]&0x40 != 0, m.ManualInput)
		require.Equal(t, modes[f.u32(0)], m.Mode)
		require.Equal(t, f.payload[7], m.SystemStatus)
		if m.Armed {
			armed++
		}
	})
	require.Positive(t, armed)
	raw := true // no RC_CHANNELS has come
	var first []byte
	for _, frame := range f.frames {
		raw = raw && frame.id != rcChannels
		if raw && frame.id == rcChannelsRaw {
			first = append(first, frame.payload...)
		}
	}
	require.Len(t, first, 22, "one RC_CHANNELS_RAW comes before")
	f.recorded["rc/in"] = f.recorded["rc/in"][1:]
	compare(f, "rc/in", rcChannels, nil, func(f frame, m *mavros_msgs.RCIn) {
		require.Len(t, m.Channels, int(f.payload[40]))
		for i, c := range m.Channels {
			require.Equal(t, f.u16(4+2*i), c)
		}
		require.Equal(t, f.payload[41], m.Rssi)
	})
	compare(f, "rc/out", servoOutput, nil, func(f frame, m *mavros_msgs.RCOut) {
		for i, c := range m.Channels {
			require.Equal(t, f.u16(4+2*i), c)
		}
		require.Len(t, m.Channels, 8)
	})
	compare(f, "vfr_hud", vfrHUD, nil, func(f frame, m *mavros_msgs.VfrHud) {
		received(f, m.Header.Stamp)
		require.Equal(t, [4]float64{f.f32(0), f.f32(4), f.f32(8), f.f32(12)},
			[4]float64{float64(m.Airspeed), float64(m.Groundspeed), float64(m.Altitude), float64(m.Climb)})
		require.EqualValues(t, f.i16(16), m.Heading)
		near(float64(f.u16(18))/100, float64(m.Throttle))
	})
	knows := func(f frame) bool { return f.u64(0) > 1234567890e6 }
	compare(f, "time_reference", systemTime, knows, func(f frame, m *sensor_msgs.TimeReference) {
		require.Equal(t, int64(f.u64(0))*1e3, ns(m.TimeRef))
	})
	compare(f, "statustext/recv", statusText, nil, func(f frame, m *mavros_msgs.StatusText) {
		received(f, m.Header.Stamp)
		require.Equal(t, strings.TrimRight(string(f.payload[1:]), "\x00"), m.Text)
		require.Equal(t, f.payload[0], m.Severity)
	})
	compare(f, "param/event", paramValue, nil, func(f frame, m *mavros_msgs.ParamEvent) {
		received(f, m.Header.Stamp)
		require.Equal(t, strings.TrimRight(string(f.payload[8:24]), "\x00"), m.ParamId)
		require.Equal(t, [2]uint16{f.u16(4), f.u16(6)}, [2]uint16{m.ParamCount, m.ParamIndex})
		if m.Value.Type == rcl_interfaces.ParameterType_PARAMETER_INTEGER { // ArduPilot sends its value
			near(f.f32(0), float64(m.Value.IntegerValue))
		} else {
			require.Equal(t, f.f32(0), m.Value.DoubleValue)
		}
	})
	require.Empty(t, slices.Collect(maps.Keys(f.recorded)), "topics that the test does not compare")
}

// ns returns a time in ns.
func ns(t builtin_interfaces.Time) int64 { return int64(t.Sec)*1e9 + int64(t.Nanosec) }

// requireUnless requires the number want, or NaN if the number is unknown.
func requireUnless(t *testing.T, unknown bool, want float64, got float32) {
	t.Helper()
	if unknown {
		require.True(t, math.IsNaN(float64(got)))
		return
	}
	require.Equal(t, float32(want), got)
}

// validPositions reports by the time of a global position whether the position is valid: the GPS receiver has had a
// fix, and the position is not zero.
func validPositions(list []frame) map[int64]bool {
	known, begun, times := false, false, map[int64]bool{}
	for _, f := range list {
		switch f.id {
		case gpsRaw:
			known = f.payload[28] >= 3
		case globalPosition:
			place := f.u32(4) != 0 || f.u32(8) != 0
			begun = begun || known && place
			times[f.time] = begun && place
		}
	}
	return times
}

// silences returns the number of pauses of more than ten seconds between heartbeats, and between the last heartbeat and
// end.
func silences(list []frame, end int64) (n int) {
	last := list[0].time
	for _, f := range append(slices.Clone(list), frame{id: heartbeat, time: end}) {
		if f.id == heartbeat {
			if f.time-last > 10e9 {
				n++
			}
			last = f.time
		}
	}
	return n
}

// withoutDisconnected returns states without the n states in which the vehicle is not connected.
func withoutDisconnected(t *testing.T, states [][]byte, n int) (rest [][]byte) {
	for _, data := range states {
		var m mavros_msgs.State
		require.NoError(t, cdr.Unmarshal(data, &m))
		if m.Connected {
			rest = append(rest, data)
		}
	}
	require.Len(t, states, len(rest)+n, "silences")
	return rest
}
