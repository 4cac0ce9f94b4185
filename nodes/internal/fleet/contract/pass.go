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

// Pass takes the messages of a recording in the order of their log times.
type Pass struct {
	contract *Contract // nil: only what is suspicious is found
	fields   map[string][]string
	info     *codec.Info
	topics   map[string]*topic
	streams  map[*codec.Channel]*stream
	last     *stream          // of the message before
	trees    map[string]*tree // of /tf, by namespace
	actors   actors
	steps    []clockStep
	found    findings
	pauses   []codec.Event
	start    int64 // log time of the first message
	end      int64
	begun    bool
}

// New returns a pass over a recording, to check it against a contract, or if that is nil only for what is suspicious.
func New(c *Contract, info *codec.Info) *Pass {
	p := &Pass{contract: c, info: info, fields: map[string][]string{}, topics: map[string]*topic{},
		streams: map[*codec.Channel]*stream{}, trees: map[string]*tree{}}
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

// Watch also takes the range of a field, "pose.position.x", of a topic of the recording.
func (p *Pass) Watch(topic, field string) error {
	if p.topics[topic] == nil {
		return fmt.Errorf("there is no topic %s", human.Printable(topic))
	}
	for _, t := range p.info.Topics {
		if t.Channel.Topic == topic {
			if _, err := newRange(newStream(t.Channel).schema, field); err != nil {
				return fmt.Errorf("%s: %w", human.Printable(topic), err)
			}
		}
	}
	p.fields[topic] = append(p.fields[topic], field)
	return nil
}

// topic is what is known of a topic, whatever channels it has.
type topic struct {
	name     string
	expected *Topic
	types    []string
	qos      []codec.QoS

	count      uint64
	first      int64 // log times
	last       int64
	worst      int64 // gap, ns
	rhythm     GapDetector
	steady     int64 // log time since which there was no silence
	silences   int   // intervals far longer than is usual
	window     window
	long       []Finding // intervals in the window that are longer than the expected gap
	latencies  Latencies
	late       int64 // log time of the first message beyond the expected latency
	frames     map[string]bool
	sizes      map[string]bool
	ranges     map[string]Limits // that were seen
	unmeasured map[string]int64  // log times of the first NaN of fields
	outOfFrame string            // the last unexpected frame, "" after an expected one
	wrongSize  string
}

// window measures the rate over some seconds.
type window struct {
	begin           int64
	count           int
	silent          bool // there was a gap, which is reported as such
	lowest, highest float64
	wrong           bool // the last one was beyond the limits
}

// A window is at least so long, and has so many messages, if the topic is to have so many in any case.
const (
	windowTime  = 5 * time.Second
	windowCount = 20
)

func (p *Pass) topic(c *codec.Channel) *topic {
	t := p.topics[c.Topic]
	if t == nil {
		t = &topic{name: c.Topic, expected: p.contract.topic(c.Topic), frames: map[string]bool{},
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
		s = p.stream(m.Channel)
		p.last = s
	}
	if !p.begun {
		p.start, p.begun = m.LogTime, true
	}
	p.end = max(p.end, m.LogTime)
	s.time(p, m.LogTime)
	s.message(p, m)
}

func (p *Pass) stream(c *codec.Channel) *stream {
	if s := p.streams[c]; s != nil {
		return s
	}
	t := p.topics[c.Topic]
	if t == nil {
		t = p.topic(c)
	}
	s := newStream(c)
	s.topic = t
	s.watch(p)
	p.streams[c] = s
	return s
}

// time takes the log time of the next message.
func (t *topic) time(p *Pass, now int64) {
	t.count++
	if t.count == 1 {
		t.first, t.last, t.steady, t.window.begin = now, now, now, now
		t.rhythm.Observe(now)
		return
	}
	interval := now - t.last
	// Several messages of one time, as those that were latched before a file began, tell of no rhythm.
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

// unfinished reports whether what remains at the last message is as good as a whole window.
func (w *window) unfinished(last int64) bool {
	return w.count > 0 && (w.highest == 0 || last-w.begin >= int64(windowTime))
}

// close begins another window, and returns the rate in the last one unless there is none.
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

func (t *topic) closeWindow(p *Pass, now int64) {
	w, expected := &t.window, t.expected.Rate
	begin, count := w.begin, w.count
	rate, ok := w.close(now)
	if !ok && len(t.long) >= fewGaps && !expected.none() && now > begin {
		rate = float64(count) * 1e9 / float64(now-begin)
		ok = !expected.holds(rate)
		if ok { // the topic is slow, which one finding says
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

// burst reports whether the messages since the last silence are a burst: too short for a rhythm that ends.
func (t *topic) burst() bool { return t.last-t.steady < int64(time.Second) }

// fewGaps is the least number of gaps in a window that make it one of a slow topic.
const fewGaps = 3

// addLong adds the findings about long intervals that no finding about the rate replaces.
func (t *topic) addLong(p *Pass) {
	for _, f := range t.long {
		p.found.add(f)
	}
	t.long = nil
}

// TimesOnly returns the topics of ROS 2 messages of which only the times were checked, with their types: there is no
// definition with which they could be decoded.
func (p *Pass) TimesOnly() []string {
	var all []string
	for c, s := range p.streams {
		if s.schema == nil && c.Encoding == codec.EncodingCDR {
			all = append(all, fmt.Sprintf("%s [%s]", human.Printable(c.Topic), human.Printable(c.Type)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// paused reports whether the recording was paused at some time from one to another.
func (p *Pass) paused(from, until int64) bool {
	return slices.ContainsFunc(p.pauses, func(e codec.Event) bool { return e.Time < until && e.Until > from })
}

// Latched reports whether a topic has messages when there is something to say, and is silent otherwise.
func Latched(name string, publishers []codec.QoS) bool {
	seldom := func(end string) bool { return strings.HasSuffix(name, end) }
	return slices.ContainsFunc([]string{"/tf_static", "/parameter_events", "/param/event"}, seldom) ||
		slices.Contains(logTopics, name) ||
		len(publishers) > 0 && !slices.ContainsFunc(publishers, func(q codec.QoS) bool {
			return q.Durability != codec.TransientLocal
		})
}

// seldom reports whether the topic has messages when there is something to say.
func (t *topic) seldom() bool {
	return Latched(t.name, t.qos) ||
		slices.ContainsFunc(t.types, func(name string) bool { return slices.Contains(px4Events, name) })
}

// px4Events are types of messages that PX4 sends when something happens, and not at a rate.
var px4Events = func() []string {
	var all []string
	for name := range strings.FieldsSeq(`ActionRequest CameraCapture CameraTrigger Event FollowTarget GeofenceResult
		GimbalManagerSetManualControl GpsInjectData HomePosition LedControl LogMessage LoggerStatus MavlinkLog Mission
		MissionResult ModeCompleted NavigatorMissionItem ObstacleDistance OrbitStatus ParameterUpdate
		PositionSetpointTriplet RegisterExtComponentReply RegisterExtComponentRequest TransponderReport TuneControl
		UlogStream UlogStreamAck VehicleCommand VehicleCommandAck VehicleRoi VtolVehicleStatus`) {
		all = append(all, "px4_msgs/msg/"+name)
	}
	return all
}()

// Damaged takes an error that reading came across.
func (p *Pass) Damaged(err error) {
	p.found.add(Finding{"", 0, 0, Damage, "a recording without damage", err.Error()})
}

// Mislabelled takes an error about payloads that are not what the recording says.
func (p *Pass) Mislabelled(err error) {
	p.found.add(Finding{"", 0, 0, Payload, labelled, err.Error()})
}

// labelled is expected of a recording that was read otherwise than it says.
const labelled = "what the recording says"

// Times returns the log times of the first and of the last message.
func (p *Pass) Times() (start, end int64) { return p.start, p.end }

// Topics returns the names of the topics of recording and contract.
func (p *Pass) Topics() []string {
	names := slices.Collect(maps.Keys(p.topics))
	if p.contract != nil {
		names = slices.AppendSeq(names, maps.Keys(p.contract.Topics))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Findings returns what was found, in the order of time, after the last message.
func (p *Pass) Findings() []Finding {
	all := findings{slices.Clone(p.found.list), maps.Clone(p.found.more)}
	kept := p.found
	p.found = all
	p.finish()
	list := p.found.all()
	p.found = kept
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

// finish finds what only the whole recording tells.
func (p *Pass) finish() {
	p.findEvents()
	var ends int64 // when the last topic with a rhythm did
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

// near names topics that a missing one may be called.
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

// shortEnd is how much earlier than others a topic may end in any case, as nodes end one after the other.
const shortEnd = 2 * time.Second

// silentBefore is how many times longer than before a topic is silent at its end.
const silentBefore = 5

// findEnd finds that a topic ends before those that go on until the end.
func (p *Pass) findEnd(t *topic, end int64) {
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

// findEvents finds what the recorder noted, or the reader.
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
