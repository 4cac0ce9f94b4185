package carla

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
)

// memoryWriter is a codec.Writer that keeps the frames of a log in memory.
type memoryWriter struct {
	codec.NoSplits
	frames []codec.Message
	err    error // result of the next Write
	closed bool
}

func (r *memoryWriter) Declare(*codec.Channel) error { return nil }

func (r *memoryWriter) Write(m *codec.Message) error {
	if err := r.err; err != nil {
		r.err = nil
		return err
	}
	k := *m
	k.Data = append([]byte(nil), m.Data...)
	r.frames = append(r.frames, k)
	return nil
}

func (r *memoryWriter) Sync() error { return nil }

func (r *memoryWriter) Losses() []codec.Loss { return nil }

func (r *memoryWriter) Close() error {
	r.closed = true
	return nil
}

// packets returns all packets of a type.
func packets[T any, P interface {
	*T
	carla.Body
}](t testing.TB, r *memoryWriter) []T {
	var list []T
	for _, m := range r.frames {
		_, p, err := carla.ParseChannel(m.Channel)
		require.NoError(t, err)
		for rest := m.Data; len(rest) > 0; {
			var k carla.Packet
			k, rest, err = carla.NextPacket(rest)
			require.NoError(t, err)
			b, err := carla.Decode(p, k)
			require.NoError(t, err)
			if b, ok := b.(P); ok {
				list = append(list, *b)
			}
		}
	}
	return list
}

// elapsed returns the times of the frames.
func (r *memoryWriter) elapsed(t testing.TB) []float64 {
	var times []float64
	for _, s := range packets[carla.FrameStart](t, r) {
		times = append(times, s.Elapsed)
	}
	return times
}

// testWriter is a Writer of a log in memory, with functions that write messages.
type testWriter struct {
	*Writer
	t        *testing.T
	log      memoryWriter
	channels map[string]*codec.Channel
	now      int64 // log time of the next message, in ns since the Unix epoch
}

func newTestWriter(t *testing.T, o WriteOptions) *testWriter {
	l := &testWriter{t: t, channels: map[string]*codec.Channel{}, now: 1_700_000_000e9}
	l.Writer = NewWriter(&l.log, o)
	return l
}

// message returns a message with the current log time.
func (l *testWriter) message(topic string, v msgs.Message) *codec.Message {
	c := l.channels[topic]
	if c == nil {
		c = &codec.Channel{Topic: topic, Type: v.TypeName(), Encoding: codec.EncodingCDR}
		l.channels[topic] = c
		require.NoError(l.t, l.Declare(c))
	}
	data, err := cdr.Marshal(v)
	require.NoError(l.t, err)
	return &codec.Message{Channel: c, LogTime: l.now, Data: data}
}

func (l *testWriter) write(topic string, v msgs.Message) {
	l.t.Helper()
	require.NoError(l.t, l.Write(l.message(topic, v)))
}

// tick advances the log time until messages are no longer late, and publishes the clock: s seconds after a minute.
func (l *testWriter) tick(s float64) {
	l.t.Helper()
	l.now += int64(lateness)
	l.write("/clock", l.clock(s))
}

func (l *testWriter) clock(s float64) *rosgraph_msgs.Clock {
	return &rosgraph_msgs.Clock{Clock: Stamp(60 + s)}
}

// tf writes a transform along x.
func (l *testWriter) tf(parent, child string, x float64) {
	l.t.Helper()
	l.write("/tf", &tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{
		Header: std_msgs.Header{FrameId: parent}, ChildFrameId: child,
		Transform: geometry_msgs.Transform{Translation: vector3{X: x}, Rotation: rotation{W: 1}},
	}}})
}

// actorInfo returns an actor of a CarlaActorList.
func actorInfo(id uint32, blueprint, role string) carla_msgs.CarlaActorInfo {
	return carla_msgs.CarlaActorInfo{Id: id, Type: blueprint, Rolename: role}
}

// list writes a CarlaActorList.
func (l *testWriter) list(actors ...carla_msgs.CarlaActorInfo) {
	l.t.Helper()
	l.write("/carla/actor_list", &carla_msgs.CarlaActorList{Actors: actors})
}

// closeLog closes the writer, and returns the log.
func (l *testWriter) closeLog() *memoryWriter {
	l.t.Helper()
	require.NoError(l.t, l.Close())
	require.True(l.t, l.log.closed)
	return &l.log
}

func odometryAt(x float64) *nav_msgs.Odometry {
	o := odometryMessage(x)
	return &o
}

// lossLines returns a description of each loss.
func (l *testWriter) lossLines() []string {
	var lines []string
	for _, loss := range l.Losses() {
		lines = append(lines, fmt.Sprintf("%s: %s (%d)", loss.Topic, loss.What, loss.Messages))
	}
	return lines
}

// ids returns the ids of the actors that appear in each frame.
func ids(lists []carla.EventAddList) [][]uint32 {
	var frames [][]uint32
	for _, l := range lists {
		var ids []uint32
		for _, a := range l {
			ids = append(ids, a.Actor)
		}
		frames = append(frames, ids)
	}
	return frames
}

// TestActorsAppear checks that an actor appears with the first message about the actor. It has the properties that
// lists and the mapping have at that time.
func TestActorsAppear(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01", Actors: []ActorMapping{{Name: "truck", Topics: []string{"/odom"},
		Blueprint: "vehicle.man.tgs", Attributes: []carla.Attribute{{Type: carla.AttributeInt, ID: "number_of_wheels",
			Value: "6"}}}}})
	l.tick(0)
	l.write("/carla/hero/vehicle_control_cmd", &carla_msgs.CarlaEgoVehicleControl{Throttle: 1})
	l.tick(1) // the place of the hero is unknown
	l.write("/carla/hero/odometry", odometryAt(1))
	l.write("/carla/actor77/odometry", odometryAt(7))
	l.write("/odom", odometryAt(2))
	l.tick(2)
	// A late list does not change the actors in the log.
	l.list(actorInfo(1, "spectator", ""),
		actorInfo(42, "vehicle.audi.tt", "hero"),
		actorInfo(43, "walker.pedestrian.0002", "child"),
		actorInfo(1000, "static.prop.box", ""))
	l.write("/carla/child/odometry", odometryAt(3))
	l.write("/carla/child/collision", &carla_msgs.CarlaCollisionEvent{OtherActorId: 42})
	l.write("/carla/hero/odometry", odometryAt(4))
	l.tick(3)
	l.list(actorInfo(42, "vehicle.audi.tt", "hero"))
	l.write("/carla/child/odometry", odometryAt(5))
	log := l.closeLog()

	adds := packets[carla.EventAddList](t, log)
	require.Equal(t, [][]uint32{nil, {1000, 77, 1001}, {1, 43, 1002}, nil}, ids(adds))
	require.Equal(t, carla.EventAddList{
		{Actor: 1000, Type: carla.ActorVehicle, BlueprintID: anyVehicle, Location: vector{X: 100},
			Attributes: role("hero")},
		{Actor: 77, Type: carla.ActorVehicle, BlueprintID: anyVehicle, Location: vector{X: 700}},
		{Actor: 1001, Type: carla.ActorVehicle, BlueprintID: "vehicle.man.tgs", Location: vector{X: 200},
			Attributes: append(role("truck"), carla.Attribute{Type: carla.AttributeInt, ID: "number_of_wheels",
				Value: "6"})},
	}, adds[1])
	require.Equal(t, "walker.pedestrian.0002", adds[2][1].BlueprintID)
	require.Equal(t, "static.prop.box", adds[2][2].BlueprintID) // the log had used the id for another actor
	require.Equal(t, []carla.EventDelList{nil, nil, nil, {1, 43, 1002}}, packets[carla.EventDelList](t, log))
	require.Equal(t, carla.CollisionList{{Number: 1, Actor1: 43, Actor2: 1000, Hero2: true}},
		packets[carla.CollisionList](t, log)[2])
	positions := packets[carla.PositionList](t, log)
	require.Contains(t, positions[2], carla.Position{Actor: 1000, Location: vector{X: 400}})
	require.Len(t, positions[3], 3) // actor77, the hero and the truck
	require.EqualValues(t, 1, packets[carla.AnimVehicleList](t, log)[1][0].Throttle)
	require.Empty(t, l.Skipped())
}

// TestOrderAndLastDuration checks that actors are in the order of lists, and that the last frame has the duration of
// CarlaStatus.
func TestOrderAndLastDuration(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	for i := range 2 {
		l.tick(float64(i))
		l.write("/carla/status", &carla_msgs.CarlaStatus{FixedDeltaSeconds: 0.1})
		l.list(actorInfo(9, "static.prop.box", ""), actorInfo(3, "static.prop.bin", ""))
	}
	log := l.closeLog()
	require.Equal(t, [][]uint32{{9, 3}, nil}, ids(packets[carla.EventAddList](t, log)))
	frames := packets[carla.FrameStart](t, log)
	require.Equal(t, []float64{-1, 0.1}, []float64{frames[0].Duration, frames[1].Duration})
	require.Empty(t, l.Skipped())
}

// TestReusedIDs checks that an actor gets a new id in the log if the actor's id belonged to a dead actor.
func TestReusedIDs(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.list(actorInfo(5, "static.prop.box", ""), actorInfo(6, "static.prop.bin", ""))
	l.tick(1)
	l.list(actorInfo(5, "vehicle.audi.tt", "hero"), actorInfo(6, "static.prop.bin", ""))
	l.write("/carla/hero/odometry", odometryAt(1))
	l.write("/carla/actor5/odometry", odometryAt(1))
	l.tick(2)
	l.list()
	l.tick(3)
	l.list(actorInfo(6, "static.prop.bin", ""))
	log := l.closeLog()
	require.Equal(t, [][]uint32{{5, 6}, {1000}, nil, {6}}, ids(packets[carla.EventAddList](t, log)))
	require.Equal(t, []carla.EventDelList{nil, {5}, {1000, 6}, nil}, packets[carla.EventDelList](t, log))
}

// TestTransforms checks that the place of a robot follows from its transforms, over any number of frames.
func TestTransforms(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01", Actors: []ActorMapping{{Name: "robot", Topics: []string{"/odom"},
		Frames: []string{"base_link"}}}})
	l.tick(0)
	l.tf("odom", "base_footprint", 1)
	l.tf("base_footprint", "base_link", 0.5)
	l.tf("base_link", "lidar", 0.25)
	l.tick(1)
	l.tf("map", "odom", 10)
	l.tf("earth", "map", 1000)
	l.tick(2)
	o := odometryAt(2)
	o.Header.FrameId = "odom"
	l.write("/odom", o)
	l.tick(3)
	l.tick(4) // without new transforms, the place stays
	l.tf("a", "odom", 20)
	l.tf("odom", "a", 20) // a cycle
	l.tf("odom", "base_footprint", math.NaN())
	l.tick(5)
	var places []float64
	for _, list := range packets[carla.PositionList](t, l.closeLog()) {
		require.Len(t, list, 1)
		places = append(places, list[0].Location.X/100)
	}
	require.Equal(t, []float64{1.5, 11.5, 12, 12, 12, 12}, places) // at first odom is the last frame
	require.Equal(t, vector{X: 3}, packets[carla.KinematicsList](t, &l.log)[0][0].LinearVelocity)
	require.Equal(t, []string{
		"/tf: transforms of frames without an actor (2)", "/tf: transforms with NaN or infinite numbers (1)",
	}, l.lossLines())
}

// TestSensors checks that a sensor keeps the place where it is attached.
func TestSensors(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.list(actorInfo(2, "vehicle.audi.tt", "hero"),
		actorInfo(3, "sensor.camera.rgb", ""),
		carla_msgs.CarlaActorInfo{Id: 4, Type: "sensor.other.gnss", ParentId: 2})
	l.tf("map", "hero", 100)
	l.tf("hero", "roof", 1)
	l.tf("roof", "actor3", 2)
	l.tick(1)
	l.tf("map", "hero", 101)
	l.tick(2)
	log := l.closeLog()
	adds := packets[carla.EventAddList](t, log)[0]
	require.Equal(t, vector{X: 300}, adds[1].Location)
	require.Equal(t, vector{}, adds[2].Location)
	require.Equal(t, []carla.EventParentList{{{Actor: 3, Parent: 2}, {Actor: 4, Parent: 2}}, nil, nil},
		packets[carla.EventParentList](t, log))
	require.Equal(t, []float64{10000, 10100, 10100}, []float64{
		packets[carla.PositionList](t, log)[0][0].Location.X, packets[carla.PositionList](t, log)[1][0].Location.X,
		packets[carla.PositionList](t, log)[2][0].Location.X,
	})
}

// TestTransformsBesideOdometry checks that transforms of an actor with Odometry are ignored.
func TestTransformsBesideOdometry(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.write("/carla/hero/odometry", odometryAt(1))
	l.tf("map", "hero", 1)
	l.tf("map", "other", 1)
	l.closeLog()
	require.Equal(t, []string{"/tf: transforms of frames without an actor (1)"}, l.lossLines())
}

// TestControls checks controls of vehicles and walkers, and the controls that a log cannot hold.
func TestControls(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.write("/carla/hero/odometry", odometryAt(0))
	l.write("/carla/hero/vehicle_status",
		&carla_msgs.CarlaEgoVehicleStatus{Control: carla_msgs.CarlaEgoVehicleControl{Steer: -0.5, Gear: 2}})
	l.write("/carla/child/odometry", odometryAt(0)) // later messages show that the child is a walker
	l.write("/carla/child/walker_control_cmd", &carla_msgs.CarlaWalkerControl{Speed: 1.5, Jump: true})
	l.tick(1)
	l.write("/carla/hero/vehicle_control_cmd", &carla_msgs.CarlaEgoVehicleControl{Reverse: true, HandBrake: true,
		Brake:           1,
		ManualGearShift: true})
	l.write("/carla/hero/vehicle_control_cmd", &carla_msgs.CarlaEgoVehicleControl{Reverse: true, HandBrake: true,
		Brake: 0.5})
	l.list(actorInfo(9, "walker.pedestrian.0003", "other"))
	l.write("/carla/other/odometry", odometryAt(0))
	log := l.closeLog()
	vehicles := packets[carla.AnimVehicleList](t, log)
	require.Equal(t, carla.AnimVehicleList{{Actor: 1000, Steering: -0.5, Gear: 2}}, vehicles[0])
	require.Equal(t, carla.AnimVehicleList{{Actor: 1000, Brake: 0.5, HandBrake: true, Gear: -1}}, vehicles[1])
	require.Equal(t, carla.AnimWalkerList{{Actor: 9, Speed: 300}, {Actor: 1001, Speed: 150}},
		packets[carla.AnimWalkerList](t, log)[1])
	require.Equal(t, []string{
		"/carla/child/walker_control_cmd: jump (1)", "/carla/hero/vehicle_control_cmd: manual_gear_shift (1)",
		"/carla/hero/vehicle_control_cmd: messages replaced by a later one in the same frame of the log (1)",
	}, l.lossLines())
}

// TestPhysics checks that the log has the physics of a message, with CARLA's defaults for the rest.
func TestPhysics(t *testing.T) {
	info := carla_msgs.CarlaEgoVehicleInfo{
		Id: 8, Type: "vehicle.audi.tt", Rolename: "hero", MaxRpm: 1, Moi: 2, DampingRateFullThrottle: 3,
		DampingRateZeroThrottleClutchEngaged:    4,
		DampingRateZeroThrottleClutchDisengaged: 5, UseGearAutobox: true, GearSwitchTime: 6, ClutchStrength: 7, Mass: 8,
		DragCoefficient: 9,
		CenterOfMass:    vector3{X: 0.5, Y: -0.25, Z: -0.5},
		Wheels: []carla_msgs.CarlaEgoVehicleInfoWheel{
			{TireFriction: 1, DampingRate: 2, MaxSteerAngle: math.Pi / 2, Radius: 0.25, MaxBrakeTorque: 4,
				MaxHandbrakeTorque: 5,
				Position:           vector3{X: 1.5, Y: 0.5, Z: 0.25}},
			{Radius: 35}, // CARLA's bridge sends cm
		},
	}
	writeVehicle := func(p carla.Profile) (*testWriter, *memoryWriter) {
		l := newTestWriter(t, WriteOptions{Map: "Town01", Profile: p})
		l.tick(0)
		l.write("/carla/hero/vehicle_info", &info)
		l.write("/carla/hero/odometry", odometryAt(10))
		l.tick(1)
		l.write("/carla/hero/odometry", odometryAt(11))
		return l, l.closeLog()
	}
	l, log := writeVehicle(carla.UE4)
	require.Equal(t, []carla.PhysicsControlList{{{
		Actor: 8, MaxRPM: 1, MOI: 2, DampingRateFullThrottle: 3, DampingRateZeroThrottleClutchEngaged: 4,
		DampingRateZeroThrottleClutchDisengaged: 5,
		UseGearAutobox:                          true, ClutchStrength: 7, FinalRatio: 4, Mass: 8, DragCoefficient: 9,
		CenterOfMass: vector{X: 0.5, Y: 0.25, Z: -0.5},
		TorqueCurve:  torqueCurve, SteeringCurve: steeringCurve,
		Wheels: []carla.WheelPhysics{
			{TireFriction: 1, DampingRate: 2, MaxSteerAngle: 90, Radius: 25, MaxBrakeTorque: 4, MaxHandbrakeTorque: 5,
				LatStiffMaxLoad: 2, LatStiffValue: 17, LongStiffValue: 1000, Position: vector{X: 1150, Y: -50, Z: 25}},
			{Radius: 35, LatStiffMaxLoad: 2, LatStiffValue: 17, LongStiffValue: 1000, Position: vector{X: 1000}},
		},
	}}}, packets[carla.PhysicsControlList](t, log))
	require.Equal(t, []string{"/carla/hero/vehicle_info: gear_switch_time (1)"}, l.lossLines())

	l, log = writeVehicle(carla.UE5)
	list := packets[carla.ChaosPhysicsList](t, log)
	require.Len(t, list, 1)
	require.Equal(t, vector{X: 1150, Y: -50, Z: 25}, list[0][0].Wheels[0].Location)
	require.EqualValues(t, 90, list[0][0].Wheels[0].MaxSteerAngle)
	require.Equal(t, []string{"/carla/hero/vehicle_info: clutch_strength and damping rates (1)"}, l.lossLines())
	// A log of UE5 keeps some of the physics.
	info.DampingRateFullThrottle, info.DampingRateZeroThrottleClutchEngaged,
		info.DampingRateZeroThrottleClutchDisengaged,
		info.ClutchStrength = 0, 0, 0, 0
	info.Wheels[0].DampingRate, info.Wheels[1].Radius = 0, 0.35
	vehicle := carla.Actor{EventAdd: packets[carla.EventAddList](t, log)[0][0], ChaosPhysics: &list[0][0]}
	require.Equal(t, &info, vehicleInfo(&vehicle))
}

// TestElapsed checks that a stamp that is written is read back unchanged.
func TestElapsed(t *testing.T) {
	for at := time.Duration(1); at < 1000*time.Hour; at = at*9/8 + 1 {
		require.Equal(t, at, time.Duration(Stamp(elapsed(at)).Nanoseconds()))
	}
	require.Equal(t, 0.0, elapsed(0))
	require.NotZero(t, elapsed(math.MaxInt64)) // no stamp can be that late
}

// TestLosses checks that everything that a log cannot hold is counted.
func TestLosses(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.write("/carla/world_info", &carla_msgs.CarlaWorldInfo{MapName: "Town02", Opendrive: "<xml/>"})
	o := odometryAt(1)
	o.Pose.Covariance[0] = 1
	l.write("/carla/hero/odometry", o)
	o.Pose.Pose.Position.X = math.Inf(1)
	l.write("/carla/hero/odometry", o)
	l.write("/carla/hero/collision", &carla_msgs.CarlaCollisionEvent{NormalImpulse: vector3{X: 1}})
	l.write("/carla/hero/collision", &carla_msgs.CarlaCollisionEvent{})
	l.write("/carla/hero/vehicle_info", &carla_msgs.CarlaEgoVehicleInfo{Id: 8, Type: "vehicle.audi.tt",
		Rolename: "hero",
		Mass:     1000, GearSwitchTime: 0.5})
	l.tick(1)
	l.write("/carla/world_info", &carla_msgs.CarlaWorldInfo{MapName: "Town03"})
	l.write("/carla/weather_control", &carla_msgs.CarlaWeatherParameters{Cloudiness: 5, FogDistance: 6, Wetness: 7})
	l.write("/imu", &std_msgs.Header{})
	l.write("/odom", odometryAt(3))
	log := l.closeLog()
	require.Equal(t, "Town02", log.frames[0].Channel.Metadata[carla.KeyMap])
	require.Equal(t, []string{"/imu", "/odom"}, l.Skipped())
	require.Equal(t, []string{
		"/carla/hero/collision: normal_impulse (1)", "/carla/hero/odometry: covariances (1)",
		"/carla/hero/odometry: messages replaced by a later one in the same frame of the log (1)",
		"/carla/hero/odometry: poses with NaN or infinite numbers (1)",
		"/carla/hero/vehicle_info: gear_switch_time (1)",
		"/carla/world_info: map_name: the log began with another map (1)", "/carla/world_info: opendrive (1)",
	}, l.lossLines())
	add := packets[carla.EventAddList](t, log)[0][0]
	require.EqualValues(t, 8, add.Actor)
	require.Equal(t, "vehicle.audi.tt", add.BlueprintID)
	require.Len(t, packets[carla.CollisionList](t, log)[0], 1)
	require.Equal(t,
		[]carla.WeatherList{{{Cloudiness: 5, FogDistance: 6, Wetness: 7, RayleighScatteringScale: 0.0331}}},
		packets[carla.WeatherList](t, log))
}

// TestTimeOfALog checks that frames follow the log times until a message on /clock comes.
func TestTimeOfALog(t *testing.T) {
	t.Run("a clock that comes with the first messages", func(t *testing.T) {
		l := newTestWriter(t, WriteOptions{Map: "Town01"})
		l.write("/carla/hero/odometry", odometryAt(1))
		l.tick(100)
		l.tick(100)
		l.tick(101)
		require.Equal(t, []float64{0, 1}, l.closeLog().elapsed(t))
		require.EqualValues(t, 1_700_000_000_200_000_000, l.log.frames[0].LogTime)
		require.EqualValues(t, 1_700_000_001_200_000_000, l.log.frames[1].LogTime)
	})
	t.Run("a clock that comes later", func(t *testing.T) {
		l := newTestWriter(t, WriteOptions{Map: "Town01", Step: 100 * time.Millisecond})
		for range 3 {
			l.write("/carla/hero/odometry", odometryAt(1))
			l.now += 100e6
		}
		l.tick(100)
		l.tick(101)
		require.InDeltaSlice(t, []float64{0, 0.1, 0.2, 0.5, 1.5}, l.closeLog().elapsed(t), 1e-9)
	})
	t.Run("none, with a gap", func(t *testing.T) {
		l := newTestWriter(t, WriteOptions{Map: "Town01"})
		for _, ms := range []int64{0, 20, 60, 3600_010, 3600_060} {
			l.now = 1_700_000_000e9 + ms*1e6
			l.write("/carla/hero/odometry", odometryAt(1))
		}
		l.now = 1
		l.write("/carla/hero/odometry", odometryAt(2))
		require.InDeltaSlice(t, []float64{0, 0.05, 3600, 3600.05}, l.closeLog().elapsed(t), 1e-9)
	})
	t.Run("nothing at all", func(t *testing.T) {
		require.Empty(t, newTestWriter(t, WriteOptions{}).closeLog().frames)
	})
}

// TestWaitForMap checks that frames wait up to mapPatience for the name of the map.
func TestWaitForMap(t *testing.T) {
	l := newTestWriter(t, WriteOptions{})
	l.tick(0)
	l.tick(1)
	l.tick(1.5)
	require.Empty(t, l.log.frames)
	l.write("/carla/world_info", &carla_msgs.CarlaWorldInfo{MapName: "Town04"})
	l.tick(1.75)
	require.Empty(t, l.log.frames)
	l.tick(2)
	require.Len(t, l.log.frames, 3)
	require.Equal(t, "Town04", l.closeLog().frames[0].Channel.Metadata[carla.KeyMap])

	l = newTestWriter(t, WriteOptions{})
	l.tick(0)
	l.tick(1)
	l.tick(2)
	l.tick(3)
	require.Empty(t, l.log.frames)
	l.tick(4)
	require.Len(t, l.log.frames, 3)
	require.Len(t, l.closeLog().frames, 5)
}

// TestStoppedClock checks that messages wait for a stopped clock only up to a limit.
func TestStoppedClock(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.tick(1)
	late := odometryAt(1)
	late.Header = std_msgs.Header{FrameId: strings.Repeat("x", 1<<20), Stamp: Stamp(1e9)}
	for range 80 {
		l.write("/carla/hero/odometry", late)
	}
	require.LessOrEqual(t, l.waitingBytes, maxWaiting+2<<20)
	require.Len(t, l.closeLog().frames, 2)
}

// TestDiskErrors checks that frames that could not be written are written after the error.
func TestDiskErrors(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.write("/carla/hero/odometry", odometryAt(1))
	l.tick(1)
	missing := &codec.MissingError{Path: "a.log", Err: syscall.ENOSPC}
	l.log.err = missing
	l.now += int64(lateness)
	m := l.message("/clock", l.clock(2))
	require.ErrorIs(t, l.Write(m), missing)
	require.NoError(t, l.Write(m))
	l.write("/carla/hero/odometry", odometryAt(2))
	log := l.closeLog()
	require.Equal(t, []float64{0, 1, 2}, log.elapsed(t))
	require.Equal(t, []vector{{X: 100}, {X: 100}, {X: 200}}, []vector{
		packets[carla.PositionList](t, log)[0][0].Location, packets[carla.PositionList](t, log)[1][0].Location,
		packets[carla.PositionList](t, log)[2][0].Location,
	})

	l = newTestWriter(t, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.tick(1)
	l.log.err = errors.New("no frame")
	l.now += int64(lateness)
	require.ErrorContains(t, l.Write(l.message("/clock", l.clock(2))),
		"/clock [rosgraph_msgs/msg/Clock] at 1700000000600000000 ns: no frame")
	require.Equal(t, []float64{1, 2}, l.closeLog().elapsed(t))
	require.ErrorIs(t, l.Split(), errors.ErrUnsupported)
	require.ErrorIs(t, l.Remove("a.log"), errors.ErrUnsupported)
	require.Empty(t, l.File())
	require.NoError(t, l.Sync())
}

// TestLateMessages checks that messages with a stamp belong to the frame of the stamp, even after the clock has
// advanced. Messages without a stamp belong to the frame in which they come.
func TestLateMessages(t *testing.T) {
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	odometry := func(x, stamp float64) {
		o := odometryAt(x)
		o.Header.Stamp = Stamp(60 + stamp)
		l.write("/carla/hero/odometry", o)
	}
	l.tick(0)
	l.tick(1)
	odometry(0, 0)
	l.write("/carla/traffic_lights/status", &carla_msgs.CarlaTrafficLightStatusList{
		TrafficLights: []carla_msgs.CarlaTrafficLightStatus{{Id: 7, State: 2}},
	})
	odometry(10, 1)
	odometry(0.5, 0)
	l.tick(2)
	odometry(20, 2)
	odometry(11, 1)
	l.tick(0) // the clock jumps back
	odometry(30, 0)
	log := l.closeLog()
	var places []float64
	for _, list := range packets[carla.PositionList](t, log) {
		places = append(places, list[0].Location.X/100)
	}
	require.Equal(t, []float64{0.5, 11, 20, 30}, places)
	require.InDeltaSlice(t, []float64{0, 1, 2, 2.05}, log.elapsed(t), 1e-9)
	require.Equal(t, []carla.StateList{nil, {{Actor: 7, Colour: carla.Green}}, {{Actor: 7, Colour: carla.Green}},
		{{Actor: 7, Colour: carla.Green}}}, packets[carla.StateList](t, log))
}

// TestTopicsApart checks messages that come three frames before or after the clock, as on a busy machine.
func TestTopicsApart(t *testing.T) {
	for _, late := range []struct{ clock, odometry int }{{0, 3}, {3, 0}} {
		l := newTestWriter(t, WriteOptions{Map: "Town01"})
		l.tick(0)
		for i := range 13 {
			l.now += 10e6
			if frame := i - late.clock; 0 <= frame && frame < 10 {
				l.write("/clock", l.clock(float64(frame)/100))
			}
			if frame := i - late.odometry; 0 <= frame && frame < 10 {
				o := odometryAt(float64(frame))
				o.Header.Stamp = Stamp(60 + float64(frame)/100)
				l.write("/carla/hero/odometry", o)
			}
		}
		var places []float64
		for _, list := range packets[carla.PositionList](t, l.closeLog()) {
			places = append(places, list[0].Location.X/100)
		}
		require.Equal(t, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, places, late)
		require.Empty(t, l.lossLines())
	}
}

// TestSplitLog checks that each file of a split log is a complete log that begins with the whole state.
func TestSplitLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drive.log")
	file, err := codec.Formats{carla.Format}.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	l := newTestWriter(t, WriteOptions{Map: "Town01"})
	l.Writer = NewWriter(file, WriteOptions{Map: "Town01"})
	l.tick(0)
	l.list(actorInfo(3, "static.prop.box", ""))
	l.write("/carla/hero/odometry", odometryAt(1))
	l.tick(1)
	l.tick(2)
	require.Equal(t, path, l.File())
	require.NoError(t, l.Split())
	l.write("/carla/hero/odometry", odometryAt(2))
	l.tick(3)
	require.NoError(t, l.Sync())
	require.NoError(t, l.Close())
	for i, want := range [][]float64{{1}, {1, 2, 2}} {
		name := []string{path, strings.TrimSuffix(path, ".log") + "_1.log"}[i]
		r := openROS2(t, name)
		messages := collect(t, r, codec.Query{})
		var got []float64
		for _, m := range messages["/carla/hero/odometry"] {
			got = append(got, m.(*nav_msgs.Odometry).Pose.Pose.Position.X)
		}
		require.Equal(t, want, got)
		require.Len(t, messages["/carla/actor_list"][0].(*carla_msgs.CarlaActorList).Actors, 2)
	}
	second := strings.TrimSuffix(path, ".log") + "_1.log"
	require.Equal(t, second, l.File())
	require.NoError(t, l.Remove(path))
	require.NoFileExists(t, path)
}
