package contract

import (
	"cmp"
	"fmt"
	"slices"

	"tapedeck/codec/text/human"
)

// clockStep is a lasting change of the time from stamps to receipt.
type clockStep struct {
	topic string
	time  int64 // log time of the message before the step
	by    int64 // ns; positive if the recording's clock was set forward, or the stamps' clock back
	log   bool  // the log times made the step, not the stamps
}

// clockWatch finds steps between the stamps and the log times of a channel.
type clockWatch struct {
	count       int
	level       float64 // average time from stamp to receipt in ns
	noise       float64 // average deviation from level in ns
	usual       float64 // average interval of stamps in ns
	last, stamp int64   // log time and stamp of the last message

	candidate *clockStep // a step that may not last; nil: none
	to        float64    // level after the candidate
	seen      int        // number of messages at the level to
}

const (
	stepSize  = 0.5e9 // minimum size of a step in ns
	stepNoise = 10    // minimum size of a step as a multiple of the noise
	stepTime  = 1e9   // a step must last so long, in ns
	stepCount = 5     // a step must last for so many messages
)

// add takes the log time and the stamp of the next message.
func (w *clockWatch) add(p *Pass, topic string, now, stamp int64) {
	if w.count > 0 && stamp == w.stamp { // repeats finds stamps that stand still
		w.last = now
		return
	}
	latency := float64(now) - float64(stamp)
	w.count++
	switch by := latency - w.level; {
	case w.count == 1:
		w.level = latency
	case w.candidate != nil:
		if off := latency - w.to; max(off, -off) > 0.2*max(w.to-w.level, w.level-w.to) {
			w.candidate = nil // it did not last
			if w.isStep(by, now, stamp) {
				w.begin(topic, now, stamp, latency)
			}
			break
		}
		w.seen++
		if w.seen >= stepCount && now-w.candidate.time >= stepTime {
			p.steps = append(p.steps, *w.candidate)
			w.candidate, w.level = nil, latency
		}
	case w.isStep(by, now, stamp):
		w.begin(topic, now, stamp, latency)
	default:
		w.level += by / 8
		w.noise += (max(by, -by) - w.noise) / 32
		if w.count == 2 {
			w.usual = float64(stamp - w.stamp)
		}
		w.usual += (float64(stamp-w.stamp) - w.usual) / 8
	}
	w.last, w.stamp = now, stamp
}

// isStep reports whether a deviation from level, with the next message, may be a step.
func (w *clockWatch) isStep(by float64, now, stamp int64) bool {
	step := max(by, -by) >= max(stepSize, stepNoise*w.noise)
	if step { // it may also be noise
		w.noise += stepSize / 100
	}
	// Simulated time slower or faster than real time deviates more and more, without a jump at one message.
	jump := float64(now-w.last) - float64(stamp-w.stamp)
	return step && max(jump, -jump) >= max(by, -by)/2
}

// begin makes the step before the next message the candidate.
func (w *clockWatch) begin(topic string, now, stamp int64, latency float64) {
	by := latency - w.level
	ofLog, ofStamp := float64(now-w.last)-w.usual, float64(stamp-w.stamp)-w.usual
	w.candidate = &clockStep{topic, w.last, int64(by), max(ofLog, -ofLog) > max(ofStamp, -ofStamp)}
	w.to, w.seen = latency, 1
}

// together is the maximum time in ns between the steps of several topics that one step of a clock causes.
const together = 5e9

// findSteps adds findings about clocks that were set. The steps of several topics that one clock causes are one
// finding. A step of the log times of only one topic is none: its messages arrive late.
func (p *Pass) findSteps() {
	steps := slices.Clone(p.steps)
	slices.SortStableFunc(steps, func(a, b clockStep) int { return cmp.Compare(a.time, b.time) })
	for len(steps) > 0 {
		first := steps[0]
		var topics []string
		log := false
		steps = slices.DeleteFunc(steps, func(s clockStep) bool {
			off := s.by - first.by
			same := s.time-first.time < together && max(off, -off) < max(first.by, -first.by)/5 && s.log == first.log
			if same && !slices.Contains(topics, s.topic) {
				topics = append(topics, s.topic)
			}
			log = log || same && s.log
			return same
		})
		f := Finding{"", first.time, 0, Clock, "stamps and log times that advance alike", ""}
		what := "stamps"
		if log {
			what = "log times"
		}
		f.Seen = fmt.Sprintf("a step of %s between stamps and log times", seconds(first.by))
		if len(topics) == 1 {
			f.Topic = first.topic
			if log {
				continue
			}
		} else {
			f.Seen = fmt.Sprintf("a step of %s in the %s of %s", seconds(first.by), what, human.List(topics))
		}
		p.found.add(f)
	}
}
