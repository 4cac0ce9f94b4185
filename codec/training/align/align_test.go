package align

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = int64(time.Millisecond)

// everyMs returns n stamps, the first at begin ms, step ms apart.
func everyMs(begin, step int64, n int) (stamps []int64) {
	for i := range int64(n) {
		stamps = append(stamps, (begin+i*step)*ms)
	}
	return stamps
}

// numbers returns a stream of one column, "a". Its samples are step ms apart and begin at 0.
func numbers(name string, step int64, values ...float64) *Vector {
	return &Vector{Name: name, Columns: []Column{{Name: "a"}}, Stamps: everyMs(0, step, len(values)), Values: values}
}

// ramp returns n numbers: 0.5, 1.5 and so on.
func ramp(n int) (values []float64) {
	for i := range n {
		values = append(values, float64(i)+0.5)
	}
	return values
}

// frameTrack returns a camera of n frames, step ms apart.
func frameTrack(step int64, n int) *Track {
	return &Track{Name: "camera_0", Stamps: everyMs(0, step, n)}
}

// TestOneSample aligns a stream with one sample. It gives one row, or more if the end or a command is held.
func TestOneSample(t *testing.T) {
	s := Streams{Cameras: []*Track{frameTrack(30, 10)}, Vectors: []*Vector{numbers("one", 1, 7)}}
	_, err := Align(s, Options{})
	require.EqualError(t, err, "of 10 rows only 1 are left, at least 2 are needed: one: 9 rows dropped: after its "+
		"last sample")

	table, err := Align(s, Options{Ends: EndsClamp})
	require.NoError(t, err)
	require.Len(t, table.Stamps, 4, "the sample is held for 100 ms")

	table, err = Align(s, Options{Ends: EndsClamp, MaxExtrapolation: Unlimited})
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]float64{7}, 10), table.Vectors[0].Values)

	table, err = Align(Streams{Cameras: s.Cameras, Commands: s.Vectors,
		Vectors: []*Vector{numbers("a", 30, ramp(10)...)}},
		Options{})
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]float64{7}, 10), table.Commands[0].Values, "the last command holds")
}

func TestNothing(t *testing.T) {
	camera, state := frameTrack(30, 10), numbers("a", 30, ramp(10)...)
	tests := []struct {
		name    string
		streams Streams
		options Options
		err     string // "": no error
	}{
		{"no cameras", Streams{Vectors: []*Vector{state}}, Options{},
			"there are no cameras; if that is right, use --partial"},
		{"no cameras, partial", Streams{Vectors: []*Vector{state}}, Options{Partial: true},
			`timeline "camera": there are no cameras; choose another timeline, such as topic:NAME`},
		{"no cameras, partial, topic", Streams{Vectors: []*Vector{state}}, Options{Partial: true, Timeline: "topic:a"},
			""},
		{"no cameras, partial, fixed", Streams{Vectors: []*Vector{state}}, Options{Partial: true, Timeline: "fixed:20"},
			""},
		{"no states", Streams{Cameras: []*Track{camera}}, Options{},
			"there is no sample of a state; if that is right, use --partial"},
		{"no states, partial", Streams{Cameras: []*Track{camera}}, Options{Partial: true}, ""},
		{"no samples", Streams{Cameras: []*Track{camera}, Vectors: []*Vector{numbers("a", 1)}}, Options{},
			"there is no sample of a state; if that is right, use --partial"},
		{"some without samples", Streams{Cameras: []*Track{camera}, Vectors: []*Vector{state, numbers("b", 1)}},
			Options{},
			""},
		{"no frames", Streams{Cameras: []*Track{{Name: "c"}}, Vectors: []*Vector{state}}, Options{},
			`timeline "camera": c has no frames; choose another timeline`},
		{"no frames, union", Streams{Cameras: []*Track{{Name: "c"}}, Vectors: []*Vector{state}},
			Options{Timeline: "union"},
			`timeline "union" has no rows; choose another one`},
		{
			"a camera without frames", Streams{Cameras: []*Track{camera, {Name: "c"}}, Vectors: []*Vector{state}},
			Options{},
			"of 10 rows only 0 are left, at least 2 are needed: c: 10 rows dropped: no samples",
		},
		{"a camera without frames, black", Streams{Cameras: []*Track{camera, {Name: "c"}}, Vectors: []*Vector{state}},
			Options{MissingImage: MissingBlack}, ""},
		{"a camera without frames, optional", Streams{Cameras: []*Track{camera, {Name: "c"}},
			Vectors: []*Vector{state}},
			Options{Optional: []string{"c"}}, ""},
		{"nothing at all", Streams{}, Options{Partial: true, Timeline: "fixed:10"},
			`timeline "fixed:10": there are no samples and no frames`},
		{
			"no common time", Streams{Cameras: []*Track{{Name: "c", Stamps: everyMs(10_000, 30, 5)}},
				Vectors: []*Vector{state}},
			Options{Timeline: "fixed:10"},
			`timeline "fixed:10": the streams do not overlap: one begins at 10.000, another has ended at 0.270`,
		},
		{"another topic", Streams{Cameras: []*Track{camera}, Vectors: []*Vector{state}}, Options{Timeline: "topic:b"},
			`timeline "topic:b": unknown stream; streams are ["camera_0" "a"]`},
		{"another camera", Streams{Cameras: []*Track{camera}, Vectors: []*Vector{state}}, Options{Timeline: "camera:b"},
			`timeline "camera:b": unknown camera; streams are ["camera_0" "a"]`},
		{
			"numbers are missing", Streams{Cameras: []*Track{camera},
				Vectors: []*Vector{{Name: "v", Columns: make([]Column, 2), Stamps: make([]int64, 3),
					Values: make([]float64, 5)}}},
			Options{}, "stream v has 5 numbers for 3 samples of 2 columns, want 6",
		},
		{
			"columns are missing", Streams{Cameras: []*Track{camera},
				Vectors: []*Vector{{Name: "v", Columns: []Column{{Name: "rx", Interp: Euler}, {Name: "a"}}}}},
			Options{}, "stream v: a rotation of 3 columns begins with rx, but has only 1",
		},
		{
			"too many rows", Streams{Cameras: []*Track{{Name: "c", Stamps: []int64{0, 1e18}}},
				Vectors: []*Vector{{Name: "v", Columns: make([]Column, 1), Stamps: []int64{0, 1e18},
					Values: []float64{1, 2}}}},
			Options{Timeline: "fixed:100"}, `timeline "fixed:100": 100000000000 rows are too many, at most 16777216 ` +
				`are possible; look for wrong stamps from 0.000 to 1000000000.000`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table, err := Align(test.streams, test.options)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Greater(t, len(table.Stamps), 4)
		})
	}
}

func TestTimelines(t *testing.T) {
	s := Streams{
		Cameras: []*Track{{Name: "camera_0", Stamps: everyMs(0, 30, 5)},
			{Name: "camera_1", Topic: "/c1", Stamps: []int64{10 * ms, 30 * ms, 60*ms + 999, 90*ms - 1}}},
		Vectors: []*Vector{{Name: "arm_0/joint", Topic: "/joints", Columns: []Column{{Name: "a"}},
			Stamps: everyMs(5, 40, 4),
			Values: ramp(4)}},
	}
	tests := []struct {
		timeline string
		window   time.Duration
		want     []int64
	}{
		{"", 0, everyMs(0, 30, 5)},
		{"camera", 0, everyMs(0, 30, 5)},
		{"camera:camera_1", 0, s.Cameras[1].Stamps},
		{"camera:/c1", 0, s.Cameras[1].Stamps},
		{"union", 0, []int64{0, 10 * ms, 30 * ms, 60 * ms, 90*ms - 1, 90 * ms, 120 * ms}},
		{"union", 2 * time.Millisecond, []int64{0, 10 * ms, 30 * ms, 60 * ms, 90*ms - 1, 120 * ms}},
		{"topic:/joints", 0, everyMs(5, 40, 4)},
		{"topic:arm_0/joint", 0, everyMs(5, 40, 4)},
		{"topic:camera_0", 0, everyMs(0, 30, 5)},
		{"fixed:20", 0, everyMs(10, 50, 2)},
		{"fixed:30", 0, []int64{10 * ms, 43_333_333, 76_666_667}},
	}
	for _, test := range tests {
		a := &aligner{options: Options{Timeline: test.timeline, UnionWindow: test.window}.withDefaults()}
		for _, c := range s.Cameras {
			a.cameras = append(a.cameras, newFrames(c, &a.options))
		}
		for _, v := range s.Vectors {
			x, err := newSeries(v, &a.options, false)
			require.NoError(t, err)
			a.series = append(a.series, x)
		}
		points, err := a.timeline()
		require.NoError(t, err)
		require.Equal(t, test.want, points, test.timeline)
	}
}

// TestClean aligns samples with every kind of fault. Valid samples must be used, and the report must count the faults.
func TestClean(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	v := &Vector{
		Name: "v", Columns: []Column{{Name: "a", Interp: Linear}, {Name: "b", Interp: Linear}}, Unstamped: 3,
		Stamps: []int64{20 * ms, 0, 10 * ms, 10 * ms, 10 * ms, 30 * ms, 40 * ms, 50 * ms, math.MaxInt64, 60 * ms},
		Values: []float64{2, 20, 0, Missing(), 1, Missing(), 8, 10, 9, Missing(), nan, 30, 4, inf, 5, Missing(), 1, 1,
			Missing(), 60},
	}
	before := slices.Clone(v.Values)
	camera := &Track{Name: "camera_0", Stamps: []int64{60 * ms, 0, 20 * ms, 20 * ms, math.MinInt64, 40 * ms},
		Unstamped: 1}
	table, err := Align(Streams{Cameras: []*Track{camera}, Vectors: []*Vector{v}}, Options{Gaps: GapsNaN})
	require.NoError(t, err)
	for i := range before {
		require.Equal(t, math.Float64bits(before[i]), math.Float64bits(v.Values[i]), "the input is not changed")
	}
	require.Equal(t, []int64{0, 20 * ms, 40 * ms, 60 * ms}, table.Stamps)
	require.Equal(t, [][]int{{1, 3, 5, 0}}, table.Frames, "the last of several frames at one time is used")
	require.True(t, math.IsNaN(table.Vectors[0].Values[1]), "b is unknown at 0 ms")
	table.Vectors[0].Values[1] = -1
	// At 40 ms, the row is interpolated between 20 ms and 50 ms. b is missing at 50 ms and stays 20. At 60 ms, a is
	// missing and stays 5.
	require.InDeltaSlice(t, []float64{0, -1, 2, 20, 4, 20, 5, 60}, table.Vectors[0].Values, 1e-12)

	r := table.Report.Vectors[0]
	require.Equal(t, VectorReport{
		StreamReport: StreamReport{
			Name: "v", Samples: 10, Duplicates: 2, OutOfOrder: 4, Invalid: 3, Unstamped: 3, First: 0, Last: 60 * ms,
			Period: 10 * ms,
		}, Carried: 2, Between: 2, MaxGap: 100 * ms, LongestGap: 30 * ms, NaN: 1,
	}, *r)
	c := table.Report.Cameras[0]
	require.Equal(t, TrackReport{
		StreamReport: StreamReport{Name: "camera_0", Samples: 6, Duplicates: 1, OutOfOrder: 4, Invalid: 1, Unstamped: 1,
			First: 0, Last: 60 * ms, Period: 20 * ms},
		MaxSkew: 10 * ms, Used: 4,
	}, *c)
	require.Contains(t, table.Report.String(), "v: 10 samples, 2 with stamps of others, 4 out of order, 3 invalid, "+
		"3 without stamps, 2 missing values carried over, 1 row with NaN\n")

	table, err = Align(Streams{Cameras: []*Track{camera}, Vectors: []*Vector{v}}, Options{})
	require.NoError(t, err)
	require.Equal(t, []int64{20 * ms, 40 * ms, 60 * ms}, table.Stamps)
	require.Equal(t, map[string]int{WhyIncomplete: 1}, table.Report.Vectors[0].Dropped)
}

func TestGaps(t *testing.T) {
	v := &Vector{
		Name: "v", Columns: []Column{{Name: "a"}, {Name: "status"}},
		Stamps: []int64{0, 10 * ms, 20 * ms, 220 * ms, 230 * ms},
		Values: []float64{0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5},
	}
	s := Streams{Cameras: []*Track{frameTrack(10, 24)}, Vectors: []*Vector{v}}
	table, err := Align(s, Options{})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 10 * ms, 20 * ms, 220 * ms, 230 * ms}, table.Stamps)
	require.Equal(t, v.Values, table.Vectors[0].Values, "values at the times of samples are exact")
	require.Equal(t, 1, table.Report.Holes)
	require.Equal(t, map[string]int{WhyGap: 19}, table.Report.Vectors[0].Dropped)
	require.Equal(t, 1, table.Report.Vectors[0].Gaps)
	require.Contains(t, table.Report.String(), "5 rows of 24, 19 dropped, 1 hole\n")

	table, err = Align(s, Options{Gaps: GapsNaN})
	require.NoError(t, err)
	require.Len(t, table.Stamps, 24)
	row := table.Vectors[0].Row(10)
	require.True(t, math.IsNaN(row[0]))
	require.Equal(t, 3.0, row[1], "columns of kind Hold have no gaps")

	table, err = Align(s, Options{MaxGap: Unlimited})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{3, 3}, table.Vectors[0].Row(12), 1e-12)

	table, err = Align(s, Options{Causal: true})
	require.NoError(t, err)
	require.Len(t, table.Stamps, 5+10, "up to 100 ms old")
	require.Equal(t, []float64{2.5, 3}, table.Vectors[0].Row(12))
	require.Equal(t, Hold, table.Vectors[0].Columns[0].Interp)
}

func TestInterpretation(t *testing.T) {
	seventeen := make([]float64, 20)
	for i := range seventeen {
		seventeen[i] = float64(i % 17)
	}
	tests := []struct {
		column  string
		values  []float64
		options Options
		want    Interp
	}{
		{"gripper", []float64{1, 1, 2, 2, 3}, Options{}, Hold},
		{"gripper", []float64{1, 1, 2, 2.5, 3}, Options{}, Linear},
		{"gripper", seventeen[:16], Options{}, Hold},
		{"gripper", seventeen, Options{}, Linear},
		{"status", seventeen, Options{}, Hold},
		{"status", seventeen, Options{LinearColumns: []string{"status"}}, Linear},
		{"gripper", seventeen, Options{HoldColumns: []string{"v/gripper"}}, Hold},
		{"gripper", seventeen, Options{HoldColumns: []string{"w/gripper"}}, Linear},
		{"gripper", []float64{1, 1, 2}, Options{LinearColumns: []string{"v/gripper"}}, Linear},
	}
	for _, test := range tests {
		v := numbers("v", 10, test.values...)
		v.Columns[0].Name = test.column
		table, err := Align(Streams{Cameras: []*Track{frameTrack(5, 30)}, Vectors: []*Vector{v}}, test.options)
		require.NoError(t, err)
		require.Equal(t, test.want, table.Vectors[0].Columns[0].Interp, "%+v", test)
		between := test.values[0]
		if test.want == Linear {
			between = (test.values[0] + test.values[1]) / 2
		}
		require.Equal(t, between, table.Vectors[0].Values[1])
	}

	v := &Vector{Name: "v"}
	for _, name := range []string{"x", "rx", "ry", "rz", "qx", "qy", "qz", "qw", "rx"} {
		v.Columns = append(v.Columns, Column{Name: name})
	}
	x, err := newSeries(v, &Options{}, false)
	require.NoError(t, err)
	require.Equal(t, []Interp{Linear, Euler, Euler, Euler, Quaternion, Quaternion, Quaternion, Quaternion, Linear},
		x.kinds)
}

// TestRotationsStayTogether names single columns of rotations in HoldColumns.
func TestRotationsStayTogether(t *testing.T) {
	for name, want := range map[string][]Interp{
		"rx": {Linear, Hold, Hold, Hold, Quaternion, Quaternion, Quaternion, Quaternion},
		"rz": {Linear, Hold, Hold, Hold, Quaternion, Quaternion, Quaternion, Quaternion},
		"qz": {Linear, Euler, Euler, Euler, Hold, Hold, Hold, Hold},
	} {
		v := &Vector{Name: "v", Stamps: everyMs(0, 10, 3)}
		for _, column := range []string{"x", "rx", "ry", "rz", "qx", "qy", "qz", "qw"} {
			v.Columns = append(v.Columns, Column{Name: column})
		}
		for i := range 3 {
			v.Values = append(v.Values, float64(i)+0.5, float64(i), 0, 0, 0, 0, 0, 1)
		}
		table, err := Align(Streams{Cameras: []*Track{frameTrack(5, 4)}, Vectors: []*Vector{v}},
			Options{HoldColumns: []string{name}})
		require.NoError(t, err)
		var kinds []Interp
		for _, c := range table.Vectors[0].Columns {
			kinds = append(kinds, c.Interp)
		}
		require.Equal(t, want, kinds)
	}
}

func TestFrames(t *testing.T) {
	// camera_1 has a frame every 30 ms, but none at 60 ms and none after 120 ms.
	camera := &Track{Name: "camera_1", Stamps: []int64{0, 30 * ms, 90 * ms, 120 * ms}}
	s := Streams{Cameras: []*Track{frameTrack(15, 14), camera}, Vectors: []*Vector{numbers("a", 30, ramp(10)...)}}
	tests := []struct {
		name    string
		options Options
		want    []int // frames of the rows at 0, 15, 30, … 195 ms; -2: the row is dropped
		worst   int64
	}{
		{"nearest", Options{}, []int{0, 0, 1, 1, -2, 2, 2, 2, 3, 3, -2, -2, -2, -2}, 15 * ms},
		{"hold", Options{MissingImage: MissingHold}, []int{0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3}, 75 * ms},
		{"black", Options{MissingImage: MissingBlack}, []int{0, 0, 1, 1, -1, 2, 2, 2, 3, 3, -1, -1, -1, -1}, 15 * ms},
		{"as of", Options{Image: ImageAsOf}, []int{0, 0, 1, 1, 1, -2, 2, 2, 3, 3, 3, -2, -2, -2}, 30 * ms},
		{"causal", Options{Causal: true}, []int{0, 0, 1, 1, 1, -2, 2, 2, 3, 3, 3, -2, -2, -2}, 30 * ms},
		{"as of, near", Options{Image: ImageAsOf, MaxImageSkew: 20 * time.Millisecond},
			[]int{0, 0, 1, 1, -2, -2, 2, 2, 3, 3, -2, -2, -2, -2}, 15 * ms},
		{"exact", Options{MaxImageSkew: 1}, []int{0, -2, 1, -2, -2, -2, 2, -2, 3, -2, -2, -2, -2, -2}, 0},
		{"any", Options{MaxImageSkew: Unlimited}, []int{0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3}, 75 * ms},
		{"optional", Options{Optional: []string{"camera_1"}}, []int{0, 0, 1, 1, -1, 2, 2, 2, 3, 3, -1, -1, -1, -1},
			15 * ms},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table, err := Align(s, test.options)
			require.NoError(t, err)
			var want []int
			var stamps []int64
			missing := 0
			for i, frame := range test.want {
				if frame != -2 {
					want = append(want, frame)
					stamps = append(stamps, int64(i)*15*ms)
				}
				if frame == -1 {
					missing++
				}
			}
			require.Equal(t, want, table.Frames[1])
			require.Equal(t, stamps, table.Stamps)
			r := table.Report.Cameras[1]
			require.Equal(t, test.worst, r.WorstSkew)
			require.Equal(t, missing, r.Missing)
			require.Equal(t, 14-len(want), r.Dropped[WhyNoFrame])
			require.Equal(t, 4, r.Used)
		})
	}
	table, err := Align(s, Options{MissingImage: MissingHold})
	require.NoError(t, err)
	require.Equal(t, 5, table.Report.Cameras[1].Held)

	late := &Track{Name: "late", Stamps: everyMs(90, 30, 4)}
	table, err = Align(Streams{Cameras: []*Track{s.Cameras[0], late}, Vectors: s.Vectors},
		Options{MissingImage: MissingHold})
	require.NoError(t, err)
	require.Equal(t, 75*ms, table.Stamps[0], "earlier rows have no frame to hold")
}

func TestEnds(t *testing.T) {
	v := numbers("a", 10, ramp(5)...) // 0 to 40 ms
	camera := &Track{Name: "c", Stamps: everyMs(-30, 10, 11)}
	s := Streams{Cameras: []*Track{camera}, Vectors: []*Vector{v}}
	tests := []struct {
		options     Options
		first, last int64 // ms
	}{
		{Options{}, 0, 40},
		{Options{Ends: EndsClamp}, -10, 50},
		{Options{Ends: EndsClamp, MaxExtrapolation: 25 * time.Millisecond}, -20, 60},
		{Options{Ends: EndsClamp, MaxExtrapolation: Unlimited}, -30, 70},
		{Options{Ends: EndsClamp, MaxExtrapolation: Unlimited, Causal: true}, 0, 70},
	}
	for _, test := range tests {
		table, err := Align(s, test.options)
		require.NoError(t, err)
		require.Equal(t, everyMs(test.first, 10, int(test.last-test.first)/10+1), table.Stamps, "%+v", test.options)
		values := table.Vectors[0].Values
		require.Equal(t, []float64{0.5, 4.5}, []float64{values[0], values[len(values)-1]},
			"the nearest sample, and no line through two")
	}
}

func TestUnwrap(t *testing.T) {
	v := &Vector{
		Name: "v", Columns: []Column{{Name: "a", Unit: "deg", Interp: Unwrap}, {Name: "b", Unit: "rad", Interp: Unwrap},
			{Name: "c", Unit: "deg"}},
		Stamps: everyMs(0, 10, 4), Values: []float64{170, 3, 170, -170, -3, -170, -10, 3, -10, 170, 3.5, -293.299},
	}
	table, err := Align(Streams{Cameras: []*Track{frameTrack(5, 7)}, Vectors: []*Vector{v}}, Options{})
	require.NoError(t, err)
	column := func(c int) (values []float64) {
		for i := range table.Stamps {
			values = append(values, table.Vectors[0].Row(i)[c])
		}
		return values
	}
	require.InDeltaSlice(t, []float64{170, 180, 190, 270, 350, 440, 530}, column(0), 1e-9)
	require.InDeltaSlice(t, []float64{3, math.Pi, 2*math.Pi - 3, math.Pi, 3, 3.25, 3.5}, column(1), 1e-9)
	require.Equal(t, -293.299, column(2)[6], "joints are not wrapped")
	require.Equal(t, 0.0, column(2)[1])
}

func TestOptional(t *testing.T) {
	s := Streams{
		Cameras: []*Track{frameTrack(10, 10)},
		Vectors: []*Vector{numbers("a", 10, ramp(10)...),
			{Name: "late", Topic: "/late", Columns: []Column{{Name: "b"}},
				Stamps: everyMs(50, 10, 3), Values: ramp(3)}},
	}
	table, err := Align(s, Options{Optional: []string{"/late"}})
	require.NoError(t, err)
	require.Len(t, table.Stamps, 10)
	require.Equal(t, 7, table.Report.Vectors[1].NaN)
	require.Equal(t, 0.5, table.Vectors[1].Values[5])
}

func TestOptions(t *testing.T) {
	require.NoError(t, Options{}.Check())
	for text, o := range map[string]Options{
		`timeline "foo": want camera, camera:NAME, union, fixed:RATE or topic:NAME`:       {Timeline: "foo"},
		`timeline "fixed:0": invalid rate "0": want 0.001 to 1000000, as in fixed:30`:     {Timeline: "fixed:0"},
		`timeline "fixed:NaN": invalid rate "NaN": want 0.001 to 1000000, as in fixed:30`: {Timeline: "fixed:NaN"},
		`timeline "topic:": the name of the stream is missing`:                            {Timeline: "topic:"},
		`timeline "camera:": the name of the camera is missing`:                           {Timeline: "camera:"},
		`timeline "union:1": union takes no name`:                                         {Timeline: "union:1"},
		`ends "x": want one of drop, clamp`:                                               {Ends: "x"},
		`gaps "x": want one of drop, nan`:                                                 {Gaps: "x"},
		`image "x": want one of nearest, asof`:                                            {Image: "x"},
		`missing_image "x": want one of drop, hold, black`:                                {MissingImage: "x"},
		`action "x": want one of auto, command, next-state, copy`:                         {Action: "x"},
		`stamps "x": want one of header, receive`:                                         {Stamps: "x"},
		`union_window -1s: want 0 or more`:                                                {UnionWindow: -time.Second},
		`column "a" is among both hold_columns and linear_columns`: {HoldColumns: []string{"b", "a"},
			LinearColumns: []string{"a"}},
	} {
		require.EqualError(t, o.Check(), text)
	}
	require.Equal(t, 29.97, Options{Timeline: "fixed:29.97"}.Rate())
	require.Zero(t, Options{}.Rate())
}

// TestAttributes changes every option, and finds the change in the attributes.
func TestAttributes(t *testing.T) {
	defaults := Options{}.Attributes()
	require.Equal(t, map[string]string{
		"timeline": "camera", "union_window": "1ms", "ends": "drop", "max_extrapolation": "period",
		"max_gap": "5*period,100ms", "gaps": "drop",
		"image": "nearest", "max_image_skew": "period/2", "missing_image": "drop", "causal": "false", "action": "auto",
		"stamps":            "header",
		"continuous_joints": "false", "hold_columns": "", "linear_columns": "", "optional": "", "partial": "false",
	}, defaults)
	kind := reflect.TypeFor[Options]()
	require.Equal(t, kind.NumField()-1, len(defaults), "KeepRows stands for all others")
	for i := range kind.NumField() {
		var o Options
		switch f := reflect.ValueOf(&o).Elem().Field(i).Addr().Interface().(type) {
		case *string:
			*f = "other"
		case *time.Duration:
			*f = Unlimited
		case *bool:
			*f = true
		case *[]string:
			*f = []string{"other"}
		}
		require.NotEqual(t, defaults, o.Attributes(), kind.Field(i).Name)
	}
	require.Equal(t, "1.5s", Options{MaxGap: 1500 * time.Millisecond}.Attributes()["max_gap"])
	require.Equal(t, "period", Options{Causal: true}.Attributes()["max_image_skew"])
}

func TestInterpText(t *testing.T) {
	for i := Auto; i <= Unwrap; i++ {
		text, err := i.MarshalText()
		require.NoError(t, err)
		var back Interp
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, i, back)
	}
	var i Interp
	require.Error(t, i.UnmarshalText([]byte("cubic")))
	require.Equal(t, "Interp(9)", Interp(9).String())
}

func TestMissing(t *testing.T) {
	require.True(t, math.IsNaN(Missing()))
	require.True(t, IsMissing(Missing()))
	require.False(t, IsMissing(math.NaN()))
	require.False(t, IsMissing(0))
}

func TestReportJSON(t *testing.T) {
	table, err := Align(Streams{Cameras: []*Track{frameTrack(10, 12)},
		Vectors: []*Vector{numbers("a", 10, ramp(10)...)}},
		Options{})
	require.NoError(t, err)
	text, err := json.Marshal(table.Report)
	require.NoError(t, err)
	var r struct {
		Rows    int
		Vectors []struct {
			Name    string
			Samples int
			Dropped map[string]int
		}
	}
	require.NoError(t, json.Unmarshal(text, &r))
	require.Equal(t, 10, r.Rows)
	require.Equal(t, "a", r.Vectors[0].Name)
	require.Equal(t, 10, r.Vectors[0].Samples)
	require.Equal(t, map[string]int{WhyBehind: 2}, r.Vectors[0].Dropped)
}
