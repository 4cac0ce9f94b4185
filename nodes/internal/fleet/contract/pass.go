package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

// Pass checks a recording. It takes the messages in the order of their log times.
type Pass struct {
	contract *Contract           // nil: only suspicious things are found
	fields   map[string][]string // fields whose ranges are measured, by topic
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
	begun    bool  // the pass has a message
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

// topic adds a channel to its topic's state and returns that state.
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

// labelled is the expectation in findings about payloads with wrong labels.
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
	isAccepted := func(f Finding) bool {
		accept := p.contract.topic(f.Topic).Accept
		if p.contract != nil && p.contract.Topics[f.Topic] == nil {
			accept = p.contract.Accept
		}
		return slices.Contains(accept, f.Kind)
	}
	list = slices.DeleteFunc(list, isAccepted)
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
		t.finish(p)
		if t.rhythm.IsGap(1e18) {
			ends = max(ends, t.last)
		}
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
	p.findMissing()
	if took := float64(p.end-p.start) / 1e9; !p.contract.Duration.none() && !p.contract.Duration.holds(took) {
		p.found.add(Finding{"", p.start, p.end, Duration, p.contract.Duration.text(" s"), seconds(p.end - p.start)})
	}
}

// findMissing adds findings for the topics of the contract that have too few messages.
func (p *Pass) findMissing() {
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
