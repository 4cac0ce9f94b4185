package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

const (
	mostEpisodes = 100
	stripThumbs  = 12  // pictures of a camera in an episode
	panelBins    = 512 // bins of an episode
	mostArms     = 16
)

// BuildEpisodes reads the episodes of a data set. After each episode it calls read, which may be nil, with the number
// of episodes read so far.
func BuildEpisodes(source episode.Source, info *codec.Info, o Options, read func(n int) error) (*Data, error) {
	list, err := source.Episodes()
	if err != nil {
		return nil, err
	}
	b := &builder{options: o, density: newDensity(info.StartTime, info.EndTime), omitted: map[string]int{}}
	for _, t := range info.Topics {
		r := b.density.row(t.Channel)
		r.count += t.MessageCount
	}
	bad, cameras := 0, 1
	for _, e := range list {
		cameras = max(cameras, len(e.Cameras))
	}
	thumbs := min(stripThumbs, max(3, 600/(cameras*max(1, min(len(list), mostEpisodes)))))
	for i, e := range list {
		if i == mostEpisodes {
			b.omitted[human.Count(len(list)-i, "more episode")]++
			break
		}
		shown := b.episode(e, thumbs)
		if !shown.Good {
			bad++
		}
		b.data.Episodes = append(b.data.Episodes, shown)
		if read != nil {
			if err := read(i + 1); err != nil {
				return nil, err
			}
		}
	}
	b.describe(info)
	for _, r := range b.density.rows {
		t := Topic{Name: r.topic, Type: r.kind, Messages: r.count}
		if b.data.Duration > 0 && r.count > 1 && len(list) == 1 {
			t.Rate = float64(r.count-1) / b.data.Duration
		}
		b.data.Topics, b.data.Messages = append(b.data.Topics, t), b.data.Messages+r.count
	}
	found := source.Found()
	b.data.Good, b.data.Verdict = bad == 0 && !found.Incomplete, []string{human.Count(len(list), "episode")}
	if bad > 0 {
		b.data.Verdict = append(b.data.Verdict, fmt.Sprintf("%d with faults", bad))
	}
	if found.Incomplete {
		b.data.Verdict = append(b.data.Verdict, "not complete")
	}
	for _, err := range found.Damage {
		b.data.Events = append(b.data.Events, Event{Kind: codec.EventDamage, Text: err.Error()})
		b.data.Good = false
	}
	b.data.Omitted = slices.Sorted(maps.Keys(b.omitted))
	return &b.data, b.fit()
}

// streamTiming is the timing of a stream of an episode.
type streamTiming struct {
	order  []int // indices of the samples, by time
	gaps   []interval
	median int64 // median interval of samples in ns; 0: unknown
}

// newStreamTiming returns the timing of a stream with stamps in an episode from start to end.
func newStreamTiming(stamps []int64, start, end int64) streamTiming {
	var s streamTiming
	for i := range stamps {
		s.order = append(s.order, i)
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(stamps[a], stamps[b]) })
	var steps []int64
	for i := 1; i < len(s.order); i++ {
		steps = append(steps, stamps[s.order[i]]-stamps[s.order[i-1]])
	}
	slices.Sort(steps)
	if len(steps) > 0 {
		s.median = steps[(len(steps)-1)/2]
	}
	before := start
	for i := range len(s.order) + 1 {
		stamp := end
		if i < len(s.order) {
			stamp = stamps[s.order[i]]
		}
		if step := stamp - before; step > gapShort && step/5 > s.median && (s.median > 0 || len(stamps) == 0) {
			s.gaps = append(s.gaps, interval{before, stamp})
		}
		before = stamp
	}
	return s
}

// episode returns the data of an episode.
func (b *builder) episode(e *episode.Episode, thumbs int) Episode {
	summary := episode.Summarize(e)
	start, end := summary.Start, summary.End
	out := Episode{Name: e.Name, Task: e.Task, Success: e.Success, Discarded: e.Discarded,
		From: b.seconds(start), Until: b.seconds(end)}
	var wrong []string
	gaps := 0
	for i, c := range e.Cameras {
		if i == maxCameras {
			break
		}
		s := newStreamTiming(c.Stamps, start, end)
		gaps += len(s.gaps)
		strip := Camera{Topic: c.Name}
		if err := b.strip(c, s, &strip, thumbs); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", c.Name, err))
		}
		out.Cameras = append(out.Cameras, strip)
	}
	for i, a := range e.Arms {
		if i == mostArms {
			break
		}
		for _, p := range []struct {
			name   string
			vector *align.Vector
		}{{"joints", a.Streams[episode.Joint]}, {"gripper", a.Streams[episode.Gripper]}, {"pose",
			a.Streams[episode.Pose]}} {
			if p.vector == nil || p.name == "pose" && a.Streams[episode.Joint] != nil {
				continue
			}
			panel := b.panel(a.Name+" "+p.name, p.vector, start, end)
			gaps += len(panel.Gaps)
			out.Panels = append(out.Panels, panel)
		}
	}
	b.align(e, &out)
	if gaps > 0 {
		out.Verdict = append(out.Verdict, human.Count(gaps, "gap"))
	}
	out.Verdict = append(out.Verdict, wrong...)
	out.Good = gaps == 0 && len(wrong) == 0 && (len(e.Cameras) == 0 || out.Points > 0) &&
		(out.Points-out.Rows)*10 <= out.Points
	return out
}

// align aligns the episode, and sets the rows to train on and the times without rows.
func (b *builder) align(e *episode.Episode, out *Episode) {
	rows, err := episode.Align(e, align.Options{Partial: true})
	if err != nil {
		out.Verdict = append(out.Verdict,
			"no rows to train on: "+strings.TrimPrefix(err.Error(), "align "+e.Name+": "))
		return
	}
	if len(e.Cameras) == 0 {
		out.Verdict = append(out.Verdict, "without cameras")
		return
	}
	out.Rows, out.Points = rows.Report.Rows, rows.Report.Points
	out.Verdict = append(out.Verdict, fmt.Sprintf("%d of %s to train on", out.Rows, human.Count(out.Points, "row")))
	master := newStreamTiming(e.Cameras[0].Stamps, out.start(b), out.end(b))
	half := float64(master.median) / 2e9
	for _, i := range master.order {
		stamp := e.Cameras[0].Stamps[i]
		if _, found := slices.BinarySearch(rows.Stamps, stamp); found {
			continue
		}
		at := b.seconds(stamp)
		if n := len(out.Dropped); n > 0 && at-half <= out.Dropped[n-1][1]+1e-9 {
			out.Dropped[n-1][1] = at + half
		} else {
			out.Dropped = append(out.Dropped, [2]float64{at - half, at + half})
		}
	}
}

// start and end return the times of the episode in ns since the Unix epoch.
func (e *Episode) start(b *builder) int64 { return b.density.start + int64(e.From*1e9) }
func (e *Episode) end(b *builder) int64   { return b.density.start + int64(e.Until*1e9) }

// strip reads up to thumbs pictures of a camera, evenly over time.
func (b *builder) strip(c *episode.Camera, s streamTiming, out *Camera, thumbs int) (failed error) {
	if len(s.order) == 0 {
		return nil
	}
	frames, err := c.Open()
	if err != nil {
		return err
	}
	defer frames.Close()
	n := min(thumbs, len(s.order))
	for k := range n {
		i := s.order[k*len(s.order)/n]
		at := b.seconds(c.Stamps[i])
		thumb := Thumb{At: at}
		f, err := frames.Frame(i)
		if err == nil {
			thumb.JPEG, err = out.thumb(&f)
		}
		failed = cmp.Or(failed, err)
		out.Thumbs = append(out.Thumbs, thumb)
	}
	return failed
}

// panel returns the curves of a stream of an arm.
func (b *builder) panel(name string, v *align.Vector, start, end int64) Panel {
	p := Panel{Name: name}
	for _, gap := range newStreamTiming(v.Stamps, start, end).gaps {
		p.Gaps = append(p.Gaps, [2]float64{b.seconds(gap.from), b.seconds(gap.to)})
	}
	n := len(v.Columns)
	if n == 0 || len(v.Values) < n*len(v.Stamps) {
		return p
	}
	unit := v.Columns[0].Unit
	if unit != "1" && !slices.ContainsFunc(v.Columns, func(c align.Column) bool { return c.Unit != unit }) {
		p.Unit = unit
	}
	for c := range v.Columns {
		column := Column{v.Columns[c].Name, noNumbers(panelBins), noNumbers(panelBins)}
		for i, stamp := range v.Stamps {
			value := v.Values[i*n+c]
			if !align.IsMissing(value) && stamp >= start && stamp <= end {
				bin := min(int(float64(stamp-start)/max(float64(end-start), 1)*panelBins), panelBins-1)
				widen(column.Low, column.High, bin, value)
			}
		}
		p.Columns = append(p.Columns, column)
	}
	return p
}
