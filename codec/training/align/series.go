package align

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// unlimited exceeds any time between two samples, in ns. Absolute stamps are below it, so that the sum or the
	// difference of two stamps does not overflow.
	unlimited = 1 << 62

	defaultPeriod = int64(100 * time.Millisecond) // ns, with fewer than two samples
	leastMaxGap   = int64(100 * time.Millisecond) // ns
)

// series is a cleaned Vector: samples in time order, no two with equal stamps.
type series struct {
	vector        *Vector
	stamps        []int64
	values        []float64
	kinds         []Interp  // by column; never Auto
	halves        []float64 // by column, half a turn in its unit
	known         []bool    // by column, whether it has any value
	asOf          bool      // a row takes the latest sample
	forever       bool      // the latest sample may be of any age
	optional      bool      // missing values drop no rows
	extrapolation int64     // ns
	report        *VectorReport
	at            int // index of the last sample at or before the current row, or -1
}

// newSeries cleans v without changing it, and copies it only if needed.
func newSeries(v *Vector, o *Options, command bool) (*series, error) {
	if err := v.Check(); err != nil {
		return nil, err
	}
	width := len(v.Columns)
	s := &series{vector: v, optional: named(o.Optional, v.Name, v.Topic), asOf: o.Causal || command, forever: command,
		at: -1}
	s.report = &VectorReport{StreamReport: StreamReport{Name: v.Name, Samples: len(v.Stamps), Unstamped: v.Unstamped}}
	if width == 0 {
		return s, nil
	}
	if err := s.interpret(); err != nil {
		return nil, err
	}
	s.stamps, s.values = v.Stamps, v.Values
	if !s.clean() {
		s.sort()
	}
	s.unwrap()
	s.known = make([]bool, width)
	if n := len(s.stamps); n > 0 {
		for c, x := range s.row(n - 1) {
			s.known[c] = x == x
		}
	}
	s.resolve(o)
	r := s.report
	r.First, r.Last, r.Period = span(s.stamps)
	r.MaxGap = within(o.MaxGap, max(5*min(r.Period, unlimited/5), leastMaxGap))
	if o.Ends == EndsClamp {
		s.extrapolation = within(o.MaxExtrapolation, r.Period)
	}
	for i := 1; i < len(s.stamps); i++ {
		gap := s.stamps[i] - s.stamps[i-1]
		r.LongestGap = max(r.LongestGap, gap)
		if gap > r.MaxGap {
			r.Gaps++
		}
	}
	return s, nil
}

// named reports whether names has the name or topic of a stream.
func named(names []string, name, topic string) bool {
	return slices.Contains(names, name) || topic != "" && slices.Contains(names, topic)
}

// within returns the limit d in ns: defaultLimit if d is 0, unlimited if d is negative.
func within(d time.Duration, defaultLimit int64) int64 {
	switch {
	case d == 0:
		return defaultLimit
	case d < 0:
		return unlimited
	}
	return min(int64(d), unlimited)
}

// span returns the first and the last of sorted stamps, and the median period in ns.
func span(stamps []int64) (first, last, period int64) {
	n := len(stamps)
	if n == 0 {
		return 0, 0, defaultPeriod
	}
	if n == 1 {
		return stamps[0], stamps[0], defaultPeriod
	}
	steps := make([]int64, n-1)
	for i := range steps {
		steps[i] = stamps[i+1] - stamps[i]
	}
	slices.Sort(steps)
	return stamps[0], stamps[n-1], steps[(n-2)/2]
}

// row returns the values of the i-th sample.
func (s *series) row(i int) []float64 {
	width := len(s.kinds)
	return s.values[i*width : (i+1)*width]
}

// interpret sets kinds and halves. It finds the columns that form rotations.
func (s *series) interpret() error {
	columns := s.vector.Columns
	s.kinds, s.halves = make([]Interp, len(columns)), make([]float64, len(columns))
	for i, c := range columns {
		s.kinds[i] = c.Interp
		if c.Interp > Unwrap {
			return fmt.Errorf("stream %s: column %s has an unknown interpolation: %v", s.vector.Name, c.Name, c.Interp)
		}
		s.halves[i] = math.Pi
		if c.Unit == "deg" {
			s.halves[i] = 180
		}
	}
	auto := func(kind Interp, names ...string) {
		for i := range columns {
			match := len(columns)-i >= len(names)
			for k := 0; match && k < len(names); k++ {
				match = columns[i+k].Name == names[k] && columns[i+k].Interp == Auto
			}
			if match {
				for k := range names {
					s.kinds[i+k] = kind
				}
			}
		}
	}
	auto(Euler, "rx", "ry", "rz")
	auto(Quaternion, "qx", "qy", "qz", "qw")
	for i := 0; i < len(columns); {
		n := together(s.kinds[i])
		for k := range n {
			if i+k == len(columns) || s.kinds[i+k] != s.kinds[i] {
				return fmt.Errorf("stream %s: a rotation of %d columns begins with %s, but has only %d", s.vector.Name,
					n, columns[i].Name, k)
			}
		}
		i += n
	}
	return nil
}

// together returns the number of columns that form one value of kind k.
func together(k Interp) int {
	switch k {
	case Euler:
		return 3
	case Quaternion:
		return 4
	}
	return 1
}

// resolve replaces Auto, and applies HoldColumns and LinearColumns. An option for one column of a rotation applies to
// the whole rotation.
func (s *series) resolve(o *Options) {
	for i := 0; i < len(s.kinds); {
		n := together(s.kinds[i])
		among := func(names []string) bool {
			return slices.ContainsFunc(s.vector.Columns[i:i+n],
				func(c Column) bool { return named(names, c.Name, s.vector.Name+"/"+c.Name) })
		}
		kind := s.kinds[i]
		switch {
		case among(o.HoldColumns):
			kind = Hold
		case among(o.LinearColumns), kind == Unwrap:
			kind = Linear
		case kind == Auto:
			kind = Linear
			if among([]string{"status", "mode", "err", "error"}) || s.few(i) {
				kind = Hold
			}
		}
		for end := i + n; i < end; i++ {
			s.kinds[i] = kind
		}
	}
}

// few reports whether a column has at most 16 different values, all whole numbers.
func (s *series) few(column int) bool {
	var seen []float64
	for i := range s.stamps {
		x := s.row(i)[column]
		if x != x || slices.Contains(seen, x) {
			continue
		}
		if x != math.Trunc(x) || len(seen) == 16 {
			return false
		}
		seen = append(seen, x)
	}
	return len(seen) > 0
}

// clean reports whether the samples are in order, complete and finite.
func (s *series) clean() bool {
	for i, t := range s.stamps {
		if i > 0 && t <= s.stamps[i-1] || !s.valid(i) {
			return false
		}
	}
	return !slices.ContainsFunc(s.values, IsMissing)
}

// valid reports whether the i-th sample of the vector is usable.
func (s *series) valid(i int) bool {
	if !valid(s.vector.Stamps[i]) {
		return false
	}
	sample, width := s.vector.Row(i), len(s.kinds)
	for c := range width {
		if x := sample[c]; x-x != 0 && !IsMissing(x) {
			return false
		}
		if s.kinds[c] == Quaternion && (c == 0 || s.kinds[c-1] != Quaternion) {
			for q := c; q < width && s.kinds[q] == Quaternion; q += 4 {
				n := quaternion(sample[q : q+4])
				if d := n.dot(n); d == 0 || math.IsInf(d, 0) {
					return false
				}
			}
		}
	}
	return true
}

// sort copies the valid samples in time order, merges samples with equal stamps and fills in missing values.
func (s *series) sort() {
	v, width, r := s.vector, len(s.kinds), s.report
	order := r.order(v.Stamps, s.valid)
	s.stamps, s.values = make([]int64, 0, len(order)), make([]float64, 0, len(order)*width)
	for _, i := range order {
		sample := v.Row(i)
		if n := len(s.stamps); n > 0 && s.stamps[n-1] == v.Stamps[i] {
			r.Duplicates++
			for c, x := range sample {
				if !IsMissing(x) {
					s.row(n - 1)[c] = x
				}
			}
			continue
		}
		s.stamps = append(s.stamps, v.Stamps[i])
		s.values = append(s.values, sample...)
	}
	for i := range s.stamps {
		for c, x := range s.row(i) {
			switch {
			case !IsMissing(x):
			case i == 0:
				s.row(i)[c] = math.NaN()
			default:
				s.row(i)[c] = s.row(i - 1)[c]
				if x := s.row(i)[c]; x == x {
					r.Carried++
				}
			}
		}
	}
}

// valid reports whether a stamp is within the limits of stamps.
func valid(stamp int64) bool { return stamp > -unlimited && stamp < unlimited }

// order returns the indices of the valid items of a stream in time order. It counts items that are invalid or out of
// order.
func (r *StreamReport) order(stamps []int64, valid func(i int) bool) (order []int) {
	latest := int64(math.MinInt64)
	for i, t := range stamps {
		if !valid(i) {
			r.Invalid++
			continue
		}
		order = append(order, i)
		if t < latest {
			r.OutOfOrder++
		}
		latest = max(latest, t)
	}
	if r.OutOfOrder > 0 {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(stamps[i], stamps[j]) })
	}
	return order
}

// unwrap makes the columns of kind Unwrap continuous.
func (s *series) unwrap() {
	if !slices.Contains(s.kinds, Unwrap) {
		return
	}
	if len(s.values) > 0 && &s.values[0] == &s.vector.Values[0] {
		s.values = slices.Clone(s.values)
	}
	for i := 1; i < len(s.stamps); i++ {
		before := s.row(i - 1)
		for c, x := range s.row(i) {
			if y := before[c]; s.kinds[c] == Unwrap && y == y {
				turn := 2 * s.halves[c]
				s.row(i)[c] = x + turn*math.Round((y-x)/turn)
			}
		}
	}
}

// sample writes the values at t into row, NaN for unknown values. It returns why values are unknown, "" if all are
// known. t never decreases.
func (s *series) sample(t int64, row []float64) (why string) {
	n := len(s.stamps)
	for s.at+1 < n && s.stamps[s.at+1] <= t {
		s.at++
	}
	switch {
	case n == 0:
		why = WhyEmpty
	case s.at < 0 && (s.asOf || s.stamps[0]-t > s.extrapolation):
		why = WhyBefore
	case s.at == n-1 && !s.forever && t-s.stamps[s.at] > s.extrapolation:
		why = WhyBehind
	}
	if why != "" {
		for c := range row {
			row[c] = math.NaN()
		}
		return why
	}
	from := s.row(max(s.at, 0))
	to, gap, u := from, int64(0), 0.0
	if s.at >= 0 && s.stamps[s.at] != t {
		switch {
		case s.forever:
		case s.asOf:
			gap = t - s.stamps[s.at]
		case s.at < n-1:
			to, gap = s.row(s.at+1), s.stamps[s.at+1]-s.stamps[s.at]
			u = float64(t-s.stamps[s.at]) / float64(gap)
		}
	}
	for c := 0; c < len(row); c += together(s.kinds[c]) {
		s.column(row, c, from, to, u)
		if gap > s.report.MaxGap && s.kinds[c] != Hold {
			why = WhyGap
			for k := range together(s.kinds[c]) {
				row[c+k] = math.NaN()
			}
		}
	}
	for c, x := range row {
		if x != x && s.known[c] && why == "" {
			why = WhyIncomplete
		}
	}
	return why
}

// column interpolates column c, or the columns of the rotation that begins at c, between two samples. u is from 0, at
// from, to 1, at to.
func (s *series) column(row []float64, c int, from, to []float64, u float64) {
	switch half := s.halves[c]; {
	case s.kinds[c] == Euler && u == 0:
		for k := c; k < c+3; k++ {
			row[k] = wrap(from[k], half)
		}
	case s.kinds[c] == Euler:
		var e, f euler
		for k := range e {
			e[k], f[k] = from[c+k]*math.Pi/half, to[c+k]*math.Pi/half
		}
		for k, angle := range e.turn(f, u) {
			row[c+k] = angle * half / math.Pi
		}
	case s.kinds[c] == Quaternion && u == 0:
		copy(row[c:c+4], from[c:c+4])
	case s.kinds[c] == Quaternion:
		q := slerp(quaternion(from[c:c+4]), quaternion(to[c:c+4]), u)
		copy(row[c:], q[:])
	case s.kinds[c] == Hold || u == 0 || from[c] == to[c]:
		row[c] = from[c]
	default:
		row[c] = (1-u)*from[c] + u*to[c]
	}
}

// columns returns the columns of the vector with the interpolation that rows use.
func (s *series) columns() []Column {
	columns := slices.Clone(s.vector.Columns)
	for c := range columns {
		columns[c].Interp = s.kinds[c]
		if s.asOf {
			columns[c].Interp = Hold
		}
	}
	return columns
}
