package lerobot

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// unmarshalPictures reads the statistics of the features with images from stats.json. Other features have numbers of
// another shape.
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

// TestStats compares the statistics of random numbers with their definitions.
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
			// The histogram's quantile is at most one bin from the exact quantile.
			exact := sorted[max(int(math.Ceil(q*float64(n)))-1, 0)]
			require.InDelta(t, exact, s.values[name][0], 1.01*bin, "%s of %d numbers", name, n)
		}
	}
}

// TestStatsOfOneValue computes statistics of equal numbers: min, max, mean and quantiles must be the number.
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

// TestMerge merges the statistics of three episodes. All but the quantiles must equal the statistics of all numbers.
func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var all []float64
	var episodes []*stats
	for _, n := range []int{2, 50, 7} {
		numbers := make([]float64, n)
		for i := range numbers {
			numbers[i] = random.Float64() * float64(n)
		}
		all = append(all, numbers...)
		episodes = append(episodes, columnStats(n, 1, func(row, _ int) float64 { return numbers[row] }))
	}
	want := columnStats(len(all), 1, func(row, _ int) float64 { return all[row] })
	got := merge(episodes)
	for _, name := range []string{"min", "max", "mean", "std", "count"} {
		require.InDelta(t, want.values[name][0], got.values[name][0], 1e-9, name)
	}
	for name, q := range quantiles {
		least, greatest := math.Inf(1), math.Inf(-1)
		for _, e := range episodes {
			least, greatest = min(least, e.values[name][0]), max(greatest, e.values[name][0])
		}
		want := least
		if q > 0.5 {
			want = greatest
		}
		require.Equal(t, want, got.values[name][0], name)
	}
}

// TestSampling compares numbers of sampled images with LeRobot's documentation of estimate_num_samples.
func TestSampling(t *testing.T) {
	for n, want := range map[int]int{1: 1, 50: 50, 400: 100, 1000: 177, 2000: 299, 5000: 594, 10000: 1000,
		20000: 1681} {
		indices := sampleIndices(n)
		require.Len(t, indices, want)
		require.Zero(t, indices[0])
		require.Equal(t, n-1, indices[want-1])
		require.True(t, slices.IsSorted(indices))
	}
	require.Equal(t, 1, sampleStep(299, 200))
	require.Equal(t, 4, sampleStep(640, 480))
	require.Equal(t, 5, sampleStep(480, 800))
}
