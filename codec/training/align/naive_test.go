package align

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// naive aligns by the plain rules, one number after the other, and is slow. It knows columns of kind Linear, Hold and
// Euler in rad. Tests compare rotations as matrices: see matrixOf.
type naive struct {
	o        Options
	streams  Streams
	vectors  [][]naiveSample
	commands [][]naiveSample
	cameras  [][]naiveFrame
}

type naiveSample struct {
	stamp  int64
	values []float64
}

type naiveFrame struct {
	stamp int64
	index int
}

type naiveRow struct {
	stamp    int64
	frames   []int
	vectors  [][]float64
	commands [][]float64
}

func newNaive(s Streams, o Options) *naive {
	n := &naive{o: o, streams: s}
	for _, v := range s.Vectors {
		n.vectors = append(n.vectors, naiveSamples(v))
	}
	for _, v := range s.Commands {
		n.commands = append(n.commands, naiveSamples(v))
	}
	for _, t := range s.Cameras {
		frames := map[int64]int{}
		for i, stamp := range t.Stamps {
			frames[stamp] = i
		}
		var list []naiveFrame
		for stamp, i := range frames {
			list = append(list, naiveFrame{stamp, i})
		}
		slices.SortFunc(list, func(a, b naiveFrame) int { return cmp.Compare(a.stamp, b.stamp) })
		n.cameras = append(n.cameras, list)
	}
	return n
}

func naiveSamples(v *Vector) []naiveSample {
	width := len(v.Columns)
	var list []naiveSample
	for i, stamp := range v.Stamps {
		values := append([]float64(nil), v.Values[i*width:(i+1)*width]...)
		bad := false
		for _, x := range values {
			if !IsMissing(x) && (math.IsNaN(x) || math.IsInf(x, 0)) {
				bad = true
			}
		}
		if !bad {
			list = append(list, naiveSample{stamp, values})
		}
	}
	slices.SortStableFunc(list, func(a, b naiveSample) int { return cmp.Compare(a.stamp, b.stamp) })
	var merged []naiveSample
	for _, s := range list {
		if len(merged) == 0 || merged[len(merged)-1].stamp != s.stamp {
			merged = append(merged, s)
			continue
		}
		for c, x := range s.values {
			if !IsMissing(x) {
				merged[len(merged)-1].values[c] = x
			}
		}
	}
	for i := range merged {
		for c, x := range merged[i].values {
			if IsMissing(x) {
				merged[i].values[c] = math.NaN()
				if i > 0 {
					merged[i].values[c] = merged[i-1].values[c]
				}
			}
		}
	}
	return merged
}

// naivePeriod is the lower median of the steps.
func naivePeriod(stamps []int64) int64 {
	if len(stamps) < 2 {
		return 100e6
	}
	var steps []int64
	for i := 1; i < len(stamps); i++ {
		steps = append(steps, stamps[i]-stamps[i-1])
	}
	slices.Sort(steps)
	return steps[(len(steps)-1)/2]
}

// naiveLimit reports whether ns is within a limit, or within defaultLimit in ns if limit is 0.
func naiveLimit(ns int64, limit time.Duration, defaultLimit int64) bool {
	switch {
	case limit == Unlimited:
		return true
	case limit == 0:
		return ns <= defaultLimit
	}
	return ns <= int64(limit)
}

func stampsOf(samples []naiveSample) (stamps []int64) {
	for _, s := range samples {
		stamps = append(stamps, s.stamp)
	}
	return stamps
}

// rows returns the rows at the points that none of the rules drops.
func (n *naive) rows(points []int64) []naiveRow {
	var rows []naiveRow
	for _, t := range points {
		row := naiveRow{stamp: t}
		keep := true
		for _, c := range n.cameras {
			frame, ok := n.frame(c, t)
			row.frames = append(row.frames, frame)
			keep = keep && ok
		}
		for i, v := range n.vectors {
			values, ok := n.sample(n.streams.Vectors[i], v, t)
			row.vectors = append(row.vectors, values)
			keep = keep && ok
		}
		for i, v := range n.commands {
			values, ok := n.command(n.streams.Commands[i], v, t)
			row.commands = append(row.commands, values)
			keep = keep && ok
		}
		if keep {
			rows = append(rows, row)
		}
	}
	return rows
}

func (n *naive) frame(frames []naiveFrame, t int64) (index int, ok bool) {
	asOf := n.o.Image == ImageAsOf || n.o.Causal
	var stamps []int64
	best, held := -1, -1
	for i, f := range frames {
		stamps = append(stamps, f.stamp)
		if f.stamp <= t {
			held = i
		}
		if asOf && f.stamp > t {
			continue
		}
		if best < 0 || asOf || distance(f.stamp, t) < distance(frames[best].stamp, t) {
			best = i
		}
	}
	maxSkew := naivePeriod(stamps)
	if !asOf {
		maxSkew /= 2
	}
	if best >= 0 && naiveLimit(distance(frames[best].stamp, t), n.o.MaxImageSkew, maxSkew) {
		return frames[best].index, true
	}
	switch n.o.MissingImage {
	case MissingBlack:
		return -1, true
	case MissingHold:
		if held >= 0 {
			return frames[held].index, true
		}
	}
	return -1, false
}

func distance(a, b int64) int64 {
	if a < b {
		return b - a
	}
	return a - b
}

// missingNumbers reports whether a row lacks a value of a column that has values.
func missingNumbers(samples []naiveSample, row []float64) bool {
	for c, x := range row {
		if math.IsNaN(x) && !math.IsNaN(samples[len(samples)-1].values[c]) {
			return true
		}
	}
	return false
}

func (n *naive) sample(v *Vector, samples []naiveSample, t int64) (row []float64, ok bool) {
	if len(samples) == 0 {
		for range v.Columns {
			row = append(row, math.NaN())
		}
		return row, true
	}
	period := naivePeriod(stampsOf(samples))
	maxGap := max(5*period, 100e6)
	first, last := samples[0], samples[len(samples)-1]
	switch {
	case t < first.stamp:
		if n.o.Causal || n.o.Ends != EndsClamp || !naiveLimit(first.stamp-t, n.o.MaxExtrapolation, period) {
			return nil, false
		}
		return n.finish(samples, first.values)
	case t > last.stamp:
		if n.o.Ends != EndsClamp || !naiveLimit(t-last.stamp, n.o.MaxExtrapolation, period) {
			return nil, false
		}
		if n.o.Causal && !naiveLimit(t-last.stamp, n.o.MaxGap, maxGap) {
			return n.inGap(v, samples, last.values)
		}
		return n.finish(samples, last.values)
	}
	for i, s := range samples {
		if s.stamp == t {
			return n.finish(samples, s.values)
		}
		if i+1 == len(samples) || t > samples[i+1].stamp || samples[i+1].stamp == t {
			continue
		}
		next := samples[i+1]
		if n.o.Causal {
			if !naiveLimit(t-s.stamp, n.o.MaxGap, maxGap) {
				return n.inGap(v, samples, s.values)
			}
			return n.finish(samples, s.values)
		}
		if !naiveLimit(next.stamp-s.stamp, n.o.MaxGap, maxGap) {
			return n.inGap(v, samples, s.values)
		}
		u := float64(t-s.stamp) / float64(next.stamp-s.stamp)
		for c, column := range v.Columns {
			switch column.Interp {
			case Hold:
				row = append(row, s.values[c])
			case Linear:
				row = append(row, (1-u)*s.values[c]+u*next.values[c])
			case Euler:
				if len(row) == c {
					m := turned(matrixOf(s.values[c:]), matrixOf(next.values[c:]), u)
					yaw := math.Atan2(m[1][0], m[0][0])
					pitch := math.Atan2(-m[2][0], math.Hypot(m[0][0], m[1][0]))
					row = append(row, math.Atan2(m[2][1], m[2][2]), pitch, yaw)
				}
			}
		}
		return n.finish(samples, row)
	}
	panic("no samples around a time between the first and the last sample")
}

// finish returns row, and whether it is complete enough to be kept.
func (n *naive) finish(samples []naiveSample, row []float64) ([]float64, bool) {
	return row, n.o.Gaps == GapsNaN || !missingNumbers(samples, row)
}

// inGap returns a row in a gap: only columns of kind Hold are known.
func (n *naive) inGap(v *Vector, samples []naiveSample, held []float64) ([]float64, bool) {
	row := append([]float64(nil), held...)
	linear := false
	for c, column := range v.Columns {
		if column.Interp != Hold {
			row[c] = math.NaN()
			linear = true
		}
	}
	if linear && n.o.Gaps != GapsNaN {
		return nil, false
	}
	return n.finish(samples, row)
}

func (n *naive) command(v *Vector, samples []naiveSample, t int64) (row []float64, ok bool) {
	if len(samples) == 0 {
		for range v.Columns {
			row = append(row, math.NaN())
		}
		return row, true
	}
	for _, s := range samples {
		if s.stamp <= t {
			row = s.values
		}
	}
	if row == nil {
		return nil, false
	}
	return n.finish(samples, row)
}

type matrix [3][3]float64

func (a matrix) times(b matrix) (c matrix) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return c
}

func (a matrix) transposed() (b matrix) {
	for i := range 3 {
		for j := range 3 {
			b[i][j] = a[j][i]
		}
	}
	return b
}

// matrixOf returns Rz·Ry·Rx of roll, pitch and yaw.
func matrixOf(rpy []float64) matrix {
	sr, cr := math.Sincos(rpy[0])
	sp, cp := math.Sincos(rpy[1])
	sy, cy := math.Sincos(rpy[2])
	x := matrix{{1, 0, 0}, {0, cr, -sr}, {0, sr, cr}}
	y := matrix{{cp, 0, sp}, {0, 1, 0}, {-sp, 0, cp}}
	z := matrix{{cy, -sy, 0}, {sy, cy, 0}, {0, 0, 1}}
	return z.times(y).times(x)
}

// turned returns the rotation at u (0 to 1) of the way from a to b. The way is a turn about one axis.
func turned(a, b matrix, u float64) matrix {
	d := a.transposed().times(b)
	x, y, z := d[2][1]-d[1][2], d[0][2]-d[2][0], d[1][0]-d[0][1]
	sine := math.Sqrt(x*x+y*y+z*z) / 2
	angle := math.Atan2(sine, (d[0][0]+d[1][1]+d[2][2]-1)/2)
	if sine == 0 {
		return a
	}
	x, y, z = x/(2*sine), y/(2*sine), z/(2*sine)
	s, c := math.Sincos(u * angle)
	return a.times(matrix{
		{c + x*x*(1-c), x*y*(1-c) - z*s, x*z*(1-c) + y*s},
		{y*x*(1-c) + z*s, c + y*y*(1-c), y*z*(1-c) - x*s},
		{z*x*(1-c) - y*s, z*y*(1-c) + x*s, c + z*z*(1-c)},
	})
}
