package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tapedeck/codec/text/human"
)

// fewCurves is the first round in which fit also omits curves.
const fewCurves = 4

// fit reduces the data to MaxSize. In each round it omits every second picture, cloud and log line, and halves the
// number of bins. It fails if the data are still too large.
func (b *builder) fit() error {
	omitted, lines, signals := b.Omitted, len(b.LogLines), len(b.Signals)
	fields, parameters := len(b.Fields), len(b.Parameters)
	for round := 0; ; round++ {
		text, err := json.Marshal(&b.Data)
		if err != nil {
			return fmt.Errorf("write a report: %w", err)
		}
		if b.options.MaxSize == 0 || int64(len(text)) <= b.options.MaxSize {
			return nil
		}
		if round == 8 {
			return fmt.Errorf("the report of %s has %s where %s are allowed; allow more with --max-size", b.Name,
				human.Bytes(int64(len(text))), human.Bytes(b.options.MaxSize))
		}
		for i := range b.Cameras {
			b.Cameras[i].Thumbs = half(b.Cameras[i].Thumbs)
		}
		for i := range b.Episodes {
			for j := range b.Episodes[i].Cameras {
				b.Episodes[i].Cameras[j].Thumbs = half(b.Episodes[i].Cameras[j].Thumbs)
			}
			for _, p := range b.Episodes[i].Panels {
				for j := range p.Columns {
					p.Columns[j].Low, p.Columns[j].High = lower(p.Columns[j].Low), higher(p.Columns[j].High)
				}
			}
		}
		b.Clouds, b.LogLines = half(b.Clouds), half(b.LogLines)
		if round >= fewCurves {
			b.Parameters = half(b.Parameters)
			b.Signals = half(b.Signals)
			b.Fields = slices.DeleteFunc(b.Fields, func(f Field) bool {
				return !slices.ContainsFunc(b.Signals, func(s Signal) bool {
					return s.Topic == f.Topic && s.Path == f.Path
				})
			})
		}
		b.Omitted = slices.Clip(omitted)
		for _, kind := range []struct {
			n    int
			noun string
		}{{lines - len(b.LogLines), "line"}, {signals - len(b.Signals), "curve"}, {fields - len(b.Fields), "field"},
			{parameters - len(b.Parameters), "parameter"}} {
			if kind.n > 0 {
				b.Omitted = append(b.Omitted, human.Count(kind.n, "more "+kind.noun)+", for want of space: --max-size")
			}
		}
		for i := range b.Topics {
			b.Topics[i].Density = means(b.Topics[i].Density)
		}
		for i := range b.Signals {
			b.Signals[i].Low, b.Signals[i].High = lower(b.Signals[i].Low), higher(b.Signals[i].High)
		}
		for i := range b.Tracks {
			b.Tracks[i].Points, b.Tracks[i].Speed = half(b.Tracks[i].Points), half(b.Tracks[i].Speed)
		}
	}
}

// half returns every second element, beginning with the first one.
func half[T any](list []T) []T {
	for i := range (len(list) + 1) / 2 {
		list[i] = list[2*i]
	}
	return list[:(len(list)+1)/2]
}

// lower replaces pairs of values by the lower one. NaN is no value.
func lower[L ~[]float32](list L) L { return pairs(list, func(a, b float32) bool { return a <= b }) }

// higher replaces pairs of values by the higher one. NaN is no value.
func higher[L ~[]float32](list L) L { return pairs(list, func(a, b float32) bool { return a >= b }) }

// means replaces pairs of values by their mean.
func means(list []float32) []float32 {
	if len(list) <= fewestBins {
		return list
	}
	for i := range len(list) / 2 {
		list[i] = (list[2*i] + list[2*i+1]) / 2
	}
	return list[:len(list)/2]
}

const fewestBins = 64 // shorter lists are not halved

// pairs replaces pairs of values by the better one.
func pairs[L ~[]float32](list L, better func(a, b float32) bool) L {
	if len(list) <= fewestBins {
		return list
	}
	for i := range len(list) / 2 {
		a, b := list[2*i], list[2*i+1]
		if math.IsNaN(float64(b)) || better(a, b) {
			b = a
		}
		list[i] = b
	}
	return list[:len(list)/2]
}
