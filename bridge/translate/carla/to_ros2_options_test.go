package carla

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// read returns the translation of a log with options.
func (o ReadOptions) read(t testing.TB, r codec.Reader) *bridge.Translated {
	return bridgetest.Translate(t, r, carla.Encoding, codec.EncodingCDR, o.ToROS2)
}

// children returns the frames of a message of transforms.
func children(m msgs.Message) (names []string) {
	for _, transform := range m.(*tf2_msgs.TFMessage).Transforms {
		names = append(names, transform.ChildFrameId)
	}
	return names
}

// TestInterpolate interpolates the places of two actors, one of which appears later.
func TestInterpolate(t *testing.T) {
	log := newTestLog(carla.UE4)
	for i, at := range []struct {
		x, yaw float64
		there  bool
	}{{1, 170, false}, {2, -170, true}, {5, -170, true}} {
		list := carla.PositionList{{Actor: 10, Location: carla.Vector{X: 100 * at.x, Y: 100},
			Rotation: carla.Vector{Z: at.yaw}}}
		adds := carla.EventAddList{}
		if i == 0 {
			adds = append(adds, carla.EventAdd{Actor: 10, Type: carla.ActorVehicle, Attributes: role("hero")},
				carla.EventAdd{Actor: 11, Type: carla.ActorVehicle, Attributes: role("other")})
		}
		if at.there {
			list = append(list, carla.Position{Actor: 11, Location: carla.Vector{X: 100 * at.x}})
		}
		log.frame(t, &adds, &list, &carla.AnimVehicleList{{Actor: 10}},
			&carla.KinematicsList{{Actor: 10, LinearVelocity: carla.Vector{X: at.x}}})
	}
	r := ReadOptions{Rate: 5}.read(t, log)
	messages := collect(t, r, codec.Query{})

	var clock []float64
	for _, m := range messages["/clock"] {
		clock = append(clock, seconds(m.(*rosgraph_msgs.Clock).Clock))
	}
	require.InDeltaSlice(t, []float64{0, 0.2, 0.4, 0.5, 0.6, 0.8, 1}, clock, 1e-6)
	info, err := r.Info()
	require.NoError(t, err)
	for _, topic := range info.Topics {
		switch topic.Channel.Topic {
		case "/clock", "/tf", "/carla/hero/odometry":
			require.EqualValues(t, len(messages[topic.Channel.Topic]), topic.MessageCount, topic.Channel.Topic)
		}
	}
	var stamps, places, speeds, yaws []float64
	for _, m := range messages["/carla/hero/odometry"] {
		o := m.(*nav_msgs.Odometry)
		stamps, places = append(stamps, seconds(o.Header.Stamp)), append(places, o.Pose.Pose.Position.X)
		speeds = append(speeds, length(o.Twist.Twist.Linear))
		yaws = append(yaws, math.Mod(360+Rotation(o.Pose.Pose.Orientation).Z, 360))
	}
	require.InDeltaSlice(t, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}, stamps, 1e-6)
	require.InDeltaSlice(t, []float64{1, 1.4, 1.8, 2.6, 3.8, 5}, places, 1e-6)
	require.InDeltaSlice(t, []float64{1, 1.4, 1.8, 2.6, 3.8, 5}, speeds, 1e-6)
	require.InDeltaSlice(t, []float64{170, 178, 186, 190, 190, 190}, yaws, 1e-4) // along the shorter arc
	require.Len(t, messages["/carla/hero/vehicle_control_cmd"], 3)
	places = nil
	for _, m := range messages["/carla/other/odometry"] { // there is no interpolation before the first place
		places = append(places, m.(*nav_msgs.Odometry).Pose.Pose.Position.X)
	}
	require.InDeltaSlice(t, []float64{2, 2, 2.6, 3.8, 5}, places, 1e-6)
	require.Len(t, messages["/tf"], 6)

	var last int64
	bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
		require.GreaterOrEqual(t, m.LogTime, last)
		last = m.LogTime
	})
	require.Equal(t, log.Messages[2].LogTime, last)
	// A translation from the middle does not interpolate before its first frame.
	places = nil
	bridgetest.Each(t, r, codec.Query{Start: log.Messages[1].LogTime}, func(m *codec.Message) {
		if m.Channel.Topic == "/carla/hero/odometry" {
			places = append(places, bridgetest.Decode[nav_msgs.Odometry](t, m).Pose.Pose.Position.X)
		}
	})
	require.InDeltaSlice(t, []float64{2, 2.6, 3.8, 5}, places, 1e-6)
}

// TestStepsBetween checks the steps between two times, also for gaps and invalid times.
func TestStepsBetween(t *testing.T) {
	for _, test := range []struct {
		rate, a, b  float64
		first, last int64
	}{
		{0, 0, 1, 1, 0},
		{10, 0, 0.3, 1, 3},
		{10, 0.3, 0.35, 4, 3},
		{3, 1.0 / 3, 2.0 / 3, 2, 2},
		{100, 0, 1.5, 1, 0}, // a gap
		{100, 2, 1, 1, 0},
		{100, 1, math.NaN(), 1, 0},
		{100, math.Inf(-1), 1, 1, 0},
	} {
		first, last := steps{test.rate}.between(test.a, test.b)
		require.Equal(t, [2]int64{test.first, test.last}, [2]int64{first, last}, test)
	}
}

// TestSlerp interpolates orientations along the shorter arc.
func TestSlerp(t *testing.T) {
	a, b := Quaternion(vector{Z: 10}), Quaternion(vector{Z: 50})
	requireClose(t, Quaternion(vector{Z: 20}), slerp(a, b, 0.25))
	requireClose(t, Quaternion(vector{Z: 20}), slerp(a, rotation{Z: -b.Z, W: -b.W}, 0.25))
	requireClose(t, a, slerp(a, a, 0.5))
}

// TestInterpolateSamples checks the counts and the times of messages from real logs at a high rate.
func TestInterpolateSamples(t *testing.T) {
	for _, name := range []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"} {
		path := sample(t, name)
		source, err := carla.Open(nil, path)
		require.NoError(t, err)
		r := ReadOptions{Rate: 200}.read(t, source)
		info, err := r.Info()
		require.NoError(t, err)
		counts := map[string]uint64{}
		type place struct {
			at float64
			x  float64
		}
		var places []place
		var now, last float64
		bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
			counts[m.Channel.Topic]++
			switch m.Channel.Topic {
			case "/clock":
				now = seconds(bridgetest.Decode[rosgraph_msgs.Clock](t, m).Clock)
				require.GreaterOrEqual(t, now, last)
				last = now
			case "/carla/hero/odometry":
				o := bridgetest.Decode[nav_msgs.Odometry](t, m)
				require.Equal(t, now, seconds(o.Header.Stamp))
				places = append(places, place{now, o.Pose.Pose.Position.Y})
			}
		})
		for _, topic := range info.Topics {
			require.Equal(t, topic.MessageCount, counts[topic.Channel.Topic], topic.Channel.Topic)
		}
		// The place in a frame lies between the places of the steps before and after the frame.
		i := 0
		bridgetest.Each(t, openROS2(t, path), codec.Query{}, func(m *codec.Message) {
			if m.Channel.Topic != "/carla/hero/odometry" {
				return
			}
			o := bridgetest.Decode[nav_msgs.Odometry](t, m)
			for ; i+1 < len(places) && places[i+1].at <= seconds(o.Header.Stamp); i++ {
			}
			if i+1 < len(places) {
				a, b := places[i].x, places[i+1].x
				require.InDelta(t, (a+b)/2, o.Pose.Pose.Position.Y, math.Abs(a-b)/2+0.01)
			}
		})
		require.Greater(t, i, 1000)
		require.NoError(t, r.Close())
	}
}

// TestFollow checks that the spectator follows an actor by role or id.
func TestFollow(t *testing.T) {
	for _, follow := range []string{"hero", "10"} {
		messages := collect(t, ReadOptions{Follow: follow}.read(t, fullLog(t, carla.UE4)), codec.Query{})
		require.Equal(t, []string{"spectator", "hero", "actor20"}, children(messages["/tf"][0]))
		// The hero looks to the right in the world, from (10, 0, 0.5).
		at := messages["/tf"][0].(*tf2_msgs.TFMessage).Transforms[0].Transform
		requireClose(t, vector3{X: 10, Y: 10, Z: 5.5}, at.Translation)
		requireClose(t, Quaternion(vector{Y: -25, Z: 90}), at.Rotation)
	}
	_, _, err := bridge.Translate(fullLog(t, carla.UE4), codec.EncodingCDR, nil,
		map[string]func(codec.Reader) (bridge.Translator, error){carla.Encoding: ReadOptions{Follow: "ego"}.ToROS2})
	require.ErrorContains(t, err, `there is no vehicle or walker "ego" to follow; there are 10 (hero), 20`)
}

// TestIgnore checks that hero and spectator are omitted.
func TestIgnore(t *testing.T) {
	r := ReadOptions{IgnoreHero: true, IgnoreSpectator: true}.read(t, fullLog(t, carla.UE4))
	messages := collect(t, r, codec.Query{})
	for topic := range messages {
		require.NotContains(t, topic, "hero")
	}
	require.Equal(t, []string{"actor20"}, children(messages["/tf"][0]))
	require.Len(t, messages["/tf"], 2) // in the last frame, only the hero has a place
	for _, m := range messages["/carla/actor_list"] {
		for _, a := range m.(*carla_msgs.CarlaActorList).Actors {
			require.NotEqual(t, "hero", a.Rolename)
		}
	}
	for _, m := range messages["/tf_static"] {
		require.NotContains(t, children(m), "actor22") // the hero's camera
	}
}

// TestTranslatorLosses checks that packets without a message are counted.
func TestTranslatorLosses(t *testing.T) {
	log := newTestLog(carla.UE4)
	log.frame(t, &carla.VehicleLightList{{Actor: 10}}, &carla.SceneLightList{{Light: 1}},
		&carla.BoundingBoxList{{Actor: 10}})
	log.frame(t, &carla.VehicleLightList{{Actor: 10, Lights: 3}}, &carla.SceneLightList{},
		&carla.BoundingBoxList{{Actor: 10}})
	own := carla.Packet{ID: 139, Data: []byte("eyes")}.Append(nil)
	log.Messages[1].Data = append(log.Messages[1].Data, own...)
	r := ReadOptions{}.read(t, log)
	collect(t, r, codec.Query{})
	require.Equal(t, []codec.Loss{
		{Topic: "/carla/log", What: "lights of the scene", Messages: 1},
		{Topic: "/carla/log", What: "lights of vehicles", Messages: 1},
		{Topic: "/carla/log", What: "origins of boxes, and boxes of all but vehicles and walkers", Messages: 2},
		{Topic: "/carla/log", What: "unknown packets with id 139", Messages: 1},
	}, r.Losses())
}

// TestOmissions checks that packets are counted if the ROS 2 message omits content.
func TestOmissions(t *testing.T) {
	log := newTestLog(carla.UE4)
	log.frame(t, &carla.EventAddList{{Actor: 10, Type: carla.ActorVehicle, Attributes: role("hero")}},
		&carla.StateList{{Actor: 1}}, &carla.WeatherList{{Cloudiness: 1, RayleighScatteringScale: 0.0331}})
	r := ReadOptions{}.read(t, log)
	collect(t, r, codec.Query{})
	require.Empty(t, r.Losses())
	log.frame(t, &carla.EventAddList{{Actor: 11, Type: carla.ActorVehicle,
		Attributes: append(role("other"), carla.Attribute{ID: "color", Value: "1,2,3"})}},
		&carla.StateList{{Actor: 1}, {Actor: 2, Elapsed: 1}}, &carla.WeatherList{{DustStorm: 1}},
		&carla.PhysicsControlList{{Actor: 11}})
	r = ReadOptions{}.read(t, log)
	collect(t, r, codec.Query{})
	require.Equal(t, []codec.Loss{
		{Topic: "/carla/log", What: "attributes of actors other than role_name", Messages: 1},
		{Topic: "/carla/log", What: "curves, gears and ratios of vehicles", Messages: 1},
		{Topic: "/carla/log", What: "elapsed time and freezing of traffic lights", Messages: 1},
		{Topic: "/carla/log", What: "scattering, fog falloff and dust", Messages: 1},
	}, r.Losses())
}
