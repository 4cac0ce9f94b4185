package picture

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// axis is a span of time from left to right.
type axis struct {
	start, end int64 // ns since the Unix epoch
	x, w       int   // pixels
}

// at returns where a time is; what is beyond the ends is at them.
func (a *axis) at(t int64) int { return a.x + int(a.part(t)*float64(a.w)) }

func (a *axis) part(t int64) float64 {
	if a.end <= a.start {
		return 0.5
	}
	return float64(uint64(min(max(t, a.start), a.end)-a.start)) / float64(uint64(a.end-a.start))
}

// span returns what takes from one time to another, at least some pixels that lie on the axis.
func (a *axis) span(from, to int64, least int) (x, w int) {
	x, right := a.at(from), a.at(max(from, to))
	if w = right - x; w < least {
		x, w = min(max(a.x, x-(least-w)/2), a.x+a.w-least), least
	}
	return x, w
}

// steps are those between ticks of more than a second.
var steps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600,
	86400}

// step returns the round number of seconds between ticks of which there are n at most.
func step(seconds float64, n int) float64 {
	least := seconds / float64(max(n, 1))
	if least > 1 {
		for _, s := range steps {
			if s >= least {
				return s
			}
		}
		least /= 86400
		return 86400 * roundUp(least)
	}
	return roundUp(least)
}

// roundUp returns the next number that is 1, 2 or 5 times a power of ten.
func roundUp(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(v, 1e-9))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// tick is a place on an axis.
type tick struct {
	x       int
	seconds string // from the start
	clock   string // of this machine's time zone; "" for no time that there is
}

// ticks returns those of an axis, at round numbers of seconds from its start.
func (a *axis) ticks() []tick {
	if a.end <= a.start {
		return []tick{{a.at(a.start), "0 s", clock(a.start, 0)}}
	}
	seconds := float64(uint64(a.end-a.start)) / 1e9
	by := step(seconds, a.w/100)
	decimals := max(0, int(math.Ceil(-math.Log10(by)-1e-9)))
	var ticks []tick
	for i := 0; float64(i)*by <= seconds*(1+1e-9); i++ {
		s := float64(i) * by
		t := tick{x: a.x + int(s/seconds*float64(a.w)), seconds: strconv.FormatFloat(s, 'f', decimals, 64) + " s"}
		if by >= 60 {
			t.seconds = duration(s)
		}
		if ns := s * 1e9; ns < math.MaxInt64 && a.start <= math.MaxInt64-int64(ns) {
			t.clock = clock(a.start+int64(ns), decimals)
			if by >= 86400 {
				t.clock = time.Unix(0, a.start+int64(ns)).Format("2006-01-02")
			}
		}
		ticks = append(ticks, t)
	}
	return ticks
}

func clock(t int64, decimals int) string {
	form := "15:04:05"
	if decimals > 0 {
		form += ".000000000"[:1+min(decimals, 9)]
	}
	return time.Unix(0, t).Format(form)
}

// duration writes seconds as people say them.
func duration(seconds float64) string {
	switch s := seconds; {
	case s == 0:
		return "0"
	case s < 1e-6:
		return fmt.Sprintf("%.0f ns", s*1e9)
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s < 100:
		return strconv.FormatFloat(math.Round(s*100)/100, 'f', -1, 64) + " s"
	case s < 3600:
		return fmt.Sprintf("%d:%02d min", int(s)/60, int(s)%60)
	case s < 100*3600:
		return fmt.Sprintf("%d:%02d:%02d h", int(s)/3600, int(s)/60%60, int(s)%60)
	default:
		return strconv.FormatFloat(math.Round(s/8640)/10, 'f', -1, 64) + " days"
	}
}

// drawAxis writes seconds above a plot from top to bottom, and the time of day below, with lines between.
func (d *Drawing) drawAxis(a *axis, top, bottom int) {
	for _, t := range a.ticks() {
		d.add(Rect{Box{t.x, top - 4, 1, bottom - top + 8}, pale})
		d.centre(t.x, top-8, smallFont, grey, t.seconds)
		d.centre(t.x, bottom+16, smallFont, grey, t.clock)
	}
}

// drawHead writes the title of a page with a line below, and a mark that says whether all is well.
func (d *Drawing) drawHead(title, line string, good bool, verdict string) {
	width := d.Width - 2*margin
	d.text(margin, 38, headFont, ink, d.fonts.fit(headFont, title, width))
	d.text(margin, 60, plainFont, grey, d.fonts.fit(plainFont, line, width))
	color := green
	if !good {
		color = vermillion
	}
	d.add(Rect{Box{margin, 71, 5, 18}, color})
	d.text(margin+12, 85, boldFont, color, d.fonts.fit(boldFont, verdict, width-12))
}

const margin = 24
