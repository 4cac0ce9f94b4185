package carla

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// write writes a log from a recording of ROS 2 messages. It returns the path of the log and the skipped topics.
func write(t testing.TB, r codec.Reader, o WriteOptions) (path string, skipped []string) {
	path = filepath.Join(t.TempDir(), "written.log")
	w, err := codec.Formats{carla.Format}.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	skipped, err = writeAll(w, r, o)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return path, skipped
}

// writeAll writes a log from r with a Writer that has called Expect. It returns the skipped topics.
func writeAll(w codec.Writer, r codec.Reader, o WriteOptions) (skipped []string, err error) {
	writer := NewWriter(w, o)
	if err := writer.Expect(r); err != nil {
		return nil, err
	}
	for m, readErr := range codec.Messages(r, codec.Query{}) {
		err = readErr
		if err == nil {
			err = writer.Write(m)
		}
		if err != nil {
			break
		}
	}
	return writer.Skipped(), errors.Join(err, writer.finish())
}

// TestThereAndBack translates a log to ROS 2, writes a log from the messages, and translates the new log. The messages
// stay equal within 1e-5 m and 1e-5 rad.
func TestThereAndBack(t *testing.T) {
	for _, name := range []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"} {
		for _, p := range []carla.Profile{carla.UE4New, carla.UE5} {
			t.Run(name+" "+p.Name, func(t *testing.T) {
				if testing.Short() && p != carla.UE5 {
					t.Skip("one profile is enough for a short test")
				}
				there := openROS2(t, sample(t, name))
				path, skipped := write(t, there, WriteOptions{Profile: p})
				require.ElementsMatch(t, []string{"/carla/markers"}, skipped)
				back := openROS2(t, path)
				original, err := there.Info()
				require.NoError(t, err)
				result, err := back.Info()
				require.NoError(t, err)
				require.True(t, result.Complete)
				require.Equal(t, original.StartTime, result.StartTime)
				require.InDelta(t, original.EndTime, result.EndTime, 2)
				require.Equal(t, p.Name, result.Metadata[carla.KeyProfile])
				want, got := collect(t, there, codec.Query{}), collect(t, back, codec.Query{})
				for _, topic := range []string{"/clock", "/carla/hero/odometry", "/carla/hero/vehicle_control_cmd",
					"/carla/hero/vehicle_info", "/tf", "/carla/actor_list", "/carla/traffic_lights/status",
					"/carla/traffic_lights/info", "/carla/world_info"} {
					require.Len(t, got[topic], len(want[topic]), topic)
					if p.DoubleVectors && topic == "/carla/hero/vehicle_info" {
						continue // a log of UE5 holds less of the physics
					}
					for i := 0; i < len(want[topic]); i += 7 {
						requireNear(t, want[topic][i], got[topic][i])
					}
				}
				// Only the last static transforms must be equal.
				a, b := want["/tf_static"], got["/tf_static"]
				requireNear(t, a[len(a)-1], b[len(b)-1])
			})
		}
	}
}

// collect returns the decoded messages of a recording by topic.
func collect(t testing.TB, r codec.Reader, q codec.Query) map[string][]msgs.Message {
	messages := map[string][]msgs.Message{}
	bridgetest.Each(t, r, q, func(m *codec.Message) {
		messages[m.Channel.Topic] = append(messages[m.Channel.Topic], decodeAny(t, m))
	})
	return messages
}

// requireNear compares messages: poses and physics within 1e-5 m and rad, the rest exactly.
func requireNear(t *testing.T, want, got msgs.Message) {
	t.Helper()
	near := func(a, b float64) { t.Helper(); require.InDelta(t, a, b, 1e-5) }
	vector := func(a, b vector3) { t.Helper(); near(a.X, b.X); near(a.Y, b.Y); near(a.Z, b.Z) }
	orientation := func(a, b rotation) {
		t.Helper()
		q := a.Conjugate().Times(b)
		require.Less(t, 2*math.Sqrt(q.X*q.X+q.Y*q.Y+q.Z*q.Z), 1e-5)
	}
	header := func(a, b std_msgs.Header) {
		t.Helper()
		require.Equal(t, a, b)
	}
	switch a := want.(type) {
	case *nav_msgs.Odometry:
		b := got.(*nav_msgs.Odometry)
		header(a.Header, b.Header)
		vector(vector3(a.Pose.Pose.Position), vector3(b.Pose.Pose.Position))
		orientation(a.Pose.Pose.Orientation, b.Pose.Pose.Orientation)
		vector(a.Twist.Twist.Linear, b.Twist.Twist.Linear)
		vector(a.Twist.Twist.Angular, b.Twist.Twist.Angular)
	case *tf2_msgs.TFMessage:
		b := got.(*tf2_msgs.TFMessage)
		// A written log has actors in the order of ids.
		order := func(a, b geometry_msgs.TransformStamped) int {
			return slices.Compare([]byte(a.ChildFrameId), []byte(b.ChildFrameId))
		}
		slices.SortFunc(a.Transforms, order)
		slices.SortFunc(b.Transforms, order)
		require.Len(t, b.Transforms, len(a.Transforms))
		for i, x := range a.Transforms {
			y := b.Transforms[i]
			header(x.Header, y.Header)
			require.Equal(t, x.ChildFrameId, y.ChildFrameId)
			vector(x.Transform.Translation, y.Transform.Translation)
			orientation(x.Transform.Rotation, y.Transform.Rotation)
		}
	case *carla_msgs.CarlaActorList:
		require.ElementsMatch(t, a.Actors, got.(*carla_msgs.CarlaActorList).Actors)
	case *carla_msgs.CarlaTrafficLightInfoList:
		b := got.(*carla_msgs.CarlaTrafficLightInfoList)
		require.Len(t, b.TrafficLights, len(a.TrafficLights))
		places := map[uint32]carla_msgs.CarlaTrafficLightInfo{}
		for _, l := range b.TrafficLights {
			places[l.Id] = l
		}
		for _, x := range a.TrafficLights {
			y := places[x.Id]
			vector(vector3(x.Transform.Position), vector3(y.Transform.Position))
			orientation(x.Transform.Orientation, y.Transform.Orientation)
			vector(x.TriggerVolume.Center, y.TriggerVolume.Center)
			vector(x.TriggerVolume.Size, y.TriggerVolume.Size)
		}
	case *carla_msgs.CarlaEgoVehicleInfo:
		b := got.(*carla_msgs.CarlaEgoVehicleInfo)
		require.Len(t, b.Wheels, len(a.Wheels))
		for i := range a.Wheels {
			x, y := &a.Wheels[i], &b.Wheels[i]
			vector(x.Position, y.Position)
			near(float64(x.MaxSteerAngle), float64(y.MaxSteerAngle))
			near(float64(x.Radius), float64(y.Radius))
			y.Position, y.MaxSteerAngle, y.Radius = x.Position, x.MaxSteerAngle, x.Radius
		}
		require.Equal(t, a, b)
	case *carla_msgs.CarlaEgoVehicleControl:
		b := got.(*carla_msgs.CarlaEgoVehicleControl)
		header(a.Header, b.Header)
		b.Header = a.Header
		require.Equal(t, a, b)
	default:
		require.Equal(t, want, got)
	}
}

// TestEverythingThereAndBack is TestThereAndBack for a log with a packet of each kind.
func TestEverythingThereAndBack(t *testing.T) {
	r := bridgetest.Translate(t, fullLog(t, carla.UE5), carla.Encoding, codec.EncodingCDR, ToROS2)
	path, _ := write(t, r, WriteOptions{Profile: carla.UE5})
	want, got := collect(t, r, codec.Query{}), collect(t, openROS2(t, path), codec.Query{})
	for _, topic := range []string{
		"/carla/hero/odometry", "/carla/actor20/odometry", "/carla/hero/vehicle_control_cmd", "/carla/actor_list",
		"/carla/traffic_lights/info",
		"/carla/hero/collision", "/carla/weather_control", "/tf",
	} {
		require.Len(t, got[topic], len(want[topic]), topic)
		for i := range want[topic] {
			if c, ok := want[topic][i].(*carla_msgs.CarlaCollisionEvent); ok {
				require.Equal(t, c.OtherActorId, got[topic][i].(*carla_msgs.CarlaCollisionEvent).OtherActorId)
				continue
			}
			requireNear(t, want[topic][i], got[topic][i])
		}
	}
	walk := got["/carla/actor20/walker_control_cmd"]
	require.EqualValues(t, 1.5, walk[0].(*carla_msgs.CarlaWalkerControl).Speed)
	static := got["/tf_static"][len(got["/tf_static"])-1].(*tf2_msgs.TFMessage)
	camera := static.Transforms[slices.IndexFunc(static.Transforms,
		func(t geometry_msgs.TransformStamped) bool { return t.ChildFrameId == "actor22" })]
	require.Equal(t, "hero", camera.Header.FrameId)
	requireClose(t, vector3{X: 1, Y: -0.5, Z: 1.5}, camera.Transform.Translation)
}

// odometryMessage returns the odometry of an actor at x that moves at 3 m/s.
func odometryMessage(x float64) nav_msgs.Odometry {
	var o nav_msgs.Odometry
	o.Pose.Pose.Position.X, o.Pose.Pose.Orientation.W = x, 1
	o.Twist.Twist.Linear.X = 3
	return o
}

// TestWriteCar writes a log of a robot whose topics a mapping names.
func TestWriteCar(t *testing.T) {
	var c bridgetest.Recording
	start := int64(1_700_000_000_250_000_000)
	for i := range 30 {
		o := odometryMessage(float64(i))
		c.Add(t, "/odom", start+int64(i)*10_000_000, &o)
	}
	c.Add(t, "/tf", start+300_000_000, &tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{
		{Header: std_msgs.Header{FrameId: "odom"}, ChildFrameId: "trailer",
			Transform: geometry_msgs.Transform{Rotation: rotation{W: 1}}},
		{Header: std_msgs.Header{FrameId: "map"}, ChildFrameId: "camera"},
	}})
	c.Add(t, "/imu", start+310_000_000, &std_msgs.Header{})
	path, skipped := write(t, &c, WriteOptions{
		Map: "Town10HD", Actors: []ActorMapping{
			{Name: "hero", Topics: []string{"/odom"}},
			{Name: "load", Frames: []string{"trailer"}, Blueprint: "static.prop.trailer"},
		},
	})
	require.Equal(t, []string{"/imu"}, skipped)
	r, err := carla.Open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, carla.Header{Version: 1, Date: 1_700_000_000, Map: "Town10HD"}, r.Header())
	info, err := r.Info()
	require.NoError(t, err)
	require.EqualValues(t, 7, info.MessageCount)
	state := carla.NewState(r.Profile())
	bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
		_, err := state.Apply(m.Data)
		require.NoError(t, err)
	})
	actors := state.Sorted()
	require.Len(t, actors, 2)
	require.Equal(t, anyVehicle, actors[0].BlueprintID)
	require.Equal(t, "hero", actors[0].Attribute("role_name"))
	require.Equal(t, "static.prop.trailer", actors[1].BlueprintID)
	var places []float64
	bridgetest.Each(t, openROS2(t, path), codec.Query{}, func(m *codec.Message) {
		if m.Channel.Topic == "/carla/hero/odometry" {
			o := bridgetest.Decode[nav_msgs.Odometry](t, m)
			places = append(places, math.Round(o.Pose.Pose.Position.X))
			require.InDelta(t, 3, o.Twist.Twist.Linear.X, 1e-6)
		}
	})
	require.Equal(t, []float64{4, 9, 14, 19, 24, 29, 29}, places)
}

// TestWriteBackwards checks that time in the log continues if the clock jumps back, as in a restarted simulation.
func TestWriteBackwards(t *testing.T) {
	var c bridgetest.Recording
	for i, s := range []int32{5, 6, 5, 7} {
		c.Add(t, "/clock", int64(i), &rosgraph_msgs.Clock{Clock: builtin_interfaces.Time{Sec: s}})
	}
	var w memoryWriter
	_, err := writeAll(&w, &c, WriteOptions{Step: time.Second})
	require.NoError(t, err)
	require.Equal(t, []float64{0, 1, 2, 4}, w.elapsed(t))

	c.Messages[1].Data = c.Messages[1].Data[:6]
	_, err = writeAll(&w, &c, WriteOptions{Step: time.Second})
	require.ErrorContains(t, err, "/clock [rosgraph_msgs/msg/Clock] at 1 ns: decode")
}
