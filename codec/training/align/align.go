package align

import (
	"errors"
	"fmt"
	"slices"

	"tapedeck/codec/text/plural"
)

// Streams are the inputs of Align.
type Streams struct {
	Cameras  []*Track
	Vectors  []*Vector // states
	Commands []*Vector // a row gets the last command at or before its time
}

// Table is the result of Align: rows in time order. Its vectors have a sample for each row, and columns without Auto.
type Table struct {
	Stamps   []int64   // ns since the Unix epoch, strictly increasing
	Frames   [][]int   // per camera and row, the index of the frame in its Track; -1 is none
	Vectors  []*Vector // in the order of Streams.Vectors
	Commands []*Vector // in the order of Streams.Commands
	Report   Report
}

// aligner holds the cleaned streams of one alignment.
type aligner struct {
	options Options
	cameras []*frames
	series  []*series // states, then commands
}

// Align puts streams on a timeline. A stream without samples drops no rows; its values are NaN. A camera without frames
// drops all rows, unless the options allow missing images. If fewer than two rows are kept, Align returns an error that
// lists why rows were dropped.
func Align(s Streams, o Options) (*Table, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	a := &aligner{options: o.withDefaults()}
	for _, t := range s.Cameras {
		a.cameras = append(a.cameras, newFrames(t, &a.options))
	}
	states := len(s.Vectors)
	for i, v := range slices.Concat(s.Vectors, s.Commands) {
		x, err := newSeries(v, &a.options, i >= states)
		if err != nil {
			return nil, err
		}
		a.series = append(a.series, x)
	}
	if !a.options.Partial {
		if len(s.Cameras) == 0 {
			return nil, errors.New("there are no cameras; if that is right, use --partial")
		}
		if !slices.ContainsFunc(a.series[:states], func(x *series) bool { return len(x.stamps) > 0 }) {
			return nil, errors.New("there is no sample of a state; if that is right, use --partial")
		}
	}
	points, err := a.timeline()
	if err != nil {
		return nil, err
	}
	return a.table(points, states)
}

// table samples every stream at points, and drops each row for which a stream has no value. states is the number of
// series of states.
func (a *aligner) table(points []int64, states int) (*Table, error) {
	n := len(points)
	dropped := make([]bool, n)
	t := &Table{Frames: make([][]int, len(a.cameras))}
	for c, f := range a.cameras {
		t.Frames[c] = make([]int, n)
		for i, point := range points {
			var why string
			t.Frames[c][i], why = f.frame(point)
			if why != "" {
				f.report.Drop(why, i, point)
				dropped[i] = true
			}
		}
	}
	var numbers []*Vector
	for _, x := range a.series {
		numbers = append(numbers, a.rows(x, points, dropped))
	}
	t.Vectors, t.Commands = numbers[:states], numbers[states:]
	t.Report.Points = n
	kept := 0
	t.Stamps = make([]int64, 0, n)
	for i, point := range points {
		if dropped[i] {
			continue
		}
		if i > 0 && dropped[i-1] && kept > 0 {
			t.Report.Holes++
		}
		t.Stamps = append(t.Stamps, point)
		for _, f := range t.Frames {
			f[kept] = f[i]
		}
		for _, v := range numbers {
			copy(v.Row(kept), v.Row(i))
		}
		kept++
	}
	t.Report.Rows, t.Report.Dropped = kept, n-kept
	for c, f := range a.cameras {
		t.Frames[c] = t.Frames[c][:kept]
		f.count(t.Stamps, t.Frames[c])
		t.Report.Cameras = append(t.Report.Cameras, f.report)
	}
	for i, x := range a.series {
		r := numbers[i]
		r.Stamps, r.Values = t.Stamps, r.Values[:kept*len(r.Columns)]
		x.finish(r)
		x.report.Between = between(x.stamps, t.Stamps)
		t.Report.Vectors = append(t.Report.Vectors, x.report)
	}
	if kept < 2 {
		return nil, fmt.Errorf("of %s only %d are left, at least 2 are needed: %s", plural.Count(n, "row"), kept,
			t.Report.Losses())
	}
	return t, nil
}

// rows samples a stream at all points and marks the rows that it drops.
func (a *aligner) rows(x *series, points []int64, dropped []bool) *Vector {
	r := &Vector{Name: x.vector.Name, Topic: x.vector.Topic, Columns: x.columns()}
	r.Values = make([]float64, len(points)*len(r.Columns))
	for i, point := range points {
		why := x.sample(point, r.Row(i))
		nan := x.optional || why == WhyEmpty || a.options.Gaps == GapsNaN && (why == WhyGap || why == WhyIncomplete)
		if why != "" && !nan {
			x.report.Drop(why, i, point)
			dropped[i] = true
		}
	}
	return r
}

// between returns how many of stamps are not in rows. Both are sorted.
func between(stamps, rows []int64) (n int) {
	for _, stamp := range stamps {
		for len(rows) > 0 && rows[0] < stamp {
			rows = rows[1:]
		}
		if len(rows) == 0 || rows[0] != stamp {
			n++
		}
	}
	return n
}

// finish counts the rows with NaN, and makes quaternions continuous: a quaternion changes its sign if that brings it
// nearer to the row before.
func (x *series) finish(r *Vector) {
	n := len(r.Columns)
	if n == 0 {
		return
	}
	for i := range len(r.Values) / n {
		row := r.Row(i)
		if slices.ContainsFunc(row, func(v float64) bool { return v != v }) {
			x.report.NaN++
		}
		if i == 0 {
			continue
		}
		before := r.Row(i - 1)
		for c := 0; c < n; c += together(x.kinds[c]) {
			if x.kinds[c] == Quaternion && quaternion(row[c:c+4]).dot(quaternion(before[c:c+4])) < 0 {
				for k := c; k < c+4; k++ {
					row[k] = -row[k]
				}
			}
		}
	}
}
