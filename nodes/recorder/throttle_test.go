package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/std_msgs"
)

func TestThrottle(t *testing.T) {
	const second = int64(time.Second)
	const begin = 1700000000 * second
	jitter := []int64{0, 40, -30, 10, -50, 20, 50, -10, 30, -40} // thousandths of a period
	for _, c := range []struct {
		rule string
		rate int // messages a second
		want int // of those in ten seconds; one more is allowed
	}{
		{"/n=5Hz", 100, 50}, {"/n=5Hz", 10, 50}, {"/n=5hz", 5, 50}, {"/n=5Hz", 4, 40}, {"/n=5 Hz", 6, 50},
		{"/n=0.5Hz", 30, 5}, {"*=20Hz", 30, 200}, {"/n=1/10", 100, 100}, {"/n=1/1", 7, 70}, {"/n=1/3", 9, 30},
	} {
		t.Run(fmt.Sprint(c.rule, " of ", c.rate), func(t *testing.T) {
			rules, err := parseThrottles([]string{"/m=1Hz", c.rule, "/n=1/1000"})
			require.NoError(t, err)
			throttle := throttleOf(rules, "/n")
			period := second / int64(c.rate)
			passed := 0
			for i := range int64(10 * c.rate) {
				if throttle.passes(begin + i*period + jitter[i%10]*period/1000) {
					passed++
				}
			}
			require.GreaterOrEqual(t, passed, c.want)
			require.LessOrEqual(t, passed, c.want+1)
		})
	}
	rules, err := parseThrottles([]string{"/n=1Hz"})
	require.NoError(t, err)
	require.Nil(t, throttleOf(rules, "/m"))
	throttle := throttleOf(rules, "/n")
	for _, step := range []struct {
		stamp  int64
		passes bool
	}{
		{begin, true}, {begin + second/2, false}, {begin + second, true}, {begin + 60*second, true}, {begin + 60*second + second/2, false},
		{begin, true}, {begin + second/2, false}, {begin + second, true}, // simulated time began anew
		{0, true}, {second / 2, false}, {second, true},
	} {
		require.Equal(t, step.passes, throttle.passes(step.stamp), step.stamp-begin)
	}
}

func TestThrottleRefuses(t *testing.T) {
	for _, text := range []string{"/n", "/n=", "/n=5", "=5Hz", "/n=0Hz", "/n=-1Hz", "/n=Hz", "/n=1e300Hz", "/n=1e-300Hz", "/n=nanHz", "/n=1/0", "/n=1/x", "/n=2/3"} {
		_, err := parseThrottles([]string{text})
		require.ErrorContains(t, err, "want TOPIC=5Hz or TOPIC=1/10", text)
	}
}

// What is throttled is counted, and is in snapshots; latched topics are not throttled.
func TestRecorderThrottles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("mcap")
		o.Throttle, o.Snapshot, o.SnapshotDuration = []string{"/*=1/3"}, true, 0
		d := newDeck(t, o, "/n", "/map", "/m")
		send := func(topic string, qos codec.QoS, wanted int) {
			p := d.advertise(topic, qos)
			for i := range uint32(10) {
				data, err := cdr.Marshal(&std_msgs.UInt32{Data: i})
				require.NoError(t, err)
				require.NoError(t, p.Publish(data))
			}
			require.Eventually(t, func() bool {
				for _, rec := range d.recorded() {
					if c := rec.counts(); rec.channel.Load().Topic == topic {
						return c.Received == uint64(wanted) && c.throttled == uint64(10-wanted)
					}
				}
				return false
			}, patient, time.Millisecond)
		}
		send("/n", codec.DefaultQoS(), 4)
		send("/map", bridge.LatchedQoS(), 10)
		_, _, err := d.split()
		require.NoError(t, err)
		send("/m", codec.DefaultQoS(), 4)
		snapshot, err := d.snapshots.takeNow(t.Context(), trigger{})
		require.NoError(t, err)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{0, 3, 6, 9}, numbers(t, d.path(), "/n"))
		require.Len(t, numbers(t, snapshot.path, "/n"), 10)
		require.Contains(t, events(t, "drive/drive_0.mcap"), "throttle /n 6 left out, as throttle asks")
		last := events(t, "drive/drive_1.mcap")
		require.Contains(t, last, "throttle /m 6 left out, as throttle asks")
		require.NotContains(t, last, "throttle /n 6 left out, as throttle asks")
		require.Contains(t, d.said.String(), "18 messages")
		require.Contains(t, d.said.String(), "12 throttled, 0 dropped")
	})
}
