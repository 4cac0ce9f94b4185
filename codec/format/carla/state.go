package carla

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
)

// State has the values that a log records only when they change. A reader that begins in the middle of a log needs
// the State before its first frame.
type State struct {
	Profile     Profile
	Actors      map[uint32]*Actor // living actors by id
	SceneLights map[int32]SceneLight
	Weather     *Weather // nil when unknown

	added uint64 // number of actors that appeared so far
}

// Actor is a living actor.
type Actor struct {
	EventAdd
	Parent        uint32 // id of the actor to which this actor is attached; 0: none
	Doors         []VehicleDoor
	BoundingBox   *BoundingBox // nil: unknown, as for all pointers
	TriggerVolume *TriggerVolume
	Physics       *PhysicsControl
	ChaosPhysics  *ChaosPhysics
	LightTime     *TrafficLightTime

	order uint64 // number of actors that appeared before
}

// NewState returns the state before the first frame of a log.
func NewState(p Profile) *State {
	return &State{Profile: p, Actors: map[uint32]*Actor{}, SceneLights: map[int32]SceneLight{}}
}

// Sorted returns the actors in the order in which they appeared.
func (s *State) Sorted() []*Actor {
	return slices.SortedFunc(maps.Values(s.Actors), func(a, b *Actor) int { return cmp.Compare(a.order, b.order) })
}

// Apply advances s to the state after a frame. changed reports whether the frame has packets of the state. Packets that
// cannot be decoded change nothing and are in the error.
func (s *State) Apply(frame []byte) (changed bool, err error) {
	var errs []error
	for len(frame) > 0 {
		k, rest, err := NextPacket(frame)
		if err != nil {
			return changed, errors.Join(append(errs, err)...)
		}
		frame = rest
		if !s.concerns(k) {
			continue
		}
		changed = true
		b, err := Decode(s.Profile, k)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.apply(b)
	}
	return changed, errors.Join(errs...)
}

// concerns reports whether a packet changes the state.
func (s *State) concerns(k Packet) bool {
	switch k.ID {
	case IDEventAdd, IDEventDel, IDEventParent, IDSceneLight, IDWeather, IDBoundingBox, IDTriggerVolume,
		IDPhysicsControl, IDTrafficLightTime:
		return !k.Empty()
	}
	return k.ID != 0 && k.ID == s.Profile.DoorsID && !k.Empty()
}

// apply applies one packet.
func (s *State) apply(b Body) {
	switch l := b.(type) {
	case *EventAddList:
		for _, r := range *l {
			s.Actors[r.Actor] = &Actor{EventAdd: r, order: s.added}
			s.added++
		}
	case *EventDelList:
		for _, r := range *l {
			delete(s.Actors, uint32(r))
		}
	case *EventParentList:
		for _, r := range *l {
			s.change(r.Actor, func(a *Actor) { a.Parent = r.Parent })
		}
	case *SceneLightList:
		for _, r := range *l {
			s.SceneLights[r.Light] = r
		}
	case *WeatherList:
		for i := range *l {
			s.Weather = &(*l)[i]
		}
	case *BoundingBoxList:
		for i, r := range *l {
			s.change(r.Actor, func(a *Actor) { a.BoundingBox = &(*l)[i] })
		}
	case *TriggerVolumeList:
		for i, r := range *l {
			s.change(r.Actor, func(a *Actor) { a.TriggerVolume = &(*l)[i] })
		}
	case *PhysicsControlList:
		for i, r := range *l {
			s.change(r.Actor, func(a *Actor) { a.Physics = &(*l)[i] })
		}
	case *ChaosPhysicsList:
		for i, r := range *l {
			s.change(r.Actor, func(a *Actor) { a.ChaosPhysics = &(*l)[i] })
		}
	case *TrafficLightTimeList:
		for i, r := range *l {
			s.change(r.Actor, func(a *Actor) { a.LightTime = &(*l)[i] })
		}
	case *VehicleDoorList:
		for _, r := range *l {
			s.change(r.Actor, func(a *Actor) {
				a.Doors = append(slices.DeleteFunc(a.Doors,
					func(d VehicleDoor) bool { return d.Door == r.Door || r.Door == DoorAll }), r)
			})
		}
	}
}

// change calls a function with an actor, if it exists.
func (s *State) change(actor uint32, change func(*Actor)) {
	if a := s.Actors[actor]; a != nil {
		change(a)
	}
}

// AppendPackets appends packets that yield s when they are applied to a new State.
func (s *State) AppendPackets(dst []byte) ([]byte, error) {
	w := packetWriter{profile: s.Profile, data: dst}
	actors := s.Sorted()
	writeRecords(&w, actors, func(a *Actor) []EventAdd { return []EventAdd{a.EventAdd} })
	writeRecords(&w, actors, func(a *Actor) []EventParent {
		if a.Parent == 0 {
			return nil
		}
		return []EventParent{{a.Actor, a.Parent}}
	})
	writeRecords(&w, actors, func(a *Actor) []VehicleDoor { return a.Doors })
	writeList(&w, slices.SortedFunc(maps.Values(s.SceneLights),
		func(a, b SceneLight) int { return cmp.Compare(a.Light, b.Light) }))
	writeList(&w, optional(s.Weather))
	writeRecords(&w, actors, func(a *Actor) []BoundingBox { return optional(a.BoundingBox) })
	writeRecords(&w, actors, func(a *Actor) []TriggerVolume { return optional(a.TriggerVolume) })
	writeRecords(&w, actors, func(a *Actor) []PhysicsControl { return optional(a.Physics) })
	writeRecords(&w, actors, func(a *Actor) []TrafficLightTime { return optional(a.LightTime) })
	w.profile.WheelSize = chaosWheelSize
	writeRecords(&w, actors, func(a *Actor) []ChaosPhysics { return optional(a.ChaosPhysics) })
	return w.data, w.err
}

// optional returns a list of *v, or an empty list if v is nil.
func optional[T any](v *T) []T {
	if v == nil {
		return nil
	}
	return []T{*v}
}

// packetWriter appends packets and keeps the first error.
type packetWriter struct {
	profile Profile
	data    []byte
	err     error
}

// writeRecords writes the records of all actors as one list.
func writeRecords[T any, P packetRecord[T]](w *packetWriter, actors []*Actor, records func(*Actor) []T) {
	var list []T
	for _, a := range actors {
		list = append(list, records(a)...)
	}
	writeList[T, P](w, list)
}

// writeList writes a list in as many packets as the list needs, and none if the list is empty.
func writeList[T any, P packetRecord[T]](w *packetWriter, list []T) {
	for chunk := range slices.Chunk(List[T, P](list), math.MaxUint16) {
		if w.err == nil {
			w.data, w.err = AppendPacket(w.data, w.profile, &chunk)
		}
	}
}
