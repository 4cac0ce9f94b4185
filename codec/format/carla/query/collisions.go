package query

import (
	"fmt"
	"io"

	"tapedeck/codec/format/carla"
)

// collision is the beginning of a collision of two actors.
type collision struct {
	Time   float64 // s of simulation
	Actors [2]collider
}

// collider is one of the two actors of a collision.
type collider struct {
	ID   uint32 // carla.NoActor for an id that is not an actor
	Type string // one letter: o other, v vehicle, w walker, t traffic light, h traffic sign, a sensor
	Name string // "vehicle.tesla.model3"
	Hero bool
}

// fits reports whether the collider is of a category: a letter of Type, h for the hero, a for any.
func (c *collider) fits(category byte) bool {
	return category == 'a' || string([]byte{category}) == c.Type || category == 'h' && c.Hero
}

// categories are the letters of the types of actors. CARLA takes signs for heroes.
const categories = "ovwtha"

// collisions returns the collisions between actors of two categories, and the last frame. Collisions of two actors in
// consecutive frames are one collision.
func collisions(r *carla.Reader, category1, category2 byte) (list []collision, last carla.FrameStart, err error) {
	actors, added := map[uint32]*carla.EventAdd{}, uint32(0)
	before, now := map[[2]uint32]bool{}, map[[2]uint32]bool{} // pairs of the previous and of the current frame
	err = each(r, func(_ carla.Packet, b carla.Body) {
		switch l := b.(type) {
		case *carla.FrameStart:
			last, before, now = *l, now, map[[2]uint32]bool{}
		case *carla.EventAddList:
			for _, e := range *l {
				actors[e.Actor] = &e
				added = e.Actor
			}
		case *carla.EventDelList:
			if len(*l) > 0 {
				delete(actors, added) // CARLA does so, too: it forgets the actor that was added last
			}
		case *carla.CollisionList:
			for _, c := range *l {
				found := collision{Time: last.Elapsed, Actors: [2]collider{
					colliderOf(c.Actor1, actors[c.Actor1], c.Hero1), colliderOf(c.Actor2, actors[c.Actor2], c.Hero2)}}
				if !found.Actors[0].fits(category1) || !found.Actors[1].fits(category2) {
					continue
				}
				pair := [2]uint32{c.Actor1, c.Actor2}
				if !before[pair] {
					list = append(list, found)
				}
				now[pair] = true
			}
		}
	})
	return list, last, err
}

// colliderOf returns the collider with an id. e is nil for an unknown actor.
func colliderOf(id uint32, e *carla.EventAdd, hero bool) collider {
	c := collider{ID: id, Type: categories[:1], Hero: hero}
	if e != nil && id != carla.NoActor {
		c.Name = e.BlueprintID
		if int(e.Type) < len(categories) {
			c.Type = categories[e.Type : e.Type+1]
		}
	}
	return c
}

// Collisions writes the text of show_recorder_collisions: the collisions between actors of two categories,
// o other, v vehicle, w walker, t traffic light, h hero, a any.
func Collisions(w io.Writer, r *carla.Reader, category1, category2 byte, o Options) error {
	list, last, err := collisions(r, category1, category2)
	if err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(w, r, "collisions", list, last)
	}
	p := newPrinter(w, o)
	p.head(r.Header())
	fmt.Fprintf(p, "%8s %6s %6s %-35s %6s %-35s\n", "Time", "Types", "Id", "Actor 1", "Id", "Actor 2")
	for _, c := range list {
		a, b := c.Actors[0], c.Actors[1]
		fmt.Fprintf(p, "%8s   %s %s  %6d %s %6d %s\n", whole(c.Time), a.Type, b.Type, a.ID, wide(a.Name), b.ID,
			wide(b.Name))
	}
	if len(list) == 0 {
		p.tail(last)
	} else { // in C++, the number format of the rows stays set
		fmt.Fprintf(p, "\nFrames: %d\nDuration: %s seconds\n", last.Frame, whole(last.Elapsed))
	}
	return p.Flush()
}
