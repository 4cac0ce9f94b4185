package query

import (
	"fmt"
	"io"

	"tapedeck/codec/format/carla"
)

// collision is the beginning of a collision of two actors.
type collision struct {
	Time   float64 // simulation time, in s
	Actors [2]collider
}

// collider is one of the two actors of a collision.
type collider struct {
	ID   uint32 // carla.NoActor for an object that is no actor
	Type string // one letter: o other, v vehicle, w walker, t traffic light, h traffic sign, a sensor
	Name string // "vehicle.tesla.model3"
	Hero bool
}

// matches reports whether the collider is of a category: a letter of Type, h for the hero, a for any.
func (c *collider) matches(category byte) bool {
	return category == 'a' || string([]byte{category}) == c.Type || category == 'h' && c.Hero
}

// typeLetters are the letters of carla.ActorType's values. CARLA gives traffic signs the h of the hero.
const typeLetters = "ovwtha"

// findCollisions returns the collisions between actors of two categories, and the last frame of the log. Two actors
// that collide in consecutive frames have one collision.
func findCollisions(r *carla.Reader, category1, category2 byte) (list []collision, last carla.FrameStart, err error) {
	actors := map[uint32]*carla.EventAdd{}
	var lastAdded uint32 // id
	// Ids of the pairs of actors that collided in the previous frame, and in the current one.
	previous, current := map[[2]uint32]bool{}, map[[2]uint32]bool{}
	err = forEachPacket(r, func(_ carla.Packet, b carla.Body) {
		switch l := b.(type) {
		case *carla.FrameStart:
			last, previous, current = *l, current, map[[2]uint32]bool{}
		case *carla.EventAddList:
			for _, e := range *l {
				actors[e.Actor] = &e
				lastAdded = e.Actor
			}
		case *carla.EventDelList:
			if len(*l) > 0 {
				delete(actors, lastAdded) // CARLA deletes the actor added last, whichever the event names
			}
		case *carla.CollisionList:
			for _, c := range *l {
				found := collision{Time: last.Elapsed, Actors: [2]collider{
					newCollider(c.Actor1, actors[c.Actor1], c.Hero1), newCollider(c.Actor2, actors[c.Actor2], c.Hero2)}}
				if !found.Actors[0].matches(category1) || !found.Actors[1].matches(category2) {
					continue
				}
				pair := [2]uint32{c.Actor1, c.Actor2}
				if !previous[pair] {
					list = append(list, found)
				}
				current[pair] = true
			}
		}
	})
	return list, last, err
}

// newCollider returns the collider with an id. e is nil for an unknown actor.
func newCollider(id uint32, e *carla.EventAdd, hero bool) collider {
	c := collider{ID: id, Type: typeLetters[:1], Hero: hero}
	if e != nil && id != carla.NoActor {
		c.Name = e.BlueprintID
		if int(e.Type) < len(typeLetters) {
			c.Type = typeLetters[e.Type : e.Type+1]
		}
	}
	return c
}

// Collisions writes the text of show_recorder_collisions: the collisions between actors of two categories,
// o other, v vehicle, w walker, t traffic light, h hero, a any.
func Collisions(w io.Writer, r *carla.Reader, category1, category2 byte, o Options) error {
	list, last, err := findCollisions(r, category1, category2)
	if err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(w, r, "collisions", list, last)
	}
	p := newPrinter(w, o)
	p.header(r.Header())
	fmt.Fprintf(p, "%8s %6s %6s %-35s %6s %-35s\n", "Time", "Types", "Id", "Actor 1", "Id", "Actor 2")
	for _, c := range list {
		a, b := c.Actors[0], c.Actors[1]
		fmt.Fprintf(p, "%8s   %s %s  %6d %s %6d %s\n", formatRounded(c.Time), a.Type, b.Type,
			a.ID, padName(a.Name), b.ID, padName(b.Name))
	}
	if len(list) == 0 {
		p.footer(last)
	} else { // the number format of the rows stays set in CARLA's C++ stream
		fmt.Fprintf(p, "\nFrames: %d\nDuration: %s seconds\n", last.Frame, formatRounded(last.Elapsed))
	}
	return p.Flush()
}
