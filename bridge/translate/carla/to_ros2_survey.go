package carla

import (
	"fmt"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/format/carla"
)

// survey holds the actors of a log and the numbers of messages to which the log is translated.
type survey struct {
	header  carla.Header
	profile carla.Profile

	frames       uint64
	poses        uint64  // poses of an actor that is alive all the time: one for each frame, or one for each step
	posesBefore  uint64  // poses before the current frame
	clocks       uint64  // messages on /clock
	elapsed      float64 // time of the current frame, in s of simulation
	steps        steps
	actors       []*actorSurvey // in the order in which actors appear
	byID         map[uint32]*actorSurvey
	lists        uint64 // frames in which actors come, go or are attached
	places       uint64 // messages with places of actors: one for each frame with places, or one for each step
	lights       uint64 // frames with states of traffic lights
	lightChanges uint64 // frames in which traffic lights come or go
	fixed        uint64 // frames in which actors that do not move come or go
	weathers     uint64 // frames with weather
}

// actorSurvey is an actor of a log, with the numbers of its frames and messages.
type actorSurvey struct {
	id         uint32
	kind       kind
	role       string
	frames     uint64 // frames in which the actor is alive
	since      uint64 // survey.frames when the actor appeared; 0: the actor is not alive
	poses      uint64 // poses while the actor is alive
	posesSince uint64 // survey.poses before the actor appeared
	collisions uint64
	hasBox     bool // the actor has a marker
}

// newSurvey surveys the log on the channel c.
func newSurvey(r codec.Reader, c *codec.Channel, steps steps) (*survey, error) {
	s := &survey{byID: map[uint32]*actorSurvey{}, steps: steps}
	var err error
	s.header, s.profile, err = carla.ParseChannel(c)
	if err != nil {
		return nil, err
	}
	d := carla.Decoder{Profile: s.profile}
	q := codec.Query{Topics: func(o *codec.Channel) bool { return o == c }, Damaged: func(error) {}}
	for m, err := range codec.Messages(r, q) {
		if err != nil {
			return nil, fmt.Errorf("look for actors: %w", err)
		}
		s.add(m.Data, &d)
	}
	s.frames++
	s.posesBefore = s.poses
	for _, a := range s.actors {
		s.end(a)
	}
	s.frames--
	return s, nil
}

// add adds a frame. It ignores errors, because logTranslator reports them.
func (s *survey) add(frame []byte, d *carla.Decoder) {
	s.frames++
	s.posesBefore = s.poses
	var changed changes
	for len(frame) > 0 {
		k, rest, err := carla.NextPacket(frame)
		if err != nil {
			break
		}
		frame = rest
		if k.ID == carla.IDFrameStart {
			if b, err := d.Decode(k); err == nil {
				s.step(b.(*carla.FrameStart).Elapsed)
			}
		}
		if k.Empty() {
			continue
		}
		switch k.ID {
		case carla.IDPosition:
			s.places += s.poses - s.posesBefore
		case carla.IDState:
			s.lights++
		case carla.IDWeather:
			s.weathers++
		case carla.IDEventAdd, carla.IDEventDel, carla.IDEventParent, carla.IDCollision,
			carla.IDBoundingBox:
			if b, err := d.Decode(k); err == nil {
				s.apply(b)
				changed.add(b, s.byID)
			}
		}
	}
	if changed.actors {
		s.lists++
	}
	if changed.lights {
		s.lightChanges++
	}
	if changed.fixed {
		s.fixed++
	}
}

// apply counts a packet that adds or removes actors, or describes collisions or boxes.
func (s *survey) apply(b carla.Body) {
	switch l := b.(type) {
	case *carla.EventAddList:
		for i := range *l {
			s.appear(&(*l)[i])
		}
	case *carla.EventDelList:
		for _, id := range *l {
			if a := s.byID[uint32(id)]; a != nil {
				s.end(a)
			}
		}
	case *carla.CollisionList:
		for _, r := range *l {
			if a := s.byID[r.Actor1]; a != nil {
				a.collisions++
			}
		}
	case *carla.BoundingBoxList:
		for i := range *l {
			if a := s.byID[(*l)[i].Actor]; a != nil {
				a.hasBox = a.hasBox || hasBox(a.kind, &(*l)[i])
			}
		}
	}
}

// appear adds an actor, or marks it as alive again.
func (s *survey) appear(e *carla.EventAdd) {
	a := s.byID[e.Actor]
	if a == nil {
		a = &actorSurvey{id: e.Actor}
		s.byID[e.Actor] = a
		s.actors = append(s.actors, a)
	}
	if a.since == 0 {
		a.since, a.posesSince = s.frames, s.posesBefore
	}
	a.kind, a.role = kindOf(e), e.Attribute("role_name")
}

// end marks an actor as dead from the current frame on.
func (s *survey) end(a *actorSurvey) {
	if a.since != 0 {
		a.frames += s.frames - a.since
		a.poses += s.posesBefore - a.posesSince
		a.since = 0
	}
}

// step counts the poses and clocks from the previous frame up to the current frame. elapsed is the time of the current
// frame, in s of simulation.
func (s *survey) step(elapsed float64) {
	s.clocks++
	if s.steps.rate == 0 || s.frames == 1 {
		s.poses++
	} else if first, last := s.steps.between(s.elapsed, elapsed); first <= last {
		s.poses += uint64(last - first + 1)
		s.clocks += uint64(last - first)
		if s.steps.at(last) < elapsed {
			s.clocks++
		}
	}
	s.elapsed = elapsed
}

// kind is the kind of an actor. It determines the messages about the actor.
type kind int

const (
	thing kind = iota // any other actor, whose place rarely changes
	vehicle
	walker
	spectator
	light
	sensor
)

func kindOf(e *carla.EventAdd) kind {
	switch {
	case e.Type == carla.ActorVehicle:
		return vehicle
	case e.Type == carla.ActorWalker:
		return walker
	case e.Type == carla.ActorTrafficLight:
		return light
	case e.Type == carla.ActorSensor || strings.HasPrefix(e.BlueprintID, "sensor."):
		return sensor
	case e.BlueprintID == "spectator":
		return spectator
	}
	return thing
}

// changes are the kinds of changes in a frame.
type changes struct {
	actors bool // actors come, go or are attached
	lights bool // traffic lights come or go
	fixed  bool // actors that do not move come or go
}

// add adds the changes in a packet. actors are the actors of the log by id.
func (c *changes) add(b carla.Body, actors map[uint32]*actorSurvey) {
	var ids []uint32
	switch l := b.(type) {
	case *carla.EventAddList:
		for i := range *l {
			ids = append(ids, (*l)[i].Actor)
		}
	case *carla.EventDelList:
		for _, id := range *l {
			ids = append(ids, uint32(id))
		}
	case *carla.EventParentList:
		for _, r := range *l {
			ids = append(ids, r.Actor)
		}
	}
	for _, id := range ids {
		c.actors = true
		if a := actors[id]; a != nil {
			c.lights = c.lights || a.kind == light
			c.fixed = c.fixed || a.kind == thing || a.kind == light || a.kind == sensor
		}
	}
}
