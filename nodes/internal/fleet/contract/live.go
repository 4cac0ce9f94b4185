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

// Live checks a recording that is being made by the counts of its messages alone: which topics are missing or silent,
// and their rates, types and QoS. It is safe for concurrent use.
type Live struct {
	contract *Contract

	mu     sync.Mutex
	start  time.Time // since when topics may be missing
	topics map[string]*liveTopic
	open   []Finding // that still hold
	past   findings
	before []Finding // of recordings that this one has replaced
}

// Count is how many messages of a topic with a type were received.
type Count struct {
	Topic, Type string
	QoS         []codec.QoS
	Received    uint64
}

type liveTopic struct {
	name     string
	expected *Topic
	earlier  uint64 // messages received in recordings before this one
	received uint64
	types    []string
	qos      []codec.QoS
	grown    time.Time // when the last message came, as far as that is known
	begin    time.Time // of the window in which the rate is measured
	before   uint64    // messages received before it
}

// Topics may be missing for so long after the start, and silent so much longer than a gap, as counts are compared now
// and then. Rates are measured for so long, and with so many messages.
const (
	liveMissing = 4 * time.Second
	liveSlack   = time.Second
	liveTime    = 3 * time.Second
	liveCount   = 10
)

// NewLive returns what checks a recording that begins now.
func NewLive(c *Contract, now time.Time) *Live {
	l := &Live{contract: c, start: now, topics: map[string]*liveTopic{}}
	for name, expected := range c.Topics {
		l.topics[name] = &liveTopic{name: name, expected: expected, grown: now, begin: now}
	}
	return l
}

// Restart goes on with another recording, which begins now and has none of the messages or findings so far. The clock
// of the recordings was at start when the one before began, and is at stamp.
func (l *Live) Restart(now time.Time, start, stamp int64) {
	_, all := l.Finish(start, stamp)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before, l.open, l.past, l.start = append(l.before, all...), nil, findings{}, now
	for name, t := range l.topics {
		l.topics[name] = &liveTopic{name: name, expected: t.expected, earlier: t.earlier + t.received, grown: now,
			begin: now}
	}
}

// Before returns the findings of the recordings before the last Restart.
func (l *Live) Before() []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.before)
}

// Update compares counts with the contract at now, which is stamp by the clock of the recording. It returns findings
// that began, and those that hold no longer. Nothing is found in a pause.
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

// check appends what is wrong with a topic to the list. open are findings of the update before.
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
		for _, f := range open { // nothing new is known
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

// Finish returns the findings that still hold when the recording ends, which began at start, both by its own clock, and
// all findings.
func (l *Live) Finish(start, stamp int64) (open, all []Finding) {
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
	// What came late, or was not yet known of publishers, is as expected now.
	all = slices.DeleteFunc(l.past.all(), func(f Finding) bool {
		t := l.topics[f.Topic]
		return t != nil && (f.Kind == QoS || f.Kind == Missing && t.received >= max(1, t.expected.Messages))
	})
	return open, append(all, open...)
}
