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
	omitted, lines, signals := b.data.Omitted, len(b.data.LogLines), len(b.data.Signals)
	fields, parameters := len(b.data.Fields), len(b.data.Parameters)
	for round := 0; ; round++ {
		text, err := json.Marshal(&b.data)
		if err != nil {
			return fmt.Errorf("write a report: %w", err)
		}
		if b.options.MaxSize == 0 || int64(len(text)) <= b.options.MaxSize {
			return nil
		}
		if round == 8 {
			return fmt.Errorf("the report of %s has %s where %s are allowed; allow more with --max-size", b.data.Name,
				human.Bytes(int64(len(text))), human.Bytes(b.options.MaxSize))
		}
		for i := range b.data.Cameras {
			b.data.Cameras[i].Thumbs = half(b.data.Cameras[i].Thumbs)
		}
		for i := range b.data.Episodes {
			for j := range b.data.Episodes[i].Cameras {
				b.data.Episodes[i].Cameras[j].Thumbs = half(b.data.Episodes[i].Cameras[j].Thumbs)
			}
			for _, p := range b.data.Episodes[i].Panels {
				for j := range p.Columns {
					p.Columns[j].Low, p.Columns[j].High = lower(p.Columns[j].Low), higher(p.Columns[j].High)
				}
			}
		}
		b.data.Clouds, b.data.LogLines = half(b.data.Clouds), half(b.data.LogLines)
		if round >= fewCurves {
			b.data.Parameters = half(b.data.Parameters)
			b.data.Signals = half(b.data.Signals)
			b.data.Fields = slices.DeleteFunc(b.data.Fields, func(f Field) bool {
				return !slices.ContainsFunc(b.data.Signals, func(s Signal) bool {
					return s.Topic == f.Topic && s.Path == f.Path
				})
			})
		}
		b.data.Omitted = slices.Clip(omitted)
		for _, kind := range []struct {
			n    int
			noun string
		}{
			{lines - len(b.data.LogLines), "line"}, {signals - len(b.data.Signals), "curve"},
			{fields - len(b.data.Fields), "field"}, {parameters - len(b.data.Parameters), "parameter"},
		} {
			if kind.n > 0 {
				text := human.Count(kind.n, "more "+kind.noun) + ", for want of space: --max-size"
				b.data.Omitted = append(b.data.Omitted, text)
			}
		}
		for i := range b.data.Topics {
			b.data.Topics[i].Density = means(b.data.Topics[i].Density)
		}
		for i := range b.data.Signals {
			b.data.Signals[i].Low, b.data.Signals[i].High = lower(b.data.Signals[i].Low), higher(b.data.Signals[i].High)
		}
		for i := range b.data.Tracks {
			t := &b.data.Tracks[i]
			t.Points, t.Speed = half(t.Points), half(t.Speed)
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
