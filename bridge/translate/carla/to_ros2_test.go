package carla

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/msgs/visualization_msgs"
)

// testLog is a log in memory.
type testLog struct {
	bridgetest.Recording
	channel *codec.Channel
}

func newTestLog(p carla.Profile) *testLog {
	return &testLog{channel: &codec.Channel{
		Topic: carla.Topic, Type: carla.Type, Encoding: carla.Encoding,
		Metadata: map[string]string{carla.KeyProfile: p.Name, carla.KeyMap: "Town03", carla.KeyDate: "1700000000"},
	}}
}

// frame adds a frame of 0.5 s.
func (log *testLog) frame(t testing.TB, bodies ...carla.Body) *testLog {
	_, p, err := carla.ParseChannel(log.channel)
	require.NoError(t, err)
	n := len(log.Messages)
	bodies = append([]carla.Body{&carla.FrameStart{Frame: uint64(n + 1), Duration: 0.5, Elapsed: float64(n) / 2}},
		bodies...)
	var data []byte
	for _, b := range append(bodies, &carla.FrameEnd{}) {
		data, err = carla.AppendPacket(data, p, b)
		require.NoError(t, err)
	}
	m := codec.Message{Channel: log.channel, LogTime: 1_700_000_000e9 + int64(n)*5e8, Data: data}
	log.Messages = append(log.Messages, m)
	return log
}

// translateAll returns the decoded messages to which a log is translated, by topic.
func translateAll(t testing.TB, log codec.Reader, q codec.Query) map[string][]msgs.Message {
	return collect(t, bridgetest.Translate(t, log, carla.Encoding, codec.EncodingCDR, ToROS2), q)
}

// decodeAny decodes a message of any type to which logs are translated.
func decodeAny(t testing.TB, m *codec.Message) msgs.Message {
	if m.Channel.Type == (*carla_msgs.CarlaStatus).TypeName(nil) {
		status := bridgetest.Decode[carla_msgs.CarlaStatus](t, m)
		return &status
	}
	if m.Channel.Topic == "/carla/markers" {
		markers := bridgetest.Decode[visualization_msgs.MarkerArray](t, m)
		return &markers
	}
	i := slices.IndexFunc(messageTypes, func(o messageType) bool { return o.name == m.Channel.Type })
	require.GreaterOrEqual(t, i, 0, m.Channel.Type)
	v := messageTypes[i].empty()
	require.NoError(t, cdr.Unmarshal(m.Data, v))
	return v
}

// role returns the attributes of an actor with a role.
func role(name string) []carla.Attribute {
	return []carla.Attribute{{Type: carla.AttributeString, ID: "role_name", Value: name}}
}

// TestNames checks the names of actors by their roles.
func TestNames(t *testing.T) {
	vehicles := carla.EventAddList{}
	for i, name := range []string{"hero", "autopilot", "autopilot", "ego/2", "", "traffic_lights", "spectator", "2nd",
		"actor10"} {
		vehicles = append(vehicles, carla.EventAdd{Actor: uint32(10 + i), Type: carla.ActorVehicle,
			Attributes: role(name)})
	}
	vehicles = append(vehicles, carla.EventAdd{Actor: 30, Type: carla.ActorWalker, Attributes: role("child")})
	vehicles = append(vehicles, carla.EventAdd{Actor: 31, Type: carla.ActorOther, Attributes: role("hero")})
	translator, err := ToROS2(newTestLog(carla.UE4).frame(t, &vehicles))
	require.NoError(t, err)
	log := newTestLog(carla.UE4)
	_, err = translator.Topics(codec.TopicInfo{Channel: log.channel})
	require.ErrorContains(t, err, "the recording has no channel")
	var odometry []string
	r, _, err := bridge.Translate(newTestLog(carla.UE4).frame(t, &vehicles), codec.EncodingCDR, nil,
		map[string]func(codec.Reader) (bridge.Translator, error){carla.Encoding: ToROS2})
	require.NoError(t, err)
	info, err := r.Info()
	require.NoError(t, err)
	for _, topic := range info.Topics {
		require.NotEmpty(t, topic.Channel.TypeHash)
		require.Equal(t, codec.SchemaROS2Msg, topic.Channel.Schema.Encoding)
		require.Len(t, topic.Channel.QoS, 1)
		if topic.Channel.Type == "nav_msgs/msg/Odometry" {
			odometry = append(odometry, topic.Channel.Topic)
		}
	}
	require.Equal(t, []string{
		"/carla/hero/odometry", "/carla/actor11/odometry", "/carla/actor12/odometry", "/carla/actor13/odometry",
		"/carla/actor14/odometry",
		"/carla/actor15/odometry", "/carla/actor16/odometry", "/carla/actor17/odometry", "/carla/actor18/odometry",
		"/carla/child/odometry",
	}, odometry)
}

// fullLog returns a log with a packet of each kind.
func fullLog(t testing.TB, p carla.Profile) *testLog {
	log := newTestLog(p)
	log.frame(t,
		&carla.EventAddList{
			{Actor: 1, BlueprintID: "spectator"},
			{Actor: 2, Type: carla.ActorTrafficLight, BlueprintID: "traffic.traffic_light",
				Location: carla.Vector{X: 1000, Y: 2000}, Rotation: carla.Vector{Z: 90}},
			{Actor: 3, BlueprintID: "static.prop.barrel", Location: carla.Vector{X: 100}},
			{Actor: 10, Type: carla.ActorVehicle, BlueprintID: "vehicle.audi.tt", Attributes: role("hero"),
				Location: carla.Vector{X: 1000, Z: 50}, Rotation: carla.Vector{Z: 90}},
			{Actor: 20, Type: carla.ActorWalker, BlueprintID: "walker.pedestrian.0001"},
			{Actor: 21, Type: carla.ActorSensor, BlueprintID: "sensor.other.imu", Location: carla.Vector{X: 1000}},
		},
		&carla.PositionList{
			{Actor: 1}, {Actor: 3, Location: carla.Vector{X: 100}},
			{Actor: 10, Location: carla.Vector{X: 1000, Z: 50}, Rotation: carla.Vector{Z: 90}},
			{Actor: 20, Rotation: carla.Vector{Z: -90}}, {Actor: 99},
		},
		&carla.StateList{{Actor: 2, Colour: carla.Green}, {Actor: 98, Colour: 77}},
		&carla.AnimVehicleList{{Actor: 10, Steering: 0.5, Throttle: 0.25, Brake: 0.125, HandBrake: true, Gear: -1},
			{Actor: 99}},
		&carla.AnimWalkerList{{Actor: 20, Speed: 150}, {Actor: 99}},
		&carla.WeatherList{{Cloudiness: 1, Precipitation: 2, PrecipitationDeposits: 3, WindIntensity: 4,
			SunAzimuthAngle:  5,
			SunAltitudeAngle: 6, FogDensity: 7, FogDistance: 8, FogFalloff: 9, Wetness: 10}},
		&carla.TriggerVolumeList{{Actor: 2, Origin: carla.Vector{X: 1000, Y: 2300},
			Extension: carla.Vector{X: 150, Y: 50, Z: math.Inf(1)}}},
	)
	log.frame(t,
		&carla.EventAddList{{Actor: 22, Type: carla.ActorSensor, BlueprintID: "sensor.camera.rgb",
			Location: carla.Vector{X: 100, Y: 50, Z: 150}, Rotation: carla.Vector{Y: 90}}},
		&carla.EventParentList{{Actor: 22, Parent: 10}},
		&carla.CollisionList{{Number: 1, Actor1: 10, Actor2: 20}, {Number: 2, Actor1: 10, Actor2: carla.NoActor},
			{Number: 3, Actor1: 99, Actor2: 10}},
		&carla.PositionList{
			{Actor: 1}, {Actor: 3, Location: carla.Vector{X: 100.05}},
			{Actor: 10, Location: carla.Vector{X: 1000, Y: 200, Z: 50}, Rotation: carla.Vector{Z: 99}},
			{Actor: 20, Location: carla.Vector{Y: -50}, Rotation: carla.Vector{Z: -90}},
		},
		&carla.StateList{{Actor: 2, Colour: carla.Yellow}},
		&carla.AnimVehicleList{{Actor: 10, Gear: 3}},
		&carla.KinematicsList{{Actor: 10, LinearVelocity: carla.Vector{Y: 5}, AngularVelocity: carla.Vector{Z: 18}},
			{Actor: 20, LinearVelocity: carla.Vector{Y: -1}}, {Actor: 97}},
	)
	log.frame(t,
		&carla.EventDelList{20},
		&carla.PositionList{{Actor: 1}, {Actor: 3, Location: carla.Vector{X: 150}},
			{Actor: 10, Location: carla.Vector{X: 1000, Y: 300, Z: 50}, Rotation: carla.Vector{Z: 99}}},
		&carla.AnimVehicleList{{Actor: 10}},
	)
	return log
}

// TestTranslate compares the messages of a log with a packet of each kind with expected messages.
func TestTranslate(t *testing.T) {
	log := fullLog(t, carla.UE4)
	messages := translateAll(t, log, codec.Query{})
	header := func(n int) std_msgs.Header {
		return std_msgs.Header{Stamp: Stamp(float64(n) / 2), FrameId: "map"}
	}
	require.Len(t, messages, 16)

	require.Equal(t, []msgs.Message{&rosgraph_msgs.Clock{Clock: Stamp(0)}, &rosgraph_msgs.Clock{Clock: Stamp(0.5)},
		&rosgraph_msgs.Clock{Clock: Stamp(1)}}, messages["/clock"])
	require.Equal(t, []msgs.Message{&carla_msgs.CarlaWorldInfo{MapName: "Town03"}}, messages["/carla/world_info"])
	require.Equal(t, &carla_msgs.CarlaStatus{Frame: 2, FixedDeltaSeconds: 0.5}, messages["/carla/status"][1])
	require.Equal(t, []msgs.Message{&carla_msgs.CarlaWeatherParameters{
		Cloudiness: 1, Precipitation: 2, PrecipitationDeposits: 3, WindIntensity: 4, SunAzimuthAngle: 5,
		SunAltitudeAngle: 6,
		FogDensity:       7, FogDistance: 8, Wetness: 10,
	}}, messages["/carla/weather_control"])

	require.Len(t, messages["/carla/actor_list"], 3)
	list := messages["/carla/actor_list"][1].(*carla_msgs.CarlaActorList).Actors
	require.Len(t, list, 7)
	require.Equal(t, carla_msgs.CarlaActorInfo{Id: 10, Type: "vehicle.audi.tt", Rolename: "hero"}, list[3])
	require.Equal(t, carla_msgs.CarlaActorInfo{Id: 22, ParentId: 10, Type: "sensor.camera.rgb"}, list[6])
	require.Len(t, messages["/carla/actor_list"][2].(*carla_msgs.CarlaActorList).Actors, 6)

	require.Equal(t, []msgs.Message{
		&carla_msgs.CarlaTrafficLightStatusList{TrafficLights: []carla_msgs.CarlaTrafficLightStatus{{Id: 2, State: 2},
			{Id: 98, State: 4}}},
		&carla_msgs.CarlaTrafficLightStatusList{TrafficLights: []carla_msgs.CarlaTrafficLightStatus{{Id: 2, State: 1}}},
	}, messages["/carla/traffic_lights/status"])
	require.Len(t, messages["/carla/traffic_lights/info"], 1)
	light := messages["/carla/traffic_lights/info"][0].(*carla_msgs.CarlaTrafficLightInfoList).TrafficLights[0]
	require.EqualValues(t, 2, light.Id)
	requireClose(t, geometry_msgs.Point{X: 10, Y: -20}, light.Transform.Position)
	requireClose(t, rotation{Z: -half, W: half}, light.Transform.Orientation)
	// The trigger volume is 3 m further to the right in the world, in front of the light.
	requireClose(t, vector3{X: 3}, light.TriggerVolume.Center)
	require.Equal(t, vector3{}, light.TriggerVolume.Size) // the size in the log is infinite

	require.Equal(t, []msgs.Message{
		&carla_msgs.CarlaCollisionEvent{Header: header(1), OtherActorId: 20},
		&carla_msgs.CarlaCollisionEvent{Header: header(1), OtherActorId: carla.NoActor},
	}, messages["/carla/hero/collision"])

	control := carla_msgs.CarlaEgoVehicleControl{Header: header(0), Throttle: 0.25, Steer: 0.5, Brake: 0.125,
		HandBrake: true,
		Reverse:   true, Gear: -1}
	require.Equal(t, &control, messages["/carla/hero/vehicle_control_cmd"][0])
	status := messages["/carla/hero/vehicle_status"]
	require.Equal(t, control, status[0].(*carla_msgs.CarlaEgoVehicleStatus).Control)
	require.Zero(t, status[0].(*carla_msgs.CarlaEgoVehicleStatus).Velocity)
	require.EqualValues(t, 5, status[1].(*carla_msgs.CarlaEgoVehicleStatus).Velocity)
	require.Zero(t, status[1].(*carla_msgs.CarlaEgoVehicleStatus).Acceleration) // the previous velocity is unknown
	require.EqualValues(t, 2, status[2].(*carla_msgs.CarlaEgoVehicleStatus).Velocity)
	// The velocity to the right decreases from 5 to 2 m/s in 0.5 s.
	requireClose(t, vector3{Y: 6}, status[2].(*carla_msgs.CarlaEgoVehicleStatus).Acceleration.Linear)

	odometry := messages["/carla/hero/odometry"]
	first, second, third := odometry[0].(*nav_msgs.Odometry), odometry[1].(*nav_msgs.Odometry),
		odometry[2].(*nav_msgs.Odometry)
	require.Equal(t, header(0), first.Header)
	require.Equal(t, "hero", first.ChildFrameId)
	requireClose(t, geometry_msgs.Point{X: 10, Z: 0.5}, first.Pose.Pose.Position)
	requireClose(t, rotation{Z: -half, W: half}, first.Pose.Pose.Orientation)
	require.Equal(t, geometry_msgs.Twist{}, first.Twist.Twist)
	// The hero looks 9 degrees further to the right than it moves, and turns to the right at 18 degrees/s.
	requireClose(t, vector3{X: 5 * math.Cos(math.Pi/20), Y: 5 * math.Sin(math.Pi/20)}, second.Twist.Twist.Linear)
	requireClose(t, vector3{Z: -math.Pi / 10}, second.Twist.Twist.Angular)
	// Without kinematics, the velocity is computed: 1 m in 0.5 s.
	requireClose(t, vector3{X: 2 * math.Cos(math.Pi/20), Y: 2 * math.Sin(math.Pi/20)}, third.Twist.Twist.Linear)
	requireClose(t, vector3{}, third.Twist.Twist.Angular)

	require.Len(t, messages["/carla/actor20/odometry"], 2)
	walk := messages["/carla/actor20/walker_control_cmd"]
	require.Len(t, walk, 1)
	require.EqualValues(t, 1.5, walk[0].(*carla_msgs.CarlaWalkerControl).Speed)
	requireClose(t, vector3{Y: 1}, walk[0].(*carla_msgs.CarlaWalkerControl).Direction)

	tf := messages["/tf"]
	require.Len(t, tf, 3)
	var names []string
	for _, transform := range tf[0].(*tf2_msgs.TFMessage).Transforms {
		require.Equal(t, header(0), transform.Header)
		names = append(names, transform.ChildFrameId)
	}
	require.Equal(t, []string{"spectator", "hero", "actor20"}, names)
	requireClose(t, vector3{X: 10, Z: 0.5}, tf[0].(*tf2_msgs.TFMessage).Transforms[1].Transform.Translation)

	// Static transforms come with the first frame, with the camera, and when the barrel has moved.
	fixed := messages["/tf_static"]
	require.Len(t, fixed, 3)
	require.Len(t, fixed[0].(*tf2_msgs.TFMessage).Transforms, 2)
	camera := fixed[1].(*tf2_msgs.TFMessage).Transforms[2]
	require.Equal(t, std_msgs.Header{Stamp: Stamp(0.5), FrameId: "hero"}, camera.Header)
	require.Equal(t, "actor22", camera.ChildFrameId)
	requireClose(t, vector3{X: 1, Y: -0.5, Z: 1.5}, camera.Transform.Translation)
	requireClose(t, rotation{Y: -half, W: half}, camera.Transform.Rotation)
	requireClose(t, vector3{X: 1.5}, fixed[2].(*tf2_msgs.TFMessage).Transforms[1].Transform.Translation)
}

// TestMarkers checks that the boxes of actors equal the boxes of CARLA's ROS bridge.
func TestMarkers(t *testing.T) {
	box := func(id uint32, x, y, z float64) carla.BoundingBox {
		return carla.BoundingBox{Actor: id, Extension: carla.Vector{X: x, Y: y, Z: z}}
	}
	adds := carla.EventAddList{
		{Actor: 10, Type: carla.ActorVehicle, Attributes: role("hero")},
		{Actor: 11, Type: carla.ActorVehicle}, {Actor: 12, Type: carla.ActorVehicle},
		{Actor: 20, Type: carla.ActorWalker}, {Actor: 30, BlueprintID: "static.prop.barrel"},
		{Actor: 31, Type: carla.ActorSensor},
	}
	places := carla.PositionList{{Actor: 10, Location: carla.Vector{X: 1000, Y: 200}, Rotation: carla.Vector{X: 90}},
		{Actor: 11, Rotation: carla.Vector{Z: 90}}, {Actor: 12}, {Actor: 20, Location: carla.Vector{Z: 90}}, {Actor: 30},
		{Actor: 99}}
	infinite := math.Inf(1)
	log := newTestLog(carla.UE4).
		frame(t, &adds, &carla.BoundingBoxList{box(10, 250, 100, 75), box(11, 200, 90, 80), box(20, 20, 20, 90),
			box(30, 1, 2, 3), box(31, infinite, infinite, infinite), box(98, 1, 2, 3)}, &places).
		frame(t, &places).
		frame(t, &carla.EventDelList{11}, &carla.PositionList{places[0], places[3]}).
		frame(t)
	read := func(o ReadOptions, q codec.Query) (ids [][]int32, arrays []*visualization_msgs.MarkerArray) {
		for _, m := range collect(t, o.read(t, log), q)["/carla/markers"] {
			arrays = append(arrays, m.(*visualization_msgs.MarkerArray))
			list := []int32{}
			for _, marker := range arrays[len(arrays)-1].Markers {
				if marker.Action == visualization_msgs.Marker_DELETEALL {
					marker.Id = -1
				}
				list = append(list, marker.Id)
			}
			ids = append(ids, list)
		}
		return ids, arrays
	}
	ids, arrays := read(ReadOptions{}, codec.Query{})
	require.Equal(t, [][]int32{{-1, 10, 11, 20}, {10, 11, 20}, {-1, 10, 20}, {}}, ids)
	hero, other, walker := arrays[1].Markers[0], arrays[1].Markers[1], arrays[1].Markers[2]
	// The actor lies on its right side, so its up axis points to the right.
	requireClose(t, geometry_msgs.Point{X: 10, Y: -2.75}, hero.Pose.Position)
	requireClose(t, geometry_msgs.Point{Z: 0.8}, other.Pose.Position)
	requireClose(t, rotation{Z: -half, W: half}, other.Pose.Orientation)
	requireClose(t, geometry_msgs.Point{Z: 0.9}, walker.Pose.Position)
	require.Equal(t, std_msgs.Header{Stamp: Stamp(0.5), FrameId: "map"}, hero.Header)
	require.Equal(t, visualization_msgs.Marker_CUBE, hero.Type)
	require.Equal(t, visualization_msgs.Marker_ADD, hero.Action)
	require.Equal(t, vector3{X: 5, Y: 2, Z: 1.5}, hero.Scale)
	require.Equal(t, std_msgs.ColorRGBA{G: 255, A: 0.3}, hero.Color)
	require.Equal(t, std_msgs.ColorRGBA{R: 255, A: 0.3}, other.Color)
	require.Equal(t, std_msgs.ColorRGBA{B: 255, A: 0.3}, walker.Color)

	ids, _ = read(ReadOptions{IgnoreHero: true, Rate: 10}, codec.Query{})
	require.Equal(t, [][]int32{{-1, 11, 20}, {11, 20}, {-1, 20}, {}}, ids)
	// Markers that are not wanted are not made.
	ids, _ = read(ReadOptions{}, codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == "/tf" }})
	require.Empty(t, ids)
}

// TestFromTheMiddle checks that a translation from the middle of a log begins with the earlier latched messages.
func TestFromTheMiddle(t *testing.T) {
	source := fullLog(t, carla.UE5)
	path := filepath.Join(t.TempDir(), "a.log")
	log := []byte("\x01\x00\x0e\x00CARLA_RECORDER\x00\xf1\x53\x65\x00\x00\x00\x00\x06\x00Town03")
	for _, m := range source.Messages {
		log = append(log, m.Data...)
	}
	require.NoError(t, os.WriteFile(path, log, 0o600))
	r, err := carla.Open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	all := translateAll(t, source, codec.Query{})
	rest := translateAll(t, r, codec.Query{Start: source.Messages[2].LogTime})
	for _, topic := range []string{"/carla/world_info", "/carla/weather_control", "/carla/traffic_lights/info",
		"/tf_static", "/carla/actor_list", "/carla/hero/vehicle_info", "/clock"} {
		require.Len(t, rest[topic], 1, topic)
		want := all[topic][len(all[topic])-1]
		require.IsType(t, want, rest[topic][0])
		if fixed, ok := want.(*tf2_msgs.TFMessage); ok {
			require.Len(t, rest[topic][0].(*tf2_msgs.TFMessage).Transforms, len(fixed.Transforms))
			continue
		}
		require.Equal(t, want, rest[topic][0], topic)
	}
}

// TestVehicleInfo checks physics of UE4 and UE5.
func TestVehicleInfo(t *testing.T) {
	add := carla.EventAdd{Actor: 10, Type: carla.ActorVehicle, BlueprintID: "vehicle.audi.tt", Attributes: role("hero"),
		Location: carla.Vector{X: 1000, Y: 500, Z: 50}, Rotation: carla.Vector{Z: 90}}
	// The vehicle looks to the right in the world. The wheel is at the front left.
	wheel := carla.Vector{X: 1080, Y: 650, Z: 80}
	messages := translateAll(t, newTestLog(carla.UE4).frame(t, &carla.EventAddList{add}, &carla.PhysicsControlList{{
		Actor: 10, MaxRPM: 1, MOI: 2, DampingRateFullThrottle: 3, DampingRateZeroThrottleClutchEngaged: 4,
		DampingRateZeroThrottleClutchDisengaged: 5,
		UseGearAutobox:                          true, ClutchStrength: 6, Mass: 7, DragCoefficient: 8,
		CenterOfMass: carla.Vector{X: 0.5, Y: 0.25, Z: -0.5},
		Wheels: []carla.WheelPhysics{{TireFriction: 1, DampingRate: 2, MaxSteerAngle: 90, Radius: 35, MaxBrakeTorque: 4,
			MaxHandbrakeTorque: 5, Position: wheel}},
	}}), codec.Query{})
	info := messages["/carla/hero/vehicle_info"][0].(*carla_msgs.CarlaEgoVehicleInfo)
	requireClose(t, vector3{X: 1.5, Y: 0.8, Z: 0.3}, info.Wheels[0].Position)
	info.Wheels[0].Position = vector3{}
	require.Equal(t, &carla_msgs.CarlaEgoVehicleInfo{
		Id: 10, Type: "vehicle.audi.tt", Rolename: "hero", MaxRpm: 1, Moi: 2, DampingRateFullThrottle: 3,
		DampingRateZeroThrottleClutchEngaged:    4,
		DampingRateZeroThrottleClutchDisengaged: 5, UseGearAutobox: true, ClutchStrength: 6, Mass: 7,
		DragCoefficient: 8,
		CenterOfMass:    vector3{X: 0.5, Y: -0.25, Z: -0.5},
		Wheels: []carla_msgs.CarlaEgoVehicleInfoWheel{{TireFriction: 1, DampingRate: 2, MaxSteerAngle: math.Pi / 2,
			Radius: 0.35, MaxBrakeTorque: 4, MaxHandbrakeTorque: 5}},
	}, info)

	messages = translateAll(t, newTestLog(carla.UE5).frame(t, &carla.EventAddList{add}, &carla.ChaosPhysicsList{{
		Actor: 10, MaxRPM: 1, RevUpMOI: 2, UseAutomaticGears: true, GearChangeTime: 0.5, Mass: 7, DragCoefficient: 8,
		Wheels: []carla.ChaosWheel{{FrictionForce: 1, MaxSteerAngle: 90, WheelRadius: 35, MaxBrakeTorque: 4,
			MaxHandBrakeTorque: 5, Location: wheel}},
	}}), codec.Query{})
	info = messages["/carla/hero/vehicle_info"][0].(*carla_msgs.CarlaEgoVehicleInfo)
	requireClose(t, vector3{X: 1.5, Y: 0.8, Z: 0.3}, info.Wheels[0].Position)
	require.EqualValues(t, 0.5, info.GearSwitchTime)
	require.EqualValues(t, 2, info.Moi)
	require.EqualValues(t, float32(0.35), info.Wheels[0].Radius)
}

// TestLatest checks that a seek returns the latched messages, from one frame and the state before that frame.
func TestLatest(t *testing.T) {
	r := openROS2(t, sample(t, "scenario_runner_DistanceToLaneCenter.log"))
	info, err := r.Info()
	require.NoError(t, err)
	it, err := r.Read(codec.Query{End: info.StartTime + 5e9, Last: codec.LatchedDepth})
	require.NoError(t, err)
	var topics []string
	for {
		m, err := it.Next()
		if err != nil {
			require.Equal(t, io.EOF, err)
			break
		}
		topics = append(topics, m.Channel.Topic)
		if m.Channel.Topic == "/carla/actor_list" {
			require.Len(t, bridgetest.Decode[carla_msgs.CarlaActorList](t, m).Actors, 183)
		}
	}
	require.Equal(t, []string{"/carla/world_info", "/carla/actor_list", "/tf_static", "/carla/hero/vehicle_info",
		"/carla/traffic_lights/info"}, topics)
}

// TestDamagedPacket checks that a damaged packet does not affect other packets.
func TestDamagedPacket(t *testing.T) {
	log := fullLog(t, carla.UE4)
	broken := carla.Packet{ID: carla.IDAnimVehicle, Data: []byte("\x05\x00few")}.Append(nil)
	log.Messages[1].Data = append(log.Messages[1].Data, broken...)
	log.Messages[2].Data = append(log.Messages[2].Data, "\x06\xff\xff"...)
	var reports []error
	messages := translateAll(t, log, codec.Query{Damaged: func(err error) { reports = append(reports, err) }})
	require.Len(t, reports, 2)
	require.ErrorContains(t, reports[0], "translate a message of /carla/log [carla.Frame]")
	require.ErrorIs(t, reports[0], carla.ErrDamaged)
	require.Len(t, messages["/carla/hero/odometry"], 3)
}

// TestNotTranslated checks the error for a log without metadata.
func TestNotTranslated(t *testing.T) {
	log := newTestLog(carla.UE4)
	log.frame(t).channel.Metadata = nil
	_, untranslated, err := bridge.Translate(log, codec.EncodingCDR, nil,
		map[string]func(codec.Reader) (bridge.Translator, error){carla.Encoding: ToROS2})
	require.NoError(t, err)
	require.Len(t, untranslated, 1)
	require.ErrorContains(t, untranslated[0],
		`/carla/log [carla.Frame]: metadata carla.profile: unknown CARLA profile ""`)
}

// TestAllocations checks that a frame without new or removed actors allocates nothing.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests run with the race detector, with which pools drop items")
	}
	log := fullLog(t, carla.UE4)
	log.frame(t,
		&carla.EventAddList{}, &carla.PositionList{{Actor: 1}, {Actor: 3, Location: carla.Vector{X: 150}},
			{Actor: 10, Location: carla.Vector{X: 1000, Y: 400}}},
		&carla.StateList{{Actor: 2}}, &carla.AnimVehicleList{{Actor: 10}}, &carla.KinematicsList{{Actor: 10}},
	)
	translator, err := ToROS2(log)
	require.NoError(t, err)
	translate := translator.Begin(nil)
	for i := range log.Messages {
		_, err := translate(&log.Messages[i])
		require.NoError(t, err)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if ready, err := translate(&log.Messages[3]); err != nil || len(ready) != 7 {
			t.Error(len(ready), err)
		}
	}))
}

// BenchmarkTranslate translates a real log.
func BenchmarkTranslate(b *testing.B) {
	path := sample(b, "scenario_runner_DistanceToLaneCenter.log")
	stat, err := os.Stat(path)
	require.NoError(b, err)
	r := openROS2(b, path)
	b.SetBytes(stat.Size())
	b.ReportAllocs()
	for b.Loop() {
		bridgetest.Each(b, r, codec.Query{}, func(*codec.Message) {})
	}
}

// FuzzTranslate checks that any frame becomes valid messages.
func FuzzTranslate(f *testing.F) {
	for _, p := range []carla.Profile{carla.UE4, carla.UE5} {
		for _, m := range fullLog(f, p).Messages {
			f.Add(m.Data, p.DoubleVectors)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, wide bool) {
		p := carla.UE4
		if wide {
			p = carla.UE5
		}
		log := fullLog(t, p)
		log.Messages[1].Data = data
		for _, messages := range translateAll(t, log, codec.Query{Damaged: func(error) {}}) {
			require.NotEmpty(t, messages)
		}
	})
}
