package lerobot

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// statNames are the statistics of a feature, by LeRobot's names.
var statNames = []string{"min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"}

// quantiles maps the names of the quantiles in statNames to their fractions.
var quantiles = map[string]float64{"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}

// quantileBins is the number of bins in LeRobot's histograms.
const quantileBins = 5000

// stats are the statistics of a feature in an episode or a dataset.
type stats struct {
	values map[string][]float64 // by name in statNames, one number per column; "count" has only one number
	images bool                 // the columns are the channels of images
}

// newStats returns statistics of count rows, or count images, without columns.
func newStats(count int, images bool) *stats {
	return &stats{values: map[string][]float64{"count": {float64(count)}}, images: images}
}

// add appends the statistics of a column. The column contains values[i] weights[i] times. scale converts the values to
// the unit of the statistics.
func (s *stats) add(values []float64, weights []int64, scale float64) {
	low, high, sum, total := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for i, x := range values {
		if w := float64(weights[i]); w > 0 {
			low, high, sum, total = min(low, x), max(high, x), sum+w*x, total+w
		}
	}
	mean, squares := sum/total, 0.0
	for i, x := range values {
		squares += float64(weights[i]) * (x - mean) * (x - mean)
	}
	set := func(name string, x float64) { s.values[name] = append(s.values[name], x*scale) }
	set("min", low)
	set("max", high)
	set("mean", mean)
	set("std", math.Sqrt(squares/total))
	for name, x := range histogramQuantiles(values, weights, low, high, total) {
		set(name, x)
	}
}

// histogramQuantiles returns quantiles as LeRobot computes them: from a histogram, by linear interpolation within a
// bin. A quantile in the first bin is the lower edge of the bin. low and high are the extreme values, total is the sum
// of weights.
func histogramQuantiles(values []float64, weights []int64, low, high, total float64) map[string]float64 {
	low, high = low-1e-10, high+1e-10
	edge := func(i int) float64 { return low + (high-low)*float64(i)/quantileBins }
	counts := make([]float64, quantileBins)
	for i, x := range values {
		if weights[i] == 0 {
			continue
		}
		bin := 0
		if high > low {
			bin = min(max(int((x-low)/(high-low)*quantileBins), 0), quantileBins-1)
		}
		counts[bin] += float64(weights[i])
	}
	result := map[string]float64{}
	for name, q := range quantiles {
		target, before := q*total, 0.0
		bin := 0
		for bin < quantileBins && before+counts[bin] < target {
			before += counts[bin]
			bin++
		}
		switch bin {
		case 0:
			result[name] = edge(0)
		case quantileBins:
			result[name] = edge(quantileBins)
		default:
			result[name] = edge(bin) + (target-before)/counts[bin]*(edge(bin+1)-edge(bin))
		}
	}
	return result
}

// columnStats returns the statistics of n rows with width columns.
func columnStats(n, width int, value func(row, column int) float64) *stats {
	s := newStats(n, false)
	values, weights := make([]float64, n), make([]int64, n)
	for i := range weights {
		weights[i] = 1
	}
	for c := range width {
		for i := range values {
			values[i] = value(i, c)
		}
		s.add(values, weights, 1)
	}
	return s
}

// merge returns the statistics of a dataset, given the statistics of its episodes. Means and standard deviations are
// exact. As in LeRobot, q01, q10 and q50 are the minimum of the episodes' quantiles, q90 and q99 the maximum.
func merge(episodes []*stats) *stats {
	total := 0.0
	for _, e := range episodes {
		total += e.values["count"][0]
	}
	m := newStats(int(total), episodes[0].images)
	for c := range episodes[0].values["mean"] {
		mean, variance := 0.0, 0.0
		for _, e := range episodes {
			mean += e.values["mean"][c] * e.values["count"][0] / total
		}
		for _, e := range episodes {
			std, delta := e.values["std"][c], e.values["mean"][c]-mean
			variance += (std*std + delta*delta) * e.values["count"][0] / total
		}
		for _, name := range statNames {
			var x float64
			switch name {
			case "count":
				continue
			case "mean":
				x = mean
			case "std":
				x = math.Sqrt(variance)
			default:
				x = episodes[0].values[name][c]
				for _, e := range episodes[1:] {
					if name == "min" || strings.HasPrefix(name, "q") && quantiles[name] <= 0.5 {
						x = min(x, e.values[name][c])
					} else {
						x = max(x, e.values[name][c])
					}
				}
			}
			m.values[name] = append(m.values[name], x)
		}
	}
	return m
}

// MarshalJSON implements json.Marshaler. Each statistic of images is an array of the shape C×1×1, for C channels.
func (s *stats) MarshalJSON() ([]byte, error) {
	object := map[string]any{}
	for name, values := range s.values {
		switch {
		case name == "count":
			object[name] = []int64{int64(values[0])}
		case s.images:
			nested := make([][][]float64, len(values))
			for i, x := range values {
				nested[i] = [][]float64{{x}}
			}
			object[name] = nested
		default:
			object[name] = slices.Clone(values)
		}
	}
	return json.Marshal(object)
}

// sampleIndices returns which of n images LeRobot uses for statistics, as indices: all images if there are up to 100,
// else about n to the power of 0.75, at least 100 and at most 10,000, evenly spaced.
func sampleIndices(n int) []int {
	root := math.Sqrt(float64(n)) // unlike math.Pow(n, 0.75), two roots are exact for fourth powers
	count := max(min(100, n), min(int(root*math.Sqrt(root)), 10000))
	indices := make([]int, count)
	for i := range indices {
		if count > 1 {
			indices[i] = int(math.RoundToEven(float64(i) * float64(n-1) / float64(count-1)))
		}
	}
	return indices
}

// sampleStep returns n if LeRobot uses only every nth pixel of every nth row of an image for statistics.
func sampleStep(width, height int) int {
	if max(width, height) < 300 {
		return 1
	}
	if width > height {
		return width / 150
	}
	return height / 150
}
