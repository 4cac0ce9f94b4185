package picture

import (
	"cmp"
	"fmt"
	"image"
	"math"
	"slices"
	"strings"
	"time"

	"tapedeck/codec/align"
	"tapedeck/codec/episode"
)

const (
	labelWidth  = 190
	stripHeight = 118 // of a camera's pictures
	panelHeight = 130 // of curves
	smallPanel  = 70
	mostCameras = 16
	mostArms    = 16
)

// Set is what an episode is one of.
type Set struct {
	Path, Format string
	Number, Of   int // this episode, from 1, and how many there are
}

// take is the page of an episode.
type take struct {
	*Drawing
	axis
	set     Set
	episode *episode.Episode
	tracks  []*track // of Episode.Cameras
	rows    *episode.Rows
	why     string     // there are no rows
	dropped []interval // of the timeline, those that make no rows
	points  int        // of the timeline
	gaps    int
	wrong   []string // with the cameras
}

// track is a stream in the order of time.
type track struct {
	stamps []int64
	frames []int // which frame each of stamps is
	gaps   []interval
	period float64 // s, the median; 0 is not known
}

func newTrack(stamps []int64, start, end int64) *track {
	t := &track{frames: make([]int, len(stamps))}
	for i := range stamps {
		t.frames[i] = i
	}
	slices.SortStableFunc(t.frames, func(a, b int) int { return cmp.Compare(stamps[a], stamps[b]) })
	steps := make([]int64, 0, len(stamps))
	for i, f := range t.frames {
		t.stamps = append(t.stamps, stamps[f])
		if i > 0 {
			steps = append(steps, t.stamps[i]-t.stamps[i-1])
		}
	}
	if len(steps) == 0 {
		if len(stamps) == 0 && start < end {
			t.gaps = []interval{{start, end}}
		}
		return t
	}
	slices.Sort(steps)
	median := steps[(len(steps)-1)/2]
	t.period = float64(median) / 1e9
	before := start
	for _, stamp := range append(slices.Clone(t.stamps), end) {
		if step := stamp - before; step > gapShort && step/5 > median {
			t.gaps = append(t.gaps, interval{before, stamp})
		}
		before = stamp
	}
	return t
}

// nearest returns the frame whose time is nearest to one, -1 without frames.
func (t *track) nearest(at int64) int {
	i, _ := slices.BinarySearch(t.stamps, at)
	if i > 0 && (i == len(t.stamps) || at-t.stamps[i-1] <= t.stamps[i]-at) {
		i--
	}
	if i >= len(t.stamps) {
		return -1
	}
	return i
}

// silent returns how much of a time gaps are.
func (t *track) silent(from, to int64) (sum int64) {
	for _, gap := range t.gaps {
		sum += max(0, min(gap.to, to)-max(gap.from, from))
	}
	return sum
}

// Episode lays out the page of an episode: what its cameras saw above what its arms did. Frames that cannot be read are
// empty there.
func Episode(e *episode.Episode, set Set, size Size) (*Drawing, error) {
	if err := size.Check(); err != nil {
		return nil, err
	}
	drawing, err := newDrawing(size)
	if err != nil {
		return nil, err
	}
	t := &take{Drawing: drawing, set: set, episode: e}
	summary := episode.Summarize(e)
	t.axis = axis{summary.Start, summary.End, margin + labelWidth, t.Width - 2*margin - labelWidth - 12}
	for _, c := range e.Cameras {
		track := newTrack(c.Stamps, t.start, t.end)
		t.tracks = append(t.tracks, track)
		t.gaps += len(track.gaps)
	}
	t.align()
	t.layout()
	return t.Drawing, nil
}

// align finds out which rows training would get.
func (t *take) align() {
	rows, err := episode.Align(t.episode, align.Options{Partial: true})
	if err != nil {
		t.why = err.Error()
		return
	}
	t.rows = rows
	if len(t.tracks) == 0 {
		return
	}
	kept := rows.Stamps
	master := t.tracks[0]
	half := int64(master.period * 1e9 / 2)
	for _, stamp := range master.stamps {
		i, found := slices.BinarySearch(kept, stamp)
		if found || i > 0 && kept[i-1] == stamp {
			continue
		}
		if n := len(t.dropped); n > 0 && stamp-half <= t.dropped[n-1].to+1 {
			t.dropped[n-1].to = stamp + half
		} else {
			t.dropped = append(t.dropped, interval{stamp - half, stamp + half})
		}
	}
	t.points = rows.Report.Points
}

// panel is one of curves.
type panel struct {
	name   string
	height int
	vector *align.Vector
}

func (t *take) panels() []panel {
	var panels []panel
	for i, a := range t.episode.Arms {
		if i == mostArms {
			break
		}
		for _, p := range []panel{{"joints", panelHeight, a.Joint}, {"gripper", smallPanel, a.Gripper},
			{"pose", panelHeight, a.Pose}} {
			if p.vector == nil || p.name == "pose" && a.Joint != nil {
				continue
			}
			p.name = a.Name + " " + p.name
			panels = append(panels, p)
		}
	}
	return panels
}

func (t *take) layout() {
	top := 132
	cameras := t.tracks[:min(len(t.tracks), mostCameras)]
	panels := t.panels()
	need := top + len(cameras)*(stripHeight+34) + 60
	for _, p := range panels {
		need += p.height + 18
	}
	if t.Height == 0 {
		t.Height = max(leastSize, need)
	}
	// A page that is too low has lower strips and panels; one that is higher, higher panels.
	strip, stretch := stripHeight, 1.0
	if fixed := top + len(cameras)*34 + len(panels)*18 + 60; t.Height != need {
		stretch = max(0.2, float64(t.Height-fixed)/float64(max(need-fixed, 1)))
		strip = max(24, int(float64(strip)*min(stretch, 1.5)))
	}
	y := top
	plot := len(t.Shapes)
	for i := range cameras {
		t.strip(i, y, strip)
		y += strip + 34
	}
	curvesTop := y
	for _, p := range panels {
		height := int(float64(p.height) * stretch)
		t.curves(p, y, height)
		y += height + 18
	}
	bottom := y - 14
	if len(cameras)+len(panels) == 0 {
		t.centre(t.Width/2, y+30, plainFont, grey, "nothing is in this episode")
	}
	// The grid is behind what was drawn.
	over := slices.Clone(t.Shapes[plot:])
	t.Shapes = t.Shapes[:plot]
	t.drawAxis(&t.axis, top-6, bottom)
	t.Shapes = append(t.Shapes, over...)
	for _, d := range t.dropped {
		if len(panels) > 0 {
			x, w := t.span(d.from, d.to, 2)
			t.add(Rect{Box{x, curvesTop, w, bottom - curvesTop}, faded(vermillion, 40)})
		}
	}
	t.legend(bottom + 28)
	t.drawHead(t.title(), t.line(), t.good(), t.verdict())
}

// strip draws the pictures of a camera from left to right at the times at which they were taken.
func (t *take) strip(i, y, height int) {
	c, track := t.episode.Cameras[i], t.tracks[i]
	t.text(margin, y+14, boldFont, ink, t.fonts.fit(boldFont, c.Name, labelWidth-12))
	label := plural(uint64(len(c.Stamps)), "frame")
	t.text(margin, y+32, smallFont, grey, label)
	if track.period > 0 {
		t.text(margin, y+48, smallFont, grey, hertz(1/track.period)+" Hz")
	}
	if n := len(track.gaps); n > 0 && height >= 70 {
		t.text(margin, y+64, smallFont, vermillion, plural(uint64(n), "gap"))
	}
	t.add(Rect{Box{t.x, y, t.w, height}, empty})
	if len(track.stamps) > 0 {
		if err := t.pictures(c, track, y, height); err != nil {
			t.wrong = append(t.wrong, fmt.Sprintf("%s: %v", c.Name, err))
		}
	}
	// When there were frames, below.
	foot := Box{t.x, y + height + 15, t.w, 6}
	t.add(Rect{foot, faded(blue, 120)})
	for _, gap := range track.gaps {
		x, w := t.span(gap.from, gap.to, 3)
		t.add(Rect{Box{x, foot.Y, w, foot.H}, rgb(0xffffff)}, Rect{Box{x, foot.Y - 1, w, foot.H + 2}, orange})
	}
}

// pictures draws as many frames as there is place for, each in the middle of its part of the time.
func (t *take) pictures(c *episode.Camera, track *track, y, height int) error {
	frames, err := c.Open()
	if err != nil {
		return err
	}
	defer frames.Close()
	var failed error
	picture := func(i int) image.Image {
		f, err := frames.Frame(track.frames[i])
		var p image.Image
		if err == nil {
			p, err = decode(f)
		}
		if err != nil {
			failed = cmp.Or(failed, err)
			return nil
		}
		return p
	}
	ratio := 4.0 / 3
	if first := picture(0); first != nil {
		ratio = min(4, max(0.25, float64(first.Bounds().Dx())/float64(max(1, first.Bounds().Dy()))))
	}
	width := max(int(float64(height)*ratio), 8)
	n := max(1, t.w/(width+4))
	span := float64(t.end - t.start)
	for k := range n {
		x := t.x + int((float64(k)+0.5)/float64(n)*float64(t.w)) - width/2
		box := Box{x, y, width, height}
		part := span / float64(n)
		from, to := t.start+int64(float64(k)*part), t.start+int64(float64(k+1)*part)
		i := track.nearest(from + (to-from)/2)
		if track.silent(from, to) > (to-from)/2 {
			t.add(Hatch{box, faded(orange, 110)})
			t.centre(x+width/2, y+height/2+4, smallFont, rgb(0x8a5a00), "no frame")
			continue
		}
		p := picture(i)
		if p == nil {
			t.add(Hatch{box, faded(vermillion, 110)})
			t.centre(x+width/2, y+height/2+4, smallFont, vermillion, "cannot be read")
			continue
		}
		t.add(Picture{box, p})
		t.centre(x+width/2, y+height+11, smallFont, grey, fmt.Sprintf("%.3f s", float64(track.stamps[i]-t.start)/1e9))
	}
	return failed
}

// curves draws the columns of a vector over time.
func (t *take) curves(p panel, y, height int) {
	v := p.vector
	track := newTrack(v.Stamps, t.start, t.end)
	t.gaps += len(track.gaps)
	t.text(margin, y+14, boldFont, ink, t.fonts.fit(boldFont, p.name, labelWidth-56))
	t.add(Rect{Box{t.x, y, t.w, height}, faded(empty, 120)})
	for _, gap := range track.gaps {
		x, w := t.span(gap.from, gap.to, 3)
		t.add(Rect{Box{x, y, w, height}, faded(orange, 70)})
	}
	text := plural(uint64(len(v.Stamps)), "sample")
	if track.period > 0 {
		text += ", " + hertz(1/track.period) + " Hz"
	}
	t.text(margin, y+31, smallFont, grey, t.fonts.fit(smallFont, text, labelWidth-56))
	n := len(v.Columns)
	if n == 0 || len(v.Stamps) == 0 || len(v.Values) < n*len(v.Stamps) {
		return
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range v.Values {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			low, high = min(low, x), max(high, x)
		}
	}
	if math.IsInf(low, 1) {
		low, high = 0, 1
	}
	if high-low < 1e-9 {
		low, high = low-0.5, high+0.5
	}
	unit := v.Columns[0].Unit
	// a part of a whole, or of several units
	if unit == "1" || slices.ContainsFunc(v.Columns, func(c align.Column) bool { return c.Unit != unit }) {
		unit = ""
	}
	for _, end := range []struct {
		value float64
		y     int
	}{{high, y + 10}, {low, y + height - 2}} {
		t.right(t.x-6, end.y, smallFont, grey, strings.TrimSpace(fmt.Sprintf("%.3g %s", end.value, unit)))
	}
	for c := range v.Columns {
		t.curve(track, v, c, func(value float64) float32 {
			return float32(y) + 3 + float32((high-value)/(high-low))*float32(height-6)
		})
	}
	// The names of columns, in their colours, as far as there is place.
	x, line := margin, y+48
	for c, column := range v.Columns {
		name := t.fonts.fit(smallFont, column.Name, labelWidth-70)
		width := t.fonts.width(smallFont, name)
		if x+width+14 > margin+labelWidth-56 && x > margin {
			x, line = margin, line+15
		}
		if line > y+height {
			break
		}
		color := curves[c%len(curves)]
		t.add(Rect{Box{x, line - 6, 8, 3}, color})
		t.text(x+11, line, smallFont, grey, name)
		x += width + 20
	}
}

// curve draws a column, from its lowest to its highest number where several fall on a pixel. It ends where there is a
// gap, or no number.
func (t *take) curve(track *track, v *align.Vector, column int, y func(float64) float32) {
	var points []Point
	var pixel, low, high Point
	some := false
	emit := func() {
		if some {
			points = append(points, low)
			if high.Y != low.Y {
				points = append(points, high)
			}
		}
		some = false
	}
	flush := func() {
		emit()
		if len(points) == 1 { // on its own
			points = append(points, Point{points[0].X + 1.5, points[0].Y})
		}
		if len(points) > 0 {
			t.add(Path{Points: points, Width: 1.4, Color: curves[column%len(curves)]})
		}
		points = nil
	}
	gaps, before := track.gaps, int64(math.MinInt64)
	for i, stamp := range track.stamps {
		value := v.Values[track.frames[i]*len(v.Columns)+column]
		if align.IsMissing(value) {
			continue
		}
		for len(gaps) > 0 && gaps[0].to <= before {
			gaps = gaps[1:]
		}
		wrong := math.IsNaN(value) || math.IsInf(value, 0)
		if wrong || len(gaps) > 0 && gaps[0].from >= before && gaps[0].to <= stamp {
			flush()
		}
		before = stamp
		if wrong {
			continue
		}
		p := Point{float32(t.x) + float32(t.part(stamp)*float64(t.w)), y(value)}
		if some && int(p.X) != int(pixel.X) {
			emit()
		}
		if !some {
			pixel, low, high, some = p, p, p, true
		}
		if p.Y < low.Y {
			low.Y = p.Y
		}
		if p.Y > high.Y {
			high.Y = p.Y
		}
	}
	flush()
}

func (t *take) title() string {
	title := t.episode.Name
	if t.set.Of > 1 {
		title = fmt.Sprintf("%s  (%d of %d)", title, t.set.Number, t.set.Of)
	}
	if t.episode.Task != "" {
		title += "  –  " + t.episode.Task
	}
	return title
}

func (t *take) line() string {
	parts := []string{t.set.Path, t.set.Format, duration(float64(t.end-t.start) / 1e9),
		plural(uint64(len(t.episode.Cameras)), "camera"), plural(uint64(len(t.episode.Arms)), "arm")}
	if t.start != 0 {
		parts = append(parts, "from "+time.Unix(0, t.start).Format("2006-01-02 15:04:05.000 MST"))
	}
	if t.episode.Success != nil {
		parts = append(parts, map[bool]string{true: "said to be a success",
			false: "said to be a failure"}[*t.episode.Success])
	}
	return strings.Join(parts, "  ·  ")
}

func (t *take) good() bool {
	return t.why == "" && t.gaps == 0 && len(t.wrong) == 0 && (t.rows == nil || t.rows.Report.Dropped*10 <= t.points)
}

// verdict says whether the episode is good, or what is not.
func (t *take) verdict() string {
	var parts []string
	switch {
	case t.why != "":
		parts = append(parts, "no rows to train on: "+strings.TrimPrefix(t.why, "align "+t.episode.Name+": "))
	case len(t.tracks) > 0:
		parts = append(parts, fmt.Sprintf("%d of %s to train on", t.rows.Report.Rows, plural(uint64(t.points), "row")))
	default:
		parts = append(parts, "without cameras")
	}
	if t.gaps > 0 {
		parts = append(parts, plural(uint64(t.gaps), "gap"))
	} else {
		parts = append(parts, "no gaps")
	}
	return strings.Join(append(parts, t.wrong...), "  ·  ")
}

// legend says what the marks mean.
func (t *take) legend(y int) {
	x := margin + labelWidth
	for _, m := range []struct {
		text string
		draw func(Box)
		some bool
	}{
		{"frames of the camera", func(b Box) { t.add(Rect{Box{b.X, b.Y + 4, b.W, 6}, faded(blue, 120)}) },
			len(t.tracks) > 0},
		{"gap: more than 5 periods, and 100 ms", func(b Box) { t.add(Rect{b, orange}) }, t.gaps > 0},
		{"frames that make no row to train on, as some stream is not there",
			func(b Box) { t.add(Rect{b, faded(vermillion, 60)}) }, len(t.dropped) > 0},
	} {
		if m.some {
			m.draw(Box{x, y + 1, 14, 14})
			t.text(x+22, y+12, smallFont, grey, m.text)
			x += t.fonts.width(smallFont, m.text) + 46
		}
	}
}
