package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/internal/fleet/contract"
)

const (
	keptGaps   = 64 // of a topic, the longest ones
	gapPeriods = 10 // of the median, which a gap is longer than
	gapUsual   = 3  // times what all but a few intervals are, likewise: some topics come in bursts
	gapShort   = int64(100 * time.Millisecond)
	fewest     = 10 // intervals that tell of a rhythm
)

// density counts the messages of each topic over time. It takes the same memory for any number of messages.
type density struct {
	start, end int64
	rows       []*row
	outside    uint64 // messages that are not between start and end
}

// newDensity counts messages whose LogTime is from start to end, ns since the Unix epoch.
func newDensity(start, end int64) *density {
	return &density{start: start, end: max(start, end)}
}

// row is what is known of a topic.
type row struct {
	topic, kind string
	qos         []codec.QoS // of its publishers, each once
	bytes       uint64      // of payloads
	delays      contract.Latencies
	count       uint64
	bins        [Bins]uint32
	first, last int64
	intervals   contract.Latencies
	longest     []interval
	worst       uint64 // ns, the longest interval of all
}

// interval is one between two messages, or an event.
type interval struct{ from, to int64 }

func (i interval) length() uint64 { return uint64(i.to - i.from) }

// add counts a message, and reports whether it is from start to end. Those of a topic come in the order of time.
func (d *density) add(r *row, t int64) bool {
	if t < d.start || t > d.end {
		d.outside++
		return false
	}
	r.add(t)
	r.bins[d.bin(t)]++
	return true
}

// row returns the row of a channel: channels of one name and type share it.
func (d *density) row(c *codec.Channel) *row {
	i := slices.IndexFunc(d.rows, func(r *row) bool { return r.topic == c.Topic && r.kind == c.Type })
	if i < 0 {
		i = len(d.rows)
		d.rows = append(d.rows, &row{topic: c.Topic, kind: c.Type})
	}
	r := d.rows[i]
	for _, q := range c.QoS {
		if !slices.Contains(r.qos, q) {
			r.qos = append(r.qos, q)
		}
	}
	return r
}

// at says where a time is, from 0 to 1.
func (d *density) at(t int64) float64 {
	if d.end == d.start {
		return 0.5
	}
	return float64(uint64(min(max(t, d.start), d.end)-d.start)) / float64(uint64(d.end-d.start))
}

func (d *density) bin(t int64) int { return min(int(d.at(t)*Bins), Bins-1) }

// seconds is how long all of it is.
func (d *density) seconds() float64 { return float64(uint64(d.end-d.start)) / 1e9 }

// crowd returns the part of the time that has nearly all of the messages.
func (d *density) crowd() (start, end int64) {
	var counts [Bins]uint64
	var all, sum uint64
	for _, r := range d.rows {
		for i, n := range r.bins {
			counts[i] += uint64(n)
			all += uint64(n)
		}
	}
	low, best := 0, interval{0, Bins - 1}
	for high, n := range counts {
		for sum += n; sum-counts[low] >= all-all/100; low++ {
			sum -= counts[low]
		}
		if sum >= all-all/100 && int64(high-low) < best.to-best.from {
			best = interval{int64(low), int64(high)}
		}
	}
	width := d.seconds() / Bins * 1e9
	edge := func(bin int64) int64 { return d.start + int64(uint64(float64(bin)*width)) }
	start, end = edge(best.from), edge(best.to+1)
	if best.to == Bins-1 {
		end = d.end
	}
	return start, end
}

// absurd returns what part of the time is worth looking at where a few messages have times far from those of the
// others: weeks that have next to nothing in them.
func (d *density) absurd() (start, end int64, absurd bool) {
	const long = 30 * 24 * 3600
	if d.seconds() < long {
		return d.start, d.end, false
	}
	start, end = d.crowd()
	return start, end, float64(uint64(end-start)) < d.seconds()*1e9/50
}

func (r *row) add(t int64) {
	r.count++
	if r.count == 1 {
		r.first, r.last = t, t
		return
	}
	if t <= r.last { // as several that were latched before a file began: no interval
		return
	}
	step := interval{r.last, t}
	r.last = step.to
	r.worst = max(r.worst, step.length())
	r.intervals.Add(int64(min(step.length(), math.MaxInt64)))
	if len(r.longest) < keptGaps {
		r.longest = append(r.longest, step)
		return
	}
	if int64(step.length()) <= gapShort {
		return
	}
	shortest := 0
	for i := range r.longest {
		if r.longest[i].length() < r.longest[shortest].length() {
			shortest = i
		}
	}
	if step.length() > r.longest[shortest].length() {
		r.longest[shortest] = step
	}
}

// regular says whether a topic has a rhythm.
func (r *row) regular() bool {
	return r.intervals.Count() >= fewest && !contract.Latched(r.topic, r.qos)
}

// usual returns what part of the intervals are not longer than, in ns.
func (r *row) usual(part float64) float64 { return float64(r.intervals.Quantile(part)) }

// gaps returns where a topic is silent for much longer than its rhythm lets expect, up to end too, in the order of
// time.
func (r *row) gaps(end int64) []interval {
	if !r.regular() {
		return nil
	}
	limit := max(float64(gapShort), gapPeriods*r.usual(0.5), gapUsual*r.usual(0.98))
	var gaps []interval
	for _, step := range append(slices.Clip(r.longest), interval{r.last, end}) {
		if float64(step.length()) > limit {
			gaps = append(gaps, step)
		}
	}
	slices.SortFunc(gaps, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	return gaps
}

// rates returns how many messages a second of a topic there are in each bin.
func (d *density) rates(r *row) []float32 {
	rates := make([]float32, Bins)
	for i, n := range r.bins {
		rates[i] = float32(Bins * float64(n) / max(d.seconds(), 1e-9))
	}
	return rates
}
