package contract

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

// Live checks a recording while it is made. It uses only the counts of messages to find missing and silent topics and
// wrong rates, and the types and QoS of topics. It is safe for concurrent use.
type Live struct {
	contract *Contract

	mu       sync.Mutex
	start    time.Time // start of the recording, or end of the last pause
	topics   map[string]*liveTopic
	open     []Finding // findings that still hold
	past     findings  // findings that have ended
	previous []Finding // findings of recordings before the last Restart
}

// Count is the number of received messages of a topic with a type.
type Count struct {
	Topic, Type string
	QoS         []codec.QoS // QoS of the publishers
	Received    uint64
}

// liveTopic is the state of a topic of the contract.
type liveTopic struct {
	name     string
	expected *Topic
	earlier  uint64 // messages received before the last Restart
	received uint64 // messages received since the last Restart
	types    []string
	qos      []codec.QoS
	grown    time.Time // time of the last Update with new messages
	begin    time.Time // begin of the window in which the rate is measured
	before   uint64    // value of received at begin
}

const (
	liveMissing = 4 * time.Second // a topic may be missing for so long after the start
	liveSlack   = time.Second     // a topic may be silent for so much longer than its gap
	liveTime    = 3 * time.Second // minimum time to measure a rate
	liveCount   = 10              // minimum number of expected messages to measure a rate
)

// NewLive returns a Live for a recording that begins now.
func NewLive(c *Contract, now time.Time) *Live {
	l := &Live{contract: c, start: now, topics: map[string]*liveTopic{}}
	for name, expected := range c.Topics {
		l.topics[name] = &liveTopic{name: name, expected: expected, grown: now, begin: now}
	}
	return l
}

// Restart ends the recording and begins another one now, which has none of the messages and findings so far. start and
// stamp are the begin and the end of the old recording by its clock.
func (l *Live) Restart(now time.Time, start, stamp int64) {
	_, list := l.Finish(start, stamp)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.previous, l.open, l.past, l.start = append(l.previous, list...), nil, findings{}, now
	for name, t := range l.topics {
		l.topics[name] = &liveTopic{name: name, expected: t.expected, earlier: t.earlier + t.received, grown: now,
			begin: now}
	}
}

// Before returns the findings of the recordings before the last Restart.
func (l *Live) Before() []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.previous)
}

// Update compares counts with the contract at now, which is stamp by the clock of the recording. It returns the
// findings that began and those that ended. A pause ends all findings.
func (l *Live) Update(now time.Time, stamp int64, counts []Count, paused bool) (begun, ended []Finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	received := map[string]uint64{}
	for _, c := range counts {
		if t := l.topics[c.Topic]; t != nil {
			received[c.Topic] += c.Received
			if !slices.Contains(t.types, c.Type) {
				t.types = append(t.types, c.Type)
			}
			t.qos = c.QoS
		}
	}
	if paused {
		l.start = now
	}
	var holding []Finding
	for _, name := range slices.Sorted(maps.Keys(l.topics)) {
		t := l.topics[name]
		if n := received[name] - min(received[name], t.earlier); n != t.received || paused {
			if t.received == 0 || paused {
				t.begin, t.before = now, n
			}
			t.received, t.grown = n, now
		}
		if !paused {
			holding = t.check(now, now.Sub(l.start), l.open, holding)
		}
	}
	same := func(list []Finding, f Finding) int {
		return slices.IndexFunc(list, func(g Finding) bool { return g.Topic == f.Topic && g.Kind == f.Kind })
	}
	for i := range holding {
		if at := same(l.open, holding[i]); at >= 0 {
			holding[i].Time = l.open[at].Time
		} else {
			holding[i].Time = stamp
			begun = append(begun, holding[i])
		}
	}
	for _, f := range l.open {
		if same(holding, f) < 0 {
			f.Until = stamp
			l.past.add(f)
			ended = append(ended, f)
		}
	}
	l.open = holding
	return begun, ended
}

// check appends the findings about a topic to list. since is the time since the start, open are the findings of the
// last update.
func (t *liveTopic) check(now time.Time, since time.Duration, open, list []Finding) []Finding {
	x := t.expected
	add := func(k Kind, expected, seen string) { list = append(list, Finding{t.name, 0, 0, k, expected, seen}) }
	if t.received == 0 {
		if !x.Optional && since > liveMissing {
			add(Missing, "messages", "none")
		}
		return list
	}
	if x.Type != "" && !slices.Contains(t.types, x.Type) {
		add(Type, x.Type, oneOf(t.types))
	}
	if got := qosText(t.qos); x.QoS != "" && got != "" && got != x.QoS {
		add(QoS, x.QoS, got)
	}
	if silent := now.Sub(t.grown); x.Gap > 0 && silent.Seconds() > x.Gap+liveSlack.Seconds() {
		t.begin, t.before = now, t.received
		add(Gap, "at most "+number(x.Gap)+" s", "nothing for "+silent.Round(100*time.Millisecond).String())
		return list
	}
	if x.Rate.none() {
		return list
	}
	took, n := now.Sub(t.begin).Seconds(), float64(t.received-t.before)
	if least := x.Rate.min(); took < liveTime.Seconds() || least > 0 && took < liveCount/least {
		for _, f := range open { // the window is too short to change the finding about the rate
			if f.Topic == t.name && f.Kind == Rate {
				list = append(list, f)
			}
		}
		return list
	}
	low, high := x.Rate.Min != nil && (n+1)/took < *x.Rate.Min, x.Rate.Max != nil && (n-1)/took > *x.Rate.Max
	t.begin, t.before = now, t.received
	if low || high {
		add(Rate, x.Rate.text(" messages/s"), fmt.Sprintf("%.3g", n/took))
	}
	return list
}

// Open returns the findings that still hold.
func (l *Live) Open() []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.open)
}

// Finish returns the findings that still hold at the end of the recording, and all findings. start and stamp are the
// begin and the end by the clock of the recording.
func (l *Live) Finish(start, stamp int64) (open, list []Finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	open = slices.Clone(l.open)
	for _, name := range slices.Sorted(maps.Keys(l.topics)) {
		t := l.topics[name]
		missing := Finding{Topic: name, Time: start, Kind: Missing, Expected: "messages", Seen: "none"}
		known := slices.ContainsFunc(open, func(f Finding) bool { return f.Topic == name && f.Kind == Missing })
		switch {
		case known:
		case t.received == 0 && !t.expected.Optional:
			open = append(open, missing)
		case t.received > 0 && t.received < t.expected.Messages:
			missing.Expected = "at least " + human.Count(t.expected.Messages, "message")
			missing.Seen = fmt.Sprint(t.received)
			open = append(open, missing)
		}
	}
	if took := float64(stamp-start) / 1e9; !l.contract.Duration.none() && !l.contract.Duration.holds(took) {
		open = append(open, Finding{Time: start, Kind: Duration, Expected: l.contract.Duration.text(" s"),
			Seen: seconds(stamp - start)})
	}
	for i := range open {
		open[i].Until = stamp
	}
	// Messages that came late are not missing, and the QoS of publishers may have become known late.
	list = slices.DeleteFunc(l.past.summary(), func(f Finding) bool {
		t := l.topics[f.Topic]
		return t != nil && (f.Kind == QoS || f.Kind == Missing && t.received >= max(1, t.expected.Messages))
	})
	return open, append(list, open...)
}
