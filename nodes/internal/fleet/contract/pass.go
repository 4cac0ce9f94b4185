package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

// Pass checks a recording. It takes the messages in the order of their log times.
type Pass struct {
	contract *Contract           // nil: only suspicious things are found
	fields   map[string][]string // by topic: fields whose ranges are measured
	info     *codec.Info
	topics   map[string]*topicState
	channels map[*codec.Channel]*channelState
	last     *channelState    // channel of the last message
	trees    map[string]*tree // transform trees by namespace
	actors   actors
	steps    []clockStep
	found    findings
	pauses   []codec.Event
	start    int64 // log time of the first message
	end      int64 // latest log time
	begun    bool  // there was a message
}

// New returns a pass over a recording. It checks the recording against a contract. Without one it only finds things
// that are suspicious by themselves.
func New(c *Contract, info *codec.Info) *Pass {
	p := &Pass{contract: c, info: info, fields: map[string][]string{}, topics: map[string]*topicState{},
		channels: map[*codec.Channel]*channelState{}, trees: map[string]*tree{}}
	if c != nil {
		for name, t := range c.Topics {
			p.fields[name] = slices.Sorted(maps.Keys(t.Ranges))
		}
	}
	for _, e := range info.Events {
		if e.Kind == codec.EventPause {
			p.pauses = append(p.pauses, e)
		}
	}
	for _, t := range info.Topics {
		if !codec.IsEvents(t.Channel) {
			p.topic(t.Channel)
		}
	}
	return p
}

// Watch makes the pass measure the range of a field, such as "pose.position.x", of a topic of the recording.
func (p *Pass) Watch(topic, field string) error {
	if p.topics[topic] == nil {
		return fmt.Errorf("there is no topic %s", human.Printable(topic))
	}
	for _, t := range p.info.Topics {
		if t.Channel.Topic == topic {
			if _, err := newRange(newChannelState(t.Channel).schema, field); err != nil {
				return fmt.Errorf("%s: %w", human.Printable(topic), err)
			}
		}
	}
	p.fields[topic] = append(p.fields[topic], field)
	return nil
}

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
	begin           int64 // log time
	count           int   // number of messages
	silent          bool  // the window has a gap or a pause, so its rate does not count
	lowest, highest float64
	wrong           bool // the last window's rate was beyond the limits
}

// A window is at least windowTime long, and has at least windowCount messages unless the expected rate allows fewer.
const (
	windowTime  = 5 * time.Second
	windowCount = 20
)

// topic adds a channel to the state of its topic, and returns that.
func (p *Pass) topic(c *codec.Channel) *topicState {
	t := p.topics[c.Topic]
	if t == nil {
		t = &topicState{name: c.Topic, expected: p.contract.topic(c.Topic), frames: map[string]bool{},
			sizes: map[string]bool{}, ranges: map[string]Limits{}, unmeasured: map[string]int64{}}
		p.topics[c.Topic] = t
	}
	if !slices.Contains(t.types, c.Type) {
		t.types = append(t.types, c.Type)
	}
	t.qos = append(t.qos, c.QoS...)
	return t
}

// Add takes the next message.
func (p *Pass) Add(m *codec.Message) {
	s := p.last
	if s == nil || s.channel != m.Channel {
		if codec.IsEvents(m.Channel) {
			return
		}
		s = p.channel(m.Channel)
		p.last = s
	}
	if !p.begun {
		p.start, p.begun = m.LogTime, true
	}
	p.end = max(p.end, m.LogTime)
	s.addTime(p, m.LogTime)
	s.addMessage(p, m)
}

// channel returns the state of a channel.
func (p *Pass) channel(c *codec.Channel) *channelState {
	if s := p.channels[c]; s != nil {
		return s
	}
	t := p.topics[c.Topic]
	if t == nil {
		t = p.topic(c)
	}
	s := newChannelState(c)
	s.topicState = t
	s.prepare(p)
	p.channels[c] = s
	return s
}

// addTime takes the log time of the next message.
func (t *topicState) addTime(p *Pass, now int64) {
	t.count++
	if t.count == 1 {
		t.first, t.last, t.steady, t.window.begin = now, now, now, now
		t.rhythm.Observe(now)
		return
	}
	interval := now - t.last
	// Messages with one log time, such as latched messages at the begin of a file, tell nothing about the rhythm.
	silence := t.rhythm.IsSilence(float64(interval))
	silent := interval != 0 && t.rhythm.Observe(now)
	if silent {
		silent = !t.burst()
		t.steady = now
	}
	paused := p.paused(t.last, now) || p.actors.gone(t.name, t.last)
	if !paused {
		t.worst = max(t.worst, interval)
		if silence {
			t.silences++
		}
	}
	switch most := t.expected.Gap; {
	case paused:
		t.window.silent = true
	case most > 0 && float64(interval) > most*1e9:
		t.long = append(t.long, Finding{t.name, t.last, now, Gap, "at most " + number(most) + " s", seconds(interval)})
		t.window.silent = true
	case silent && !t.seldom():
		if most == 0 {
			p.found.add(Finding{t.name, t.last, now, Gap, "a message every " + seconds(int64(t.rhythm.Usual)),
				"nothing for " + seconds(interval)})
		}
		t.window.silent = true
	}
	t.last = now
	w := &t.window
	w.count++
	elapsed := now - w.begin
	least := t.expected.Rate.min()
	if elapsed >= int64(windowTime) && (w.count >= windowCount ||
		least > 0 && float64(elapsed) >= windowCount/least*1e9) {
		t.closeWindow(p, now)
	}
}

// unfinished reports whether the open window counts at the end, with its last message at last: because it is long
// enough, or because there is no other.
func (w *window) unfinished(last int64) bool {
	return w.count > 0 && (w.highest == 0 || last-w.begin >= int64(windowTime))
}

// close begins another window and returns the rate in the last one. It reports false if that rate does not count.
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

// TimesOnly returns the topics, with types, of ROS 2 messages that could not be decoded for lack of a definition. Only
// the log times of their messages were checked.
func (p *Pass) TimesOnly() []string {
	var topics []string
	for c, s := range p.channels {
		if s.schema == nil && c.Encoding == codec.EncodingCDR {
			topics = append(topics, fmt.Sprintf("%s [%s]", human.Printable(c.Topic), human.Printable(c.Type)))
		}
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// paused reports whether the recording was paused at any time between from and until.
func (p *Pass) paused(from, until int64) bool {
	return slices.ContainsFunc(p.pauses, func(e codec.Event) bool { return e.Time < until && e.Until > from })
}

// Damaged takes an error of reading the recording.
func (p *Pass) Damaged(err error) {
	p.found.add(Finding{"", 0, 0, Damage, "a recording without damage", err.Error()})
}

// Mislabelled takes an error about payloads that differ from what the recording says.
func (p *Pass) Mislabelled(err error) {
	p.found.add(Finding{"", 0, 0, Payload, labelled, err.Error()})
}

// labelled is the expectation of payloads in findings about wrong labels.
const labelled = "what the recording says"

// Times returns the log time of the first message, and the latest log time.
func (p *Pass) Times() (start, end int64) { return p.start, p.end }

// Topics returns the names of the topics in the recording and in the contract.
func (p *Pass) Topics() []string {
	names := slices.Collect(maps.Keys(p.topics))
	if p.contract != nil {
		names = slices.AppendSeq(names, maps.Keys(p.contract.Topics))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Findings returns the findings in the order of time. It is called after the last message, and may be called again.
func (p *Pass) Findings() []Finding {
	before := p.found
	p.found = findings{slices.Clone(before.list), maps.Clone(before.count)}
	p.finish()
	list := p.found.summary()
	p.found = before
	accepted := func(f Finding) bool {
		accept := p.contract.topic(f.Topic).Accept
		if p.contract != nil && p.contract.Topics[f.Topic] == nil {
			accept = p.contract.Accept
		}
		return slices.Contains(accept, f.Kind)
	}
	list = slices.DeleteFunc(list, accepted)
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.Topic, b.Topic))
	})
	return list
}

// finish adds the findings that need the whole recording.
func (p *Pass) finish() {
	p.findEvents()
	var ends int64 // log time at which the last topic with a rhythm ended
	for _, name := range slices.Sorted(maps.Keys(p.topics)) {
		t := p.topics[name]
		w, long := t.window, t.long
		if w.unfinished(t.last) {
			t.closeWindow(p, t.last)
		}
		t.addLong(p)
		t.window, t.long = w, long
		if t.rhythm.IsGap(1e18) {
			ends = max(ends, t.last)
		}
		for _, wrong := range t.types {
			if t.expected.Type != "" && wrong != t.expected.Type {
				p.found.add(Finding{name, 0, 0, Type, t.expected.Type, human.OrDash(wrong)})
			}
		}
		if got := qosText(t.qos); t.expected.QoS != "" && got != "" && got != t.expected.QoS {
			p.found.add(Finding{name, 0, 0, QoS, t.expected.QoS, got})
		}
		for _, field := range slices.Sorted(maps.Keys(t.unmeasured)) {
			if want := t.expected.Ranges[field]; !want.none() && t.ranges[field].none() {
				p.found.add(Finding{name, t.unmeasured[field], 0, Range, field + " " + want.text(""), "never a number"})
			}
		}
		if most := t.expected.Latency; most > 0 && float64(t.latencies.Quantile(0.99)) > most*1.03e9 {
			p.found.add(Finding{name, t.late, 0, Latency, "99 % within " + number(most) + " s",
				seconds(t.latencies.Quantile(0.99))})
		}
		p.findMissingFrames(t)
	}
	for _, name := range slices.Sorted(maps.Keys(p.topics)) {
		p.findEnd(p.topics[name], ends)
	}
	for _, namespace := range slices.Sorted(maps.Keys(p.trees)) {
		p.trees[namespace].find(p, path.Join(namespace, "tf"))
	}
	p.findSteps()
	if p.contract == nil {
		return
	}
	for name, expected := range p.contract.Topics {
		var count uint64
		if t := p.topics[name]; t != nil {
			count = t.count
		}
		switch least := max(1, expected.Messages); {
		case count >= least, expected.Optional && count == 0:
		case count == 0:
			p.found.add(Finding{name, 0, 0, Missing, "messages", "none" + p.near(name)})
		default:
			p.found.add(Finding{name, 0, 0, Missing, "at least " + human.Count(least, "message"), fmt.Sprint(count)})
		}
	}
	if took := float64(p.end-p.start) / 1e9; !p.contract.Duration.none() && !p.contract.Duration.holds(took) {
		p.found.add(Finding{"", p.start, p.end, Duration, p.contract.Duration.text(" s"), seconds(p.end - p.start)})
	}
}

// near returns a text with topics whose names are similar to a missing topic's name, or "" if there are none.
func (p *Pass) near(name string) string {
	var others []string
	for other := range p.topics {
		if p.contract.Topics[other] == nil {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	if near := human.Near(name, others); len(near) > 0 {
		return "; there is " + human.List(near)
	}
	return ""
}

// shortEnd is how much earlier than others a topic may always end, because nodes end one after the other.
const shortEnd = 2 * time.Second

// silentBefore is how many times longer than its longest interval a topic must be silent at the end for a finding.
const silentBefore = 5

// findEnd adds a finding if a topic ends long before end.
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

// findEvents adds findings for the events of the recording, from the recorder or the reader.
func (p *Pass) findEvents() {
	damaged := slices.ContainsFunc(p.found.list, func(f Finding) bool { return f.Kind == Damage })
	for _, e := range p.info.Events {
		f := Finding{Topic: e.Topic, Time: e.Time, Until: e.Until, Seen: human.Printable(e.Text)}
		switch e.Kind {
		case codec.EventLost, codec.EventDrop, codec.EventDisk:
			f.Kind, f.Expected = Lost, "all messages"
			if e.Count > 0 {
				f.Seen = human.Count(e.Count, "message") + ": " + f.Seen
			}
		case codec.EventTimes:
			f.Kind, f.Expected = Clock, "times near those of the others"
		case codec.EventDamage, codec.EventMissing, codec.EventUnfinished:
			f.Kind, f.Expected = Damage, "a complete recording"
			if damaged && e.Kind == codec.EventDamage {
				continue
			}
		case codec.EventSuspect:
			f.Kind, f.Expected = Damage, "messages as they were written"
		case codec.EventLabel:
			f.Kind, f.Expected = Payload, labelled
		default:
			continue
		}
		damaged = damaged || f.Kind == Damage
		p.found.add(f)
	}
	if !p.info.Complete && !damaged {
		p.Damaged(errors.New("it was not finished"))
	}
}
