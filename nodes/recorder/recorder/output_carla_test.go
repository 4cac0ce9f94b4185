package recorder

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// emit publishes a message and waits until it is received.
func (d *testRecorder) emit(p bridge.Publisher, m msgs.Message) {
	data, err := cdr.Marshal(m)
	require.NoError(d.t, err)
	require.NoError(d.t, p.Publish(data))
	time.Sleep(time.Microsecond)
	synctest.Wait()
}

// offer creates a publisher of any type.
func (d *testRecorder) offer(topic, typeName string, qos codec.QoS) bridge.Publisher {
	p, err := d.peer.Advertise(topic, typeName, qos)
	require.NoError(d.t, err)
	synctest.Wait()
	return p
}

// drives returns the positions of the one vehicle in a log, its id and the map.
func drives(t *testing.T, path string) (places []float64, id uint32, world string) {
	r, err := carla.Open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	iterator, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer iterator.Close()
	for {
		m, err := iterator.Next()
		if err != nil {
			return places, id, r.Header().Map
		}
		for rest := m.Data; len(rest) > 0; {
			var k carla.Packet
			k, rest, err = carla.NextPacket(rest)
			require.NoError(t, err)
			b, err := carla.Decode(r.Profile(), k)
			require.NoError(t, err)
			if list, ok := b.(*carla.PositionList); ok {
				for _, p := range *list {
					places, id = append(places, p.Location.X/100), p.Actor
				}
			}
		}
	}
}

func TestRecordingForCARLA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("carla")
		o.All, o.MaxBagMessages, o.CARLAProfile, o.Snapshot = true, 8, "ue5", true
		d := newTestRecorder(t, o)
		world := d.offer("/carla/world_info", "carla_msgs/msg/CarlaWorldInfo", bridge.LatchedQoS())
		list := d.offer("/carla/actor_list", "carla_msgs/msg/CarlaActorList", bridge.LatchedQoS())
		clock := d.offer("/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS())
		odometry := d.offer("/carla/hero/odometry", "nav_msgs/msg/Odometry", codec.DefaultQoS())
		other := d.offer("/n", "std_msgs/msg/UInt32", codec.DefaultQoS())
		require.Zero(t, other.Subscribers())
		require.True(t, d.hasWarned("unfit /nstd_msgs/msg/UInt32"))

		d.emit(world, &carla_msgs.CarlaWorldInfo{MapName: "Town05"})
		d.emit(list, &carla_msgs.CarlaActorList{Actors: []carla_msgs.CarlaActorInfo{{Id: 42, Type: "vehicle.audi.tt",
			Rolename: "hero"}}})
		for i := range int32(5) {
			time.Sleep(time.Second) // waits for late messages of a frame
			d.emit(clock, &rosgraph_msgs.Clock{Clock: builtin_interfaces.Time{Sec: i}})
			place := nav_msgs.Odometry{Header: std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: i}}}
			place.Pose.Pose.Position.X = float64(i)
			place.Pose.Covariance[0] = 1
			d.emit(odometry, &place)
		}
		taken, err := d.snapshots.TakeNow(t.Context(), snapshot.Trigger{})
		require.NoError(t, err)
		require.NoError(t, d.end())
		require.Contains(t, d.printed.String(), "4 topics, 12 messages")
		require.Contains(t, d.printed.String(), "\nlost: covariances (5 messages on /carla/hero/odometry)\n")

		places, id, name := drives(t, "drive.log")
		require.Equal(t, []float64{0}, places)
		require.EqualValues(t, 42, id)
		require.Equal(t, "Town05", name)
		places, id, name = drives(t, "drive_1.log")
		require.Equal(t, []float64{1, 2, 3, 4}, places)
		require.EqualValues(t, 42, id)
		require.Equal(t, "Town05", name)
		places, _, _ = drives(t, taken.Path)
		require.Equal(t, []float64{0, 1, 2, 3, 4}, places)
		r, err := carla.Open(nil, "drive_1.log")
		require.NoError(t, err)
		defer r.Close()
		require.Equal(t, carla.UE5, r.Profile())
	})
}

// Each file begins with the whole state of the world, so that it can be played alone, and with nothing twice. A list
// that was latched before a traffic light appeared does not remove the light.
func TestFilesOfRecordingForCARLA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("carla")
		o.All, o.RepeatTransientLocal = true, []string{"/carla/hero/collision"}
		d := newTestRecorder(t, o)
		latched := func(topic string, m msgs.Message) {
			d.emit(d.offer(topic, m.TypeName(), bridge.LatchedQoS()), m)
		}
		clock := d.offer("/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS())
		odometry := d.offer("/carla/hero/odometry", "nav_msgs/msg/Odometry", codec.DefaultQoS())
		latched("/carla/world_info", &carla_msgs.CarlaWorldInfo{MapName: "Town05"})
		latched("/carla/actor_list", &carla_msgs.CarlaActorList{Actors: []carla_msgs.CarlaActorInfo{
			{Id: 42, Type: "vehicle.audi.tt", Rolename: "hero"}, {Id: 43, Type: "sensor.camera.rgb", ParentId: 42}}})
		latched("/carla/weather_control", &carla_msgs.CarlaWeatherParameters{Cloudiness: 50})
		latched("/carla/traffic_lights/info", &carla_msgs.CarlaTrafficLightInfoList{
			TrafficLights: []carla_msgs.CarlaTrafficLightInfo{{Id: 7}}})
		latched("/carla/hero/vehicle_info", &carla_msgs.CarlaEgoVehicleInfo{Id: 42, Type: "vehicle.audi.tt",
			MaxRpm: 5000})
		bang := d.offer("/carla/hero/collision", "carla_msgs/msg/CarlaCollisionEvent", codec.DefaultQoS())
		second := int32(0)
		drive := func(messages ...*carla_msgs.CarlaCollisionEvent) {
			for range 4 {
				time.Sleep(time.Second) // waits for late messages of a frame
				stamp := builtin_interfaces.Time{Sec: second}
				d.emit(clock, &rosgraph_msgs.Clock{Clock: stamp})
				d.emit(odometry, &nav_msgs.Odometry{Header: std_msgs.Header{Stamp: stamp}})
				for _, m := range messages {
					m.Header.Stamp = stamp
					d.emit(bang, m)
				}
				messages = nil
				second++
			}
		}
		drive(&carla_msgs.CarlaCollisionEvent{OtherActorId: 7})
		for range 2 {
			_, _, err := d.split()
			require.NoError(t, err)
			drive()
		}
		_, _, err := d.continueIn("next")
		require.NoError(t, err)
		drive()
		require.NoError(t, d.end())
		for i, path := range []string{"drive.log", "drive_1.log", "drive_2.log", "next.log"} {
			packets := packetsOf(t, path)
			var ids []uint32
			for _, add := range packets[0].adds {
				ids = append(ids, add.Actor)
			}
			require.ElementsMatch(t, []uint32{7, 42, 43}, ids, path)
			require.Equal(t, carla.EventParentList{{Actor: 43, Parent: 42}}, packets[0].parents, path)
			require.Equal(t, 1, packets[0].weathers, path)
			require.Equal(t, 1, packets[0].physics, path)
			collisions := 0
			for n, p := range packets {
				collisions += p.collisions
				require.Zero(t, p.dels, path)
				require.True(t, n == 0 || len(p.adds)+p.weathers+p.physics == 0, "%s: frame %d repeats", path, n)
			}
			require.Equal(t, []int{1, 0, 0, 1}[i], collisions, path) // only a new recording repeats latched messages
		}
	})
}

// framePackets are the packets of a frame that have state.
type framePackets struct {
	adds                                carla.EventAddList
	parents                             carla.EventParentList
	dels, weathers, physics, collisions int
}

// packetsOf returns the packets with state of each frame of a log.
func packetsOf(t *testing.T, path string) (frames []framePackets) {
	r, err := carla.Open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	iterator, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer iterator.Close()
	for {
		m, err := iterator.Next()
		if err != nil {
			return frames
		}
		var f framePackets
		for rest := m.Data; len(rest) > 0; {
			var k carla.Packet
			k, rest, err = carla.NextPacket(rest)
			require.NoError(t, err)
			b, err := carla.Decode(r.Profile(), k)
			require.NoError(t, err)
			switch list := b.(type) {
			case *carla.EventAddList:
				f.adds = append(f.adds, *list...)
			case *carla.EventParentList:
				f.parents = append(f.parents, *list...)
			case *carla.EventDelList:
				f.dels += len(*list)
			case *carla.WeatherList:
				f.weathers += len(*list)
			case *carla.PhysicsControlList:
				f.physics += len(*list)
			case *carla.CollisionList:
				f.collisions += len(*list)
			}
		}
		frames = append(frames, f)
	}
}

// The size of a log differs from the size of the messages, because each frame has the whole state of the world.
func TestSizeOfRecordingForCARLA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("carla")
		o.MaxBagSize = 2000
		d := newTestRecorder(t, o, "/clock", "/carla/hero/odometry")
		clock := d.offer("/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS())
		odometry := d.offer("/carla/hero/odometry", "nav_msgs/msg/Odometry", codec.DefaultQoS())
		for i := range int32(20) {
			time.Sleep(time.Second)
			d.emit(clock, &rosgraph_msgs.Clock{Clock: builtin_interfaces.Time{Sec: i}})
			d.emit(odometry, &nav_msgs.Odometry{})
		}
		require.NoError(t, d.end())
		require.FileExists(t, "drive_1.log")
		require.NoFileExists(t, "drive_3.log") // there were messages of more than 15000 bytes
		r, err := live.Codecs().Open("drive.log")
		require.NoError(t, err)
		defer r.Close()
		info, err := r.Info()
		require.NoError(t, err)
		require.Less(t, info.Size, int64(2200))
	})
}

func TestUntold(t *testing.T) {
	var list []codec.Loss
	for _, topic := range []string{"/a", "/b", "/c", "/d", "/e", "/f", "/g"} {
		list = append(list, codec.Loss{Topic: topic, What: "covariances", Messages: 2})
	}
	require.Equal(t, []string{"lost: covariances (4 messages on /a, /b)"}, lossLines(list[:2]))
	list = append(list, codec.Loss{Topic: "/a", What: "jump", Messages: 1})
	require.Equal(t, []string{"lost: covariances (14 messages on 7 topics)", "lost: jump (1 message on /a)"},
		lossLines(list))
}
