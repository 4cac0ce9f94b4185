package carla

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
	"tapedeck/test/samples"
)

// openLog returns a reader of the log with these bytes.
func openLog(t testing.TB, log []byte) *Reader {
	r, err := newReader(codectest.NewFile(log), int64(len(log)), "a.log")
	require.NoError(t, err)
	return r
}

// header is the header of the tests' logs.
var header = Header{Version: 1, Date: 1_700_000_000, Map: "Town01"}

// logBuilder builds a log.
type logBuilder struct {
	t       testing.TB
	profile Profile
	data    []byte
}

// newLog returns a builder whose log has only a header.
func newLog(t testing.TB, p Profile) *logBuilder {
	h := header
	h.Version = p.Version
	data, err := h.appendTo(nil)
	require.NoError(t, err)
	return &logBuilder{t, p, data}
}

// add appends packets.
func (l *logBuilder) add(bodies ...Body) *logBuilder {
	for _, b := range bodies {
		var err error
		l.data, err = AppendPacket(l.data, l.profile, b)
		require.NoError(l.t, err)
	}
	return l
}

// frame appends a frame of 0.1 s.
func (l *logBuilder) frame(number uint64, bodies ...Body) *logBuilder {
	l.add(&FrameStart{number, 0.1, float64(number-1) / 10})
	l.add(bodies...)
	return l.add(&FrameEnd{})
}

// addTraffic appends frames in which actor 1 moves and other actors appear and disappear.
func (l *logBuilder) addTraffic(frames int) *logBuilder {
	for i := 1; i <= frames; i++ {
		n := uint32(i)
		add, del, parents, lights := EventAddList{}, EventDelList{}, EventParentList{}, SceneLightList{}
		if i%3 == 1 {
			add = append(add, EventAdd{Actor: n, Type: ActorVehicle, BlueprintID: "vehicle.audi.tt",
				Attributes: []Attribute{{AttributeString, "role_name", "hero"}}})
			lights = append(lights, SceneLight{Light: int32(i % 5), Intensity: float32(i)})
		}
		if i%3 == 2 && i > 4 {
			del = append(del, EventDel(n-4))
			parents = append(parents, EventParent{n - 1, 1})
		}
		l.frame(uint64(i), &add, &del, &parents, &PositionList{{Actor: 1, Location: Vector{X: float64(i)}}}, &lights)
	}
	return l
}

// changeAll appends frames in which all fields of a State appear, change and disappear.
func (l *logBuilder) changeAll(frames int) *logBuilder {
	p := l.profile
	for i := 1; i <= frames; i++ {
		n := uint32(i)
		at := func(x float64) Vector { return Vector{X: x, Y: float64(i)} }
		bodies := []Body{
			&EventAddList{{Actor: n, Type: ActorType(i % 7), Location: at(1), BlueprintID: "vehicle.audi.tt",
				Attributes: []Attribute{{AttributeInt, "wheels", "4"}}}},
			&EventDelList{}, &EventParentList{{n, n - 1}},
		}
		if i%4 == 0 {
			bodies[1] = &EventDelList{EventDel(n - 3), EventDel(n + 100)} // the second actor does not exist
		}
		if p.DoorsID != 0 {
			bodies = append(bodies, &VehicleDoorList{{n, Door(i % 7), i%2 == 0}, {n - 1, DoorAll, false},
				{n - 2, DoorHood, true}})
		}
		bodies = append(bodies, &PositionList{{n, at(2), at(3)}})
		if i%3 == 0 {
			bodies = append(bodies, &SceneLightList{{Light: int32(i%5) - 1, Intensity: float32(i)},
				{Light: 7, On: i%2 == 0}})
		}
		if i%5 == 0 {
			bodies = append(bodies, &WeatherList{{Wetness: float32(i)}})
		}
		bodies = append(bodies, &BoundingBoxList{{n, at(4), at(5)}, {n - 1, at(6), at(7)}},
			&TriggerVolumeList{{n, at(8), at(9)}})
		if i%2 == 0 {
			physics := fullBody(p, IDPhysicsControl)
			reflect.ValueOf(physics).Elem().Index(1).FieldByName("Actor").SetUint(uint64(n))
			bodies = append(bodies, physics, &TrafficLightTimeList{{Actor: n - 1, Green: float32(i)}})
		}
		l.frame(uint64(i), bodies...)
	}
	return l
}

// message is a copy of a message of a log.
type message struct {
	time int64 // LogTime
	data []byte
}

// readAll returns the messages of a query, and the error after the last message. Later calls of Next must return that
// error, too.
func readAll(t testing.TB, r codec.Reader, q codec.Query) (messages []message, end error) {
	it, err := r.Read(q)
	require.NoError(t, err)
	for {
		m, err := it.Next()
		if err != nil {
			_, again := it.Next()
			require.Equal(t, err, again)
			return messages, err
		}
		require.True(t, q.Covers(m.LogTime))
		messages = append(messages, message{m.LogTime, bytes.Clone(m.Data)})
	}
}

// joinData returns the data of messages, one after the other.
func joinData(messages []message) []byte {
	var all []byte
	for _, m := range messages {
		all = append(all, m.data...)
	}
	return all
}

// fillValue sets all fields of v to different values.
func fillValue(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(1 + *next%250))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(-*next))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*next) + 0.5)
	case reflect.String:
		v.SetString(string(bytes.Repeat([]byte{'a'}, 1+*next%7)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillValue(v.Index(i), next)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(v.Field(i), next)
		}
	default:
		panic(v.Kind())
	}
}

// fullBody returns a body for an id with all fields set, or nil if the profile has no such packet.
func fullBody(p Profile, id uint8) Body {
	b := p.newBody(id)
	if b != nil {
		next := 0
		fillValue(reflect.ValueOf(b).Elem(), &next)
	}
	if l, ok := b.(*PhysicsControlList); ok && p.WheelSize == oldWheelSize {
		for _, r := range *l {
			for i := range r.Wheels {
				w := &r.Wheels[i]
				w.LatStiffMaxLoad, w.LatStiffValue, w.LongStiffValue = 0, 0, 0
			}
		}
	}
	return b
}

func samplePath(t testing.TB, name string) string { return samples.Path(t, "carla/"+name) }

// realLogs are logs that CARLA wrote.
var realLogs = []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"}
