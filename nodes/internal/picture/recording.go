package picture

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/internal/human"
)

const (
	rowHeight = 22
	barHeight = 16
	mostRows  = 100 // of a page that is as high as it takes
	leastSize = 300 // pixels of a page, each way
	defWidth  = 1600
)

// DefaultSize is that of a page if nobody says which.
var DefaultSize = Size{Width: defWidth}

// Check says whether there are pages of a size.
func (s Size) Check() error {
	if s.Width < 2*leastSize || s.Width > MaxSize || s.Height != 0 && s.Height < leastSize || s.Height > MaxSize {
		return fmt.Errorf("a page is from %d×%d to %d×%[3]d pixels large", 2*leastSize, leastSize, MaxSize)
	}
	return nil
}

// sheet is the page of a recording.
type sheet struct {
	*Drawing
	axis
	info    *codec.Info
	density *Density
	rows    []*row
	rest    []*row // for which there is no place
	gaps    map[*row][]interval
	events  map[string][]codec.Event // of topics; "" is all of them
	missing map[string]uint64        // messages of topics
	top     int                      // of the first row
	low     float64                  // messages a second of the first colour, the logarithm
	high    float64                  // of the last one
}

// Recording lays out the page of a recording, of whose messages d knows.
func Recording(info *codec.Info, d *Density, size Size) (*Drawing, error) {
	if err := size.Check(); err != nil {
		return nil, err
	}
	drawing, err := newDrawing(size)
	if err != nil {
		return nil, err
	}
	s := &sheet{Drawing: drawing, info: info, density: d, gaps: map[*row][]interval{},
		events:  map[string][]codec.Event{},
		missing: map[string]uint64{}}
	for _, t := range info.Topics {
		d.row(t.Channel) // those without messages, too
	}
	s.sort()
	s.choose()
	s.layout()
	return s.Drawing, nil
}

// sort sorts events and gaps by topics.
func (s *sheet) sort() {
	for _, e := range s.info.Events {
		if m := markOf(e.Kind); m == nil {
			continue
		}
		s.events[e.Topic] = append(s.events[e.Topic], e)
		switch e.Kind {
		case codec.EventDrop, codec.EventLost, codec.EventDisk:
			s.missing[e.Topic] += e.Count
		}
	}
	for _, r := range s.density.rows {
		for _, gap := range r.gaps(s.density.end) {
			if !s.known(r, gap) {
				s.gaps[r] = append(s.gaps[r], gap)
			}
		}
	}
}

// known says whether a recorder told why a topic is silent.
func (s *sheet) known(r *row, gap interval) bool {
	for _, events := range [][]codec.Event{s.events[r.topic], s.events[""]} {
		for _, e := range events {
			covered := min(e.Until, gap.to) - max(e.Time, gap.from)
			if e.Kind != codec.EventSnapshot && float64(covered) > 0.8*float64(gap.length()) {
				return true
			}
		}
	}
	return false
}

// choose picks the topics that there is place for: those with something to see first, then those with most messages.
func (s *sheet) choose() {
	rows := slices.Clone(s.density.rows)
	place := mostRows
	if s.Height > 0 {
		place = max(1, (s.Height-s.above()-s.below())/rowHeight-1)
		if len(rows) == place+1 {
			place++ // the row that tells of the rest
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		trouble := func(r *row) int { return min(1, len(s.gaps[r])+len(s.events[r.topic])) }
		return cmp.Or(cmp.Compare(trouble(b), trouble(a)), cmp.Compare(b.count, a.count))
	})
	place = min(place, len(rows))
	s.rows, s.rest = rows[:place], rows[place:]
	sortRows(s.rows)
	lines := len(s.rows) + 1
	if len(s.rest) > 0 {
		lines++
	}
	if s.Height == 0 {
		s.Height = max(leastSize, s.above()+lines*rowHeight+s.below())
	}
}

// above and below are the heights of what is over and under the rows.
func (s *sheet) above() int { return 130 }
func (s *sheet) below() int { return 76 }

// columns of a row, in pixels.
type columns struct{ topic, kind, count, rate, missing int }

func (s *sheet) layout() {
	var w columns
	for _, r := range s.rows {
		w.topic = max(w.topic, s.fonts.width(plainFont, clip(r.topic)))
		w.kind = max(w.kind, s.fonts.width(smallFont, clip(r.kind)))
	}
	w.topic = min(max(w.topic, 60), s.Width/5) + 12
	w.kind = min(max(w.kind, 40), s.Width/7) + 12
	w.count, w.rate = 76, 64
	if len(s.missing) > 0 {
		w.missing = 70
	}
	left := margin + w.topic + w.kind + w.count + w.rate + w.missing + 16
	s.axis = axis{s.density.start, s.density.end, left, s.Width - margin - 12 - left}

	s.drawHead(filepath.Base(s.info.Path), s.line(), s.good(), s.verdict())
	s.top = s.above()
	lanes := len(s.rows) + 1
	if len(s.rest) > 0 {
		lanes++
	}
	bottom := s.top + lanes*rowHeight
	s.rateRange()

	head := s.top - 8
	s.text(margin, head, smallFont, grey, "topic")
	s.text(margin+w.topic, head, smallFont, grey, "type")
	x := margin + w.topic + w.kind + w.count
	s.right(x, head, smallFont, grey, "messages")
	s.right(x+w.rate, head, smallFont, grey, "Hz")
	if w.missing > 0 {
		s.right(x+w.rate+w.missing, head, smallFont, vermillion, "missing")
	}
	s.drawAxis(&s.axis, s.top, bottom)

	y := s.top
	s.text(margin, y+15, smallFont, grey, "the recording")
	if n := s.missing[""]; n > 0 {
		s.right(x+w.rate+w.missing, y+15, boldFont, vermillion, number(n))
	}
	for i, r := range s.rows {
		y += rowHeight
		if i%2 == 0 {
			s.add(Rect{Box{margin - 6, y, left - margin - 4, rowHeight}, stripe})
		}
		name, color := plainFont, ink
		if r.count == 0 {
			color = grey
		}
		s.text(margin, y+15, name, color, s.fonts.fit(name, r.topic, w.topic-12))
		s.text(margin+w.topic, y+15, smallFont, grey, s.fonts.fit(smallFont, r.kind, w.kind-12))
		s.right(x, y+15, plainFont, color, number(r.count))
		s.right(x+w.rate, y+15, plainFont, color, rate(r))
		if n := s.missing[r.topic]; n > 0 {
			s.right(x+w.rate+w.missing, y+15, boldFont, vermillion, number(n))
		}
		s.bar(y, s.density.rates(r))
		for _, gap := range s.gaps[r] {
			s.event(y, codec.Event{Kind: codec.EventGap, Time: gap.from, Until: gap.to})
		}
	}
	if len(s.rest) > 0 {
		y += rowHeight
		var n uint64
		sum := make([]float64, bins)
		for _, r := range s.rest {
			n += r.count
			for i, v := range s.density.rates(r) {
				sum[i] += v
			}
		}
		s.text(margin, y+15, plainFont, grey, fmt.Sprintf("and %d more topics", len(s.rest)))
		s.right(x, y+15, plainFont, grey, number(n))
		s.bar(y, sum)
	}
	s.overlay(bottom)
	s.legend(bottom + 40)
	if s.info.MessageCount == 0 && s.counted() == 0 {
		s.centre(s.x+s.w/2, s.top+15, plainFont, grey, "no messages")
	}
}

// clip keeps texts that are to be measured short.
func clip(s string) string { return s[:min(len(s), 200)] }

func (s *sheet) counted() (n uint64) {
	for _, r := range s.density.rows {
		n += r.count
	}
	return n
}

// rateRange finds the rates that the ends of the palette stand for: powers of ten.
func (s *sheet) rateRange() {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range s.density.rows {
		for _, v := range s.density.rates(r) {
			if v > 0 {
				low, high = min(low, math.Log10(v)), max(high, math.Log10(v))
			}
		}
	}
	if math.IsInf(low, 1) {
		low, high = 0, 1
	}
	s.low, s.high = math.Floor(low), math.Ceil(high)
	if s.high == s.low {
		s.high++
	}
}

// bar draws how many messages there are over time.
func (s *sheet) bar(y int, rates []float64) {
	b := Box{s.x, y + (rowHeight-barHeight)/2, s.w, barHeight}
	s.add(Rect{b, empty})
	levels := make([]uint8, s.w)
	for x := range levels {
		// The highest of the bins that a column of pixels has: a single message is to be seen.
		low := x * len(rates) / s.w
		high := max(low+1, (x+1)*len(rates)/s.w)
		v := slices.Max(rates[low:high])
		if v > 0 {
			levels[x] = uint8(1 + 254*min(1, max(0, (math.Log10(v)-s.low)/(s.high-s.low))))
		}
	}
	if s.density.end == s.density.start { // all at once
		for x := range levels {
			if near := x - s.w/2; near < -1 || near > 1 {
				levels[x] = 0
			} else {
				levels[x] = slices.Max(levels)
			}
		}
	}
	if slices.Max(levels) > 0 {
		s.add(Heat{b, levels})
	}
}

// event draws one in the row at y.
func (s *sheet) event(y int, e codec.Event) {
	m := markOf(e.Kind)
	from := e.Time
	if from == 0 {
		from = s.end // it is not known when
	}
	x, w := s.span(from, e.Until, 3)
	m.draw(s.Drawing, Box{x, y + (rowHeight-barHeight)/2, w, barHeight}, m.color)
	if text := duration(float64(e.Until-e.Time) / 1e9); m.kind == codec.EventGap &&
		s.fonts.width(smallFont, text)+8 < w {
		s.centre(x+w/2, y+15, smallFont, rgb(0x8a5a00), text)
	}
}

// overlay draws the events.
func (s *sheet) overlay(bottom int) {
	for i := range marks {
		m := &marks[i]
		for _, e := range s.events[""] {
			if e.Kind != m.kind {
				continue
			}
			if m.whole && e.Time != 0 {
				x, w := s.span(e.Time, e.Until, 1)
				c := faded(m.color, 50)
				if w <= 2 {
					c = faded(m.color, 140)
				}
				s.add(Rect{Box{x, s.top + rowHeight, w, bottom - s.top - rowHeight}, c})
			}
			s.event(s.top, e)
		}
		for i, r := range s.rows {
			for _, e := range s.events[r.topic] {
				if e.Kind == m.kind {
					s.event(s.top+(i+1)*rowHeight, e)
				}
			}
		}
	}
}

// legend says what colours and marks mean, of which there are some.
func (s *sheet) legend(y int) {
	x := margin
	levels := make([]uint8, 160)
	for i := range levels {
		levels[i] = uint8(1 + i*254/(len(levels)-1))
	}
	label := func(exponent float64) string {
		return strconv.FormatFloat(math.Pow(10, exponent), 'g', -1, 64)
	}
	s.text(x, y+12, smallFont, grey, label(s.low))
	x += s.fonts.width(smallFont, label(s.low)) + 6
	s.add(Heat{Box{x, y + 2, len(levels), 12}, levels})
	x += len(levels) + 6
	text := label(s.high) + " messages/s"
	s.text(x, y+12, smallFont, grey, text)
	x += s.fonts.width(smallFont, text) + 28
	for i := range marks {
		m := &marks[i]
		if !s.has(m.kind) {
			continue
		}
		width := s.fonts.width(smallFont, m.text) + 22 + 24
		if x+width > s.Width-margin {
			x, y = margin, y+16
		}
		m.draw(s.Drawing, Box{x, y + 1, 14, 14}, m.color)
		s.text(x+22, y+12, smallFont, grey, m.text)
		x += width
	}
}

func (s *sheet) has(kind string) bool {
	return kind == codec.EventGap && len(s.gaps) > 0 || s.count(kind) > 0
}

// count returns how many events of a kind there are.
func (s *sheet) count(kind string) (n int) {
	for _, e := range s.info.Events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// line says what the recording is.
func (s *sheet) line() string {
	parts := []string{s.info.Format, duration(s.density.seconds()), human.Bytes(s.info.Size),
		plural(s.counted(), "message"),
		plural(uint64(len(s.density.rows)), "topic")}
	if n := len(s.info.Files); n > 1 {
		parts = append(parts, plural(uint64(n), "file"))
	}
	if s.info.MessageCount > 0 {
		parts = append(parts, "from "+time.Unix(0, s.density.start).Format("2006-01-02 15:04:05.000 MST"))
	}
	return strings.Join(parts, "  ·  ")
}

func (s *sheet) good() bool {
	return s.info.Complete && len(s.gaps) == 0 && len(s.missing) == 0 && s.density.outside == 0 &&
		s.count(codec.EventDamage)+s.count(codec.EventUnfinished)+s.count(codec.EventGap) == 0
}

// verdict says whether all is well, or what is not.
func (s *sheet) verdict() string {
	var parts []string
	add := func(form string, args ...any) { parts = append(parts, fmt.Sprintf(form, args...)) }
	switch {
	case s.count(codec.EventDamage) > 0:
		add("damaged in %s", plural(uint64(s.count(codec.EventDamage)), "place"))
	case !s.info.Complete:
		add("not complete")
	}
	for _, kind := range []struct{ name, text string }{
		{codec.EventDrop, "dropped"}, {codec.EventLost, "lost in transport"},
		{codec.EventDisk, "not written, for the disk"},
	} {
		var n uint64
		for _, e := range s.info.Events {
			if e.Kind == kind.name {
				n += e.Count
			}
		}
		if n > 0 {
			add("%s %s", plural(n, "message"), kind.text)
		}
	}
	gaps, longest, where := s.count(codec.EventGap), interval{}, ""
	look := func(i interval, topic string) {
		if i.to > i.from && i.length() > longest.length() {
			longest, where = i, topic
		}
	}
	for _, e := range s.info.Events {
		if e.Kind == codec.EventGap {
			look(interval{e.Time, e.Until}, e.Topic)
		}
	}
	for _, r := range s.density.rows {
		gaps += len(s.gaps[r])
		for _, gap := range s.gaps[r] {
			look(gap, r.topic)
		}
	}
	if gaps > 0 {
		text := plural(uint64(gaps), "gap")
		if where != "" {
			text += fmt.Sprintf(", the longest %s in %s", duration(float64(longest.length())/1e9), where)
		}
		parts = append(parts, text)
	}
	if n := s.density.outside; n > 0 {
		add("%s at times far from these, of %s in all", plural(n, "message"),
			duration(float64(uint64(s.info.EndTime-s.info.StartTime))/1e9))
	}
	if len(parts) == 0 && s.counted() == 0 {
		parts = append(parts, "complete, and empty")
	} else if len(parts) == 0 {
		parts = append(parts, "complete: no gaps, and nothing is known to be missing")
	}
	if n := s.count(codec.EventPause); n > 0 {
		parts = append(parts, plural(uint64(n), "pause"))
	}
	return strings.Join(parts, "  ·  ")
}

// rate returns how often there is a message, by the times of the first and the last.
func rate(r *row) string {
	s := float64(uint64(r.last-r.first)) / 1e9
	if r.count < 2 || s == 0 {
		return "–"
	}
	return hertz(float64(r.count-1) / s)
}

func hertz(f float64) string {
	switch {
	case f >= 99.95:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// number writes a number with a space between thousands.
func number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

func plural(n uint64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return number(n) + " " + noun
}
