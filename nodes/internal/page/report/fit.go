package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tapedeck/codec/text/human"
)

const (
	maxRounds       = 8  // number of rounds of fit before it fails
	roundsAllCurves = 4  // number of first rounds in which fit keeps all curves, fields and parameters
	minBins         = 64 // lists with at most this number of bins keep their bins
)

// fit reduces the data until they fit Options.MaxSize as JSON. Each round halves the numbers of pictures, clouds, log
// lines and track points, and the number of bins. Later rounds also halve the numbers of curves and parameters. fit
// fails if the data are still too large after maxRounds.
func (b *builder) fit() error {
	complete := b.data
	for round := 0; ; round++ {
		text, err := json.Marshal(&b.data)
		if err != nil {
			return fmt.Errorf("write a report: %w", err)
		}
		if b.options.MaxSize == 0 || int64(len(text)) <= b.options.MaxSize {
			return nil
		}
		if round == maxRounds {
			return fmt.Errorf("the report of %s has %s where %s are allowed; allow more with --max-size", b.data.Name,
				human.Bytes(int64(len(text))), human.Bytes(b.options.MaxSize))
		}
		b.data.thinOut()
		if round >= roundsAllCurves {
			b.data.dropCurves()
		}
		b.data.mergeBins()
		b.data.Omitted = append(slices.Clip(complete.Omitted), b.data.missing(&complete)...)
	}
}

// thinOut drops every second picture, cloud, log line and track point.
func (d *Data) thinOut() {
	for i := range d.Cameras {
		d.Cameras[i].Thumbs = everySecond(d.Cameras[i].Thumbs)
	}
	for i := range d.Episodes {
		for j := range d.Episodes[i].Cameras {
			d.Episodes[i].Cameras[j].Thumbs = everySecond(d.Episodes[i].Cameras[j].Thumbs)
		}
	}
	for i := range d.Tracks {
		t := &d.Tracks[i]
		t.Points, t.Speed = everySecond(t.Points), everySecond(t.Speed)
	}
	d.Clouds, d.LogLines = everySecond(d.Clouds), everySecond(d.LogLines)
}

// dropCurves drops every second parameter and curve, and the fields that have no curve.
func (d *Data) dropCurves() {
	d.Parameters = everySecond(d.Parameters)
	d.Signals = everySecond(d.Signals)
	d.Fields = slices.DeleteFunc(d.Fields, func(f Field) bool {
		return !slices.ContainsFunc(d.Signals, func(s Signal) bool {
			return s.Topic == f.Topic && s.Path == f.Path
		})
	})
}

// mergeBins merges pairs of neighbouring bins of the densities and curves.
func (d *Data) mergeBins() {
	for i := range d.Topics {
		d.Topics[i].Density = pairMeans(d.Topics[i].Density)
	}
	for i := range d.Signals {
		s := &d.Signals[i]
		s.Low, s.High = pairMinima(s.Low), pairMaxima(s.High)
	}
	for i := range d.Episodes {
		for _, p := range d.Episodes[i].Panels {
			for j := range p.Columns {
				c := &p.Columns[j]
				c.Low, c.High = pairMinima(c.Low), pairMaxima(c.High)
			}
		}
	}
}

// missing returns texts for Omitted with the numbers of things that complete has and d does not.
func (d *Data) missing(complete *Data) (texts []string) {
	for _, kind := range []struct {
		noun  string
		count int // number of missing things
	}{
		{"line", len(complete.LogLines) - len(d.LogLines)},
		{"curve", len(complete.Signals) - len(d.Signals)},
		{"field", len(complete.Fields) - len(d.Fields)},
		{"parameter", len(complete.Parameters) - len(d.Parameters)},
	} {
		if kind.count > 0 {
			texts = append(texts, human.Count(kind.count, "more "+kind.noun)+", for want of space: --max-size")
		}
	}
	return texts
}

// everySecond removes every second element of list, beginning with the second one.
func everySecond[T any](list []T) []T {
	for i := range (len(list) + 1) / 2 {
		list[i] = list[2*i]
	}
	return list[:(len(list)+1)/2]
}

// pairMinima replaces each pair of bins by the lower value. If one value is NaN, it takes the other one.
func pairMinima[L ~[]float32](bins L) L {
	return mergePairs(bins, func(a, b float32) float32 {
		if math.IsNaN(float64(b)) || a <= b {
			return a
		}
		return b
	})
}

// pairMaxima replaces each pair of bins by the higher value. If one value is NaN, it takes the other one.
func pairMaxima[L ~[]float32](bins L) L {
	return mergePairs(bins, func(a, b float32) float32 {
		if math.IsNaN(float64(b)) || a >= b {
			return a
		}
		return b
	})
}

// pairMeans replaces each pair of bins by the mean of its values.
func pairMeans(bins []float32) []float32 {
	return mergePairs(bins, func(a, b float32) float32 { return (a + b) / 2 })
}

// mergePairs replaces each pair of bins by the result of merge. Lists of at most minBins stay as they are.
func mergePairs[L ~[]float32](bins L, merge func(a, b float32) float32) L {
	if len(bins) <= minBins {
		return bins
	}
	for i := range len(bins) / 2 {
		bins[i] = merge(bins[2*i], bins[2*i+1])
	}
	return bins[:len(bins)/2]
}
