package contract

import (
	"maps"
	"math"
	"slices"

	"tapedeck/codec"
)

// Learn returns a contract that the recordings of all passes meet. tolerance widens the limits: 0.2 by 20 %.
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
		var states []*topicState
		steady := true
		for _, p := range passes {
			if t := p.topics[name]; t != nil && t.count > 0 {
				states = append(states, t)
				steady = steady && !Latched(name, t.qos) && 2*(t.last-t.first) >= p.end-p.start
			}
		}
		learnt.Optional = len(states) < len(passes)
		learnt.learn(states, steady, tolerance)
	}
	for _, p := range passes { // accept the findings of good recordings
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

// logTopics are topics that have no rate and are not expected.
var logTopics = []string{"/rosout", "/parameter_events", codec.EventTopic}

const (
	fewMessages = 10  // minimum number of messages to learn a rate
	mostFrames  = 100 // maximum number of frames in a contract
)

// learn sets the expectations from the states of a topic after the passes. steady is set if the topic has messages over
// most of the time of each recording.
func (l *Topic) learn(states []*topicState, steady bool, tolerance float64) {
	frames, sizes := map[string]bool{}, map[string]bool{}
	lowest, highest, worst, latency := math.Inf(1), 0.0, 0.0, math.Inf(-1)
	regular, synchronous := steady, true
	qos := map[string]bool{}
	types := map[string]bool{}
	for i, t := range states {
		for _, name := range t.types {
			types[name] = true
		}
		qos[qosText(t.qos)] = true
		if t.transforms() && i > 0 { // keep the frames that all recordings have
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

// roundUp rounds up to two digits, as people write limits.
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

// roundDown rounds down to two digits.
func roundDown(v float64) float64 { return 0 - roundUp(-v) }
