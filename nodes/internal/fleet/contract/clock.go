package contract

import (
	"cmp"
	"fmt"
	"slices"

	"tapedeck/codec/text/human"
)

// clockStep is a change of the time from stamps to receipt that stays.
type clockStep struct {
	topic string
	time  int64 // log time of the message before
	by    int64 // ns, positive if the clock of the recording was set forward, or that of the stamps back
	log   bool  // it is the log times that make the step
}

// clockWatch finds steps in the stamps of a channel.
type clockWatch struct {
	count       int
	level       float64 // ns from stamp to receipt, as usual
	noise       float64 // ns by which it differs from that
	usual       float64 // ns between stamps
	last, stamp int64   // of the message before

	candidate *clockStep // nil: none
	to        float64    // level after it
	seen      int        // messages at that level
}

// A step is at least so large, also beside the noise, and stays so long and in so many messages. What is caught up with
// is none.
const (
	stepSize  = 0.5e9
	stepNoise = 10
	stepTime  = 1e9
	stepCount = 5
)

func (w *clockWatch) add(p *Pass, topic string, now, stamp int64) {
	if w.count > 0 && stamp == w.stamp { // it stands still, which repeats finds
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
			w.candidate = nil // it was an exception, or begins anew
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

func (w *clockWatch) isStep(by float64, now, stamp int64) bool {
	step := max(by, -by) >= max(stepSize, stepNoise*w.noise)
	if step { // which may also be noise
		w.noise += stepSize / 100
	}
	// Simulated time that is slower or faster than real time is off by more and more.
	at := float64(now-w.last) - float64(stamp-w.stamp)
	return step && max(at, -at) >= max(by, -by)/2
}

func (w *clockWatch) begin(topic string, now, stamp int64, latency float64) {
	by := latency - w.level
	ofLog, ofStamp := float64(now-w.last)-w.usual, float64(stamp-w.stamp)-w.usual
	w.candidate = &clockStep{topic, w.last, int64(by), max(ofLog, -ofLog) > max(ofStamp, -ofStamp)}
	w.to, w.seen = latency, 1
}

// together is how far apart the same step of a clock is found by several topics.
const together = 5e9

// findSteps finds clocks that were set. One step is found once, whatever topics it shows in; a step that one topic has
// because its messages arrive late is none.
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
