package carla

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec/format/carla"
	"tapedeck/msgs/geometry_msgs"
)

// ReadOptions change how a log is translated. The zero value translates the whole log unchanged.
type ReadOptions struct {
	// Rate is the number of poses and twists per second, which are interpolated between frames. The clock comes at this
	// rate and with each frame. 0 means one pose, twist and clock for each frame.
	Rate float64
	// Follow is the id or the role_name of the actor that the spectator follows, from behind and above, as in CARLA's
	// replayer. "" means none.
	Follow string
	// IgnoreHero omits the vehicles with the role_name hero.
	IgnoreHero bool
	// IgnoreSpectator omits the places of the spectator.
	IgnoreSpectator bool
}

// spectatorOffset is the pose of the spectator relative to the followed actor: 10 m behind and 5 m above the actor,
// looking down by 25 degrees.
var spectatorOffset = pose(carla.Vector{X: -1000, Z: 500}, carla.Vector{Y: -25})

// followedActor returns the id of the actor to follow, or 0 for none.
func (o ReadOptions) followedActor(actors []*actorSurvey) (uint32, error) {
	if o.Follow == "" {
		return 0, nil
	}
	var available []string
	for _, a := range actors {
		if a.kind != vehicle && a.kind != walker {
			continue
		}
		id := strconv.FormatUint(uint64(a.id), 10)
		if o.Follow == id || o.Follow == a.role {
			return a.id, nil
		}
		if a.role != "" {
			id += " (" + a.role + ")"
		}
		available = append(available, id)
	}
	return 0, fmt.Errorf("there is no vehicle or walker %q to follow; there are %s", o.Follow,
		strings.Join(slices.Compact(available), ", "))
}

// ignores reports whether an actor is omitted.
func (o ReadOptions) ignores(a *actorSurvey) bool {
	return o.IgnoreHero && a.kind == vehicle && a.role == "hero"
}

// steps are the times of interpolated poses: multiples of 1/rate.
type steps struct {
	rate float64 // 1/s; 0: no interpolated poses
}

// longestGap is the longest time between two frames, in s, for which poses are interpolated.
const longestGap = 1

// between returns the numbers of the first and last step after the time a and up to the time b, in s of simulation.
// Without a step, first is greater than last.
func (s steps) between(a, b float64) (first, last int64) {
	const rounding = 1e-6
	if s.rate == 0 || !(b > a && b-a <= longestGap && b < math.MaxInt32) {
		return 1, 0
	}
	return int64(math.Floor(a*s.rate+rounding)) + 1, int64(math.Floor(b*s.rate + rounding))
}

// at returns the time of a step, in s.
func (s steps) at(n int64) float64 { return float64(n) / s.rate }

// slerp interpolates between the orientations a and b along the shorter arc. at is from 0 (a) to 1 (b).
func slerp(a, b geometry_msgs.Quaternion, at float64) geometry_msgs.Quaternion {
	dot := a.X*b.X + a.Y*b.Y + a.Z*b.Z + a.W*b.W
	if dot < 0 {
		b, dot = geometry_msgs.Quaternion{X: -b.X, Y: -b.Y, Z: -b.Z, W: -b.W}, -dot
	}
	p, q := 1-at, at
	if angle := math.Acos(min(dot, 1)); angle > 1e-6 {
		p, q = math.Sin(p*angle)/math.Sin(angle), math.Sin(q*angle)/math.Sin(angle)
	}
	return geometry_msgs.Quaternion{X: p*a.X + q*b.X, Y: p*a.Y + q*b.Y, Z: p*a.Z + q*b.Z, W: p*a.W + q*b.W}
}

// between interpolates between a and b. at is from 0 (a) to 1 (b).
func between(a, b geometry_msgs.Vector3, at float64) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: a.X + at*(b.X-a.X), Y: a.Y + at*(b.Y-a.Y), Z: a.Z + at*(b.Z-a.Z)}
}
