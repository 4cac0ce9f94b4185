// Package carla tests tapedeck's text form of CARLA's logs with the parser of scenario_runner.
package carla

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/carla/query"
	"tapedeck/test/samples"
)

// checkoutVariable is the environment variable with the path of a checkout of
// https://github.com/carla-simulator/scenario_runner.
const checkoutVariable = "TAPEDECK_SCENARIO_RUNNER"

// Parts of the result of scenario_runner's parser that the test compares. Lengths are in m.
type (
	parsed struct {
		Simulation struct {
			Map         string
			TotalFrames uint64 `json:"total_frames"`
			Duration    float64
		}
		Actors map[string]struct {
			TypeID      string `json:"type_id"`
			RoleName    string `json:"role_name"`
			Parent      uint32
			Destroyed   int
			BoundingBox *struct{} `json:"bounding_box"`
		}
		Frames []struct {
			Frame struct {
				Elapsed  float64  `json:"elapsed_time"`
				Platform *float64 `json:"platform_time"`
			}
			Actors map[string]parsedActor
			Events struct {
				SceneLights      map[string]any           `json:"scene_lights"`
				PhysicsControl   map[string]parsedPhysics `json:"physics_control"`
				TrafficLightTime map[string]any           `json:"traffic_light_state_time"`
			}
		}
	}
	parsedActor struct {
		Transform *struct {
			Location vector
			Rotation struct{ Roll, Pitch, Yaw float64 }
		}
		Control *struct {
			Throttle, Steer, Brake float64
			HandBrake              bool `json:"hand_brake"`
			Gear                   int32
		}
		Velocity        *vector
		AngularVelocity *vector `json:"angular_velocity"`
		State           string
		Elapsed         float64 `json:"elapsed_time"`
	}
	parsedPhysics struct {
		Mass         float64
		ForwardGears []any `json:"forward_gears"`
		TorqueCurve  []any `json:"torque_curve"`
		Wheels       []struct{ Position vector }
	}
	vector struct{ X, Y, Z float64 }
)

// TestMetrics parses real logs in the text form of CARLA 0.9.13 with scenario_runner's parser, and compares the result
// with the logs.
func TestMetrics(t *testing.T) {
	checkout := os.Getenv(checkoutVariable)
	if checkout == "" {
		t.Skipf("%s does not name a checkout of scenario_runner", checkoutVariable)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	for _, name := range []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"} {
		t.Run(name, func(t *testing.T) {
			r, err := carla.Open(nil, samples.Path(t, "carla/"+name))
			require.NoError(t, err)
			defer r.Close()
			var text, out bytes.Buffer
			require.NoError(t, query.Info(&text, r, true, query.Options{Style: query.V0913}))
			cmd := exec.Command(python, "metrics.py", checkout)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = &text, &out, os.Stderr
			require.NoError(t, cmd.Run())
			var got parsed
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			compare(t, r, &got)
		})
	}
}

// compare compares the result of the parser with a log.
func compare(t *testing.T, r *carla.Reader, got *parsed) {
	near := func(want, got float64) { // the text has six digits
		t.Helper()
		if math.Abs(got-want) > 5.1e-6*math.Abs(want) {
			require.Equal(t, want, got)
		}
	}
	nearVector := func(want carla.Vector, unit float64, got vector) {
		t.Helper()
		near(want.X/unit, got.X)
		near(want.Y/unit, got.Y)
		near(want.Z/unit, got.Z)
	}
	d := carla.Decoder{Profile: r.Profile()}
	n, actors := 0, map[uint32]bool{}
	bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
		require.Greater(t, len(got.Frames), n)
		f := &got.Frames[n]
		n++
		for rest := m.Data; len(rest) > 0; {
			var k carla.Packet
			var err error
			k, rest, err = carla.NextPacket(rest)
			require.NoError(t, err)
			b, err := d.Decode(k)
			require.NoError(t, err)
			actor := func(id uint32) parsedActor {
				t.Helper()
				a, ok := f.Actors[strconv.FormatUint(uint64(id), 10)]
				require.True(t, ok, "actor %d in frame %d", id, n)
				return a
			}
			switch l := b.(type) {
			case *carla.FrameStart:
				near(l.Elapsed, f.Frame.Elapsed)
			case *carla.PlatformTime:
				near(l.Seconds, *f.Frame.Platform)
			case *carla.EventAddList:
				for _, e := range *l {
					actors[e.Actor] = true
					a := got.Actors[strconv.FormatUint(uint64(e.Actor), 10)]
					require.Equal(t, e.BlueprintID, a.TypeID)
					require.Equal(t, e.Attribute("role_name"), a.RoleName)
				}
			case *carla.EventDelList:
				for _, id := range *l {
					require.Equal(t, n, got.Actors[strconv.FormatUint(uint64(id), 10)].Destroyed)
				}
			case *carla.EventParentList:
				for _, e := range *l {
					require.Equal(t, e.Parent, got.Actors[strconv.FormatUint(uint64(e.Actor), 10)].Parent)
				}
			case *carla.BoundingBoxList:
				for _, e := range *l {
					require.NotNil(t, got.Actors[strconv.FormatUint(uint64(e.Actor), 10)].BoundingBox)
				}
			case *carla.PositionList:
				for _, p := range *l {
					at := actor(p.Actor).Transform
					nearVector(p.Location, 100, at.Location)
					nearVector(p.Rotation, 1, vector{at.Rotation.Roll, at.Rotation.Pitch, at.Rotation.Yaw})
				}
			case *carla.StateList:
				for _, s := range *l {
					light := actor(s.Actor)
					require.Equal(t, []string{"Red", "Yellow", "Green", "Off"}[s.Colour], light.State)
					near(float64(s.Elapsed), light.Elapsed)
				}
			case *carla.AnimVehicleList:
				for _, v := range *l {
					c := actor(v.Actor).Control
					near(float64(v.Throttle), c.Throttle)
					near(float64(v.Steering), c.Steer)
					near(float64(v.Brake), c.Brake)
					require.Equal(t, v.HandBrake, c.HandBrake)
					require.Equal(t, v.Gear, c.Gear)
				}
			case *carla.KinematicsList:
				for _, v := range *l {
					a := actor(v.Actor)
					nearVector(v.LinearVelocity, 1, *a.Velocity)
					nearVector(v.AngularVelocity, 1, *a.AngularVelocity)
				}
			case *carla.SceneLightList:
				require.Len(t, f.Events.SceneLights, len(*l))
			case *carla.TrafficLightTimeList:
				require.Len(t, f.Events.TrafficLightTime, len(*l))
			case *carla.PhysicsControlList:
				for _, v := range *l {
					p := f.Events.PhysicsControl[strconv.FormatUint(uint64(v.Actor), 10)]
					near(float64(v.Mass), p.Mass)
					require.Len(t, p.ForwardGears, len(v.ForwardGears))
					require.Len(t, p.TorqueCurve, len(v.TorqueCurve))
					require.Len(t, p.Wheels, len(v.Wheels))
					for i, w := range v.Wheels {
						nearVector(w.Position, 100, p.Wheels[i].Position)
					}
				}
			}
		}
	})
	require.Len(t, got.Frames, n)
	require.EqualValues(t, n, got.Simulation.TotalFrames)
	require.Equal(t, r.Header().Map, got.Simulation.Map)
	require.Len(t, got.Actors, len(actors))
	t.Logf("%d frames, %d actors", n, len(actors))
}
