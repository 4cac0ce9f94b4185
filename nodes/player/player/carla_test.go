package player

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// makeLog writes a CARLA log of 11 frames, 0.1 s apart, in which the hero and another vehicle drive 1 m each.
func makeLog(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "drive.log")
	w, err := all.Formats().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: carla.Topic, Type: carla.Type, Encoding: carla.Encoding,
		Metadata: map[string]string{carla.KeyProfile: carla.UE4.Name}}
	for i := range 11 {
		bodies := []carla.Body{&carla.FrameStart{Frame: uint64(i + 1), Duration: -1, Elapsed: float64(i) / 10}}
		if i == 0 {
			bodies = append(bodies, &carla.EventAddList{
				{Actor: 1, BlueprintID: "spectator"},
				{Actor: 2, Type: carla.ActorVehicle,
					Attributes: []carla.Attribute{{Type: carla.AttributeString, ID: "role_name",
						Value: "hero"}}},
				{Actor: 3, Type: carla.ActorVehicle,
					Attributes: []carla.Attribute{{Type: carla.AttributeString, ID: "role_name",
						Value: "other"}}},
			})
		}
		at := carla.Vector{X: 100 * float64(i)}
		bodies = append(bodies, &carla.PositionList{{Actor: 1}, {Actor: 2, Location: at}, {Actor: 3, Location: at}},
			&carla.FrameEnd{})
		var data []byte
		for _, b := range bodies {
			data, err = carla.AppendPacket(data, carla.UE4, b)
			require.NoError(t, err)
		}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1_700_000_000e9 + int64(i)*1e8, Data: data}))
	}
	require.NoError(t, w.Close())
	return path
}

// TestLogOfCARLA plays the last 0.45 s of a log, with poses between frames and without the hero. The spectator follows
// the other vehicle.
func TestLogOfCARLA(t *testing.T) {
	o := testOptions()
	o.Immediate, o.Interpolate, o.Follow, o.IgnoreHero, o.StartOffset = true, 40, "other", true, -450*time.Millisecond
	h := newFixture(t, o, makeLog(t))
	h.subscribe("/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS())
	h.subscribe("/tf", "tf2_msgs/msg/TFMessage", codec.DefaultQoS())
	h.subscribe("/carla/other/odometry", "nav_msgs/msg/Odometry", codec.DefaultQoS())
	for _, p := range h.publishers {
		require.NotContains(t, p.Topic(), "hero")
	}
	h.open()
	h.end()

	var times, places []float64
	for _, data := range h.payloads("/clock") {
		var m rosgraph_msgs.Clock
		require.NoError(t, cdr.Unmarshal(data, &m))
		times = append(times, float64(m.Clock.Nanosec/1e6)/1e3+float64(m.Clock.Sec))
	}
	require.Len(t, times, 17) // the first frame that is read is at 0.6 s
	require.Equal(t, 0.6, times[0])
	require.Equal(t, 1.0, times[16])
	require.IsNonDecreasing(t, times)
	for _, data := range h.payloads("/carla/other/odometry") {
		var m nav_msgs.Odometry
		require.NoError(t, cdr.Unmarshal(data, &m))
		places = append(places, m.Pose.Pose.Position.X)
	}
	require.InDeltaSlice(t, []float64{6, 6.25, 6.5, 6.75, 7, 7.25, 7.5, 7.75, 8, 8.25, 8.5, 8.75, 9, 9.25, 9.5, 9.75,
		10},
		places, 1e-5)
	last := h.payloads("/tf")[16]
	var m tf2_msgs.TFMessage
	require.NoError(t, cdr.Unmarshal(last, &m))
	require.Len(t, m.Transforms, 2)
	require.Equal(t, "spectator", m.Transforms[0].ChildFrameId)
	require.InDelta(t, 0, m.Transforms[0].Transform.Translation.X, 1e-5)
	require.InDelta(t, 5, m.Transforms[0].Transform.Translation.Z, 1e-5)
	require.Equal(t, "other", m.Transforms[1].ChildFrameId)

	o = testOptions()
	o.Follow = "ego"
	_, err := openRecordings(t.Context(), nil, []string{makeLog(t)}, nil, false, everything, o.ReadOptions)
	require.ErrorContains(t, err, `drive.log: there is no vehicle or walker "ego" to follow; there are 2 (hero), 3 `+
		`(other)`)
}
