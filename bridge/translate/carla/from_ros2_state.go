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

// logState is the state of a log that is being written: its actors, by the ROS 2 messages so far, and the values of the
// current frame.
type logState struct {
	profile carla.Profile
	options WriteOptions
	losses  codec.LossCounts
	frames
	updates uint64 // number of messages with places so far

	actors  []*logActor          // in the order of the last CarlaActorList, then of first messages
	byID    map[uint32]*logActor // by id in CarlaActorList
	byName  map[string]*logActor // by name in topics
	byFrame map[string]*logActor // by name of the actor's frames
	byLogID map[uint32]*logActor // by id in the log
	nextID  uint32               // id in the log of the next actor without an id

	// Values of the current frame:
	collisions []collision
	weather    *carla.Weather // nil: unchanged
	untilNext  float32        // s until the next frame, by the last CarlaStatus of the frame; 0: unknown

	hasContent     bool                                 // a frame had content besides times
	states         []carla_msgs.CarlaTrafficLightStatus // states of traffic lights, by the last message
	collisionCount uint32                               // number of collisions in the log
}

// collision is a collision of two actors.
type collision struct {
	actor *logActor
	other uint32 // id of the other actor in CarlaActorList
}

// firstID is the first id for actors that are in no CarlaActorList. It is well above the ids of most lists. CARLA uses
// 1 for the spectator.
const firstID = 1000

func newLogState(o WriteOptions) *logState {
	return &logState{
		profile: o.Profile, options: o, losses: codec.LossCounts{}, frames: frames{},
		byID: map[uint32]*logActor{}, byName: map[string]*logActor{}, byFrame: map[string]*logActor{},
		byLogID: map[uint32]*logActor{}, nextID: firstID,
	}
}

// addListed adds or updates the actors of a list. The caller must call rename afterwards.
func (s *logState) addListed(list []carla_msgs.CarlaActorInfo) {
	for _, info := range list {
		a := s.byID[info.Id]
		if a == nil && (typeOf(info.Type) == carla.ActorVehicle || typeOf(info.Type) == carla.ActorWalker) {
			a = s.byName[info.Rolename]
		}
		switch {
		case a == nil, a.listed && (a.id != info.Id || a.listedAs != info.Type): // the id belongs to another actor now
			a = s.addActor()
			a.setBlueprint(info.Type, info.Rolename, s.mappingOf(info.Rolename).Attributes)
		case !a.listed && !a.written:
			a.setBlueprint(info.Type, info.Rolename, s.mappingOf(info.Rolename).Attributes)
		}
		a.id, a.listed, a.listedAs = info.Id, true, info.Type
		s.byID[info.Id] = a
		s.nextID = max(s.nextID, info.Id+1)
	}
}

// addAlive adds or updates an actor that is alive, whether or not a CarlaActorList has it.
func (s *logState) addAlive(info carla_msgs.CarlaActorInfo) {
	s.addListed([]carla_msgs.CarlaActorInfo{info})
	s.byID[info.Id].alive = true
	s.rename()
}

// addActor adds an actor without any properties.
func (s *logState) addActor() *logActor {
	a := new(logActor)
	s.actors = append(s.actors, a)
	return a
}

// mappingOf returns the mapping of the actor with a name. The zero value means that there is none.
func (s *logState) mappingOf(name string) ActorMapping {
	for _, a := range s.options.Actors {
		if a.Name == name {
			return a
		}
	}
	return ActorMapping{}
}

// rename gives all actors and their frames the names that ToROS2 uses. If several actors have one role, the first actor
// that is alive gets the role as its name.
func (s *logState) rename() {
	clear(s.byName)
	clear(s.byFrame)
	for _, a := range s.actors {
		var names []string
		if a.name != "" {
			names = append(names, a.name)
		}
		if a.listed {
			names = append(names, fmt.Sprintf("actor%d", a.id))
		}
		if role := a.Attribute("role_name"); a.kind == spectator {
			names = append(names, "spectator")
		} else if (a.kind == vehicle || a.kind == walker) && role != "" {
			names = append(names, role)
		}
		for _, name := range names {
			if other := s.byName[name]; other == nil || !other.alive && a.alive {
				s.byName[name] = a
			}
		}
		a.frames = nil
	}
	for name, a := range s.byName {
		s.assignFrames(a, name)
	}
}

// assignFrames assigns the frame with an actor's name, and the frames in the actor's mapping, to the actor.
func (s *logState) assignFrames(a *logActor, name string) {
	for _, frame := range append([]string{name}, s.mappingOf(name).Frames...) {
		a.frames = append(a.frames, frame)
		s.byFrame[frame] = a
	}
}

// applyActorList adds the actors of a list, and marks other listed actors as dead.
func (s *logState) applyActorList(_ *decoder, m *carla_msgs.CarlaActorList) {
	list := m.Actors
	for _, a := range s.actors {
		a.alive = a.alive && !a.listed
	}
	s.addListed(list)
	for _, info := range list {
		a := s.byID[info.Id]
		a.alive, a.parent = true, s.byID[info.ParentId]
	}
	s.sortAsListed(list)
	s.rename()
}

// sortAsListed moves the actors of a list to the front, in the order of the list. ToROS2 lists actors in the order of
// packets.
func (s *logState) sortAsListed(list []carla_msgs.CarlaActorInfo) {
	position := map[*logActor]int{}
	for i, info := range list {
		position[s.byID[info.Id]] = i
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

// actorIDName matches the names that ToROS2 makes from the ids of actors.
var actorIDName = regexp.MustCompile(`^actor([1-9][0-9]*)$`)

// actor returns the actor with a name. If there is none, it adds an actor with that name. k is the kind of the actor,
// or thing if the kind is unknown.
func (s *logState) actor(name string, k kind) *logActor {
	a := s.byName[name]
	if a == nil {
		a = s.addActor()
		a.name, a.alive = name, true
		s.byName[name] = a
		if m := actorIDName.FindStringSubmatch(name); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 32)
			a.id = uint32(id)
		}
		if a.id != 0 && s.byID[a.id] == nil {
			s.byID[a.id] = a
		}
		s.guessBlueprint(a, cmp.Or(k, vehicle))
		s.assignFrames(a, name)
	}
	if k == walker && a.kind == vehicle && !a.listed && !a.written {
		s.guessBlueprint(a, walker)
	}
	return a
}

// guessBlueprint sets the blueprint of an actor that is in no CarlaActorList, by the kind of the actor.
func (s *logState) guessBlueprint(a *logActor, k kind) {
	mapping := s.mappingOf(a.name)
	role := a.name
	if a.id != 0 {
		role = ""
	}
	a.setBlueprint(cmp.Or(mapping.Blueprint, map[kind]string{vehicle: anyVehicle, walker: anyWalker}[k]), role,
		mapping.Attributes)
}

// applyTransforms sets the places of frames.
func (s *logState) applyTransforms(d *decoder, m *tf2_msgs.TFMessage) {
	s.updates++
	for i := range m.Transforms {
		t := &m.Transforms[i]
		if !s.store(d.topic, t, s.updates) {
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

// applyOdometry sets the place and the motion of an actor.
func (s *logState) applyOdometry(d *decoder, m *nav_msgs.Odometry) {
	at, ok := normalize(m.Pose.Pose)
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

// applyVehicleStatus sets the controls of a vehicle.
func (s *logState) applyVehicleStatus(d *decoder, m *carla_msgs.CarlaEgoVehicleStatus) {
	s.applyVehicleControl(d, &m.Control)
}

// applyVehicleControl sets the controls of a vehicle.
func (s *logState) applyVehicleControl(d *decoder, c *carla_msgs.CarlaEgoVehicleControl) {
	if c.ManualGearShift {
		s.losses.Add(d.topic, "manual_gear_shift", 1)
	}
	a := s.actor(d.actor, vehicle)
	a.control = *c
	if c.Reverse && c.Gear >= 0 {
		a.control.Gear = -1
	}
}

// applyWalkerControl sets the speed of a walker.
func (s *logState) applyWalkerControl(d *decoder, c *carla_msgs.CarlaWalkerControl) {
	if c.Jump {
		s.losses.Add(d.topic, "jump", 1)
	}
	a := s.actor(d.actor, walker)
	a.speed, a.hasSpeed = c.Speed, true
}

// applyVehicleInfo sets the blueprint and the physics of a vehicle.
func (s *logState) applyVehicleInfo(d *decoder, m *carla_msgs.CarlaEgoVehicleInfo) {
	info := new(carla_msgs.CarlaEgoVehicleInfo)
	*info, m.Wheels = *m, nil // info keeps the wheels; the next message must not overwrite them
	if info.Id == 0 {
		return
	}
	if a := s.byID[info.Id]; a == nil || !a.listed {
		s.addAlive(carla_msgs.CarlaActorInfo{Id: info.Id, Type: info.Type, Rolename: info.Rolename})
	}
	if a := s.byID[info.Id]; a.kind == vehicle && hasPhysics(info) {
		s.countLostPhysics(d, info)
		a.physics = info
	}
}

// countLostPhysics counts the physics that a log of the profile cannot hold.
func (s *logState) countLostPhysics(d *decoder, info *carla_msgs.CarlaEgoVehicleInfo) {
	switch {
	case s.profile.DoubleVectors && (info.ClutchStrength != 0 || info.DampingRateFullThrottle != 0):
		s.losses.Add(d.topic, "clutch_strength and damping rates", 1)
	case !s.profile.DoubleVectors && info.GearSwitchTime != 0:
		s.losses.Add(d.topic, "gear_switch_time", 1)
	}
}

// applyTrafficLights sets the places and the trigger volumes of traffic lights.
func (s *logState) applyTrafficLights(_ *decoder, m *carla_msgs.CarlaTrafficLightInfoList) {
	for i := range m.TrafficLights {
		s.applyTrafficLight(&m.TrafficLights[i])
	}
}

// applyTrafficLight sets the place and the trigger volume of a traffic light.
func (s *logState) applyTrafficLight(info *carla_msgs.CarlaTrafficLightInfo) {
	at, ok := normalize(info.Transform)
	if a := s.byID[info.Id]; a == nil || a.kind != light {
		s.addAlive(carla_msgs.CarlaActorInfo{Id: info.Id, Type: "traffic.traffic_light"})
	}
	if a := s.byID[info.Id]; ok {
		a.info = *info
		a.info.Transform = at
		a.setPlace(at)
	}
}

// applyCollision adds a collision. A frame has at most one collision for each pair of actors.
func (s *logState) applyCollision(d *decoder, e *carla_msgs.CarlaCollisionEvent) {
	if e.NormalImpulse != (geometry_msgs.Vector3{}) {
		s.losses.Add(d.topic, "normal_impulse", 1)
	}
	c := collision{s.actor(d.actor, vehicle), e.OtherActorId}
	if !slices.Contains(s.collisions, c) {
		s.collisions = append(s.collisions, c)
	}
}

// applyTrafficLightStates sets the states of traffic lights.
func (s *logState) applyTrafficLightStates(_ *decoder, m *carla_msgs.CarlaTrafficLightStatusList) {
	s.states = append(s.states[:0], m.TrafficLights...)
}

// applyStatus sets the time until the next frame. At the end of the log, the time becomes the duration of the last
// frame.
func (s *logState) applyStatus(_ *decoder, m *carla_msgs.CarlaStatus) {
	s.untilNext = m.FixedDeltaSeconds
}

// applyWeather sets the weather of the current frame.
func (s *logState) applyWeather(_ *decoder, m *carla_msgs.CarlaWeatherParameters) {
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

// updatePlace sets the place and the motion of an actor from the last messages.
func (s *logState) updatePlace(a *logActor) {
	defer func() { a.placeUpdate = s.updates }()
	if a.kind == sensor {
		s.attachSensor(a)
		return
	}
	if o := &a.odometry; o.update > a.placeUpdate {
		at, _, _ := s.resolve(o.frame, o.pose, nil)
		a.setPlace(at)
		a.motion.LinearVelocity = LinearVelocity(at.Orientation.Rotate(o.twist.Linear))
		a.motion.AngularVelocity = AngularVelocity(at.Orientation.Rotate(o.twist.Angular))
		a.hasMotion = true
		return
	}
	for _, name := range a.frames {
		if at, _, update := s.resolve(name, identity, nil); update > a.placeUpdate {
			a.setPlace(at)
		}
	}
}

// attachSensor sets the place and the parent of a sensor. Both are final once the sensor is in the log.
func (s *logState) attachSensor(a *logActor) {
	if a.written {
		return
	}
	for _, name := range a.frames {
		at, last, update := s.resolve(name, identity, func(other string) bool {
			return s.byFrame[other] != nil && s.byFrame[other] != a
		})
		if update == 0 {
			continue
		}
		a.setPlace(at)
		if parent := s.byFrame[last]; parent != nil && a.parent == nil {
			a.parent = parent
		}
	}
}

// packetLists are the packets with a list of actors, in a frame that is being written.
type packetLists struct {
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
}

// bodies returns the packets of the current frame, in CARLA's order, and prepares s for the next frame.
func (s *logState) bodies() []carla.Body {
	p := new(packetLists)
	present := s.updateActors(p)
	for _, a := range present {
		if !a.written {
			s.assignID(a)
		}
	}
	for _, a := range present {
		s.describeActor(p, a)
	}
	for _, a := range present {
		if parent := a.parent; parent != a.attached && parent != nil && parent.written {
			a.attached = parent
			p.parents = append(p.parents, carla.EventParent{Actor: a.Actor, Parent: parent.Actor})
		}
	}
	s.describeCollisions(p)
	for _, l := range s.states {
		// CarlaTrafficLightStatus and CARLA number the colours equally.
		p.states = append(p.states, carla.TrafficLight{Actor: s.logID(l.Id), Colour: carla.Colour(l.State)})
	}
	s.hasContent = s.hasContent || len(present)+len(p.collisions)+len(p.states) > 0 || s.weather != nil
	bodies := []carla.Body{
		&p.adds, &p.dels, &p.parents, &p.collisions, &p.positions, &p.states, &p.vehicles, &p.walkers, &p.lights,
	}
	if s.weather != nil {
		bodies = append(bodies, &carla.WeatherList{*s.weather})
	}
	if len(p.kinematics) > 0 {
		bodies = append(bodies, &p.kinematics)
	}
	if len(p.triggers) > 0 {
		bodies = append(bodies, &p.triggers)
	}
	if len(p.physics) > 0 {
		bodies = append(bodies, &p.physics)
	}
	if len(p.chaos) > 0 {
		bodies = append(bodies, &p.chaos)
	}
	s.collisions, s.weather = s.collisions[:0], nil
	return bodies
}

// updateActors updates the places of all actors, and removes dead actors from the log. It returns the actors of the
// current frame.
func (s *logState) updateActors(p *packetLists) (present []*logActor) {
	for _, a := range s.actors {
		if a.alive {
			s.updatePlace(a)
		}
		switch {
		case a.alive && (a.written || a.complete()):
			present = append(present, a)
		case a.written:
			a.written = false
			p.dels = append(p.dels, carla.EventDel(a.Actor))
		}
	}
	return present
}

// describeActor adds an actor of the current frame to the packets.
func (s *logState) describeActor(p *packetLists, a *logActor) {
	if !a.written {
		a.written, a.attached = true, nil
		a.Location, a.Rotation = a.place.Location, a.place.Rotation
		p.adds = append(p.adds, a.EventAdd)
		if v := a.triggerVolume(); v != nil {
			p.triggers = append(p.triggers, *v)
		}
	}
	if a.hasPlace && a.kind != light && a.kind != sensor && a.Type != carla.ActorTrafficSign {
		p.positions = append(p.positions, carla.Position{Actor: a.Actor, Location: a.place.Location,
			Rotation: a.place.Rotation})
	}
	switch a.kind {
	case vehicle:
		c := &a.control
		p.vehicles = append(p.vehicles, carla.AnimVehicle{
			Actor: a.Actor, Steering: c.Steer, Throttle: c.Throttle, Brake: c.Brake, HandBrake: c.HandBrake,
			Gear: c.Gear,
		})
		p.lights = append(p.lights, carla.VehicleLight{Actor: a.Actor})
	case walker:
		p.walkers = append(p.walkers, carla.AnimWalker{Actor: a.Actor, Speed: a.walkingSpeed() * metre})
	}
	if info := a.physics; info != nil && s.profile.DoubleVectors {
		p.chaos = append(p.chaos, chaosPhysicsOf(&a.EventAdd, info))
	} else if info != nil {
		p.physics = append(p.physics, physicsOf(&a.EventAdd, info))
	}
	a.physics = nil
	if a.hasMotion {
		a.motion.Actor = a.Actor
		p.kinematics = append(p.kinematics, a.motion)
	}
}

// describeCollisions adds the collisions of the current frame to the packets.
func (s *logState) describeCollisions(p *packetLists) {
	for _, c := range s.collisions {
		if !c.actor.written {
			continue
		}
		s.collisionCount++
		other := s.byID[c.other]
		p.collisions = append(p.collisions, carla.Collision{
			Number: s.collisionCount, Actor1: c.actor.Actor, Actor2: s.logID(c.other), Hero1: c.actor.hero(),
			Hero2: other != nil && other.hero(),
		})
	}
}

// assignID sets the id of an actor in the log. The id is the id in CarlaActorList, unless another actor in the log has
// or had that id.
func (s *logState) assignID(a *logActor) {
	if a.Actor != 0 {
		return
	}
	a.Actor = a.id
	if a.id == 0 || s.byLogID[a.id] != nil {
		for s.nextID = max(s.nextID, firstID); s.byLogID[s.nextID] != nil; s.nextID++ {
		}
		a.Actor = s.nextID
	}
	s.byLogID[a.Actor] = a
}

// logID returns the id in the log for an id in CarlaActorList.
func (s *logState) logID(id uint32) uint32 {
	if a := s.byID[id]; a != nil && a.Actor != 0 {
		return a.Actor
	}
	return id
}

// Losses implements codec.Writer.
func (w *Writer) Losses() []codec.Loss {
	losses := maps.Clone(w.losses)
	for name, f := range w.frames {
		if !f.used && w.byFrame[name] == nil {
			losses.Add(f.topic, "transforms of frames without an actor", f.count)
		}
	}
	return losses.Losses()
}
