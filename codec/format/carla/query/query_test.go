package query

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/carla"
	"tapedeck/test/samples"
)

func openSample(t testing.TB, name string) *carla.Reader {
	r, err := carla.Open(nil, samples.Path(t, "carla/"+name))
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// buildLog returns a reader of a log with frames of half a second. Each element of frames has the packets of one frame.
func buildLog(t testing.TB, p carla.Profile, frames ...[]carla.Body) *carla.Reader {
	log := []byte{byte(p.Version), 0}
	log = append(log, "\x0e\x00CARLA_RECORDER\x00\xf1\x53\x65\x00\x00\x00\x00\x06\x00Town03"...)
	for i, bodies := range frames {
		start := carla.FrameStart{Frame: uint64(i + 1), Duration: 0.5, Elapsed: float64(i) / 2}
		if i == len(frames)-1 {
			start.Duration = -1
		}
		for _, b := range append(append([]carla.Body{&start}, bodies...), &carla.FrameEnd{}) {
			var err error
			log, err = carla.AppendPacket(log, p, b)
			require.NoError(t, err)
		}
	}
	path := filepath.Join(t.TempDir(), "a.log")
	require.NoError(t, os.WriteFile(path, log, 0o600))
	r, err := carla.Open(nil, path)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// infoText returns the text of Info.
func infoText(t testing.TB, r *carla.Reader, all bool, style Style) string {
	var b bytes.Buffer
	require.NoError(t, Info(&b, r, all, Options{Style: style, Location: time.UTC}))
	return b.String()
}

// TestSamples compares the texts of real logs with the hashes of texts that another program made from the logs.
func TestSamples(t *testing.T) {
	first, second := openSample(t, "scenario_runner_DistanceToLaneCenter.log"),
		openSample(t, "sr2020_DistanceToLaneCenter.log")
	for _, test := range []struct {
		reader *carla.Reader
		all    bool
		style  Style
		want   string
	}{
		{first, false, V0913, "25c809b5d823688bcc5184e23a11cbb5f4e0956a60c8c1513575c9c6e340cd8f"},
		{first, false, Newest, "25c809b5d823688bcc5184e23a11cbb5f4e0956a60c8c1513575c9c6e340cd8f"},
		{first, true, V0913, "90bbc8bd975cdf23258edfc4eedf23d8e0cafe75f9cbc08cbaf9fe7d2d37c7e7"},
		{first, true, Newest, "e61421910af30cecd054e5f41f32a6fb0a63e4a9a136c9f0da75e3df2db0c427"},
		{second, false, V0913, "de6e05b86e444b0690f96036202984c37a535e33fab0c4f0ac686e4f20d2b1b3"},
		{second, true, V0913, "3a35049f47c0bd4ee5fa349d153ef24e4f5dd0e6e221632c34470ddac6c692e2"},
		{second, true, Newest, "4073df68776865230a85e9796c9d698327b73aa3e8b1f0f28aba534278421afe"},
	} {
		sum := sha256.Sum256([]byte(infoText(t, test.reader, test.all, test.style)))
		require.Equal(t, test.want, hex.EncodeToString(sum[:]))
	}

	for _, r := range []*carla.Reader{first, second} {
		list, _, err := findCollisions(r, 'a', 'a')
		require.NoError(t, err)
		require.Empty(t, list)
	}
	list, _, err := findBlocked(first, 3, 10)
	require.NoError(t, err)
	require.Len(t, list, 120)
	require.Equal(t, []uint32{235, 236, 237, 1, 59},
		[]uint32{list[0].ID, list[1].ID, list[2].ID, list[3].ID, list[4].ID})
	hero := list[slices.IndexFunc(list, func(s blockedActor) bool { return s.ID == 234 })]
	require.Equal(t, "vehicle.lincoln.mkz_2017", hero.Name)
	require.InDelta(t, 5.073470766656101, hero.Duration, 1e-9)
	require.InDelta(t, 0.28321386501193047, hero.Time, 1e-9)
}

// logOfAllPackets returns a reader of a log with a packet of each kind that has a text.
func logOfAllPackets(t testing.TB) *carla.Reader {
	nan, inf := math.Float64frombits(0xfff8000000000000), math.Inf(1)
	return buildLog(t, carla.UE4New,
		[]carla.Body{
			&carla.VisualTime{Seconds: 1},
			&carla.EventAddList{
				{Actor: 1, BlueprintID: "spectator", Location: carla.Vector{X: 1e6, Y: 123456.5, Z: -0.00001}},
				{Actor: 7, Type: carla.ActorVehicle, BlueprintID: "vehicle.audi.tt",
					Attributes: []carla.Attribute{{Type: carla.AttributeString, ID: "role_name", Value: "hero"},
						{ID: "empty"}}},
			},
			&carla.EventDelList{8}, &carla.EventParentList{{Actor: 9, Parent: 7}},
			&carla.CollisionList{{Number: 3, Actor1: 7, Actor2: carla.NoActor, Hero1: true},
				{Number: 4, Actor1: 1, Actor2: 7, Hero2: true}},
			&carla.VehicleDoorList{{Actor: 7, Door: carla.DoorFrontLeft, Open: true}, {Actor: 7, Door: carla.DoorAll}},
			&carla.PositionList{{Actor: 7, Location: carla.Vector{X: 1, Y: 2.5, Z: 3}, Rotation: carla.Vector{Z: 90}}},
			&carla.StateList{{Actor: 2, Frozen: true, Elapsed: 1.5, Colour: carla.Green}},
			&carla.AnimVehicleList{{Actor: 7, Steering: -0.25, Throttle: 1, Brake: 0.5, HandBrake: true, Gear: -1}},
			&carla.AnimWalkerList{{Actor: 5, Speed: 140.5}},
			&carla.VehicleLightList{{Actor: 7, Lights: carla.LightFog | carla.LightInterior | carla.LightPosition},
				{Actor: 8}},
			&carla.SceneLightList{{Light: -1, Intensity: 10, R: 1, G: 0.5, B: 0.25, On: true}, {Light: 2}},
			&carla.AnimVehicleWheelsList{{Actor: 7}}, &carla.AnimBikerList{{Actor: 7}},
			&carla.WeatherList{{Cloudiness: 1, Precipitation: 2, PrecipitationDeposits: 3, WindIntensity: 4,
				SunAzimuthAngle:  5,
				SunAltitudeAngle: 6, FogDensity: 7, FogDistance: 8, FogFalloff: 9, Wetness: 10, ScatteringIntensity: 11,
				MieScatteringScale: 12, RayleighScatteringScale: 13, DustStorm: 14}},
			&carla.KinematicsList{{Actor: 7, LinearVelocity: carla.Vector{X: 1}, AngularVelocity: carla.Vector{Z: -2}}},
			&carla.BoundingBoxList{{Actor: 1, Origin: carla.Vector{X: nan, Y: math.NaN(), Z: inf},
				Extension: carla.Vector{X: -inf}}},
			&carla.TriggerVolumeList{{Actor: 2, Extension: carla.Vector{X: 4}}},
			&carla.PlatformTime{Seconds: 0.125},
			&carla.PhysicsControlList{{
				Actor: 7, MaxRPM: 1, MOI: 2, DampingRateFullThrottle: 3, DampingRateZeroThrottleClutchEngaged: 4,
				DampingRateZeroThrottleClutchDisengaged: 5,
				ClutchStrength:                          6, FinalRatio: 7, Mass: 8, DragCoefficient: 9,
				CenterOfMass: carla.Vector{X: 1, Y: 2, Z: 3},
				TorqueCurve:  []carla.CurvePoint{{X: 1, Y: 2}, {X: 3, Y: 4}},
				ForwardGears: []carla.Gear{{Ratio: 1, DownRatio: 2, UpRatio: 3}},
				Wheels: []carla.WheelPhysics{{TireFriction: 1, DampingRate: 2, MaxSteerAngle: 3, Radius: 4,
					MaxBrakeTorque:     5,
					MaxHandbrakeTorque: 6, LatStiffMaxLoad: 7, Position: carla.Vector{X: 8, Y: 9, Z: 10}}},
			}},
			&carla.TrafficLightTimeList{{Actor: 2, Green: 10, Yellow: 3, Red: 2}},
			&carla.WalkerBonesList{{Actor: 5, Bones: []carla.Bone{{Name: "crl_root", Location: carla.Vector{X: 1},
				Rotation: carla.Vector{Y: 2}}}}},
		},
		[]carla.Body{&carla.EventAddList{}, &carla.PositionList{}},
	)
}

const wantHead = "Version: 2\nMap: Town03\nDate: 11/14/23 22:13:20\n\n"

const wantEvents = `Frame 1 at 0 seconds
 Create 1: spectator (0) at (1e+06, 123456, -1e-05)
 Create 7: vehicle.audi.tt (1) at (0, 0, 0)
  role_name = hero
  empty = 
 Destroy 8
 Parenting 9 with 7 (parent)
 Collision id 3 between 7 (hero)  with 4294967295
 Collision id 4 between 1 with 7 (hero) 
`

const wantWeather = ` Weathers: 1
  Cloudiness: 1 Precipitation: 2 PrecipitationDeposits: 3 WindIntensity: 4 SunAzimuthAngle: 5 SunAltitudeAngle: 6 FogDensity: 7 FogDistance: 8 FogFalloff: 9 Wetness: 10 ScatteringIntensity: 11 MieScatteringScale: 12 RayleighScatteringScale: 13 DustStorm: 14
`

const wantMore = ` Dynamic actors: 1
  Id: 7 linear_velocity: (1, 0, 0) angular_velocity: (0, 0, -2)
 Actor bounding boxes: 1
  Id: 1 origin: (-nan, nan, inf) extension: (-inf, 0, 0)
 Actor trigger volumes: 1
  Id: 2 origin: (0, 0, 0) extension: (4, 0, 0)
 Current platform time: 0.125
 Physics Control events: 1
  Id: 7
   max_rpm = 1
   MOI = 2
   damping_rate_full_throttle = 3
   damping_rate_zero_throttle_clutch_engaged = 4
   damping_rate_zero_throttle_clutch_disengaged = 5
   use_gear_auto_box = false
   gear_switch_time = 0.5
   clutch_strength = 6
   final_ratio = 7
   mass = 8
   drag_coefficient = 9
   center_of_mass = (1, 2, 3)
   torque_curve = (1, 2) (3, 4)
   steering_curve =
   forward_gears:
    gear 0: ratio 1 down_ratio 2 up_ratio 3
   wheels:
    wheel 0: tire_friction 1 damping_rate 2 max_steer_angle 3 radius 4 max_brake_torque 5 max_handbrake_torque 6 position (8, 9, 10)
 Traffic Light time events: 1
  Id: 2 green_time: 10 yellow_time: 3 red_time: 2
`

const wantTail = "\nFrames: 2\nDuration: 0.5 seconds\n"

func TestInfo(t *testing.T) {
	r := logOfAllPackets(t)
	require.Equal(t, wantHead+wantEvents+wantTail, infoText(t, r, false, V0913))
	require.Equal(t, wantHead+wantEvents+wantWeather+wantTail, infoText(t, r, false, Newest))

	lights := ` Walker animations: 1
  Id: 5 speed: 140.5
 Vehicle light animations: 2
  Id: 7 Position Interior Fog
  Id: 8 None
 Scene light changes: 2
  Id: -1 enabled: True intensity: 10 RGB_color: (1, 0.5, 0.25)
  Id: 2 enabled: False intensity: 0 RGB_color: (0, 0, 0)
`
	require.Equal(t, wantHead+wantEvents+` Positions: 1
  Id: 7 Location: (1, 2.5, 3) Rotation (0, 0, 90)
 State traffic lights: 1
  Id: 2 state: 2 frozen: 1 elapsedTime: 1.5
 Vehicle animations: 1
  Id: 7 Steering: -0.25 Throttle: 1 Brake 0.5 Handbrake: 1 Gear: -1
`+lights+wantMore+"Frame 2 at 0.5 seconds\n Positions: 0\n"+wantTail, infoText(t, r, true, V0913))

	require.Equal(t, wantHead+wantEvents+` Vehicle door animations: 2
  Id: 7
  Doors opened:  Front Left 
  Id: 7
  Doors opened:  All 
 Positions: 1
  Id: 7 Location: (1, 2.5, 3) Rotation: (0, 0, 90)
 State traffic lights: 1
  Id: 2 state: 2 frozen: 1 elapsedTime: 1.5
 Vehicle animations: 1
  Id: 7 Steering: -0.25 Throttle: 1 Brake: 0.5 Handbrake: 1 Gear: -1
`+lights+wantWeather+wantMore+` Walkers Bones: 1
  Id: 5
     Bone: "crl_root" relative: Loc(1, 0, 0) Rot(0, 2, 0)

Frame 2 at 0.5 seconds
 Positions: 0


`+wantTail, infoText(t, r, true, Newest))
}

func TestCollisions(t *testing.T) {
	collisionsOf := func(pairs ...[2]uint32) *carla.CollisionList {
		var l carla.CollisionList
		for _, p := range pairs {
			l = append(l, carla.Collision{Actor1: p[0], Actor2: p[1], Hero1: p[0] == 1, Hero2: p[1] == 1})
		}
		return &l
	}
	r := buildLog(t, carla.UE4,
		[]carla.Body{&carla.EventAddList{
			{Actor: 1, Type: carla.ActorVehicle, BlueprintID: "vehicle.audi.tt"},
			{Actor: 2, Type: carla.ActorWalker, BlueprintID: "walker.pedestrian.0001"},
			{Actor: 3, Type: carla.ActorTrafficSign, BlueprintID: "traffic.stop"},
		}},
		[]carla.Body{collisionsOf([2]uint32{1, 2})}, []carla.Body{collisionsOf([2]uint32{1, 2}, [2]uint32{2, 1})}, nil,
		[]carla.Body{collisionsOf([2]uint32{1, 2}, [2]uint32{1, 3}, [2]uint32{1, carla.NoActor}, [2]uint32{50, 1})},
		[]carla.Body{&carla.EventDelList{1}, collisionsOf([2]uint32{3, 1})}, // CARLA forgets actor 3
	)
	list, _, err := findCollisions(r, 'v', 'w')
	require.NoError(t, err)
	hero, walker := collider{ID: 1, Type: "v", Name: "vehicle.audi.tt", Hero: true},
		collider{ID: 2, Type: "w", Name: "walker.pedestrian.0001"}
	require.Equal(t, []collision{{Time: 0.5, Actors: [2]collider{hero, walker}},
		{Time: 2, Actors: [2]collider{hero, walker}}}, list)
	for categories, want := range map[string]int{"aa": 7, "ha": 4, "ah": 4, "wv": 1, "oo": 0, "oa": 2, "vo": 1, "vh": 1,
		"ta": 0} {
		list, _, err = findCollisions(r, categories[0], categories[1])
		require.NoError(t, err)
		require.Len(t, list, want, categories)
	}

	var b bytes.Buffer
	require.NoError(t, Collisions(&b, r, 'v', 'a', Options{Location: time.UTC}))
	pad := func(s string) string { return s + strings.Repeat(" ", 35-len(s)) }
	require.Equal(t, "Version: 1\nMap: Town03\nDate: 11/14/23 22:13:20\n\n"+
		"    Time  Types     Id "+pad("Actor 1")+"     Id "+pad("Actor 2")+"\n"+
		"       0   v w       1 "+pad("vehicle.audi.tt")+"      2 "+pad("walker.pedestrian.0001")+"\n"+
		"       2   v w       1 "+pad("vehicle.audi.tt")+"      2 "+pad("walker.pedestrian.0001")+"\n"+
		"       2   v h       1 "+pad("vehicle.audi.tt")+"      3 "+pad("traffic.stop")+"\n"+
		"       2   v o       1 "+pad("vehicle.audi.tt")+" 4294967295 "+pad("")+"\n"+
		"\nFrames: 6\nDuration: 2 seconds\n", b.String())
	b.Reset()
	require.NoError(t, Collisions(&b, r, 't', 't', Options{Location: time.UTC}))
	require.True(t, strings.HasSuffix(b.String(), "\n\nFrames: 6\nDuration: 2.5 seconds\n"))
}

// TestHostileTexts checks that texts of a log cannot begin lines or control a terminal.
func TestHostileTexts(t *testing.T) {
	const hostile = "a\nb\x1b[2J\u202e\xff"
	r := buildLog(t, carla.UE4, []carla.Body{&carla.EventAddList{{Actor: 1, BlueprintID: hostile,
		Attributes: []carla.Attribute{{ID: hostile, Value: hostile}}}},
		&carla.CollisionList{{Actor1: 1, Actor2: 1}}})
	const shown = `a\nb\u001b[2J\u202e\xff`
	text := infoText(t, r, true, Newest)
	require.Equal(t, 3, strings.Count(text, shown))
	require.NotContains(t, text, "\nb")
	var b bytes.Buffer
	require.NoError(t, Collisions(&b, r, 'a', 'a', Options{}))
	require.Equal(t, 2, strings.Count(b.String(), shown), b.String())
}

func TestBlocked(t *testing.T) {
	// positions returns a packet with the actors 1 and 2 at x1 and x2, and actor 9, which is never added.
	positions := func(x1, x2 float64) []carla.Body {
		return []carla.Body{&carla.PositionList{{Actor: 1, Location: carla.Vector{X: x1}},
			{Actor: 2, Location: carla.Vector{X: x2}}, {Actor: 9, Location: carla.Vector{X: 5}}}}
	}
	frames := [][]carla.Body{append([]carla.Body{&carla.EventAddList{{Actor: 1, BlueprintID: "vehicle.audi.tt"},
		{Actor: 2, BlueprintID: "vehicle.bmw.grandtourer"}}}, positions(100, 100)...)}
	for i := 1; i < 10; i++ {
		x := 100 + float64(i)
		if i == 7 {
			x += 1000
		}
		frames = append(frames, positions(x, 100*float64(i+1)))
	}
	for _, p := range []carla.Profile{carla.UE4, carla.UE5} {
		r := buildLog(t, p, frames...)
		list, _, err := findBlocked(r, 1, 10)
		require.NoError(t, err)
		// The last frame has a duration of -1 s, which CARLA adds, too.
		require.Equal(t, []blockedActor{{ID: 9, Time: 0, Duration: 3.5},
			{ID: 1, Name: "vehicle.audi.tt", Time: 0.5, Duration: 3}},
			list)
		var b bytes.Buffer
		require.NoError(t, Blocked(&b, r, 1, 10, Options{Location: time.UTC}))
		require.Equal(t, "Version: 1\nMap: Town03\nDate: 11/14/23 22:13:20\n\n"+
			"    Time     Id Actor                                 Duration\n"+
			"       0      9                                              4\n"+
			"       0      1 vehicle.audi.tt                              3\n"+
			"\nFrames: 10\nDuration: 4.5 seconds\n", b.String())
	}
}

// TestInfoOfUE5 checks the differences of UE5: integers of one byte are printed as characters, and frames end without
// blank lines, except after bones.
func TestInfoOfUE5(t *testing.T) {
	r := buildLog(t, carla.UE5,
		[]carla.Body{
			&carla.EventAddList{{Actor: 7, Type: carla.ActorVehicle, BlueprintID: "vehicle.ue5",
				Location: carla.Vector{X: 1234567.5, Y: -0.1}}},
			&carla.VehicleDoorList{}, &carla.PositionList{{Actor: 7, Location: carla.Vector{X: 1234567.5}}},
			&carla.ChaosPhysicsList{{
				Actor: 7, MaxTorque: 1, MaxRPM: 2, IdleRPM: 3, BrakeEffect: 4, RevUpMOI: 5, RevDownRate: 6,
				DifferentialType:  '2',
				FrontRearSplit:    0.5,
				UseAutomaticGears: true, GearChangeTime: 0.25, FinalRatio: 8, ChangeUpRPM: 9, ChangeDownRPM: 10,
				TransmissionEfficiency: 11,
				Mass:                   1845, DragCoefficient: 0.3, CenterOfMass: carla.Vector{X: 1, Y: 2, Z: 3},
				TorqueCurve:       []carla.CurvePoint{{X: 1, Y: 2}, {X: 3, Y: 4}},
				ForwardGearRatios: []carla.Ratio{2.85, 2.02},
				ReverseGearRatios: []carla.Ratio{2.86},
				SteeringCurve:     []carla.CurvePoint{{X: 0, Y: 1}},
				Wheels: []carla.ChaosWheel{{
					AxleType: 1, Offset: carla.Vector{X: 1.5, Y: math.Inf(1), Z: math.NaN()}, WheelRadius: 2,
					WheelWidth: 3,
					WheelMass:  4, CorneringStiffness: 5,
					FrictionForce: 6, SideSlip: 7, SlipThreshold: 8, SkidThreshold: 9, MaxSteerAngle: 10,
					AffectedBySteering:  true,
					AffectedByHandbrake: true,
					ABS:                 true, MaxWheelspinRotation: 11, ExternalTorqueCombine: 'x',
					SuspensionAxis:     carla.Vector{Z: -1},
					SuspensionMaxRaise: 12,
					SuspensionMaxDrop:  13, SuspensionDampingRatio: 14, WheelLoadRatio: 15, SpringRate: 16,
					SpringPreload:       17,
					SuspensionSmoothing: -18,
					RollbarScaling:      19, SweepShape: 'y', SweepType: 'z', MaxBrakeTorque: 20,
					MaxHandBrakeTorque: 21,
					WheelIndex:         22,
					Location:           carla.Vector{X: 23}, OldLocation: carla.Vector{Y: 24},
					Velocity: carla.Vector{Z: 25},
				}, {}},
			}},
			&carla.WalkerBonesList{{Actor: 5, Bones: []carla.Bone{{Name: "crl_root", Location: carla.Vector{X: 1}}}}},
		},
		[]carla.Body{&carla.PositionList{}, &carla.WalkerBonesList{}})
	const head = `Version: 1
Map: Town03
Date: 11/14/23 22:13:20

Frame 1 at 0 seconds
 Create 7: vehicle.ue5 (1) at (1.23457e+06, -0.1, 0)
`
	require.Equal(t, head+` Vehicle door animations: 0
 Positions: 1
  Id: 7 Location: (1.23457e+06, 0, 0) Rotation: (0, 0, 0)
 Physics Control events: 1
  Id: 7
   max_torque = 1
   max_rpm = 2
   MOI = 5
   rev_down_rate = 6
   differential_type = 2
   front_rear_split = 0.5
   use_gear_auto_box = true
   gear_change_time = 0.25
   final_ratio = 8
   change_up_rpm = 9
   change_down_rpm = 10
   transmission_efficiency = 11
   mass = 1845
   drag_coefficient = 0.3
   center_of_mass = (1, 2, 3)
   torque_curve = (1, 2) (3, 4)
   steering_curve = (0, 1)
   forward_gear_ratios:
    gear 0: ratio 2.85
    gear 1: ratio 2.02
   reverse_gear_ratios:
    gear 0: ratio 2.86
   wheels:
wheel #0:
 axle_type: `+"\x01"+` offset: (1.500000, inf, nan) wheel_radius: 2 wheel_width: 3 wheel_mass: 4 cornering_stiffness: 5 friction_force_multiplier: 6 side_slip_modifier: 7 slip_threshold: 8 skid_threshold: 9 max_steer_angle: 10 affected_by_steering: 1 affected_by_brake: 0 affected_by_handbrake: 1 affected_by_engine: 0 abs_enabled: 1 traction_control_enabled: 0 max_wheelspin_rotation: 11 external_torque_combine_method: x lateral_slip_graph: [] suspension_axis: (0.000000, 0.000000, -1.000000) suspension_force_offset: (0.000000, 0.000000, 0.000000) suspension_max_raise: 12 suspension_max_drop: 13 suspension_damping_ratio: 14 wheel_load_ratio: 15 spring_rate: 16 spring_preload: 17 suspension_smoothing: -18 rollbar_scaling: 19 sweep_shape: y sweep_type: z max_brake_torque: 20 max_hand_brake_torque: 21 wheel_index: 22 location: (23.000000, 0.000000, 0.000000) old_location: (0.000000, 24.000000, 0.000000) velocity: (0.000000, 0.000000, 25.000000)
wheel #1:
 axle_type: `+"\x00"+` offset: (0.000000, 0.000000, 0.000000) wheel_radius: 0 wheel_width: 0 wheel_mass: 0 cornering_stiffness: 0 friction_force_multiplier: 0 side_slip_modifier: 0 slip_threshold: 0 skid_threshold: 0 max_steer_angle: 0 affected_by_steering: 0 affected_by_brake: 0 affected_by_handbrake: 0 affected_by_engine: 0 abs_enabled: 0 traction_control_enabled: 0 max_wheelspin_rotation: 0 external_torque_combine_method: `+"\x00"+` lateral_slip_graph: [] suspension_axis: (0.000000, 0.000000, 0.000000) suspension_force_offset: (0.000000, 0.000000, 0.000000) suspension_max_raise: 0 suspension_max_drop: 0 suspension_damping_ratio: 0 wheel_load_ratio: 0 spring_rate: 0 spring_preload: 0 suspension_smoothing: 0 rollbar_scaling: 0 sweep_shape: `+"\x00"+` sweep_type: `+"\x00"+` max_brake_torque: 0 max_hand_brake_torque: 0 wheel_index: 0 location: (0.000000, 0.000000, 0.000000) old_location: (0.000000, 0.000000, 0.000000) velocity: (0.000000, 0.000000, 0.000000)
 Walkers Bones: 1
  Id: 5
     Bone: "crl_root" relative: Loc(1, 0, 0) Rot(0, 0, 0)

Frame 2 at 0.5 seconds
 Positions: 0
 Walkers Bones: 0

`+wantTail, infoText(t, r, true, Newest))
	require.Equal(t, head+` Positions: 1
  Id: 7 Location: (1.23457e+06, 0, 0) Rotation (0, 0, 0)
Frame 2 at 0.5 seconds
 Positions: 0
`+wantTail, infoText(t, r, true, V0913))
}

// TestColumns checks that the width of columns is in bytes, that columns move to the right after long values, and that
// NaN and infinity are written as in C.
func TestColumns(t *testing.T) {
	long := strings.Repeat("x", 40)
	r := buildLog(t, carla.UE4,
		[]carla.Body{
			&carla.EventAddList{{Actor: 1, BlueprintID: "prop.größe"}, {Actor: 1234567, BlueprintID: long}},
			&carla.FrameStart{Frame: 1, Duration: math.Inf(1), Elapsed: math.NaN()},
			&carla.CollisionList{{Actor1: 1, Actor2: 1234567}}, &carla.PositionList{{Actor: 1}, {Actor: 1234567}},
		})
	var b bytes.Buffer
	require.NoError(t, Collisions(&b, r, 'a', 'a', Options{}))
	require.Contains(t, b.String(), "\n     nan   o o       1 prop.größe"+strings.Repeat(" ",
		35-12)+" 1234567 "+long+"\n\nFrames: 1\nDuration: nan seconds\n")
	b.Reset()
	require.NoError(t, Blocked(&b, r, 1, 1, Options{}))
	require.Contains(t, b.String(), "\n     nan      1 prop.größe"+strings.Repeat(" ",
		35-12)+"        inf\n     nan 1234567 "+long+"        inf\n\nFrames: 1\nDuration: nan seconds\n")
}

// FuzzQueries checks that all queries can be answered for any log, and that answers in JSON are valid.
func FuzzQueries(f *testing.F) {
	for _, r := range []*carla.Reader{logOfAllPackets(f),
		buildLog(f, carla.UE5, []carla.Body{&carla.ChaosPhysicsList{{Wheels: make([]carla.ChaosWheel, 1)}}})} {
		info, err := r.Info()
		require.NoError(f, err)
		log, err := os.ReadFile(info.Path)
		require.NoError(f, err)
		f.Add(log)
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, log []byte) {
		path := filepath.Join(folder, "fuzz.log")
		require.NoError(t, os.WriteFile(path, log, 0o600))
		r, err := carla.Open(nil, path)
		if err != nil {
			return
		}
		defer r.Close()
		var b bytes.Buffer
		for _, style := range []Style{Newest, V0913} {
			require.NoError(t, Info(&b, r, true, Options{Style: style}))
		}
		require.NoError(t, Collisions(&b, r, 'a', 'h', Options{}))
		require.NoError(t, Blocked(&b, r, 0, 1, Options{}))
		for _, write := range []func() error{
			func() error { return Info(&b, r, true, Options{JSON: true}) },
			func() error { return Collisions(&b, r, 'a', 'a', Options{JSON: true}) },
			func() error { return Blocked(&b, r, 0, 1, Options{JSON: true}) },
		} {
			b.Reset()
			require.NoError(t, write())
			require.True(t, json.Valid(b.Bytes()), b.String())
		}
	})
}
