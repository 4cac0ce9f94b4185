package mavlink

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// autopilotClock is a clock with another start and speed.
type autopilotClock struct {
	began int64
	speed float64
}

func (c autopilotClock) at(now int64) int64 { return int64(float64(now-c.began) * c.speed) }

// exchange is a request at now, with a delay in ns each way, and its reply.
func exchange(s *timeSync, c autopilotClock, now, there, back int64) bool {
	s.request(now)
	return s.reply(now, c.at(now+there), now+there+back)
}

func TestTimeSync(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, ppm := range []float64{0, 30, -50} {
		var s timeSync
		clock := autopilotClock{began: someTime - 3600e9, speed: 1 - ppm*1e-6}
		now := someTime
		step := func() {
			now += 100e6
			there, back := int64(200e3+random.ExpFloat64()*300e3), int64(200e3+random.ExpFloat64()*300e3)
			if random.IntN(20) == 0 {
				there += 40e6 // a hiccup
			}
			require.True(t, exchange(&s, clock, now, there, back))
		}
		wrong := func() float64 { return float64(s.offset(now) - (now - clock.at(now))) }
		for s.exchanges < syncWindow {
			require.False(t, s.converged(now))
			step()
		}
		require.True(t, s.converged(now))
		require.InDelta(t, 0, wrong(), 500e3)
		for range 3000 {
			step()
			require.InDelta(t, 0, wrong(), 300e3)
		}
		require.InDelta(t, ppm, s.drift*1e6, 3)
		require.Zero(t, s.jumps)
		require.True(t, s.converged(now+9e9))
		require.InDelta(t, float64(s.offset(now))+9e9*ppm*1e-6, s.offset(now+9e9), 30e3)
		require.False(t, s.converged(now+11e9), "nothing was heard for long")

		clock.began = now // a reboot
		for range syncDeviations - 1 {
			now += 100e6
			exchange(&s, clock, now, 1e6, 1e6)
		}
		require.Zero(t, s.jumps)
		now += 100e6
		exchange(&s, clock, now, 1e6, 1e6)
		require.Equal(t, 1, s.jumps)
		require.Equal(t, 1, s.exchanges)
		require.InDelta(t, 0, wrong(), 10e3)
		for s.exchanges < syncWindow {
			step()
		}
		require.True(t, s.converged(now))
		require.InDelta(t, 0, wrong(), 500e3)
	}
}

func TestTimeSyncIgnores(t *testing.T) {
	clock := autopilotClock{began: someTime - 5e9, speed: 1}
	var s timeSync
	require.False(t, s.reply(someTime, clock.at(someTime), someTime+1e6), "what was never asked")
	require.False(t, s.reply(0, clock.at(someTime), someTime), "what nobody asked")
	require.True(t, exchange(&s, clock, someTime, 1e6, 1e6))
	require.False(t, s.reply(someTime, clock.at(someTime), someTime+3e6), "the same again")
	require.Equal(t, 1, s.exchanges)
	require.EqualValues(t, 2e6, s.roundTrip)
	require.EqualValues(t, someTime-5e9, s.observed)
	require.EqualValues(t, 5e9+1e6, s.remote)

	require.True(t, exchange(&s, clock, someTime+1e9, 6e6, 5e6)) // a slow one
	require.Equal(t, 1, s.exchanges)
	require.EqualValues(t, 11e6, s.roundTrip)

	require.True(t, exchange(&s, autopilotClock{speed: 1}, someTime+2e9, 1e6, 1e6)) // a wrong one
	require.True(t, exchange(&s, clock, someTime+3e9, 1e6, 1e6))
	require.Equal(t, 2, s.exchanges)
	require.Zero(t, s.deviations)

	for i := range int64(syncRequests + 1) { // the first is forgotten
		s.request(someTime + i)
	}
	require.False(t, s.reply(someTime, 1, someTime+1e6))
	require.True(t, s.reply(someTime+1, 1, someTime+1e6))
}
