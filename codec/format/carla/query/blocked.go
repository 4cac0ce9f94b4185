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

// stop is an actor that stood still.
type stop struct {
	Time     float64 // s of simulation, when it stopped
	ID       uint32
	Name     string  // "vehicle.tesla.model3"
	Duration float64 // s
}

// blocked returns the actors that moved less than minDistance, in cm, for at least minTime, in s, and the last frame.
// The actors that stood longest come first.
func blocked(r *carla.Reader, minTime, minDistance float64) (stops []stop, last carla.FrameStart, err error) {
	type actor struct {
		stop
		anchor carla.Vector // place from which distances are measured
	}
	actors := map[uint32]*actor{}
	var lastAdded uint32
	wide := r.Profile().Wide
	err = each(r, func(_ carla.Packet, b carla.Body) {
		switch body := b.(type) {
		case *carla.FrameStart:
			last = *body
		case *carla.EventAddList:
			for _, e := range *body {
				actors[e.Actor] = &actor{stop: stop{ID: e.Actor, Name: e.BlueprintID}}
				lastAdded = e.Actor
			}
		case *carla.EventDelList:
			if len(*body) > 0 {
				delete(actors, lastAdded) // as CARLA does, whichever actor the event names
			}
		case *carla.PositionList:
			for _, p := range *body {
				a := actors[p.Actor]
				if a == nil {
					a = &actor{stop: stop{ID: p.Actor}}
					actors[p.Actor] = a
				}
				if distance(a.anchor, p.Location, wide) < minDistance {
					if a.Duration == 0 {
						a.Time = last.Elapsed
					}
					a.Duration += last.Duration
					continue
				}
				if a.Duration >= minTime {
					stops = append(stops, a.stop)
				}
				a.Duration, a.anchor = 0, p.Location
			}
		}
	})
	for _, id := range slices.Sorted(maps.Keys(actors)) {
		if a := actors[id]; a.Duration >= minTime {
			stops = append(stops, a.stop)
		}
	}
	slices.SortStableFunc(stops, func(a, b stop) int { return cmp.Compare(b.Duration, a.Duration) })
	return stops, last, err
}

// distance returns the distance of two places, in the precision of the CARLA that wrote the log.
func distance(a, b carla.Vector, wide bool) float64 {
	if wide {
		x, y, z := a.X-b.X, a.Y-b.Y, a.Z-b.Z
		return math.Sqrt(x*x + y*y + z*z)
	}
	x, y, z := float32(a.X)-float32(b.X), float32(a.Y)-float32(b.Y), float32(a.Z)-float32(b.Z)
	return float64(float32(math.Sqrt(float64(x*x + y*y + z*z))))
}

// Blocked writes the text of show_recorder_actors_blocked: the actors that moved less than minDistance, in cm, for at
// least minTime, in s. The actors that stood longest come first.
func Blocked(w io.Writer, r *carla.Reader, minTime, minDistance float64, o Options) error {
	stops, last, err := blocked(r, minTime, minDistance)
	if err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(w, r, "blocked", stops, last)
	}
	p := newPrinter(w, o)
	p.head(r.Header())
	fmt.Fprintf(p, "%8s %6s %-35s %10s\n", "Time", "Id", "Actor", "Duration")
	for _, s := range stops {
		fmt.Fprintf(p, "%8s %6d %s %10s\n", whole(s.Time), s.ID, wide(s.Name), whole(s.Duration))
	}
	p.tail(last)
	return p.Flush()
}
