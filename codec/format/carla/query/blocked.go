package query

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"tapedeck/codec/format/carla"
)

// blockedActor is an actor that hardly moved for some time.
type blockedActor struct {
	Time     float64 // simulation time at which the actor stopped, in s
	ID       uint32
	Name     string  // "vehicle.tesla.model3"
	Duration float64 // s
}

// findBlocked returns the actors that moved less than minDistance, in cm, for at least minTime, in s, and the last
// frame of the log. The actors that stood longest come first.
func findBlocked(r *carla.Reader, minTime, minDistance float64) (list []blockedActor, last carla.FrameStart,
	err error) {
	type actor struct {
		blockedActor
		anchor carla.Vector // position from which distances are measured
	}
	actors := map[uint32]*actor{}
	var lastAdded uint32 // id of the actor added last
	double := r.Profile().DoubleVectors
	err = forEachPacket(r, func(_ carla.Packet, b carla.Body) {
		switch body := b.(type) {
		case *carla.FrameStart:
			last = *body
		case *carla.EventAddList:
			for _, e := range *body {
				actors[e.Actor] = &actor{blockedActor: blockedActor{ID: e.Actor, Name: e.BlueprintID}}
				lastAdded = e.Actor
			}
		case *carla.EventDelList:
			if len(*body) > 0 {
				delete(actors, lastAdded) // CARLA deletes the actor added last, whichever the event names
			}
		case *carla.PositionList:
			for _, p := range *body {
				a := actors[p.Actor]
				if a == nil {
					a = &actor{blockedActor: blockedActor{ID: p.Actor}}
					actors[p.Actor] = a
				}
				if distance(a.anchor, p.Location, double) < minDistance {
					if a.Duration == 0 {
						a.Time = last.Elapsed
					}
					a.Duration += last.Duration
					continue
				}
				if a.Duration >= minTime {
					list = append(list, a.blockedActor)
				}
				a.Duration, a.anchor = 0, p.Location
			}
		}
	})
	for _, id := range slices.Sorted(maps.Keys(actors)) {
		if a := actors[id]; a.Duration >= minTime {
			list = append(list, a.blockedActor)
		}
	}
	slices.SortStableFunc(list, func(a, b blockedActor) int { return cmp.Compare(b.Duration, a.Duration) })
	return list, last, err
}

// distance returns the distance between two positions. It calculates as CARLA does: in float64 if double, else in
// float32.
func distance(a, b carla.Vector, double bool) float64 {
	if double {
		x, y, z := a.X-b.X, a.Y-b.Y, a.Z-b.Z
		return math.Sqrt(x*x + y*y + z*z)
	}
	x, y, z := float32(a.X)-float32(b.X), float32(a.Y)-float32(b.Y), float32(a.Z)-float32(b.Z)
	return float64(float32(math.Sqrt(float64(x*x + y*y + z*z))))
}

// Blocked writes the text of show_recorder_actors_blocked: the actors that moved less than minDistance, in cm, for at
// least minTime, in s. The actors that stood longest come first.
func Blocked(w io.Writer, r *carla.Reader, minTime, minDistance float64, o Options) error {
	list, last, err := findBlocked(r, minTime, minDistance)
	if err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(w, r, "blocked", list, last)
	}
	p := newPrinter(w, o)
	p.header(r.Header())
	fmt.Fprintf(p, "%8s %6s %-35s %10s\n", "Time", "Id", "Actor", "Duration")
	for _, a := range list {
		fmt.Fprintf(p, "%8s %6d %s %10s\n", formatRounded(a.Time), a.ID, padName(a.Name), formatRounded(a.Duration))
	}
	p.footer(last)
	return p.Flush()
}
