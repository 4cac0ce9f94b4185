package episode

import (
	"fmt"
	"math"
	"slices"

	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
)

// Table has the rows of a training set from which an Episode was read. Each stream of the episode's arms has a sample
// for each row, or none at all.
type Table struct {
	Stamps []int64 // ns since the Unix epoch
	Frames [][]int // by camera of the episode and row, the index of the frame; -1: none; -2: damagedFrame
	// Action is the source of actions for streams without commands: "next-state" or "copy".
	Action string
}

// damagedFrame stands in Table.Frames for a frame that DamagedFrames.Without removed.
const damagedFrame = -2

// rows returns the rows of e as they are. It drops rows that have a damaged image, and with align.GapsDrop also rows
// that lack a number of a column in which other rows have numbers.
func (t *Table) rows(e *Episode, o align.Options) (*Rows, error) {
	n := len(t.Stamps)
	r := &Rows{Episode: e, Options: o}
	type nanRow struct {
		report *align.VectorReport
		row    int
	}
	var lacking []nanRow
	dropped := make([]bool, n)
	drop := func(s *align.StreamReport, row int, why string) {
		s.Drop(why, row, t.Stamps[row])
		dropped[row] = true
	}
	for i, c := range e.Cameras {
		report := &align.TrackReport{StreamReport: align.StreamReport{Name: c.Name, Samples: len(c.Stamps)},
			Damaged: c.Damaged, Damage: c.Damage}
		for row, frame := range t.Frames[i] {
			if frame == damagedFrame {
				drop(&report.StreamReport, row, align.WhyDamaged)
			}
		}
		r.Report.Cameras = append(r.Report.Cameras, report)
	}
	for _, a := range e.Arms {
		rows := ArmRows{Arm: a}
		for role, v := range a.Streams {
			if v == nil || absent(v) && Role(role) >= CommandPose {
				continue
			}
			stream := &align.Vector{Name: v.Name, Topic: v.Topic, Columns: v.Columns, Values: v.Values}
			if absent(v) {
				stream.Values = slices.Repeat([]float64{math.NaN()}, n*len(v.Columns))
			}
			rows.Streams[role] = stream
			report := &align.VectorReport{StreamReport: align.StreamReport{Name: v.Name, Samples: len(v.Stamps)}}
			known := make([]bool, len(v.Columns))
			for k, x := range stream.Values {
				known[k%len(known)] = known[k%len(known)] || x-x == 0
			}
			for row := range n {
				lacks, nan := false, false
				for c, x := range stream.Row(row) {
					lacks, nan = lacks || known[c] && x-x != 0, nan || x != x
				}
				switch {
				case lacks && o.Gaps != align.GapsNaN:
					drop(&report.StreamReport, row, align.WhyUnknown)
				case nan:
					lacking = append(lacking, nanRow{report, row})
				}
			}
			r.Report.Vectors = append(r.Report.Vectors, report)
		}
		rows.setActions(t.Action)
		r.Arms = append(r.Arms, rows)
	}
	for _, l := range lacking {
		if !dropped[l.row] {
			l.report.NaN++
		}
	}
	return r, r.drop(t, dropped)
}

// drop sets the stamps and frames of the kept rows, and removes the dropped rows from the arms.
func (r *Rows) drop(t *Table, dropped []bool) error {
	var kept []int
	for row, drop := range dropped {
		if drop {
			continue
		}
		if row > 0 && dropped[row-1] && kept != nil {
			r.Report.Holes++
		}
		kept = append(kept, row)
		r.Stamps = append(r.Stamps, t.Stamps[row])
	}
	r.Report.Points, r.Report.Rows, r.Report.Dropped = len(dropped), len(kept), len(dropped)-len(kept)
	if len(kept) == 0 {
		return fmt.Errorf("none of %s is left: %s", plural.Count(len(dropped), "row"), r.Report.Losses())
	}
	for i, ofCamera := range t.Frames {
		frames := make([]int, 0, len(kept))
		report, last := r.Report.Cameras[i], -1
		for _, row := range kept {
			frames = append(frames, ofCamera[row])
			switch f := ofCamera[row]; {
			case f < 0:
				report.Missing++
			case f != last:
				report.Used, last = report.Used+1, f
			}
		}
		r.Frames = append(r.Frames, frames)
	}
	for i := range r.Arms {
		for role, stream := range r.Arms[i].Streams {
			if stream == nil {
				continue
			}
			rows := *stream
			rows.Stamps, rows.Values = r.Stamps, make([]float64, 0, len(kept)*len(rows.Columns))
			for _, row := range kept {
				rows.Values = append(rows.Values, stream.Row(row)...)
			}
			r.Arms[i].Streams[role] = &rows
		}
	}
	r.finish()
	return nil
}
