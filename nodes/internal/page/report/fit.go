package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tapedeck/codec/text/human"
)

// fewCurves is the round from which on fit leaves out curves, too.
const fewCurves = 4

// fit leaves out every second picture, cloud and line of logs, and halves the parts of the time, until the data have
// the size that is wanted, or there is nothing left to leave out.
func (b *builder) fit() error {
	left, words, signals, fields, parameters := b.Left, len(b.Words), len(b.Signals), len(b.Fields), len(b.Parameters)
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
		b.Clouds, b.Words = half(b.Clouds), half(b.Words)
		if round >= fewCurves {
			b.Parameters = half(b.Parameters)
			b.Signals = half(b.Signals)
			b.Fields = slices.DeleteFunc(b.Fields, func(f Field) bool {
				return !slices.ContainsFunc(b.Signals, func(s Signal) bool {
					return s.Topic == f.Topic && s.Path == f.Path
				})
			})
		}
		b.Left = slices.Clip(left)
		for _, part := range []struct {
			n    int
			what string
		}{{words - len(b.Words), "line"}, {signals - len(b.Signals), "curve"}, {fields - len(b.Fields), "field"},
			{parameters - len(b.Parameters), "parameter"}} {
			if part.n > 0 {
				b.Left = append(b.Left, human.Count(part.n, "more "+part.what)+", for want of space: --max-size")
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

// half returns every second element, at least the first one.
func half[T any](list []T) []T {
	for i := range (len(list) + 1) / 2 {
		list[i] = list[2*i]
	}
	return list[:(len(list)+1)/2]
}

// lower and higher join pairs of values. NaN is no value.
func lower[L ~[]float32](list L) L { return pairs(list, func(a, b float32) bool { return a <= b }) }

func higher[L ~[]float32](list L) L { return pairs(list, func(a, b float32) bool { return a >= b }) }

// means joins pairs of values without NaN.
func means(list []float32) []float32 {
	if len(list) <= fewestBins {
		return list
	}
	for i := range len(list) / 2 {
		list[i] = (list[2*i] + list[2*i+1]) / 2
	}
	return list[:len(list)/2]
}

const fewestBins = 64

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
