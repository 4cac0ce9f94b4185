package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/human"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/fleet/contract"
	"tapedeck/nodes/internal/readahead"
)

// Options select the contents of a page.
type Options struct {
	Plots     []string           // further numbers to draw, as "/topic.field"
	Elsewhere []string           // the Plots whose topics this recording may lack
	MaxSize   int64              // approximate maximum size of the page's data in bytes; 0: no limit
	Reading   func(ns int64)     // is called with the log time of each message; may be nil
	Found     func(text string)  // is called with damage and wrong labels; may be nil
	Expect    *contract.Contract // contract to check; nil: only suspicious things are found
}

// otherClock is the latency in s from which on stamps are assumed to be of another clock, such as simulated time.
const otherClock = 3600

// sink collects data from the messages of one channel. at is in s since the start.
type sink interface {
	add(m *codec.Message, at float64) error
}

// builder collects Data from the messages of a recording.
type builder struct {
	data     Data
	options  Options
	density  *density
	pass     *contract.Pass
	topics   map[*codec.Channel]*topic
	last     *topic              // topic of the last message
	wanted   map[string][]string // fields of Options.Plots, by topic
	signals  []*signal
	tracks   []*tracker
	clouds   []*clouds
	cameras  []*camera
	logLines logLines
	params   parameters
	omitted  map[string]int // number of times, by text of Data.Omitted

	// For Live.
	live   bool
	latest bool  // cameras keep their latest picture
	now    int64 // log time of the present end of the recording
	whole  int   // counts changes after which pages need all data again
}

// topic collects the data of a channel.
type topic struct {
	channel *codec.Channel
	row     *row
	stamps  *cdr.Stamps
	sinks   []sink
	failed  bool // an error of a sink was noted
}

// Build reads a recording of ROS 2 messages. omitted are errors about messages that are not translated to ROS 2.
func Build(ctx context.Context, r codec.Reader, omitted []error, o Options) (*Data, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	density := newDensity(info.StartTime, info.EndTime)
	b, err := build(ctx, r, info, density, o)
	if err != nil {
		return nil, err
	}
	if start, end, absurd := density.absurd(); absurd {
		// A few messages have times far from all others. The second reading shows only the time of the others.
		b, err = build(ctx, r, info, newDensity(start, end), o)
		if err != nil {
			return nil, err
		}
	}
	for _, err := range omitted {
		b.omitted[err.Error()]++
	}
	b.finish(info)
	return &b.data, b.fit()
}

// build reads all messages of a recording, and checks it.
func build(ctx context.Context, r codec.Reader, info *codec.Info, d *density, o Options) (*builder, error) {
	b := &builder{options: o, density: d, pass: contract.New(o.Expect, info),
		topics: map[*codec.Channel]*topic{}, wanted: map[string][]string{},
		omitted: map[string]int{}}
	for _, plot := range o.Plots {
		name, path, _ := strings.Cut(plot, ".")
		known := slices.Contains(o.Elsewhere, plot)
		for _, t := range info.Topics {
			if t.Channel.Topic == name {
				known = true
				if path != "" && !numeric(t.Channel, path) {
					return nil, fmt.Errorf("--plot %s: %s has no numeric field %s", plot, t.Channel.Type, path)
				}
			}
		}
		if path == "" || !known {
			return nil, fmt.Errorf("--plot %s: want /topic.field of a topic in %s", plot, info.Path)
		}
		b.wanted[name] = append(b.wanted[name], path)
	}
	for _, t := range info.Topics {
		b.topic(t.Channel) // also channels without messages
	}
	var found []Event // belongs to the reading goroutine until readahead.Each returns
	note := func(kind string) func(error) {
		return func(err error) { found = append(found, Event{Kind: kind, Text: err.Error()}) }
	}
	messages, err := r.Read(codec.Query{Damaged: note(codec.EventDamage), Mislabelled: note(codec.EventLabel)})
	if err != nil {
		return nil, err
	}
	if err := readahead.Each(ctx, messages, readahead.Enough, func(m *codec.Message) error {
		b.add(m)
		if o.Reading != nil {
			o.Reading(m.LogTime)
		}
		return nil
	}, func(m *codec.Message) error {
		b.pass.Add(m)
		return nil
	}); err != nil {
		return nil, err
	}
	b.data.Events = append(b.data.Events, found...)
	if o.Found != nil {
		for _, e := range found {
			o.Found(e.Text)
		}
	}
	return b, nil
}

// seconds returns a log time in seconds since the start.
func (b *builder) seconds(ns int64) float64 { return float64(ns-b.density.start) / 1e9 }

// topic returns the topic of a channel. It creates the sinks for the channel's type.
func (b *builder) topic(c *codec.Channel) *topic {
	if t := b.topics[c]; t != nil {
		return t
	}
	t := &topic{channel: c, row: b.density.row(c)}
	b.topics[c] = t
	if c.Encoding != codec.EncodingCDR {
		return t
	}
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		b.omitted[fmt.Sprintf("%s: %v", c.Topic, err)]++
		return t
	}
	t.stamps = schema.Stamps()
	for _, begin := range []func(*codec.Channel, *cdr.Schema) sink{
		b.camera, b.track, b.cloud, b.boxes, b.log, b.parameter, b.fields,
	} {
		if s := begin(c, schema); s != nil {
			t.sinks = append(t.sinks, s)
		}
	}
	return t
}

// add takes the next message.
func (b *builder) add(m *codec.Message) {
	t := b.last
	if t == nil || t.channel != m.Channel {
		t = b.topic(m.Channel)
		b.last = t
	}
	t.row.bytes += uint64(len(m.Data))
	if b.density.add(t.row, m.LogTime) {
		b.collect(t, m)
	}
}

// collect passes a message to the sinks of its topic.
func (b *builder) collect(t *topic, m *codec.Message) {
	if t.stamps != nil {
		if ns, ok, err := t.stamps.First(m.Data); ok && err == nil && ns != 0 {
			t.row.delays.Add(m.LogTime - ns)
		}
	}
	for _, s := range t.sinks {
		if err := s.add(m, b.seconds(m.LogTime)); err != nil && !t.failed {
			t.failed = true
			b.omitted[fmt.Sprintf("messages of %s cannot be read: %v", m.Channel.Topic, err)]++
		}
	}
}

// describe sets the fields that describe the recording as a whole.
func (b *builder) describe(info *codec.Info) {
	d := &b.data
	d.Name, d.Format, d.Size, d.Files = filepath.Base(info.Path), info.Format, info.Size, len(info.Files)
	d.Start, d.Duration, d.Metadata = time.Unix(0, b.density.start).UTC(), b.density.seconds(), info.AllMetadata()
}

// finish completes the data once all messages are read.
func (b *builder) finish(info *codec.Info) {
	b.describe(info)
	missing := map[string]*[2]uint64{}
	for _, e := range info.Events {
		b.data.Events = append(b.data.Events, b.event(e))
		count := missing[e.Topic]
		if count == nil {
			count = new([2]uint64)
			missing[e.Topic] = count
		}
		switch e.Kind {
		case codec.EventDrop, codec.EventDisk:
			count[0] += e.Count
		case codec.EventLost:
			count[1] += e.Count
		}
	}
	findings := b.findings()
	b.finishTopics(info, missing)
	for _, c := range b.cameras {
		if len(c.Thumbs) > 0 {
			b.data.Cameras = append(b.data.Cameras, c.Camera)
		}
	}
	for _, s := range b.signals {
		if s.some {
			b.data.Signals = append(b.data.Signals, s.Signal)
		}
	}
	for _, t := range b.tracks {
		b.addTracks(t)
	}
	for _, c := range b.clouds {
		b.data.Clouds = append(b.data.Clouds, c.list...)
	}
	slices.SortStableFunc(b.data.Clouds, func(x, y Cloud) int { return cmp.Compare(x.At, y.At) })
	b.data.LogLines, b.data.Parameters = b.logLines.list, b.params.list()
	if n := b.logLines.more; n > 0 {
		b.omitted[human.Count(n, "more line")+" of logs"]++
	}
	if n := b.params.changes - mostChanges; n > 0 {
		b.omitted[human.Count(n, "more change")+" of parameters"]++
	}
	b.data.Good, b.data.Verdict = b.verdict(info, findings)
	for text, n := range b.omitted {
		if n > 1 {
			text = fmt.Sprintf("%s (%d times)", text, n)
		}
		b.data.Omitted = append(b.data.Omitted, text)
	}
	slices.Sort(b.data.Omitted)
}

// finishTopics adds a Topic for each channel. missing are the numbers of dropped and lost messages by topic.
func (b *builder) finishTopics(info *codec.Info, missing map[string]*[2]uint64) {
	for _, r := range b.density.rows {
		t := Topic{Name: r.topic, Type: r.kind, Messages: r.count, Bytes: r.bytes, Gap: float64(r.worst) / 1e9,
			Latency: latency(&r.delays), Density: b.density.rates(r)}
		if r.qos != nil {
			t.QoS = human.QoS(r.qos)
		}
		if s := float64(r.last-r.first) / 1e9; r.count > 1 && s > 0 {
			t.Rate = float64(r.count-1) / s
		}
		if n := missing[r.topic]; n != nil {
			t.Dropped, t.Lost = n[0], n[1]
		}
		for _, gap := range r.gaps(b.density.end) {
			if !explained(info.Events, r.topic, gap) {
				t.Gaps = append(t.Gaps, [2]float64{b.seconds(gap.from), b.seconds(gap.to)})
			}
		}
		b.data.Messages += r.count
		b.data.Topics = append(b.data.Topics, t)
	}
	slices.SortFunc(b.data.Topics, func(x, y Topic) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Type, y.Type))
	})
}

// event converts an event for the page.
func (b *builder) event(e codec.Event) Event {
	if e.Kind == codec.EventTimes { // it may be outside of the shown time
		e.Time = min(max(e.Time, b.density.start), b.density.end)
		e.Until = min(e.Until, b.density.end)
	}
	out := Event{Kind: e.Kind, Topic: e.Topic, From: b.seconds(cmp.Or(e.Time, b.density.end)), Count: e.Count,
		Text: e.Text}
	out.Until = max(out.From, b.seconds(max(e.Until, e.Time, b.density.start)))
	return out
}

// findings adds the findings that no other event covers to the events, and returns their number.
func (b *builder) findings() (n int) {
	for _, f := range b.pass.Findings() {
		if f.Kind == contract.Damage || f.Kind == contract.Lost || f.Kind == contract.Gap && b.options.Expect == nil {
			continue // covered by the events of the recorder and Topic.Gaps
		}
		if f.Kind == contract.Clock && slices.ContainsFunc(b.data.Events, func(e Event) bool {
			return e.Kind == codec.EventTimes && e.Text == f.Seen
		}) {
			continue
		}
		n++
		event := Event{Kind: "check", Topic: f.Topic, Until: b.data.Duration, Text: f.Text()}
		if f.Time != 0 {
			event.From = b.seconds(f.Time)
			event.Until = max(event.From, b.seconds(max(f.Until, f.Time)))
		}
		b.data.Events = append(b.data.Events, event)
	}
	return n
}

// explained reports whether an event covers most of a gap of a topic.
func explained(events []codec.Event, topic string, gap interval) bool {
	return slices.ContainsFunc(events, func(e codec.Event) bool {
		covered := min(e.Until, gap.to) - max(e.Time, gap.from)
		return (e.Topic == "" || e.Topic == topic) && e.Kind != codec.EventSnapshot && e.Kind != codec.EventTimes &&
			float64(covered) > 0.8*float64(gap.length())
	})
}

// verdict returns the texts of Data.Verdict, and reports whether no faults are known.
func (b *builder) verdict(info *codec.Info, findings int) (good bool, texts []string) {
	counts, messages := map[string]int{}, map[string]uint64{}
	for _, e := range b.data.Events {
		counts[e.Kind]++
		messages[e.Kind] += e.Count
	}
	if n := counts[codec.EventDamage]; n > 0 {
		texts = append(texts, "damaged in "+human.Count(n, "place"))
	} else if !info.Complete {
		texts = append(texts, "not complete")
	}
	for _, kind := range []struct{ name, text string }{
		{codec.EventDrop, "dropped"}, {codec.EventLost, "lost"},
		{codec.EventDisk, "not written by the disk"},
	} {
		if n := messages[kind.name]; n > 0 {
			texts = append(texts, human.Count(n, "message")+" "+kind.text)
		}
	}
	gaps, longest, where := counts[codec.EventGap], 0.0, ""
	for _, t := range b.data.Topics {
		for _, gap := range t.Gaps {
			gaps++
			if gap[1]-gap[0] > longest {
				longest, where = gap[1]-gap[0], t.Name
			}
		}
	}
	if where != "" {
		length := strconv.FormatFloat(longest, 'f', max(0, 2-int(math.Log10(longest))), 64) // three digits
		texts = append(texts, fmt.Sprintf("%s, the longest %s s in %s", human.Count(gaps, "gap"), length, where))
	} else if gaps > 0 {
		texts = append(texts, human.Count(gaps, "gap"))
	}
	if findings > 0 {
		texts = append(texts, human.Count(findings, "finding")+" of the check")
	}
	if n := b.density.outside; n > 0 {
		texts = append(texts, human.Count(n, "message")+" at times far from the others")
	} else if counts[codec.EventTimes] > 0 {
		texts = append(texts, "times that stand out")
	}
	if len(texts) > 0 {
		return false, texts
	}
	if b.data.Messages == 0 {
		return true, []string{"complete, and empty"}
	}
	return true, []string{"complete: no gaps, and nothing is known to be missing"}
}
