package carla

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// logState has the actors of a log that is written, as ROS 2 messages describe them.
type logState struct {
	profile carla.Profile
	options WriteOptions
	losses  codec.LossCounts
	frames
	updates uint64 // messages with places so far

	actors []*logActor // in the order of the first messages about them
	listed map[uint32]*logActor
	named  map[string]*logActor
	framed map[string]*logActor
	ids    map[uint32]*logActor // by id in the log
	nextID uint32

	// Values of the current frame:
	collisions []collision
	weather    *carla.Weather
	filled     bool                                 // a frame had an actor, a traffic light, a collision or the weather
	states     []carla_msgs.CarlaTrafficLightStatus // also those of earlier frames

	collided  uint32  // how many collisions there were
	untilNext float32 // s until the next frame, by the last CarlaStatus of the frame; 0: unknown
}

// collision is a collision of an actor with another actor, which has an id of CarlaActorList.
type collision struct {
	actor *logActor
	other uint32
}

// firstID is the first id for actors that are in no list. It is well above the ids of most lists. CARLA uses 1 for the
// spectator.
const firstID = 1000

func newLogState(o WriteOptions) *logState {
	return &logState{
		profile: o.Profile, options: o, losses: codec.LossCounts{}, frames: frames{},
		listed: map[uint32]*logActor{}, named: map[string]*logActor{}, framed: map[string]*logActor{},
		ids: map[uint32]*logActor{}, nextID: firstID,
	}
}

// expect adds or updates the actors of a list. rename must be called afterwards.
func (s *logState) expect(list []carla_msgs.CarlaActorInfo) {
	for _, info := range list {
		f := s.listed[info.Id]
		if f == nil && (typeOf(info.Type) == carla.ActorVehicle || typeOf(info.Type) == carla.ActorWalker) {
			f = s.named[info.Rolename]
		}
		switch {
		case f == nil, f.listed && (f.id != info.Id || f.listedAs != info.Type): // the id is another actor's now
			f = s.add()
			f.is(info.Type, info.Rolename, s.subject(info.Rolename).Attributes)
		case !f.listed && !f.written:
			f.is(info.Type, info.Rolename, s.subject(info.Rolename).Attributes)
		}
		f.id, f.listed, f.listedAs = info.Id, true, info.Type
		s.listed[info.Id] = f
		s.nextID = max(s.nextID, info.Id+1)
	}
}

// appear adds or updates an actor that is alive, without a list.
func (s *logState) appear(info carla_msgs.CarlaActorInfo) {
	s.expect([]carla_msgs.CarlaActorInfo{info})
	s.listed[info.Id].alive = true
	s.rename()
}

// add adds an actor.
func (s *logState) add() *logActor {
	f := new(logActor)
	s.actors = append(s.actors, f)
	return f
}

// subject returns the options for the actor with a name.
func (s *logState) subject(name string) Subject {
	for _, a := range s.options.Actors {
		if a.Name == name {
			return a
		}
	}
	return Subject{}
}

// rename gives all actors and their frames the names that ToROS2 uses. If several actors have one role, the first actor
// that is alive gets the role as its name.
func (s *logState) rename() {
	clear(s.named)
	clear(s.framed)
	for _, f := range s.actors {
		var names []string
		if f.name != "" {
			names = append(names, f.name)
		}
		if f.listed {
			names = append(names, fmt.Sprintf("actor%d", f.id))
		}
		if role := f.Attribute("role_name"); f.kind == spectator {
			names = append(names, "spectator")
		} else if (f.kind == vehicle || f.kind == walker) && role != "" {
			names = append(names, role)
		}
		for _, name := range names {
			if before := s.named[name]; before == nil || !before.alive && f.alive {
				s.named[name] = f
			}
		}
		f.frames = nil
	}
	for name, f := range s.named {
		s.frame(f, name)
	}
}

// frame assigns the frame with an actor's name, and those in the options, to the actor.
func (s *logState) frame(f *logActor, name string) {
	for _, frame := range append([]string{name}, s.subject(name).Frames...) {
		f.frames = append(f.frames, frame)
		s.framed[frame] = f
	}
}

// takeActorList updates the list of actors that are alive.
func (s *logState) takeActorList(_ *decoder, m *carla_msgs.CarlaActorList) {
	list := m.Actors
	for _, f := range s.actors {
		f.alive = f.alive && !f.listed
	}
	s.expect(list)
	for _, info := range list {
		f := s.listed[info.Id]
		f.alive, f.parent = true, s.listed[info.ParentId]
	}
	s.order(list)
	s.rename()
}

// order moves the actors of a list to the front, in the order of the list. ToROS2 lists actors in the order of packets.
func (s *logState) order(list []carla_msgs.CarlaActorInfo) {
	position := map[*logActor]int{}
	for i, info := range list {
		position[s.listed[info.Id]] = i
	}
	slices.SortStableFunc(s.actors, func(a, b *logActor) int {
		i, listed := position[a]
		j, otherListed := position[b]
		if !listed {
			i = len(list)
		}
		if !otherListed {
			j = len(list)
		}
		return cmp.Compare(i, j)
	})
}

// numbered matches names with the id of an actor.
var numbered = regexp.MustCompile(`^actor([1-9][0-9]*)$`)

// actor returns the actor with a name. If there is none, it adds the actor. k is the kind of the actor if it is known.
func (s *logState) actor(name string, k kind) *logActor {
	f := s.named[name]
	if f == nil {
		f = s.add()
		f.name, f.alive = name, true
		s.named[name] = f
		if m := numbered.FindStringSubmatch(name); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 32)
			f.id = uint32(id)
		}
		if f.id != 0 && s.listed[f.id] == nil {
			s.listed[f.id] = f
		}
		s.guess(f, cmp.Or(k, vehicle))
		s.frame(f, name)
	}
	if k == walker && f.kind == vehicle && !f.listed && !f.written {
		s.guess(f, walker)
	}
	return f
}

// guess sets the blueprint of an actor that is in no list, by its kind.
func (s *logState) guess(f *logActor, k kind) {
	about := s.subject(f.name)
	role := f.name
	if f.id != 0 {
		role = ""
	}
	f.is(cmp.Or(about.Blueprint, map[kind]string{vehicle: anyVehicle, walker: anyWalker}[k]), role, about.Attributes)
}

// takeTransforms takes the places of frames.
func (s *logState) takeTransforms(d *decoder, m *tf2_msgs.TFMessage) {
	s.updates++
	for i := range m.Transforms {
		t := &m.Transforms[i]
		if !s.set(d.topic, t, s.updates) {
			s.losses.Add(d.topic, "transforms with NaN or infinite numbers", 1)
			continue
		}
		for _, a := range s.options.Actors {
			if slices.Contains(a.Frames, t.ChildFrameId) {
				s.actor(a.Name, thing)
			}
		}
	}
}

// takeOdometry takes the place and the motion of an actor.
func (s *logState) takeOdometry(d *decoder, m *nav_msgs.Odometry) {
	at, ok := unit(m.Pose.Pose)
	if !ok {
		s.losses.Add(d.topic, "poses with NaN or infinite numbers", 1)
		return
	}
	if m.Pose.Covariance != [36]float64{} || m.Twist.Covariance != [36]float64{} {
		s.losses.Add(d.topic, "covariances", 1)
	}
	s.updates++
	s.actor(d.actor, thing).odometry = odometry{m.Header.FrameId, at, m.Twist.Twist, s.updates}
}

func (s *logState) takeVehicleStatus(d *decoder, m *carla_msgs.CarlaEgoVehicleStatus) {
	s.takeVehicleControl(d, &m.Control)
}

// takeVehicleControl takes the controls of a vehicle.
func (s *logState) takeVehicleControl(d *decoder, c *carla_msgs.CarlaEgoVehicleControl) {
	if c.ManualGearShift {
		s.losses.Add(d.topic, "manual_gear_shift", 1)
	}
	f := s.actor(d.actor, vehicle)
	f.control = *c
	if c.Reverse && c.Gear >= 0 {
		f.control.Gear = -1
	}
}

// takeWalkerControl takes the controls of a walker.
func (s *logState) takeWalkerControl(d *decoder, c *carla_msgs.CarlaWalkerControl) {
	if c.Jump {
		s.losses.Add(d.topic, "jump", 1)
	}
	f := s.actor(d.actor, walker)
	f.speed, f.walks = c.Speed, true
}

// takeVehicleInfo takes the kind and the physics of a vehicle.
func (s *logState) takeVehicleInfo(d *decoder, m *carla_msgs.CarlaEgoVehicleInfo) {
	info := new(carla_msgs.CarlaEgoVehicleInfo)
	*info, m.Wheels = *m, nil // the wheels of the next message are others
	if info.Id == 0 {
		return
	}
	if f := s.listed[info.Id]; f == nil || !f.listed {
		s.appear(carla_msgs.CarlaActorInfo{Id: info.Id, Type: info.Type, Rolename: info.Rolename})
	}
	if f := s.listed[info.Id]; f.kind == vehicle && hasPhysics(info) {
		s.losePhysics(d, info)
		f.physics = info
	}
}

// losePhysics counts the physics that a log of the profile cannot hold.
func (s *logState) losePhysics(d *decoder, info *carla_msgs.CarlaEgoVehicleInfo) {
	switch {
	case s.profile.Wide && (info.ClutchStrength != 0 || info.DampingRateFullThrottle != 0):
		s.losses.Add(d.topic, "clutch_strength and damping rates", 1)
	case !s.profile.Wide && info.GearSwitchTime != 0:
		s.losses.Add(d.topic, "gear_switch_time", 1)
	}
}

func (s *logState) takeTrafficLights(_ *decoder, m *carla_msgs.CarlaTrafficLightInfoList) {
	for i := range m.TrafficLights {
		s.takeTrafficLight(&m.TrafficLights[i])
	}
}

// takeTrafficLight takes the place of a traffic light.
func (s *logState) takeTrafficLight(info *carla_msgs.CarlaTrafficLightInfo) {
	at, ok := unit(info.Transform)
	if f := s.listed[info.Id]; f == nil || f.kind != light {
		s.appear(carla_msgs.CarlaActorInfo{Id: info.Id, Type: "traffic.traffic_light"})
	}
	if f := s.listed[info.Id]; ok {
		f.info = *info
		f.info.Transform = at
		f.put(at)
	}
}

// takeCollision takes a collision. A frame has at most one collision for each pair of actors.
func (s *logState) takeCollision(d *decoder, e *carla_msgs.CarlaCollisionEvent) {
	if e.NormalImpulse != (geometry_msgs.Vector3{}) {
		s.losses.Add(d.topic, "normal_impulse", 1)
	}
	c := collision{s.actor(d.actor, vehicle), e.OtherActorId}
	if !slices.Contains(s.collisions, c) {
		s.collisions = append(s.collisions, c)
	}
}

func (s *logState) takeTrafficLightStates(_ *decoder, m *carla_msgs.CarlaTrafficLightStatusList) {
	s.states = append(s.states[:0], m.TrafficLights...)
}

// takeStatus takes the time to the next frame, which the last frame of the log keeps.
func (s *logState) takeStatus(_ *decoder, m *carla_msgs.CarlaStatus) {
	s.untilNext = m.FixedDeltaSeconds
}

func (s *logState) takeWeather(_ *decoder, m *carla_msgs.CarlaWeatherParameters) {
	s.weather = weatherOf(m)
}

// weatherOf returns the weather of a message. Values that the message does not have are CARLA's defaults.
func weatherOf(w *carla_msgs.CarlaWeatherParameters) *carla.Weather {
	return &carla.Weather{
		Cloudiness: w.Cloudiness, Precipitation: w.Precipitation, PrecipitationDeposits: w.PrecipitationDeposits,
		WindIntensity: w.WindIntensity, SunAzimuthAngle: w.SunAzimuthAngle, SunAltitudeAngle: w.SunAltitudeAngle,
		FogDensity: w.FogDensity, FogDistance: w.FogDistance, Wetness: w.Wetness, RayleighScatteringScale: 0.0331,
	}
}

// settle sets the place and the motion of an actor from the last messages.
func (s *logState) settle(f *logActor) {
	defer func() { f.settled = s.updates }()
	if f.kind == sensor {
		s.attach(f)
		return
	}
	if o := &f.odometry; o.update > f.settled {
		at, _, _ := s.resolve(o.frame, o.pose, nil)
		f.put(at)
		f.motion.LinearVelocity = LinearVelocity(at.Orientation.Rotate(o.twist.Linear))
		f.motion.AngularVelocity = AngularVelocity(at.Orientation.Rotate(o.twist.Angular))
		f.moved = true
		return
	}
	for _, name := range f.frames {
		if at, _, update := s.resolve(name, here, nil); update > f.settled {
			f.put(at)
		}
	}
}

// attach sets the place and the parent of a sensor. Both stay after the sensor is in the log.
func (s *logState) attach(f *logActor) {
	if f.written {
		return
	}
	for _, name := range f.frames {
		at, last, update := s.resolve(name, here, func(other string) bool {
			return s.framed[other] != nil && s.framed[other] != f
		})
		if update == 0 {
			continue
		}
		f.put(at)
		if parent := s.framed[last]; parent != nil && f.parent == nil {
			f.parent = parent
		}
	}
}

// bodies returns the packets of the current frame, in CARLA's order, and prepares s for the next frame.
func (s *logState) bodies() []carla.Body {
	var (
		adds       carla.EventAddList
		dels       carla.EventDelList
		parents    carla.EventParentList
		collisions carla.CollisionList
		positions  carla.PositionList
		states     carla.StateList
		vehicles   carla.AnimVehicleList
		walkers    carla.AnimWalkerList
		lights     carla.VehicleLightList
		kinematics carla.KinematicsList
		triggers   carla.TriggerVolumeList
		physics    carla.PhysicsControlList
		chaos      carla.ChaosPhysicsList
	)
	var shown []*logActor
	for _, f := range s.actors {
		if f.alive {
			s.settle(f)
		}
		switch {
		case f.alive && (f.written || f.known()):
			shown = append(shown, f)
		case f.written:
			f.written = false
			dels = append(dels, carla.EventDel(f.Actor))
		}
	}
	for _, f := range shown {
		if !f.written {
			s.number(f)
		}
	}
	for _, f := range shown {
		if !f.written {
			f.written, f.attached = true, nil
			f.Location, f.Rotation = f.place.Location, f.place.Rotation
			adds = append(adds, f.EventAdd)
			if v := f.triggerVolume(); v != nil {
				triggers = append(triggers, *v)
			}
		}
		if f.placed && f.kind != light && f.kind != sensor && f.Type != carla.ActorTrafficSign {
			positions = append(positions, carla.Position{Actor: f.Actor, Location: f.place.Location,
				Rotation: f.place.Rotation})
		}
		switch f.kind {
		case vehicle:
			c := &f.control
			vehicles = append(vehicles, carla.AnimVehicle{
				Actor: f.Actor, Steering: c.Steer, Throttle: c.Throttle, Brake: c.Brake, HandBrake: c.HandBrake,
				Gear: c.Gear,
			})
			lights = append(lights, carla.VehicleLight{Actor: f.Actor})
		case walker:
			walkers = append(walkers, carla.AnimWalker{Actor: f.Actor, Speed: f.walking() * metre})
		}
		if info := f.physics; info != nil && s.profile.Wide {
			chaos = append(chaos, chaosPhysicsOf(&f.EventAdd, info))
		} else if info != nil {
			physics = append(physics, physicsOf(&f.EventAdd, info))
		}
		f.physics = nil
		if f.moved {
			f.motion.Actor = f.Actor
			kinematics = append(kinematics, f.motion)
		}
	}
	for _, f := range shown {
		if p := f.parent; p != f.attached && p != nil && p.written {
			f.attached = p
			parents = append(parents, carla.EventParent{Actor: f.Actor, Parent: p.Actor})
		}
	}
	for _, c := range s.collisions {
		if !c.actor.written {
			continue
		}
		s.collided++
		other := s.listed[c.other]
		collisions = append(collisions, carla.Collision{
			Number: s.collided, Actor1: c.actor.Actor, Actor2: s.inLog(c.other), Hero1: c.actor.hero(),
			Hero2: other != nil && other.hero(),
		})
	}
	for _, l := range s.states {
		// the colours have the same numbers
		states = append(states, carla.TrafficLight{Actor: s.inLog(l.Id), Colour: carla.Colour(l.State)})
	}
	s.filled = s.filled || len(shown)+len(collisions)+len(states) > 0 || s.weather != nil
	all := []carla.Body{&adds, &dels, &parents, &collisions, &positions, &states, &vehicles, &walkers, &lights}
	if s.weather != nil {
		all = append(all, &carla.WeatherList{*s.weather})
	}
	if len(kinematics) > 0 {
		all = append(all, &kinematics)
	}
	if len(triggers) > 0 {
		all = append(all, &triggers)
	}
	if len(physics) > 0 {
		all = append(all, &physics)
	}
	if len(chaos) > 0 {
		all = append(all, &chaos)
	}
	s.collisions, s.weather = s.collisions[:0], nil
	return all
}

// number sets the id of an actor in the log. It is the id of the lists, unless another actor in the log has or had it.
func (s *logState) number(f *logActor) {
	if f.Actor != 0 {
		return
	}
	f.Actor = f.id
	if f.id == 0 || s.ids[f.id] != nil {
		for s.nextID = max(s.nextID, firstID); s.ids[s.nextID] != nil; s.nextID++ {
		}
		f.Actor = s.nextID
	}
	s.ids[f.Actor] = f
}

// inLog returns the id in the log for an id in lists.
func (s *logState) inLog(id uint32) uint32 {
	if f := s.listed[id]; f != nil && f.Actor != 0 {
		return f.Actor
	}
	return id
}

// Losses implements codec.Writer.
func (w *Writer) Losses() []codec.Loss {
	all := maps.Clone(w.losses)
	for name, f := range w.frames {
		if !f.used && w.framed[name] == nil {
			all.Add(f.topic, "transforms of frames without an actor", f.count)
		}
	}
	return all.Losses()
}
