package align

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pick returns a random element of list.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// randomStamps returns about n stamps, about a period apart. Some are doubled, missing, in long gaps or out of order.
func randomStamps(r *rand.Rand, n int, period int64) []int64 {
	t := int64(1_700_000_000_000_000_000) + r.Int64N(3*period)
	var stamps []int64
	for range n {
		t += period/2 + r.Int64N(period)
		switch r.IntN(40) {
		case 0:
			t += 20 * period
		case 1:
			t += period
		case 2:
			stamps = append(stamps, t)
		}
		stamps = append(stamps, t-t%1e6*int64(r.IntN(2)))
	}
	for range n / 20 {
		i, j := r.IntN(len(stamps)), r.IntN(len(stamps))
		stamps[i], stamps[j] = stamps[j], stamps[i]
	}
	return stamps
}

func randomVector(r *rand.Rand, name string, n int) *Vector {
	v := &Vector{Name: name, Columns: pick(r,
		[]Column{{Name: "a", Interp: Linear}},
		[]Column{{Name: "a", Interp: Linear}, {Name: "b", Interp: Hold}, {Name: "c", Interp: Linear}},
		[]Column{{Name: "b", Interp: Hold}},
		[]Column{{Name: "x", Interp: Linear}, {Name: "rx", Interp: Euler}, {Name: "ry", Interp: Euler},
			{Name: "rz", Interp: Euler}},
	)}
	v.Stamps = randomStamps(r, n, pick(r, int64(10e6), 33e6, 100e6))
	faults := r.IntN(2) == 0
	for range v.Stamps {
		for _, c := range v.Columns {
			x := 3 * r.NormFloat64()
			if c.Name == "ry" {
				x = 3 * (r.Float64() - 0.5) // within ±π/2, where the Euler angles of a rotation are unique
			}
			if faults && r.IntN(30) == 0 {
				x = pick(r, math.NaN(), math.Inf(1), Missing(), Missing())
			}
			v.Values = append(v.Values, x)
		}
	}
	return v
}

func randomOptions(r *rand.Rand) Options {
	limit := func() time.Duration {
		return pick(r, 0, 0, Unlimited, 20*time.Millisecond, 250*time.Millisecond)
	}
	return Options{
		Timeline: pick(r, "", "camera:camera_1", "union", "fixed:29.97", "topic:vector_0"),
		Ends:     pick(r, "", EndsClamp), MaxExtrapolation: limit(), MaxGap: limit(), Gaps: pick(r, "", GapsNaN),
		Image: pick(r, "", ImageAsOf), MaxImageSkew: limit(), MissingImage: pick(r, "", MissingHold, MissingBlack),
		Causal: r.IntN(4) == 0,
	}
}

func TestRandomStreams(t *testing.T) {
	aligned, kept := 0, 0
	seeds := uint64(200)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 8))
		var s Streams
		for i := range 2 + r.IntN(2) {
			s.Cameras = append(s.Cameras, &Track{Name: fmt.Sprintf("camera_%d", i),
				Stamps: randomStamps(r, 20+r.IntN(80), 33e6)})
		}
		for i := range 1 + r.IntN(3) {
			s.Vectors = append(s.Vectors, randomVector(r, fmt.Sprintf("vector_%d", i), 30+r.IntN(200)))
		}
		if r.IntN(3) == 0 {
			s.Commands = append(s.Commands, randomVector(r, "command", 1+r.IntN(50)))
		}
		o := randomOptions(r)
		name := fmt.Sprintf("seed %d, %+v", seed, o)
		n := newNaive(s, o)
		want := n.rows(naiveTimeline(n))
		table, err := Align(s, o)
		if err != nil {
			require.Less(t, len(want), 2, "%s: %v", name, err)
			continue
		}
		require.Len(t, want, len(table.Stamps), name)
		aligned++
		kept += len(want)
		for i, row := range want {
			at := fmt.Sprintf("%s, row %d", name, i)
			require.Equal(t, row.stamp, table.Stamps[i], at)
			for c := range s.Cameras {
				require.Equal(t, row.frames[c], table.Frames[c][i], at)
			}
			for k, rows := range table.Vectors {
				requireRow(t, row.vectors[k], rows, i, at)
			}
			for k, rows := range table.Commands {
				requireRow(t, row.commands[k], rows, i, at)
			}
		}
	}
	require.Greater(t, aligned, int(seeds/2), "alignments")
	require.Greater(t, kept, 15*int(seeds), "rows")
}

// requireRow compares the i-th row of a stream. It compares rotations as matrices.
func requireRow(t *testing.T, want []float64, rows *Vector, i int, at string) {
	got := rows.Row(i)
	for c := 0; c < len(want); c++ {
		if rows.Columns[c].Name == "rx" {
			if math.IsNaN(want[c] + want[c+1] + want[c+2]) {
				require.True(t, math.IsNaN(got[c]+got[c+1]+got[c+2]), at)
				c += 2
				continue
			}
			a, b := matrixOf(want[c:]), matrixOf(got[c:])
			for k := range a {
				require.InDeltaSlice(t, a[k][:], b[k][:], 1e-6, at)
			}
			for _, angle := range got[c : c+3] {
				require.True(t, angle > -math.Pi && angle <= math.Pi, at)
			}
			c += 2
			continue
		}
		require.Equal(t, math.IsNaN(want[c]), math.IsNaN(got[c]), "%s: column %d of %s: want %v, got %v", at, c,
			rows.Name,
			want[c], got[c])
		if !math.IsNaN(want[c]) {
			require.InDelta(t, want[c], got[c], 1e-9, at)
		}
	}
}

// naiveTimeline returns the expected times of the timeline.
func naiveTimeline(n *naive) (points []int64) {
	switch n.o.Timeline {
	case "":
		for _, f := range n.cameras[0] {
			points = append(points, f.stamp)
		}
	case "camera:camera_1":
		for _, f := range n.cameras[1] {
			points = append(points, f.stamp)
		}
	case "topic:vector_0":
		points = stampsOf(n.vectors[0])
	case "union":
		first := map[int64]int64{} // first stamp by whole ms
		for _, c := range n.cameras {
			for _, f := range c {
				if t, ok := first[f.stamp/1e6]; !ok || f.stamp < t {
					first[f.stamp/1e6] = f.stamp
				}
			}
		}
		points = slices.Sorted(maps.Values(first))
	case "fixed:29.97":
		from, to := n.span()
		for k := 0; ; k++ {
			t := from + int64(math.Round(float64(k)*1e9/29.97))
			if t > to {
				break
			}
			points = append(points, t)
		}
	}
	return points
}

// span returns the expected first and last time of a timeline of a fixed rate.
func (n *naive) span() (from, to int64) {
	first, last := int64(math.MaxInt64), int64(0) // of all streams
	from, to = 0, math.MaxInt64
	extend := func(stamps []int64) (a, b int64) {
		a, b = stamps[0], stamps[len(stamps)-1]
		first, last = min(first, a), max(last, b)
		return a, b
	}
	for _, c := range n.cameras {
		a, b := extend([]int64{c[0].stamp, c[len(c)-1].stamp})
		if n.o.MissingImage == "" {
			from, to = max(from, a), min(to, b)
		}
	}
	for _, v := range n.vectors {
		if len(v) == 0 {
			continue
		}
		a, b := extend(stampsOf(v))
		early, late := int64(0), int64(0)
		if n.o.Ends == EndsClamp {
			switch n.o.MaxExtrapolation {
			case 0:
				late = naivePeriod(stampsOf(v))
			case Unlimited:
				late = 1e18
			default:
				late = int64(n.o.MaxExtrapolation)
			}
			early = late
			if n.o.Causal {
				early = 0
			}
		}
		from, to = max(from, a-early), min(to, b+late)
	}
	for _, v := range n.commands {
		if len(v) > 0 {
			a, _ := extend(stampsOf(v))
			from = max(from, a)
		}
	}
	return max(from, first), min(to, last)
}
