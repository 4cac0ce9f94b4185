package carla

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/msgs/visualization_msgs"
	"tapedeck/test/samples"
)

// openROS2 opens a log as a recording of ROS 2 messages.
func openROS2(t testing.TB, path string) codec.Reader {
	log, err := carla.Open(nil, path)
	require.NoError(t, err)
	return bridgetest.Translate(t, log, carla.Encoding, codec.EncodingCDR, ToROS2)
}

func sample(t testing.TB, name string) string { return samples.Path(t, "carla/"+name) }

// frameValues are the expected values of a frame of a real log: the numbers in its packets, converted with rotation
// matrices.
type frameValues struct {
	frame           uint64
	stamp           builtin_interfaces.Time
	duration        float32
	position        geometry_msgs.Point
	orientation     rotation
	linear, angular vector3
	speed           float32
	acceleration    vector3
	steer, throttle float32
	gear            int32
	second          carla_msgs.CarlaTrafficLightStatus // state of the second traffic light
}

// TestSamples compares messages of real logs with the numbers in the logs.
func TestSamples(t *testing.T) {
	for _, test := range []struct {
		name   string
		frames int
		size   vector3 // size of the hero
		values []frameValues
	}{
		{"scenario_runner_DistanceToLaneCenter.log", 432, vector3{X: 4.901683, Y: 2.128325, Z: 1.510746}, []frameValues{
			{
				frame: 1, duration: 0.016935262, position: geometry_msgs.Point{X: 392.5, Y: -195,
					Z: 0.5831810760498047},
				orientation: rotation{Z: -0.7071066870295779, W: 0.7071068753435046},
				linear:      vector3{Z: -1.4727834463119507},
				speed:       1.4727834,
				second:      carla_msgs.CarlaTrafficLightStatus{Id: 3, State: carla_msgs.CarlaTrafficLightStatus_RED},
			},
			{
				frame: 301, stamp: builtin_interfaces.Time{Sec: 6, Nanosec: 728101453}, duration: 0.053404409,
				position: geometry_msgs.Point{X: 392.16640625, Y: -201.70640625, Z: 0.03309089660644531},
				orientation: rotation{X: 2.62401699492569e-05, Y: -0.0013188195502229273, Z: -0.7580436231121627,
					W: 0.6522025187665507},
				linear:       vector3{X: 8.082779485526949, Y: 0.31326044966825667, Z: -0.014246671727576},
				angular:      vector3{X: 0.019212444427199146, Y: 0.0056652164822920325, Z: 0.170246445581067},
				speed:        8.0888602,
				acceleration: vector3{X: 3.7261286053143534, Y: -2.6624961130863856, Z: -8.732539409533836e-05},
				steer:        -0.1, throttle: 1, gear: 2,
				second: carla_msgs.CarlaTrafficLightStatus{Id: 3, State: carla_msgs.CarlaTrafficLightStatus_RED},
			},
		}},
		{"sr2020_DistanceToLaneCenter.log", 461, vector3{X: 4.9047, Y: 2.06066, Z: 1.478398}, []frameValues{
			{
				frame: 1, duration: 0.016121816, position: geometry_msgs.Point{X: 392.5, Y: -195,
					Z: 0.10171253204345704},
				orientation: rotation{Z: -0.7071066870295779, W: 0.7071068753435046},
				linear:      vector3{X: 4.294356973878151e-08, Y: 1.7236829851062914e-08, Z: -2.916581153869629},
				angular:     vector3{X: -3.699872715195493e-07, Y: 1.6784258191020508e-07, Z: -6.140170042242213e-11},
				speed:       2.9165812,
				second:      carla_msgs.CarlaTrafficLightStatus{Id: 121, State: carla_msgs.CarlaTrafficLightStatus_RED},
			},
			{
				frame: 321, stamp: builtin_interfaces.Time{Sec: 8, Nanosec: 699442357}, duration: 0.050873253,
				position: geometry_msgs.Point{X: 392.4712109375, Y: -200.81916015625, Z: 0.03313446044921875},
				orientation: rotation{X: 0.0008502677121203988, Y: -0.005870472006417452, Z: -0.7426070749245419,
					W: 0.6697010877064896},
				linear:       vector3{X: 5.840853612026421, Y: 0.27965524772542205, Z: -0.041902931553794646},
				angular:      vector3{X: 0.08003241487649658, Y: 0.03847589295919239, Z: 0.16862263472950334},
				speed:        5.847695,
				acceleration: vector3{X: 2.9210924332851356, Y: 1.7198503929066853, Z: -0.0077885484215961635},
				steer:        -0.1, throttle: 1, second: carla_msgs.CarlaTrafficLightStatus{Id: 121,
					State: carla_msgs.CarlaTrafficLightStatus_GREEN},
			},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := openROS2(t, sample(t, test.name))
			info, err := r.Info()
			require.NoError(t, err)
			counts := map[*codec.Channel]uint64{}
			var frame, boxes uint64
			var odometry *codec.Channel
			stamps := map[builtin_interfaces.Time]frameValues{}
			var now builtin_interfaces.Time
			bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
				counts[m.Channel]++
				v := stamps[now]
				switch m.Channel.Topic {
				case "/clock":
					now = bridgetest.Decode[rosgraph_msgs.Clock](t, m).Clock
					v = frameValues{stamp: now}
				case "/carla/status":
					status := bridgetest.Decode[carla_msgs.CarlaStatus](t, m)
					frame = status.Frame
					v.frame, v.duration = status.Frame, status.FixedDeltaSeconds
				case "/carla/hero/odometry":
					odometry = m.Channel
					o := bridgetest.Decode[nav_msgs.Odometry](t, m)
					require.Equal(t, std_msgs.Header{Stamp: now, FrameId: "map"}, o.Header)
					require.Equal(t, "hero", o.ChildFrameId)
					v.position, v.orientation = o.Pose.Pose.Position, o.Pose.Pose.Orientation
					v.linear, v.angular = o.Twist.Twist.Linear, o.Twist.Twist.Angular
				case "/carla/hero/vehicle_status":
					s := bridgetest.Decode[carla_msgs.CarlaEgoVehicleStatus](t, m)
					require.Equal(t, v.orientation, s.Orientation)
					v.speed, v.acceleration = s.Velocity, s.Acceleration.Linear
					v.steer, v.throttle, v.gear = s.Control.Steer, s.Control.Throttle, s.Control.Gear
				case "/carla/traffic_lights/status":
					lights := bridgetest.Decode[carla_msgs.CarlaTrafficLightStatusList](t, m).TrafficLights
					require.Len(t, lights, 36)
					v.second = lights[1]
				case "/tf":
					for _, transform := range bridgetest.Decode[tf2_msgs.TFMessage](t, m).Transforms {
						require.Contains(t, []string{"hero", "spectator"}, transform.ChildFrameId)
					}
				case "/carla/markers":
					for _, marker := range bridgetest.Decode[visualization_msgs.MarkerArray](t, m).Markers {
						if marker.Action != visualization_msgs.Marker_DELETEALL {
							require.InDelta(t, test.size.X, marker.Scale.X, 1e-5)
							require.InDelta(t, test.size.Y, marker.Scale.Y, 1e-5)
							require.InDelta(t, test.size.Z, marker.Scale.Z, 1e-5)
							boxes++
						}
					}
				case "/carla/world_info":
					require.Equal(t, carla_msgs.CarlaWorldInfo{MapName: "Town01"},
						bridgetest.Decode[carla_msgs.CarlaWorldInfo](t, m))
				}
				stamps[now] = v
			})
			require.EqualValues(t, test.frames, frame)
			require.EqualValues(t, counts[odometry], boxes)
			for _, topic := range info.Topics {
				require.Equal(t, topic.MessageCount, counts[topic.Channel], topic.Channel.Topic)
			}
			for _, want := range test.values {
				got := stamps[want.stamp]
				requireClose(t, want.position, got.position)
				requireClose(t, want.orientation, got.orientation)
				requireClose(t, want.linear, got.linear)
				requireClose(t, want.angular, got.angular)
				requireClose(t, want.acceleration, got.acceleration)
				want.position, want.orientation, want.linear, want.angular = got.position, got.orientation, got.linear,
					got.angular
				want.acceleration = got.acceleration
				require.Equal(t, want, got)
			}
		})
	}
}

// TestSampleVelocities compares the velocities in real logs with the distances between frames, to check signs and axes.
func TestSampleVelocities(t *testing.T) {
	for _, name := range []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"} {
		t.Run(name, func(t *testing.T) {
			var last nav_msgs.Odometry
			var wrong, moved [6]float64
			bridgetest.Each(t, openROS2(t, sample(t, name)), codec.Query{Start: 1}, func(m *codec.Message) {
				if m.Channel.Topic != "/carla/hero/odometry" {
					return
				}
				o := bridgetest.Decode[nav_msgs.Odometry](t, m)
				a, b := last, o
				last = o
				dt := seconds(b.Header.Stamp) - seconds(a.Header.Stamp)
				if a.ChildFrameId == "" || seconds(a.Header.Stamp) < 3 {
					return // the hero still falls after its creation
				}
				linear := b.Pose.Pose.Orientation.RotateBack(
					rateOfChange(vector3(b.Pose.Pose.Position), vector3(a.Pose.Pose.Position), dt))

				angular := b.Pose.Pose.Orientation.RotateBack(
					angularVelocityBetween(a.Pose.Pose.Orientation, b.Pose.Pose.Orientation, dt))

				for i, pair := range [][2]float64{
					{linear.X, b.Twist.Twist.Linear.X}, {linear.Y, b.Twist.Twist.Linear.Y},
					{linear.Z, b.Twist.Twist.Linear.Z},
					{angular.X, b.Twist.Twist.Angular.X}, {angular.Y, b.Twist.Twist.Angular.Y},
					{angular.Z, b.Twist.Twist.Angular.Z},
				} {
					wrong[i] += math.Abs(pair[0] - pair[1])
					moved[i] += math.Abs(pair[0]) + math.Abs(pair[1])
				}
			})
			for i := range wrong {
				if i != 2 { // there is hardly any vertical motion
					require.Less(t, wrong[i], moved[i]/2, i) // with a wrong sign, wrong would equal moved
				}
			}
		})
	}
}

func seconds(t builtin_interfaces.Time) float64 { return float64(t.Sec) + float64(t.Nanosec)/1e9 }
