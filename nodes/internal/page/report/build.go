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

// Options say what of a recording a page shows.
type Options struct {
	Plots     []string           // "/topic.field" of further numbers to draw
	Elsewhere []string           // those of Plots whose topic the recording may lack
	MaxSize   int64              // bytes of the page's data, about
	Reading   func(ns int64)     // is called with the log time that is read; may be nil
	Found     func(text string)  // is called with damage and wrong labels; may be nil
	Expect    *contract.Contract // that the recording must meet; nil: only what is suspicious is shown
}

// otherClock is a delay in s from which on stamps are taken for those of another clock, as simulated time.
const otherClock = 3600

// sink gathers something from the messages of one topic. at is in s since the start.
type sink interface {
	add(m *codec.Message, at float64) error
}

// builder gathers Data.
type builder struct {
	Data
	options Options
	density *density
	pass    *contract.Pass
	topics  map[*codec.Channel]*topic
	last    *topic              // of the message before
	wanted  map[string][]string // fields of Options.Plots, by topic
	signals []*signal
	tracks  []*tracker
	clouds  []*clouds
	cameras []*camera
	words   words
	params  parameters
	left    map[string]int

	// Of Live.
	live   bool
	latest bool  // the latest picture of each camera is wanted
	now    int64 // log time until which the recording goes
	whole  int   // how often what pages have was replaced
}

// topic is what is gathered of a channel.
type topic struct {
	channel *codec.Channel
	row     *row
	stamps  *cdr.Stamps
	sinks   []sink
	failed  bool
}

// Build reads a recording of ROS 2 messages. left says which messages are none, and why.
func Build(ctx context.Context, r codec.Reader, left []error, o Options) (*Data, error) {
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
		// A few messages have times far from those of the others: what is worth looking at is read again.
		b, err = build(ctx, r, info, newDensity(start, end), o)
		if err != nil {
			return nil, err
		}
	}
	for _, err := range left {
		b.left[err.Error()]++
	}
	b.finish(info)
	return &b.Data, b.fit()
}

func build(ctx context.Context, r codec.Reader, info *codec.Info, d *density, o Options) (*builder, error) {
	b := &builder{options: o, density: d, pass: contract.New(o.Expect, info),
		topics: map[*codec.Channel]*topic{}, wanted: map[string][]string{},
		left: map[string]int{}}
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
		b.topic(t.Channel) // those without messages, too
	}
	var found []Event // belongs to the goroutine that reads until that has ended
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
	b.Events = append(b.Events, found...)
	if o.Found != nil {
		for _, e := range found {
			o.Found(e.Text)
		}
	}
	return b, nil
}

// seconds returns a time as the page has it.
func (b *builder) seconds(ns int64) float64 { return float64(ns-b.density.start) / 1e9 }

// topic prepares what is gathered of a channel.
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
		b.left[fmt.Sprintf("%s: %v", c.Topic, err)]++
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

func (b *builder) add(m *codec.Message) {
	t := b.last
	if t == nil || t.channel != m.Channel {
		t = b.topic(m.Channel)
		b.last = t
	}
	t.row.bytes += uint64(len(m.Data))
	if b.density.add(t.row, m.LogTime) {
		b.gather(t, m)
	}
}

// gather passes a message to what gathers something of its topic.
func (b *builder) gather(t *topic, m *codec.Message) {
	if t.stamps != nil {
		if ns, ok, err := t.stamps.First(m.Data); ok && err == nil && ns != 0 {
			t.row.delays.Add(m.LogTime - ns)
		}
	}
	for _, s := range t.sinks {
		if err := s.add(m, b.seconds(m.LogTime)); err != nil && !t.failed {
			t.failed = true
			b.left[fmt.Sprintf("messages of %s cannot be read: %v", m.Channel.Topic, err)]++
		}
	}
}

// describe takes what the recording says of itself.
func (b *builder) describe(info *codec.Info) {
	b.Name, b.Format, b.Size, b.Files = filepath.Base(info.Path), info.Format, info.Size, len(info.Files)
	b.Start, b.Duration, b.Metadata = time.Unix(0, b.density.start).UTC(), b.density.seconds(), info.AllMetadata()
}

// finish completes the data once all messages are read.
func (b *builder) finish(info *codec.Info) {
	d := b.density
	b.describe(info)
	missing := map[string]*[2]uint64{}
	for _, e := range info.Events {
		b.Events = append(b.Events, b.event(e))
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
	for _, r := range d.rows {
		t := Topic{Name: r.topic, Type: r.kind, Messages: r.count, Bytes: r.bytes, Gap: float64(r.worst) / 1e9,
			Latency: latency(&r.delays), Density: d.rates(r)}
		if r.qos != nil {
			t.QoS = human.QoS(r.qos)
		}
		if s := float64(r.last-r.first) / 1e9; r.count > 1 && s > 0 {
			t.Rate = float64(r.count-1) / s
		}
		if n := missing[r.topic]; n != nil {
			t.Dropped, t.Lost = n[0], n[1]
		}
		for _, gap := range r.gaps(d.end) {
			if !explained(info.Events, r.topic, gap) {
				t.Gaps = append(t.Gaps, [2]float64{b.seconds(gap.from), b.seconds(gap.to)})
			}
		}
		b.Messages += r.count
		b.Topics = append(b.Topics, t)
	}
	slices.SortFunc(b.Topics, func(x, y Topic) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Type, y.Type))
	})
	for _, c := range b.cameras {
		if len(c.Thumbs) > 0 {
			b.Cameras = append(b.Cameras, c.Camera)
		}
	}
	for _, s := range b.signals {
		if s.some {
			b.Signals = append(b.Signals, s.Signal)
		}
	}
	for _, t := range b.tracks {
		b.addTracks(t)
	}
	for _, c := range b.clouds {
		b.Clouds = append(b.Clouds, c.list...)
	}
	slices.SortStableFunc(b.Clouds, func(x, y Cloud) int { return cmp.Compare(x.At, y.At) })
	b.Words, b.Parameters = b.words.list, b.params.list()
	if n := b.words.more; n > 0 {
		b.left[human.Count(n, "more line")+" of logs"]++
	}
	if n := b.params.changes - mostChanges; n > 0 {
		b.left[human.Count(n, "more change")+" of parameters"]++
	}
	b.Good, b.Verdict = b.verdict(info, findings)
	for text, n := range b.left {
		if n > 1 {
			text = fmt.Sprintf("%s (%d times)", text, n)
		}
		b.Left = append(b.Left, text)
	}
	slices.Sort(b.Left)
}

// event returns an event as the page has it.
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

// findings adds what a check finds that no other event tells, and returns how many there are.
func (b *builder) findings() (n int) {
	for _, f := range b.pass.Findings() {
		if f.Kind == contract.Damage || f.Kind == contract.Lost || f.Kind == contract.Gap && b.options.Expect == nil {
			continue // the events of the recorder and Topic.Gaps tell
		}
		if f.Kind == contract.Clock && slices.ContainsFunc(b.Events, func(e Event) bool {
			return e.Kind == codec.EventTimes && e.Text == f.Seen
		}) {
			continue
		}
		n++
		event := Event{Kind: "check", Topic: f.Topic, Until: b.Duration, Text: f.Text()}
		if f.Time != 0 {
			event.From = b.seconds(f.Time)
			event.Until = max(event.From, b.seconds(max(f.Until, f.Time)))
		}
		b.Events = append(b.Events, event)
	}
	return n
}

// explained reports whether a recorder told why a topic is silent.
func explained(events []codec.Event, topic string, gap interval) bool {
	return slices.ContainsFunc(events, func(e codec.Event) bool {
		covered := min(e.Until, gap.to) - max(e.Time, gap.from)
		return (e.Topic == "" || e.Topic == topic) && e.Kind != codec.EventSnapshot && e.Kind != codec.EventTimes &&
			float64(covered) > 0.8*float64(gap.length())
	})
}

// verdict says whether all is well, and what is not.
func (b *builder) verdict(info *codec.Info, findings int) (good bool, parts []string) {
	counts, messages := map[string]int{}, map[string]uint64{}
	for _, e := range b.Events {
		counts[e.Kind]++
		messages[e.Kind] += e.Count
	}
	if n := counts[codec.EventDamage]; n > 0 {
		parts = append(parts, "damaged in "+human.Count(n, "place"))
	} else if !info.Complete {
		parts = append(parts, "not complete")
	}
	for _, kind := range []struct{ name, text string }{
		{codec.EventDrop, "dropped"}, {codec.EventLost, "lost"},
		{codec.EventDisk, "not written by the disk"},
	} {
		if n := messages[kind.name]; n > 0 {
			parts = append(parts, human.Count(n, "message")+" "+kind.text)
		}
	}
	gaps, longest, where := counts[codec.EventGap], 0.0, ""
	for _, t := range b.Topics {
		for _, gap := range t.Gaps {
			gaps++
			if gap[1]-gap[0] > longest {
				longest, where = gap[1]-gap[0], t.Name
			}
		}
	}
	if where != "" {
		length := strconv.FormatFloat(longest, 'f', max(0, 2-int(math.Log10(longest))), 64) // three digits
		parts = append(parts, fmt.Sprintf("%s, the longest %s s in %s", human.Count(gaps, "gap"), length, where))
	} else if gaps > 0 {
		parts = append(parts, human.Count(gaps, "gap"))
	}
	if findings > 0 {
		parts = append(parts, human.Count(findings, "finding")+" of the check")
	}
	if n := b.density.outside; n > 0 {
		parts = append(parts, human.Count(n, "message")+" at times far from the others")
	} else if counts[codec.EventTimes] > 0 {
		parts = append(parts, "times that stand out")
	}
	if len(parts) > 0 {
		return false, parts
	}
	if b.Messages == 0 {
		return true, []string{"complete, and empty"}
	}
	return true, []string{"complete: no gaps, and nothing is known to be missing"}
}
