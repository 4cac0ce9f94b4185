package carla

import (
	"cmp"
	"slices"
	"strings"

	"tapedeck/codec/carla"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
)

// scene is the actors of a log that is written, as ROS 2 messages tell of them.
type scene struct {
	profile carla.Profile
	options WriteOptions

	expected []*actorSurvey // all that any list has
	byID     map[uint32]*figure
	byName   map[string]*figure
	nextID   uint32

	// What is new in a frame:
	gone       []uint32
	collisions carla.CollisionList
	weather    *carla_msgs.CarlaWeatherParameters
	states     []carla_msgs.CarlaTrafficLightStatus // also when it is not new

	collided uint32 // how many collisions there were
}

// figure is an actor of a scene.
type figure struct {
	carla.EventAdd
	name    string
	kind    kind
	parent  uint32
	alive   bool
	written bool // in a frame
	placed  bool // it is known where it is

	place   carla.Position
	motion  carla.Kinematics
	moved   bool // motion is known
	control carla_msgs.CarlaEgoVehicleControl
	speed   float32 // m/s
	trigger *carla.BoundingBox
}

func newScene(o WriteOptions) *scene {
	return &scene{profile: o.Profile, options: o, byID: map[uint32]*figure{}, byName: map[string]*figure{}, nextID: 1}
}

// expect makes the actors of a list known, before any message tells of them.
func (s *scene) expect(list []carla_msgs.CarlaActorInfo) {
	for _, info := range list {
		if s.byID[info.Id] != nil {
			continue
		}
		e := carla.EventAdd{Actor: info.Id, Type: typeOf(info.Type), BlueprintID: info.Type}
		if info.Rolename != "" {
			e.Attributes = []carla.Attribute{{Type: carla.AttributeString, ID: "role_name", Value: info.Rolename}}
		}
		s.byID[info.Id] = &figure{EventAdd: e, kind: kindOf(&e), place: carla.Position{Actor: info.Id}}
		s.expected = append(s.expected, &actorSurvey{id: info.Id, kind: kindOf(&e), role: info.Rolename})
		s.nextID = max(s.nextID, info.Id+1)
	}
	for id, name := range namesOf(s.expected) {
		s.byID[id].name = name
	}
	clear(s.byName)
	for _, f := range s.byID {
		s.byName[f.name] = f
	}
}

// typeOf returns what type the actors of a blueprint have.
func typeOf(blueprint string) carla.ActorType {
	switch kind, _, _ := strings.Cut(blueprint, "."); {
	case kind == "vehicle":
		return carla.ActorVehicle
	case kind == "walker":
		return carla.ActorWalker
	case strings.HasPrefix(blueprint, "traffic.traffic_light"):
		return carla.ActorTrafficLight
	case kind == "traffic":
		return carla.ActorTrafficSign
	case kind == "sensor":
		return carla.ActorSensor
	}
	return carla.ActorOther
}

// list takes the actors that are alive.
func (s *scene) list(actors []carla_msgs.CarlaActorInfo) {
	alive := map[uint32]bool{}
	for _, info := range actors {
		if f := s.byID[info.Id]; f != nil {
			f.alive, f.parent = true, info.ParentId
			alive[info.Id] = true
		}
	}
	for _, a := range s.expected {
		if f := s.byID[a.id]; f.alive && !alive[a.id] {
			f.alive = false
			if f.written {
				f.written = false
				s.gone = append(s.gone, a.id)
			}
		}
	}
}

// actor returns the actor with a name. One that no list has is new, of a kind.
func (s *scene) actor(name string, k kind) *figure {
	f := s.byName[name]
	if f == nil {
		blueprint := s.options.Blueprints[name]
		if blueprint == "" {
			blueprint = map[kind]string{vehicle: anyVehicle, walker: anyWalker}[k]
		}
		f = &figure{name: name, alive: true, EventAdd: carla.EventAdd{
			Actor: s.nextID, Type: typeOf(blueprint), BlueprintID: blueprint,
			Attributes: []carla.Attribute{{Type: carla.AttributeString, ID: "role_name", Value: name}},
		}}
		f.kind, f.place.Actor = kindOf(&f.EventAdd), f.Actor
		s.byID[f.Actor], s.byName[name] = f, f
		s.nextID++
	}
	return f
}

// transform takes the place of an actor. Frames that are no actor's tell nothing.
func (s *scene) transform(t *geometry_msgs.TransformStamped) {
	child := cmp.Or(s.options.Names[t.ChildFrameId], t.ChildFrameId)
	f := s.byName[child]
	if f == nil && child != t.ChildFrameId {
		f = s.actor(child, vehicle)
	}
	if f == nil {
		return
	}
	at := carla.Position{Actor: f.Actor, Location: Location(geometry_msgs.Point(t.Transform.Translation)), Rotation: Rotation(t.Transform.Rotation)}
	switch {
	case f.kind == sensor:
		if !f.written { // it stays where it is attached
			f.place, f.placed = at, true
		}
	case t.Header.FrameId == mapFrame || s.options.Names[t.ChildFrameId] != "":
		f.place, f.placed = at, true
	}
}

// move takes the place and the motion of an actor.
func (f *figure) move(o *nav_msgs.Odometry) {
	q := o.Pose.Pose.Orientation
	f.place.Location, f.place.Rotation, f.placed = Location(o.Pose.Pose.Position), Rotation(q), true
	f.motion = carla.Kinematics{
		Actor: f.Actor, LinearVelocity: LinearVelocity(rotate(q, o.Twist.Twist.Linear)), AngularVelocity: AngularVelocity(rotate(q, o.Twist.Twist.Angular)),
	}
	f.moved = true
}

// light takes the place of a traffic light.
func (s *scene) light(info carla_msgs.CarlaTrafficLightInfo) {
	if s.byID[info.Id] == nil {
		s.expect([]carla_msgs.CarlaActorInfo{{Id: info.Id, Type: "traffic.traffic_light"}})
		s.byID[info.Id].alive = true
	}
	f := s.byID[info.Id]
	f.place.Location, f.place.Rotation, f.placed = Location(info.Transform.Position), Rotation(info.Transform.Orientation), true
	if v := info.TriggerVolume; v != (carla_msgs.CarlaBoundingBox{}) {
		at := rotate(info.Transform.Orientation, v.Center)
		f.trigger = &carla.BoundingBox{
			Actor: info.Id,
			Origin: Location(geometry_msgs.Point{
				X: info.Transform.Position.X + at.X, Y: info.Transform.Position.Y + at.Y, Z: info.Transform.Position.Z + at.Z,
			}),
			Extension: carla.Vector{X: v.Size.X * metre / 2, Y: v.Size.Y * metre / 2, Z: v.Size.Z * metre / 2},
		}
	}
}

func (s *scene) collide(f *figure, other uint32) {
	s.collided++
	o := s.byID[other]
	s.collisions = append(s.collisions, carla.Collision{
		Number: s.collided, Actor1: f.Actor, Actor2: other,
		Hero1: f.Attribute("role_name") == "hero", Hero2: o != nil && o.Attribute("role_name") == "hero",
	})
}

// bodies returns the packets of a frame, in CARLA's order, and begins another one.
func (s *scene) bodies() []carla.Body {
	var (
		adds       carla.EventAddList
		dels       carla.EventDelList
		parents    carla.EventParentList
		positions  carla.PositionList
		states     carla.StateList
		vehicles   carla.AnimVehicleList
		walkers    carla.AnimWalkerList
		lights     carla.VehicleLightList
		kinematics carla.KinematicsList
		triggers   carla.TriggerVolumeList
		collisions = s.collisions
	)
	for _, id := range s.gone {
		dels = append(dels, carla.EventDel(id))
	}
	var figures []*figure
	for _, f := range s.byID {
		if f.alive && (f.placed || f.written || f.kind != vehicle && f.kind != walker) {
			figures = append(figures, f)
		}
	}
	slices.SortFunc(figures, func(a, b *figure) int { return cmp.Compare(a.Actor, b.Actor) })
	for _, f := range figures {
		if !f.written {
			f.written = true
			f.Location, f.Rotation = f.place.Location, f.place.Rotation
			adds = append(adds, f.EventAdd)
			if f.parent != 0 {
				parents = append(parents, carla.EventParent{Actor: f.Actor, Parent: f.parent})
			}
			if f.trigger != nil {
				triggers = append(triggers, *f.trigger)
			}
		}
		if f.placed && f.kind != light && f.kind != sensor && f.Type != carla.ActorTrafficSign {
			positions = append(positions, f.place)
		}
		switch f.kind {
		case vehicle:
			c := f.control
			vehicles = append(vehicles, carla.AnimVehicle{
				Actor: f.Actor, Steering: c.Steer, Throttle: c.Throttle, Brake: c.Brake, HandBrake: c.HandBrake, Gear: c.Gear,
			})
			lights = append(lights, carla.VehicleLight{Actor: f.Actor})
		case walker:
			walkers = append(walkers, carla.AnimWalker{Actor: f.Actor, Speed: f.speed * metre})
		}
		if f.moved {
			kinematics = append(kinematics, f.motion)
		}
	}
	for _, l := range s.states {
		states = append(states, carla.TrafficLight{Actor: l.Id, Colour: carla.Colour(l.State)})
	}
	all := []carla.Body{&adds, &dels, &parents, &collisions, &positions, &states, &vehicles, &walkers, &lights}
	if w := s.weather; w != nil {
		all = append(all, &carla.WeatherList{{
			Cloudiness: w.Cloudiness, Precipitation: w.Precipitation, PrecipitationDeposits: w.PrecipitationDeposits, WindIntensity: w.WindIntensity,
			SunAzimuthAngle: w.SunAzimuthAngle, SunAltitudeAngle: w.SunAltitudeAngle, FogDensity: w.FogDensity, FogDistance: w.FogDistance, Wetness: w.Wetness,
		}})
	}
	if len(kinematics) > 0 {
		all = append(all, &kinematics)
	}
	if len(triggers) > 0 {
		all = append(all, &triggers)
	}
	s.gone, s.collisions, s.weather = nil, nil, nil
	return all
}
