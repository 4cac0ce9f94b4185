package contract

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

// topicState is the state of a topic with all its channels.
type topicState struct {
	name     string
	expected *Topic
	types    []string
	qos      []codec.QoS

	count      uint64 // number of messages
	first      int64  // log time of the first message
	last       int64  // log time of the last message
	worst      int64  // longest interval in ns
	rhythm     GapDetector
	steady     int64 // log time of the end of the last gap, or of the first message
	silences   int   // number of intervals much longer than usual
	window     window
	long       []Finding // intervals in the window that are longer than the expected gap
	latencies  Latencies
	late       int64             // log time of the first message beyond the expected latency
	frames     map[string]bool   // values of frame_id, or child frames of transforms
	sizes      map[string]bool   // sizes of images, such as "640x480"
	ranges     map[string]Limits // ranges of the measured fields
	unmeasured map[string]int64  // by field: log time of the first NaN
	outOfFrame string            // last unexpected frame with a dot, "" after an expected one
	wrongSize  string            // last unexpected size, "" after an expected one
}

// window measures the rate of a topic over some seconds.
type window struct {
	begin           int64   // log time
	count           int     // number of messages
	silent          bool    // the window has a gap or a pause, so its rate does not count
	lowest, highest float64 // messages/s in the windows that count; 0: none yet
	wrong           bool    // the last window's rate was beyond the limits
}

// A window is at least windowTime long, and has at least windowCount messages unless the expected rate allows fewer.
const (
	windowTime  = 5 * time.Second
	windowCount = 20
)

// addTime takes the log time of the next message.
func (t *topicState) addTime(p *Pass, now int64) {
	t.count++
	if t.count == 1 {
		t.first, t.last, t.steady, t.window.begin = now, now, now, now
		t.rhythm.Observe(now)
		return
	}
	t.addInterval(p, now)
	t.last = now
	t.window.count++
	if t.window.full(now, t.expected.Rate.min()) {
		t.closeWindow(p, now)
	}
}

// addInterval checks the interval between the last message and the next one, whose log time is now.
func (t *topicState) addInterval(p *Pass, now int64) {
	interval := now - t.last
	// Messages with one log time, such as latched messages at the start of a file, tell nothing about the rhythm.
	silence := t.rhythm.IsSilence(float64(interval))
	gap := interval != 0 && t.rhythm.Observe(now)
	if gap {
		gap = !t.burst()
		t.steady = now
	}
	if p.paused(t.last, now) || p.actors.gone(t.name, t.last) {
		t.window.silent = true
		return
	}
	t.worst = max(t.worst, interval)
	if silence {
		t.silences++
	}
	switch most := t.expected.Gap; {
	case most > 0 && float64(interval) > most*1e9:
		t.long = append(t.long, Finding{t.name, t.last, now, Gap, "at most " + number(most) + " s", seconds(interval)})
		t.window.silent = true
	case gap && !t.seldom():
		if most == 0 {
			p.found.add(Finding{t.name, t.last, now, Gap, "a message every " + seconds(int64(t.rhythm.Usual)),
				"nothing for " + seconds(interval)})
		}
		t.window.silent = true
	}
}

// full reports whether the window has enough time and messages at now. least is the lowest expected rate, or 0.
func (w *window) full(now int64, least float64) bool {
	elapsed := now - w.begin
	return elapsed >= int64(windowTime) &&
		(w.count >= windowCount || least > 0 && float64(elapsed) >= windowCount/least*1e9)
}

// unfinished reports whether the open window, whose last message has the log time last, counts at the end. It counts if
// it is long enough, or if there is no other window.
func (w *window) unfinished(last int64) bool {
	return w.count > 0 && (w.highest == 0 || last-w.begin >= int64(windowTime))
}

// close begins another window and returns the rate of the last one. It reports whether that rate counts.
func (w *window) close(now int64) (rate float64, ok bool) {
	ok = now > w.begin && !w.silent
	if ok {
		rate = float64(w.count) * 1e9 / float64(now-w.begin)
		if w.lowest == 0 || rate < w.lowest {
			w.lowest = rate
		}
		w.highest = max(w.highest, rate)
	}
	w.begin, w.count, w.silent = now, 0, false
	return rate, ok
}

// closeWindow begins another window and checks the rate of the last one.
func (t *topicState) closeWindow(p *Pass, now int64) {
	w, expected := &t.window, t.expected.Rate
	begin, count := w.begin, w.count
	rate, ok := w.close(now)
	if !ok && len(t.long) >= fewGaps && !expected.none() && now > begin {
		rate = float64(count) * 1e9 / float64(now-begin)
		ok = !expected.holds(rate)
		if ok { // one finding about the rate replaces those about gaps
			t.long = nil
		}
	}
	t.addLong(p)
	wrong := ok && !expected.none() && !expected.holds(rate)
	if wrong && !w.wrong {
		p.found.add(Finding{t.name, begin, now, Rate, expected.text(" messages/s"), fmt.Sprintf("%.4g", rate)})
	}
	w.wrong = wrong
}

// burst reports whether the messages since the last gap are a burst, too short to have a rhythm.
func (t *topicState) burst() bool { return t.last-t.steady < int64(time.Second) }

// fewGaps is the minimum number of gaps in a window that are reported as a low rate instead.
const fewGaps = 3

// addLong adds the findings about long intervals.
func (t *topicState) addLong(p *Pass) {
	for _, f := range t.long {
		p.found.add(f)
	}
	t.long = nil
}

// finish adds the findings that need all messages of the topic. It leaves the topic's state unchanged.
func (t *topicState) finish(p *Pass) {
	window, long := t.window, t.long
	if window.unfinished(t.last) {
		t.closeWindow(p, t.last)
	}
	t.addLong(p)
	t.window, t.long = window, long
	for _, got := range t.types {
		if t.expected.Type != "" && got != t.expected.Type {
			p.found.add(Finding{t.name, 0, 0, Type, t.expected.Type, human.OrDash(got)})
		}
	}
	if got := qosText(t.qos); t.expected.QoS != "" && got != "" && got != t.expected.QoS {
		p.found.add(Finding{t.name, 0, 0, QoS, t.expected.QoS, got})
	}
	for _, field := range slices.Sorted(maps.Keys(t.unmeasured)) {
		if want := t.expected.Ranges[field]; !want.none() && t.ranges[field].none() {
			p.found.add(Finding{t.name, t.unmeasured[field], 0, Range, field + " " + want.text(""), "never a number"})
		}
	}
	if most := t.expected.Latency; most > 0 && float64(t.latencies.Quantile(0.99)) > most*1.03e9 {
		p.found.add(Finding{t.name, t.late, 0, Latency, "99 % within " + number(most) + " s",
			seconds(t.latencies.Quantile(0.99))})
	}
	p.findMissingFrames(t)
}

// shortEnd is how much earlier than others a topic may always end, because nodes end one after the other.
const shortEnd = 2 * time.Second

// silentBefore is how many times longer than its longest interval a topic must be silent at the end for a finding.
const silentBefore = 5

// findEnd adds a finding if a topic ends long before the log time end.
func (p *Pass) findEnd(t *topicState, end int64) {
	silent := end - t.last
	if t.count == 0 || silent <= int64(shortEnd) || p.paused(t.last, end) || p.actors.gone(t.name, t.last) {
		return
	}
	expected := "messages until the end"
	switch most := t.expected.Gap; {
	case most > 0 && float64(silent) > most*1e9,
		most == 0 && !t.seldom() && t.rhythm.IsGap(float64(silent)) && !t.burst() &&
			silent > silentBefore*t.worst:
		p.found.add(Finding{t.name, t.last, end, End, expected, "none in the last " + seconds(silent)})
	}
}
