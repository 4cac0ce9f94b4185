package align

import "slices"

// frames is a cleaned Track: frames in time order, no two with equal stamps.
type frames struct {
	track   *Track
	stamps  []int64
	index   []int  // by frame, its index in the track; nil: 0, 1, 2, …
	asOf    bool   // a row takes the latest frame
	missing string // Options.MissingImage, but MissingBlack in place of MissingDrop for an optional camera
	report  *TrackReport
	at      int // index of the last frame at or before the current row, or -1
}

func newFrames(t *Track, o *Options) *frames {
	f := &frames{track: t, stamps: t.Stamps, asOf: o.Image == ImageAsOf, missing: o.MissingImage, at: -1}
	if named(o.Optional, t.Name, t.Topic) && f.missing == MissingDrop {
		f.missing = MissingBlack
	}
	r := &TrackReport{StreamReport: StreamReport{Name: t.Name, Samples: len(t.Stamps), Unstamped: t.Unstamped},
		Damaged: t.Damaged, Damage: t.Damage}
	f.report = r
	for i, s := range t.Stamps {
		if !valid(s) || i > 0 && s <= t.Stamps[i-1] {
			f.sort()
			break
		}
	}
	r.First, r.Last, r.Period = span(f.stamps)
	r.MaxSkew = r.Period / 2
	if f.asOf {
		r.MaxSkew = r.Period
	}
	r.MaxSkew = within(o.MaxImageSkew, r.MaxSkew)
	return f
}

// sort brings frames into time order. It keeps the last of several frames with equal stamps.
func (f *frames) sort() {
	f.index = f.report.order(f.track.Stamps, func(i int) bool { return valid(f.track.Stamps[i]) })
	kept := f.index[:0]
	for k, i := range f.index {
		if k+1 < len(f.index) && f.track.Stamps[f.index[k+1]] == f.track.Stamps[i] {
			f.report.Duplicates++
			continue
		}
		kept = append(kept, i)
	}
	f.index = kept
	f.stamps = make([]int64, len(kept))
	for k, i := range kept {
		f.stamps[k] = f.track.Stamps[i]
	}
}

// frame returns the index in the track of the frame for the row at t, -1 for none. why is the reason to drop the row,
// "" to keep it. t never decreases.
func (f *frames) frame(t int64) (index int, why string) {
	n := len(f.stamps)
	for f.at+1 < n && f.stamps[f.at+1] <= t {
		f.at++
	}
	near := f.at
	if !f.asOf && f.at+1 < n && (f.at < 0 || f.stamps[f.at+1]-t < t-f.stamps[f.at]) {
		near = f.at + 1
	}
	if near < 0 || max(f.stamps[near]-t, t-f.stamps[near]) > f.report.MaxSkew {
		near = -1
		switch {
		case n == 0 && f.missing != MissingBlack:
			return -1, WhyEmpty
		case f.missing == MissingDrop, f.missing == MissingHold && f.at < 0:
			return -1, WhyNoFrame
		case f.missing == MissingHold:
			near = f.at
		}
	}
	if near >= 0 && f.index != nil {
		near = f.index[near]
	}
	return near, ""
}

// count fills in the report from the stamps of rows and the frame indices of rows.
func (f *frames) count(stamps []int64, rows []int) {
	r := f.report
	used := slices.Clone(rows)
	for k, i := range rows {
		if i < 0 {
			r.Missing++
			continue
		}
		skew := max(f.track.Stamps[i]-stamps[k], stamps[k]-f.track.Stamps[i])
		r.WorstSkew = max(r.WorstSkew, skew)
		if skew > r.MaxSkew {
			r.Held++
		}
	}
	slices.Sort(used)
	r.Used = len(slices.Compact(used))
	if r.Missing > 0 {
		r.Used--
	}
}
