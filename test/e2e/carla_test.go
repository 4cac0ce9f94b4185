package e2e

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	meaning "tapedeck/bridge/translate/carla"
	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/test/samples/generate"
)

// carlaLog has contents of a CARLA log. Outer keys of places and gears are times of frames in ns; other keys are ids of
// actors.
type carlaLog struct {
	actors map[uint32]string // blueprints
	roles  map[uint32]string
	places map[int64]map[uint32]carla.Position
	gears  map[int64]map[uint32]int32
	header carla.Header
}

// readLog reads a CARLA log.
func readLog(t *testing.T, path string) carlaLog {
	r, err := carla.Open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	w := carlaLog{actors: map[uint32]string{}, roles: map[uint32]string{},
		places: map[int64]map[uint32]carla.Position{}, gears: map[int64]map[uint32]int32{}, header: r.Header()}
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	for range info.MessageCount {
		m, err := it.Next()
		require.NoError(t, err)
		var now int64
		for rest := m.Data; len(rest) > 0; {
			var k carla.Packet
			k, rest, err = carla.NextPacket(rest)
			require.NoError(t, err)
			b, err := carla.Decode(r.Profile(), k)
			require.NoError(t, err)
			switch b := b.(type) {
			case *carla.FrameStart:
				now = time.Duration(math.Round(b.Elapsed * 1e6)).Nanoseconds() // µs
				w.places[now], w.gears[now] = map[uint32]carla.Position{}, map[uint32]int32{}
			case *carla.EventAddList:
				for _, a := range *b {
					w.actors[a.Actor], w.roles[a.Actor] = a.BlueprintID, a.Attribute("role_name")
				}
			case *carla.PositionList:
				for _, p := range *b {
					w.places[now][p.Actor] = p
				}
			case *carla.AnimVehicleList:
				for _, v := range *b {
					w.gears[now][v.Actor] = v.Gear
				}
			}
		}
	}
	return w
}

// TestCARLALogOverDDS plays a real log onto DDS and records a log. It checks that both have equal actors in equal
// places.
func TestCARLALogOverDDS(t *testing.T) {
	t.Parallel()
	original := generate.Path(t, "carla/scenario_runner_DistanceToLaneCenter.log")
	g := isolate(t)
	recorder := g.start("recorder", "-a", "-s", "carla", "-o", "again", "--carla-profile", "ue5")
	g.run(0, "player", original, "--wait-for-subscribers", "--rate", "4", "--exclude-regex",
		"^/carla/(status|markers|hero/vehicle_info)$")
	out := recorder.Interrupt()
	require.Contains(t, out, "not recorded: a CARLA log has nothing of /rosout")
	want, got := readLog(t, original), readLog(t, g.path("again.log"))
	require.Equal(t, want.header.Map, got.header.Map)
	require.Equal(t, want.actors, got.actors)
	for id, kind := range want.actors {
		if kind[:min(len(kind), 8)] == "vehicle." {
			require.Equal(t, want.roles[id], got.roles[id])
		}
	}
	require.Len(t, got.places, len(want.places))
	compared, missing := 0, 0
	for at, places := range want.places {
		for id, p := range places {
			q, ok := got.places[at][id]
			if !ok { // lists have no stamps: a list may be recorded with the next frame
				missing++
				continue
			}
			compared++
			require.Equal(t, want.gears[at][id], got.gears[at][id])
			near := []float64{p.Location.X, p.Location.Y, p.Location.Z}
			require.InDeltaSlice(t, near, []float64{q.Location.X, q.Location.Y, q.Location.Z}, 1e-3) // cm
			a, b := meaning.Quaternion(p.Rotation), meaning.Quaternion(q.Rotation)
			require.InDelta(t, 1, math.Abs(a.X*b.X+a.Y*b.Y+a.Z*b.Z+a.W*b.W), 1e-11) // within 1e-5 rad
		}
	}
	require.Less(t, missing, compared/100)
}
