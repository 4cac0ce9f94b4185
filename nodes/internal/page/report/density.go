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
	keptGaps   = 64                            // number of the longest intervals of a topic that are kept
	gapPeriods = 10                            // a gap is longer than gapPeriods median intervals,
	gapUsual   = 3                             // gapUsual times the 98 % quantile, as some topics come in bursts,
	gapShort   = int64(100 * time.Millisecond) // and gapShort, in ns
	fewest     = 10                            // number of intervals after which a topic has a rhythm
)

// density counts the messages of each topic over time. It takes the same memory for any number of messages.
type density struct {
	start, end int64
	rows       []*row
	outside    uint64 // number of messages before start or after end
}

// newDensity returns a density for log times from start to end.
func newDensity(start, end int64) *density {
	return &density{start: start, end: max(start, end)}
}

// row is the counts of a topic with a type.
type row struct {
	topic, kind string             // name and type
	qos         []codec.QoS        // distinct QoS of the publishers
	bytes       uint64             // size of the payloads
	delays      contract.Latencies // from stamps to log times
	count       uint64             // number of messages
	bins        [Bins]uint32       // number of messages in each bin
	first, last int64              // log times
	intervals   contract.Latencies // times between messages
	longest     []interval         // the longest intervals
	worst       uint64             // longest interval in ns
}

// interval is a time range in ns since the Unix epoch.
type interval struct{ from, to int64 }

// length returns the length in ns.
func (i interval) length() uint64 { return uint64(i.to - i.from) }

// add counts a message, and reports whether it is between start and end. The messages of a topic come in the order of
// time.
func (d *density) add(r *row, t int64) bool {
	if t < d.start || t > d.end {
		d.outside++
		return false
	}
	r.add(t)
	r.bins[d.bin(t)]++
	return true
}

// row returns the row of a channel. Channels with the same topic and type share a row.
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

// at returns the position of a time between start, 0, and end, 1.
func (d *density) at(t int64) float64 {
	if d.end == d.start {
		return 0.5
	}
	return float64(uint64(min(max(t, d.start), d.end)-d.start)) / float64(uint64(d.end-d.start))
}

// bin returns the bin of a time.
func (d *density) bin(t int64) int { return min(int(d.at(t)*Bins), Bins-1) }

// seconds returns the time from start to end in s.
func (d *density) seconds() float64 { return float64(uint64(d.end-d.start)) / 1e9 }

// crowd returns the shortest time range with 99 % of the messages.
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

// absurd reports whether a few messages have times weeks away from all others. It returns the time range of the others.
func (d *density) absurd() (start, end int64, absurd bool) {
	const long = 30 * 24 * 3600
	if d.seconds() < long {
		return d.start, d.end, false
	}
	start, end = d.crowd()
	return start, end, float64(uint64(end-start)) < d.seconds()*1e9/50
}

// add counts a message with the log time t.
func (r *row) add(t int64) {
	r.count++
	if r.count == 1 {
		r.first, r.last = t, t
		return
	}
	if t <= r.last { // messages that were latched before a file began have one log time
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

// regular reports whether a topic has a rhythm.
func (r *row) regular() bool {
	return r.intervals.Count() >= fewest && !contract.Latched(r.topic, r.qos)
}

// usual returns the q-quantile of the intervals in ns.
func (r *row) usual(q float64) float64 { return float64(r.intervals.Quantile(q)) }

// gaps returns the silences that are unusual for the rhythm of a topic, also one that lasts until end, in order.
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

// rates returns the rate of a topic in each bin, in messages/s.
func (d *density) rates(r *row) []float32 {
	rates := make([]float32, Bins)
	for i, n := range r.bins {
		rates[i] = float32(Bins * float64(n) / max(d.seconds(), 1e-9))
	}
	return rates
}
