package align

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// maxPoints limits the rows of a timeline: several days of a camera.
const maxPoints = 1 << 24

// timeline returns the stamps of the rows in time order, before streams drop any.
func (s *aligner) timeline() ([]int64, error) {
	kind, argument, err := s.options.timeline()
	if err != nil {
		return nil, err
	}
	var points []int64
	switch kind {
	case TimelineCamera:
		points, err = s.cameraStamps(argument)
	case TimelineUnion:
		points = s.union()
	case TimelineTopic:
		points, err = s.streamStamps(argument)
	case TimelineFixed:
		points, err = s.fixed(s.options.Rate())
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("timeline %q: %w", s.options.Timeline, err)
	case len(points) == 0:
		return nil, fmt.Errorf("timeline %q has no rows; choose another one", s.options.Timeline)
	case len(points) > maxPoints:
		return nil, fmt.Errorf("timeline %q: %d rows are too many, at most %d are possible", s.options.Timeline,
			len(points), maxPoints)
	}
	return points, nil
}

// cameraStamps returns the stamps of a camera, of the first one if name is "".
func (s *aligner) cameraStamps(name string) ([]int64, error) {
	for _, f := range s.cameras {
		if name == "" || name == f.track.Name || name == f.track.Topic {
			if len(f.stamps) == 0 {
				return nil, fmt.Errorf("%s has no frames; choose another timeline", f.track.Name)
			}
			return f.stamps, nil
		}
	}
	if name == "" {
		return nil, errors.New("there are no cameras; choose another timeline, such as topic:NAME")
	}
	return nil, fmt.Errorf("unknown camera; streams are %s", s.names())
}

// streamStamps returns the stamps of a vector or a camera.
func (s *aligner) streamStamps(name string) ([]int64, error) {
	for _, v := range s.series {
		if name == v.vector.Name || name == v.vector.Topic {
			return v.stamps, nil
		}
	}
	for _, f := range s.cameras {
		if name == f.track.Name || name == f.track.Topic {
			return f.stamps, nil
		}
	}
	return nil, fmt.Errorf("unknown stream; streams are %s", s.names())
}

// names returns the names of all streams, for errors.
func (s *aligner) names() string {
	var names []string
	for _, f := range s.cameras {
		names = append(names, f.track.Name)
	}
	for _, v := range s.series {
		names = append(names, v.vector.Name)
	}
	return fmt.Sprintf("%q", names)
}

// union returns the stamps of all frames. It omits a stamp within UnionWindow after the previous kept stamp. Without a
// UnionWindow it omits a stamp in the ms of the previous kept stamp.
func (s *aligner) union() []int64 {
	var all []int64
	for _, f := range s.cameras {
		all = append(all, f.stamps...)
	}
	slices.Sort(all)
	window := int64(s.options.UnionWindow)
	points := all[:0]
	for _, t := range all {
		if n := len(points); n > 0 {
			first := points[n-1]
			if window == 0 && floor(first) == floor(t) || window > 0 && t-first <= window {
				continue
			}
		}
		points = append(points, t)
	}
	return points
}

// floor rounds t down to whole ms.
func floor(t int64) int64 {
	ms := t / int64(time.Millisecond)
	if t%int64(time.Millisecond) < 0 {
		ms--
	}
	return ms
}

// fixed returns times at a rate in Hz. They begin when all streams that drop rows have begun, and end when the first
// such stream ends.
func (s *aligner) fixed(rate float64) ([]int64, error) {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	from, to := last, first
	for _, f := range s.cameras {
		if len(f.stamps) == 0 {
			continue
		}
		first, last = min(first, f.report.First), max(last, f.report.Last)
		if f.missing == MissingDrop {
			from, to = max(from, f.report.First), min(to, f.report.Last)
		}
	}
	for _, v := range s.series {
		if len(v.stamps) == 0 {
			continue
		}
		first, last = min(first, v.report.First), max(last, v.report.Last)
		if v.optional {
			continue
		}
		early := v.extrapolation
		if v.asOf {
			early = 0
		}
		from = max(from, v.report.First-early)
		if !v.forever {
			to = min(to, v.report.Last+v.extrapolation)
		}
	}
	if first > last {
		return nil, errors.New("there are no samples and no frames")
	}
	from, to = max(from, first), min(to, last)
	if from > to {
		return nil, fmt.Errorf("the streams do not overlap: one begins at %s, another has ended at %s",
			FormatStamp(from), FormatStamp(to))
	}
	if n := float64(to-from) / 1e9 * rate; n >= maxPoints {
		return nil, fmt.Errorf("%.0f rows are too many, at most %d are possible; look for wrong stamps from %s to %s",
			n, maxPoints, FormatStamp(from), FormatStamp(to))
	}
	var points []int64
	for k := 0; ; k++ {
		step := math.Round(float64(k) * 1e9 / rate)
		if step > float64(to-from) {
			return points, nil
		}
		points = append(points, from+int64(step))
	}
}

// AppendStamp appends a time in exact seconds, with at least three decimals.
func AppendStamp(b []byte, ns int64) []byte {
	rest := uint64(ns)
	if ns < 0 {
		b, rest = append(b, '-'), -rest
	}
	b = append(strconv.AppendUint(b, rest/1e9, 10), '.')
	rest %= 1e9
	for n, unit := 0, uint64(1e8); n < 3 || rest > 0; n, unit = n+1, unit/10 {
		b = append(b, byte('0'+rest/unit))
		rest %= unit
	}
	return b
}

// FormatStamp returns a time in exact seconds, with at least three decimals.
func FormatStamp(ns int64) string { return string(AppendStamp(nil, ns)) }
