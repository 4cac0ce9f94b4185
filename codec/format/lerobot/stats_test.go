package lerobot

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// unmarshalPictures reads the statistics of pictures.
func unmarshalPictures[T any](text []byte, to *map[string]T) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*to = map[string]T{}
	for key, value := range all {
		var one T
		if json.Unmarshal(value, &one) == nil {
			(*to)[key] = one
		}
	}
	return nil
}

func TestStats(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 100, 5000} {
		numbers := make([]float64, n)
		for i := range numbers {
			numbers[i] = random.NormFloat64()*3 + 100
		}
		s := columnStats(n, 1, func(row, _ int) float64 { return numbers[row] })
		sum, squares := 0.0, 0.0
		for _, x := range numbers {
			sum += x
		}
		for _, x := range numbers {
			squares += (x - sum/float64(n)) * (x - sum/float64(n))
		}
		sorted := slices.Sorted(slices.Values(numbers))
		require.Equal(t, []float64{float64(n)}, s.values["count"])
		require.Equal(t, sorted[0], s.values["min"][0])
		require.Equal(t, sorted[n-1], s.values["max"][0])
		require.InDelta(t, sum/float64(n), s.values["mean"][0], 1e-9)
		require.InDelta(t, math.Sqrt(squares/float64(n)), s.values["std"][0], 1e-9)
		bin := (sorted[n-1] - sorted[0]) / quantileBins
		for name, q := range quantiles {
			// As many as q of them are below, to a bin of the histogram; where none are before, it is the lowest edge.
			at := sorted[max(int(math.Ceil(q*float64(n)))-1, 0)]
			require.InDelta(t, at, s.values[name][0], 1.01*bin, "%s of %d", name, n)
		}
	}
}

func TestStatsOfOneValue(t *testing.T) {
	for _, x := range []float64{0, 7, -1e9} {
		s := columnStats(5, 1, func(int, int) float64 { return x })
		for _, name := range statNames {
			want := map[string]float64{"count": 5, "std": 0}
			if _, ok := want[name]; !ok {
				want[name] = x
			}
			require.InDelta(t, want[name], s.values[name][0], 1e-9, name)
		}
	}
}

func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var all []float64
	var parts []*stats
	for _, n := range []int{2, 50, 7} {
		part := make([]float64, n)
		for i := range part {
			part[i] = random.Float64() * float64(n)
		}
		all = append(all, part...)
		parts = append(parts, columnStats(n, 1, func(row, _ int) float64 { return part[row] }))
	}
	want := columnStats(len(all), 1, func(row, _ int) float64 { return all[row] })
	got := merge(parts)
	for _, name := range []string{"min", "max", "mean", "std", "count"} {
		require.InDelta(t, want.values[name][0], got.values[name][0], 1e-9, name)
	}
	for name, q := range quantiles {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range parts {
			low, high = min(low, p.values[name][0]), max(high, p.values[name][0])
		}
		if q > 0.5 {
			low = high
		}
		require.Equal(t, low, got.values[name][0], name)
	}
}

// The numbers are from LeRobot's documentation of estimate_num_samples.
func TestSampled(t *testing.T) {
	for n, want := range map[int]int{1: 1, 50: 50, 400: 100, 1000: 177, 2000: 299, 5000: 594, 10000: 1000,
		20000: 1681} {
		indices := sampled(n)
		require.Len(t, indices, want)
		require.Zero(t, indices[0])
		require.Equal(t, n-1, indices[want-1])
		require.True(t, slices.IsSorted(indices))
	}
	require.Equal(t, 1, every(299, 200))
	require.Equal(t, 4, every(640, 480))
	require.Equal(t, 5, every(480, 800))
}
