package mavros

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/device/mavlink"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
)

const logStart = int64(1764000000e9) // ns since the Unix epoch

// testPublisher stores the messages that a vehicle publishes.
type testPublisher struct {
	t     *testing.T
	sent  map[Topic][][]byte // encoded messages
	lines []string           // logged texts
}

func (a *testPublisher) Send(t Topic, m msgs.Message) {
	require.Equal(a.t, Topics[t].Message.TypeName(), m.TypeName())
	data, err := cdr.Marshal(m)
	require.NoError(a.t, err)
	a.sent[t] = append(a.sent[t], data)
}

func (a *testPublisher) Log(_ bridge.LogLevel, format string, args ...any) {
	a.lines = append(a.lines, fmt.Sprintf(format, args...))
}

// message sets m to the i-th message of a topic, counted from the end if i is negative.
func (a *testPublisher) message(t Topic, i int, m msgs.Message) {
	a.t.Helper()
	if i < 0 {
		i += len(a.sent[t])
	}
	require.Less(a.t, i, len(a.sent[t]), Topics[t].Name)
	require.GreaterOrEqual(a.t, i, 0, Topics[t].Name)
	require.NoError(a.t, cdr.Unmarshal(a.sent[t][i], m))
}

// publishedMessage returns the i-th message of a topic, counted from the end if i is negative.
func publishedMessage[M any, P interface {
	*M
	msgs.Message
}](s *testVehicle, t Topic, i int) (m M) {
	s.t.Helper()
	s.message(t, i, P(&m))
	return m
}

// testVehicle is a vehicle that stores the messages that it publishes.
type testVehicle struct {
	*Vehicle
	*testPublisher
	now int64 // reception of the last message, in ns since the Unix epoch
	v2  bool  // the autopilot sends MAVLink 2
}

func newTestVehicle(t *testing.T) *testVehicle {
	o := DefaultOptions()
	a := &testPublisher{t: t, sent: map[Topic][][]byte{}}
	clock := func() mavlink.VehicleClock { return mavlink.VehicleClock{Offset: logStart} }
	return &testVehicle{Vehicle: NewVehicle(&o, a, nil, clock), testPublisher: a, now: logStart}
}

// receive passes messages of the autopilot to the vehicle, one per millisecond.
func (s *testVehicle) receive(list ...message.Message) {
	for _, m := range list {
		s.now += 1e6
		s.Handle(&mavlink.Frame{System: 1, Component: 1, V2: s.v2, Message: m, Received: s.now, Stamp: s.now - 1e3,
			Autopilot: true})
	}
}

func requireVector(t *testing.T, want [3]float64, v geometry_msgs.Vector3, tolerance float64) {
	t.Helper()
	for i, got := range []float64{v.X, v.Y, v.Z} {
		require.InDelta(t, want[i], got, tolerance, "%v", v)
	}
}

// requireYaw requires a rotation about the vertical, in radians from the first axis to the second.
func requireYaw(t *testing.T, want float64, q geometry_msgs.Quaternion, tolerance float64) {
	t.Helper()
	require.InDelta(t, 0, q.X, tolerance)
	require.InDelta(t, 0, q.Y, tolerance)
	require.InDelta(t, 1, q.W*q.W+q.Z*q.Z, tolerance)
	require.InDelta(t, 0, math.Remainder(want-2*math.Atan2(q.Z, q.W), 2*math.Pi), tolerance)
}

// f64 returns a number with the precision of 32 bits.
func f64(f float32) float64 { return float64(f) }

// roundCovariance returns a covariance rounded to 15 decimals.
func roundCovariance(c [9]float64) [9]float64 {
	for i := range c {
		c[i] = math.Round(c[i]*1e15) / 1e15
	}
	return c
}

// diagonal6 returns a covariance with the given diagonal.
func diagonal6(values ...float64) (c covariance) {
	for i, v := range values {
		c[7*i] = v
	}
	return c
}

func requireCovariance(t *testing.T, want, got covariance, tolerance float64) {
	t.Helper()
	require.InDeltaSlice(t, want[:], got[:], tolerance)
}

// discard drops all messages.
type discard struct{ Publisher }

func (discard) Send(Topic, msgs.Message) {}

// TestPublishingAllocatesNothing checks that a vehicle reuses its messages.
func TestPublishingAllocatesNothing(t *testing.T) {
	o := DefaultOptions()
	v := NewVehicle(&o, discard{}, nil, func() mavlink.VehicleClock { return mavlink.VehicleClock{} })
	var frames []*mavlink.Frame
	for _, m := range []message.Message{
		&common.MessageAttitude{}, &common.MessageAttitudeQuaternion{Q1: 1}, &common.MessageScaledPressure{},
		&common.MessageHighresImu{FieldsUpdated: 0x1fff},
		&common.MessageGpsRawInt{FixType: 3, AltEllipsoid: 1}, &ardupilotmega.MessageGlobalPositionInt{Lat: 1},
		&common.MessageAltitude{},
		&common.MessageLocalPositionNed{}, &common.MessageLocalPositionNedCov{},
		&common.MessageOdometry{FrameId: 1, ChildFrameId: 12},
		&common.MessageSysStatus{}, &common.MessageRcChannels{Chancount: 18}, &common.MessageServoOutputRaw{},
		&common.MessageVfrHud{},
		&common.MessageSystemTime{TimeUnixUsec: 1764000000e6}, &common.MessageTimesync{Tc1: 1, Ts1: logStart},
	} {
		frames = append(frames, &mavlink.Frame{Message: m, Received: logStart, Stamp: logStart})
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, f := range frames {
			v.Handle(f)
		}
	}))
}
