package mavlink

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog"
)

func TestSequence(t *testing.T) {
	type step struct {
		number uint8
		ms     int64 // since the step before
	}
	// run is n numbers on from a first one, at 100 Hz.
	run := func(first uint8, n int) []step {
		var all []step
		for i := range n {
			all = append(all, step{first + uint8(i), 10})
		}
		return all
	}
	then := func(runs ...[]step) []step {
		var all []step
		for _, r := range runs {
			all = append(all, r...)
		}
		return all
	}
	for _, test := range []struct {
		name                             string
		steps                            []step
		lost, duplicates, late, restarts int
	}{
		{"none is lost", run(250, 600), 0, 0, 0, 0},
		{"one is lost", then(run(7, 20), run(28, 20)), 1, 0, 0, 0},
		{"some are lost where numbers go round", then(run(240, 14), run(3, 20)), 5, 0, 0, 0},
		{"every second is lost", []step{{0, 20}, {2, 20}, {4, 20}, {6, 20}}, 3, 0, 0, 0},
		{"a second is lost", then(run(0, 100), []step{{200, 1000}}, run(201, 10)), 100, 0, 0, 0},
		{"twice each", []step{{1, 0}, {1, 0}, {2, 10}, {2, 0}, {3, 10}, {3, 0}}, 0, 3, 0, 0},
		{"the last ones again", then(run(10, 20), []step{{25, 0}, {26, 0}}, run(30, 5)), 0, 2, 0, 0},
		{"swapped", []step{{1, 10}, {2, 10}, {4, 10}, {3, 0}, {5, 10}}, 1, 0, 1, 0},
		{"swapped where numbers go round", []step{{254, 10}, {0, 10}, {255, 0}, {1, 10}}, 1, 0, 1, 0},
		{"late, and again", []step{{1, 10}, {4, 10}, {2, 0}, {2, 0}, {5, 10}}, 2, 1, 1, 0},
		{"before the first", []step{{9, 10}, {8, 0}, {10, 10}}, 0, 1, 0, 0},
		{"a reboot", then(run(0, 100), []step{{0, 3000}}, run(1, 100)), 0, 0, 0, 1},
		{"a reboot that takes no time", then(run(0, 150), run(0, 100)), 0, 0, 0, 1},
		{"a reboot shortly after the first", then(run(0, 30), run(0, 100)), 0, 8, 0, 1},
		{"a long silence", then(run(0, 100), []step{{50, 60000}}, run(51, 10)), 0, 0, 0, 1},
		{"once in five seconds", []step{{1, 5000}, {2, 5000}, {3, 5000}, {5, 10000}}, 1, 0, 0, 0},
		{"time goes back", then(run(0, 10), []step{{10, -3600e3}}, run(11, 10)), 0, 0, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s sequence
			now := someTime
			lost := 0
			got := make(map[arrival]int)
			for _, step := range test.steps {
				now += step.ms * 1e6
				n, a := s.next(step.number, now)
				lost += n
				got[a]++
			}
			require.Equal(t, test.lost, lost)
			require.Equal(t, test.duplicates, got[duplicate])
			require.Equal(t, test.late, got[late])
			require.Equal(t, test.restarts, got[restart])
		})
	}
}

func TestStatistics(t *testing.T) {
	total := newStatistics()
	a := newConnection(total, knownFormats(t))
	b := newConnection(total, knownFormats(t))
	h := tlog.Header{System: 1, Component: 1, Size: 20}
	now := someTime + 1
	for i := range 20 * 50 { // 20 s at 50 Hz; every fifth frame is lost
		h.Sequence = uint8(i)
		if i%5 != 4 {
			a.frame(h, now)
		}
		now += 20e6
	}
	b.frame(tlog.Header{System: 2, Component: 3, Sequence: 77, ID: 0xffff, Size: 30}, now)
	b.frame(tlog.Header{System: 1, Component: 1, Sequence: 3, Size: 20}, now) // on another connection
	s := total.snapshot(now)
	require.EqualValues(t, 802, s.Received)
	require.EqualValues(t, 801*20+30, s.Bytes)
	require.EqualValues(t, 199, s.Lost)
	require.InDelta(t, 40, s.Rate, 0.2)
	require.InDelta(t, 800, s.ByteRate, 4)
	require.InDelta(t, 80, s.Quality, 0.2)
	require.EqualValues(t, 1, s.Unknown)
	require.Equal(t, map[uint32]uint64{0xffff: 1}, s.UnknownIDs)
	require.Len(t, s.Components, 2)
	require.Equal(t, address{1, 1}, address{s.Components[0].System, s.Components[0].Component})
	require.EqualValues(t, 801, s.Components[0].Received)
	require.InDelta(t, 80, s.Components[0].Quality, 0.2)
	require.EqualValues(t, 1, s.Components[1].Received)
	require.EqualValues(t, 100, s.Components[1].Quality)

	later := total.snapshot(now + 20e9)
	require.Zero(t, later.Rate+later.ByteRate)
	require.EqualValues(t, 100, later.Quality)
	require.EqualValues(t, 802, later.Received)
	s.UnknownIDs[1] = 1
	require.NotContains(t, later.UnknownIDs, uint32(1))

	for id := range uint32(1000) { // a sender can make up 2^24 ids
		b.frame(tlog.Header{System: 2, Component: 3, ID: 1e6 + id, Size: 30}, now)
	}
	b.frame(tlog.Header{System: 2, Component: 3, ID: 0xffff, Size: 30}, now)
	s = total.snapshot(now)
	require.EqualValues(t, 1002, s.Unknown)
	require.Len(t, s.UnknownIDs, mostUnknownIDs)
	require.EqualValues(t, 2, s.UnknownIDs[0xffff])
}

// A late frame no longer counts as lost.
func TestStatisticsOfLateFrames(t *testing.T) {
	total := newStatistics()
	c := newConnection(total, knownFormats(t))
	for i, number := range []uint8{1, 2, 5, 4, 3, 6} {
		c.frame(tlog.Header{System: 1, Component: 1, Sequence: number, Size: 20}, someTime+int64(i)*1e6)
	}
	s := total.snapshot(someTime + 1e9)
	require.Zero(t, s.Lost)
	require.EqualValues(t, 2, s.Reordered)
	require.EqualValues(t, 6, s.Received)
	require.EqualValues(t, 100, s.Quality)
}
