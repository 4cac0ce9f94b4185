package mavlink

import (
	"math/rand/v2"
	"testing"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog"
)

func TestEnvelope(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, ppm := range []float64{0, 40, -40} {
		var e envelope
		for i := range int64(60_000) { // ten minutes at 100 Hz
			now := someTime + i*10e6
			truth := 1e9 + int64(float64(i)*10e6*ppm*1e-6)
			late := int64(random.ExpFloat64() * 50e6)
			if i > 30_000 && i < 30_300 {
				late += 3e9 // three seconds in which the link is stuck
			}
			delay, ok := e.observe(truth+late, now, 0)
			require.True(t, ok)
			if i > 1000 {
				require.InDelta(t, truth, e.offset, 4e6)
				require.InDelta(t, late, delay, 4e6)
			}
		}
		require.Zero(t, e.jumps)
	}
}

func TestEnvelopeJumps(t *testing.T) {
	type observation struct {
		s, offset float64
		delay     float64
		ok        bool
	}
	for _, test := range []struct {
		name  string
		seen  []observation
		jumps int
	}{
		{"a reboot", []observation{{0, 100, 0, true}, {1, 100, 0, true}, {20, 118, 0, false}, {21, 118, 0, false},
			{22, 118, 0, true}, {23, 118, 0, true}}, 1},
		{"a clock set back", []observation{{0, 100, 0, true}, {1, 40, 0, false}, {2, 40, 0, false}, {3, 40, 0, true}},
			1},
		{"one message of another time", []observation{{0, 100, 0, true}, {1, 700, 0, false}, {1.5, 100, 0, true},
			{2, 700, 0, false}, {3, 100, 0, true}, {3.5, 700, 0, false}, {4, 100.5, 0.5, true}}, 0},
		{"a link that was stuck", []observation{{0, 100, 0, true}, {9, 109, 0, false}, {9.1, 107, 0, false},
			{9.2, 103, 3, true}, {9.3, 100, 0, true}}, 0},
		{"late for more than a minute", []observation{{0, 100, 0, true}, {1, 102, 2, true}, {61.5, 102, 2, true},
			{90, 102, 2, true}, {122, 102, 0, true}, {123, 102, 0, true}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e envelope
			for _, o := range test.seen {
				delay, ok := e.observe(int64(o.offset*1e9), someTime+int64(o.s*1e9), 0)
				require.Equal(t, o.ok, ok)
				require.InDelta(t, o.delay, float64(delay)/1e9, 0.02)
			}
			require.Equal(t, test.jumps, e.jumps)
		})
	}
}

func TestWrapped(t *testing.T) {
	require.EqualValues(t, 5, wrapped(5, 0))
	require.EqualValues(t, 5, wrapped(5, 1000))
	require.EqualValues(t, -5, wrapped(995, 1000))
	require.EqualValues(t, 7, wrapped(-2993, 1000))
}

// clockTest feeds frames of one component to a clock.
type clockTest struct {
	t      *testing.T
	clock  componentClock
	known  map[uint32]tlog.MessageFormat
	stamps Stamps
}

func newClockTest(t *testing.T, stamps Stamps) *clockTest {
	known := knownFormats(t)
	return &clockTest{t: t, clock: componentClock{stamps: make(map[uint32]lastTime)}, known: known, stamps: stamps}
}

// stamp returns the stamp of m, received at a time. Both are in s after someTime.
func (c *clockTest) stamp(received float64, m message.Message) float64 {
	f := &Frame{Message: m, Received: someTime + int64(received*1e9)}
	return float64(c.clock.stamp(f, c.known[m.GetID()].Time(m), c.stamps)-someTime) / 1e9
}

func imu(micros uint64) message.Message { return &common.MessageHighresImu{TimeUsec: micros} }

func systemTime(unixMicros uint64, ms uint32) message.Message {
	return &common.MessageSystemTime{TimeUnixUsec: unixMicros, TimeBootMs: ms}
}

func TestStampReceive(t *testing.T) {
	c := newClockTest(t, StampReceive)
	for _, at := range []float64{0, 0.5, 0.4, 7} {
		require.InDelta(t, at, c.stamp(at, attitude(uint32(1000+at))), 1e-9)
	}
}

func TestStampSync(t *testing.T) {
	c := newClockTest(t, StampSync) // boot was 10 s before someTime
	require.InDelta(t, 0.1, c.stamp(0.1, attitude(10_100)), 1e-5)
	require.InDelta(t, 0.2, c.stamp(0.3, attitude(10_200)), 1e-4, "0.1 s late")
	require.InDelta(t, 0.25, c.stamp(0.3, imu(10_250_000)), 1e-4, "IMU times are on the boot clock")
	require.InDelta(t, 0.35, c.stamp(0.35, heartbeat()), 1e-9, "a heartbeat has no time")
	require.InDelta(t, 0.3, c.stamp(0.4, &common.MessageGpsRawInt{TimeUsec: 10_300_000}), 1e-4)
	require.InDelta(t, 0.45, c.stamp(0.45, &common.MessageGpsRawInt{}), 1e-9, "time 0 is unknown")
	require.InDelta(t, 0.5, c.stamp(0.5, &common.MessageGpsRawInt{TimeUsec: 1}), 1e-9, "an implausible time is ignored")
	require.InDelta(t, 0.500001, c.stamp(0.6, &common.MessageGpsRawInt{TimeUsec: 10_450_000}), 1e-9,
		"a stamp is after the previous stamp")
	require.InDelta(t, 0.6, c.stamp(0.6, &common.MessageServoOutputRaw{TimeUsec: 10_500_000}), 1e-9,
		"goes round too soon")

	require.InDelta(t, 0.7, c.stamp(0.7, &common.MessageOdometry{TimeUsec: 1_700_000_000_000_000}), 1e-4,
		"Unix time of a clock that is wrong by years")
	require.InDelta(t, 0.8, c.stamp(1.0, &common.MessageOdometry{TimeUsec: 1_700_000_000_100_000}), 1e-4)
	require.InDelta(t, 0.9, c.stamp(1.1, imu(10_900_000)), 1e-3, "Unix times do not change boot times")
}

// The ids of unknown messages may be made up, and are many.
func TestStampsOfUnknownMessages(t *testing.T) {
	c := newClockTest(t, StampSync)
	for i := range 1000 {
		at := float64(i) / 1000
		require.InDelta(t, at, c.stamp(at, &message.MessageRaw{ID: uint32(1e6 + i)}), 1e-9)
	}
	require.Empty(t, c.clock.stamps)
}

// Time since boot wraps after 49.7 days in ms, but not in µs.
func TestStampsWhenTimeWraps(t *testing.T) {
	const round = 1 << 32
	c := newClockTest(t, StampSync)
	for i := range 100 {
		at := float64(i) / 10
		ms := uint64(round - 5000 + i*100)
		require.InDelta(t, at, c.stamp(at+0.001, attitude(uint32(ms))), 0.002)
		require.InDelta(t, at, c.stamp(at+0.001, imu(ms*1000)), 0.002)
	}
	require.Zero(t, c.clock.boot.jumps)
}

// Stamps of a message ascend, even when the clock offset falls.
func TestStampsAscend(t *testing.T) {
	c := newClockTest(t, StampSync)
	require.InDelta(t, 0.5, c.stamp(0.5, attitude(1000)), 1e-9)
	require.InDelta(t, 0.51, c.stamp(0.52, attitude(1010)), 1e-4)
	require.InDelta(t, 0.6, c.stamp(0.6, imu(1_300_000)), 1e-4, "all others were 0.2 s late")
	require.InDelta(t, 0.510001, c.stamp(0.61, attitude(1100)), 1e-4, "would be 0.4")
	require.InDelta(t, 0.62, c.stamp(0.65, attitude(1320)), 1e-4)

	reboot := newClockTest(t, StampSync)
	require.InDelta(t, 100, reboot.stamp(100, attitude(500_000)), 1e-9)
	for i := range uint32(100) {
		at := 105 + float64(i)/10
		require.InDelta(t, at, reboot.stamp(at, attitude(1000+i*100)), 0.001)
	}
	require.Equal(t, 1, reboot.clock.boot.jumps)
}

func TestStampVehicle(t *testing.T) {
	c := newClockTest(t, StampVehicle)
	unix := func(at float64) uint64 { return uint64((float64(someTime)/1e9 + at) * 1e6) }
	require.InDelta(t, 0.1, c.stamp(0.1, attitude(10_100)), 1e-5)
	require.InDelta(t, 0.2, c.stamp(0.2, systemTime(0, 10_200)), 1e-4, "does not know the time yet")
	require.InDelta(t, 0.25, c.stamp(0.25, systemTime(1_000_000, 10_250)), 1e-4, "neither")
	require.InDelta(t, 3600.3, c.stamp(0.3, systemTime(unix(3600.3), 10_300)), 1e-3, "is an hour ahead")
	require.InDelta(t, 3600.35, c.stamp(0.45, attitude(10_350)), 1e-3)
	require.InDelta(t, 3600.5, c.stamp(0.5, heartbeat()), 1e-3)
	require.InDelta(t, 3600.4, c.stamp(0.6, &common.MessageOdometry{TimeUsec: unix(3600.4)}), 0.21)
}

func TestStampTimeSync(t *testing.T) {
	c := newClockTest(t, StampSync)
	clock := autopilotClock{began: someTime - 10e9, speed: 1}
	// Messages are at least 20 ms late, which only TIMESYNC can show.
	require.InDelta(t, 1.02, c.stamp(1.02, imu(11_000_000)), 1e-9)
	for i := range int64(syncWindow) {
		exchange(&c.clock.sync, clock, someTime+i*100e6, 1e6, 1e6)
	}
	now := float64(syncWindow) / 10
	require.InDelta(t, now, c.stamp(now+0.02, imu(uint64((10+now)*1e6))), 1e-4)
	require.InDelta(t, now+0.1, c.stamp(now+0.15, attitude(uint32((10.1+now)*1e3))), 1e-4)
	require.InDelta(t, now+0.3, c.stamp(now+0.32, &common.MessageOdometry{TimeUsec: 1_800_000_000_000_000}), 0.021,
		"another clock")
	require.InDelta(t, now+0.5, c.stamp(now+0.5, imu(uint64((10.505+now)*1e6))), 1e-9, "never later than it came")
	// Without replies, the least delayed messages count.
	require.InDelta(t, now+30, c.stamp(now+30, imu(uint64((40+now)*1e6))), 0.021)
}
