package contract

import (
	"maps"
	"math"
	"slices"

	"tapedeck/codec"
)

// Learn returns a contract that all of the recordings meet whose passes these are. tolerance, such as 0.2, is how much
// others may differ.
func Learn(tolerance float64, passes ...*Pass) *Contract {
	c := &Contract{Topics: map[string]*Topic{}}
	shortest := math.Inf(1)
	for _, p := range passes {
		shortest = min(shortest, float64(p.end-p.start)/1e9)
		for name, t := range p.topics {
			if t.count > 0 && !slices.Contains(logTopics, name) {
				c.Topics[name] = &Topic{}
			}
		}
	}
	if least := roundDown(shortest / 2); least > 0 {
		c.Duration.Min = &least
	}
	for name, learnt := range c.Topics {
		var seen []*topic
		steady := true
		for _, p := range passes {
			if t := p.topics[name]; t != nil && t.count > 0 {
				seen = append(seen, t)
				steady = steady && !Latched(name, t.qos) && 2*(t.last-t.first) >= p.end-p.start
			}
		}
		learnt.Optional = len(seen) < len(passes)
		learnt.learn(seen, steady, tolerance)
	}
	for _, p := range passes { // what is suspicious in good recordings is not in others
		again := *p
		again.contract = c
		for _, t := range p.topics {
			t.expected = c.topic(t.name)
		}
		for _, f := range again.Findings() {
			accept := &c.Accept
			if t := c.Topics[f.Topic]; t != nil {
				accept = &t.Accept
				if f.Kind == Gap && t.Gap > 0 {
					continue
				}
			}
			if !slices.Contains(*accept, f.Kind) {
				*accept = append(*accept, f.Kind)
				slices.Sort(*accept)
			}
		}
	}
	return c
}

// logTopics have messages when there is something to say.
var logTopics = []string{"/rosout", "/parameter_events", codec.EventTopic}

const (
	fewMessages = 10  // have no rate
	mostFrames  = 100 // are listed
)

// learn takes what was seen of a topic. steady tells that it has messages for most of the time.
func (l *Topic) learn(seen []*topic, steady bool, tolerance float64) {
	frames, sizes := map[string]bool{}, map[string]bool{}
	lowest, highest, worst, latency := math.Inf(1), 0.0, 0.0, math.Inf(-1)
	regular, synchronous := steady, true
	qos := map[string]bool{}
	types := map[string]bool{}
	for i, t := range seen {
		for _, name := range t.types {
			types[name] = true
		}
		qos[qosText(t.qos)] = true
		if t.transforms() && i > 0 { // all recordings must have them
			maps.DeleteFunc(frames, func(name string, _ bool) bool { return !t.frames[name] })
		} else {
			maps.Copy(frames, t.frames)
		}
		maps.Copy(sizes, t.sizes)
		w := t.window
		if w.unfinished(t.last) {
			w.close(t.last)
		}
		lowest, highest = min(lowest, w.lowest), max(highest, w.highest)
		worst = max(worst, float64(t.worst)/1e9)
		regular = regular && t.count >= fewMessages && w.lowest > w.highest/2 && t.silences < fewGaps
		if n := t.latencies.Count(); n > 0 {
			median := float64(t.latencies.Quantile(0.5)) / 1e9
			synchronous = synchronous && math.Abs(median) < 10
			latency = max(latency, float64(t.latencies.Quantile(0.99))/1e9)
		}
		for name, r := range t.ranges {
			if l.Ranges == nil {
				l.Ranges = map[string]Limits{}
			}
			if old := l.Ranges[name]; !old.none() {
				r = limits(min(*r.Min, *old.Min), max(*r.Max, *old.Max))
			}
			l.Ranges[name] = r
		}
	}
	if len(types) == 1 {
		l.Type = slices.Collect(maps.Keys(types))[0]
	}
	if names := slices.Collect(maps.Keys(qos)); len(names) == 1 {
		l.QoS = names[0]
	}
	if names := slices.Collect(maps.Keys(sizes)); len(names) == 1 {
		l.Size = names[0]
	}
	if len(frames) <= mostFrames && (len(frames) != 1 || !frames[""]) {
		l.Frames = slices.Sorted(maps.Keys(frames))
	}
	if regular {
		l.Rate = limits(roundDown(lowest*(1-tolerance)), roundUp(highest*(1+tolerance)))
		l.Gap = roundUp(max(worst*(1+tolerance), 3/lowest))
	}
	if synchronous && latency > 0 {
		l.Latency = roundUp(2*latency + 0.01)
	}
	for name, r := range l.Ranges {
		more := tolerance * (*r.Max - *r.Min)
		r = limits(roundDown(*r.Min-more), roundUp(*r.Max+more))
		l.Ranges[name] = r
		if math.IsInf(*r.Max-*r.Min, 0) {
			delete(l.Ranges, name)
		}
	}
}

// roundUp rounds to two digits, as people would write a limit.
func roundUp(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	digits := 1 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits < 0 {
		unit := math.Pow(10, float64(-digits))
		return math.Ceil(v/unit) * unit
	}
	unit := math.Pow(10, float64(digits))
	return math.Ceil(v*unit) / unit
}

func roundDown(v float64) float64 { return 0 - roundUp(-v) }
