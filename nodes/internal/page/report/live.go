package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/internal/fleet/contract"
)

const (
	firstSpan  = 128 * time.Second  // time that the bins cover at first
	overlap    = int64(time.Second) // in ns; the latest data so long before an update are sent again
	mostTopics = 1000
	mostEvents = 1000
)

// Live collects Data of a recording while it is made. When the bins are full, they are joined in pairs and cover twice
// the time, so the size stays bounded. Live is not safe for concurrent use.
type Live struct {
	builder
	rows   map[[2]string]*liveTopic // by name and type
	list   []*liveTopic             // the topics in order
	events []Event
	before int64 // value of now before the last Advance
}

// Counts are the counts of a topic since the recording began.
type Counts struct {
	Messages, Bytes, Dropped, Lost uint64
	Rate                           float64 // present rate in messages/s
}

// liveTopic is a topic that is recorded.
type liveTopic struct {
	Topic
	row *row // data from messages; nil before the first message
}

// Growth is new data for a page. Unless Whole is set, the page appends lists, and replaces densities and signals from
// the bin From on.
type Growth struct {
	Whole bool  `json:"whole"` // Data replaces all data of the page
	From  int   `json:"from"`
	Data  *Data `json:"data"`
}

// NewLive returns a Live for a recording that begins at a log time.
func NewLive(name, format string, start int64) *Live {
	l := &Live{rows: map[[2]string]*liveTopic{}, before: start}
	l.builder = builder{density: newDensity(start, start+int64(firstSpan)), topics: map[*codec.Channel]*topic{},
		wanted: map[string][]string{}, omitted: map[string]int{}, live: true, now: start}
	l.data.Name, l.data.Format, l.data.Start = name, format, time.Unix(0, start).UTC()
	return l
}

// Advance continues the recording until a log time.
func (l *Live) Advance(now int64) {
	if now <= l.now {
		return
	}
	l.before, l.now = l.now, now
	for l.now >= l.density.end {
		l.fold()
	}
}

// fold doubles the length of each bin.
func (l *Live) fold() {
	l.whole++
	l.density.end += l.density.end - l.density.start
	for _, t := range l.list {
		t.Density = append(pairMeans(t.Density), make([]float32, Bins/2)...)
	}
	for _, s := range l.signals {
		s.Low = append(pairMinima(s.Low), noNumbers(Bins/2)...)
		s.High = append(pairMaxima(s.High), noNumbers(Bins/2)...)
	}
	for _, c := range l.cameras {
		c.Thumbs, c.next = everySecond(c.Thumbs), (c.next+1)/2
	}
	for _, c := range l.clouds {
		c.list, c.next = everySecond(c.list), (c.next+1)/2
	}
	for _, t := range l.tracks {
		for _, w := range t.tracks {
			w.Points, w.Speed, w.bin = everySecond(w.Points), everySecond(w.Speed), w.bin/2
		}
	}
}

// Count sets the present counts of a topic.
func (l *Live) Count(name, kind, qos string, c Counts) {
	t := l.rows[[2]string{name, kind}]
	if t == nil {
		if len(l.list) == mostTopics {
			l.omitted["topics beyond the first "+strconv.Itoa(mostTopics)] = 1
			return
		}
		t = &liveTopic{Topic: Topic{Name: name, Type: kind, Density: make([]float32, Bins)}}
		l.rows[[2]string{name, kind}] = t
		l.list = append(l.list, t)
		slices.SortFunc(l.list, func(a, b *liveTopic) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Type, b.Type))
		})
	}
	if n := c.Messages - min(c.Messages, t.Messages); n > 0 && l.now > l.before {
		bin := float64(l.density.end-l.density.start) / Bins
		from, until := float64(l.before-l.density.start)/bin, float64(l.now-l.density.start)/bin
		for i := int(from); i < Bins && float64(i) < until; i++ {
			share := (min(until, float64(i+1)) - max(from, float64(i))) / (until - from)
			t.Density[i] += float32(float64(n) * share / bin * 1e9)
		}
	}
	t.QoS, t.Messages, t.Bytes, t.Dropped, t.Lost, t.Rate = qos, c.Messages, c.Bytes, c.Dropped, c.Lost, c.Rate
}

// Add takes a message of a topic. The messages of one topic must have the same channel.
func (l *Live) Add(m *codec.Message) {
	t := l.rows[[2]string{m.Channel.Topic, m.Channel.Type}]
	if t == nil || m.LogTime < l.density.start || m.LogTime > l.now {
		return
	}
	topic := l.topic(m.Channel)
	t.row = topic.row
	l.collect(topic, m)
}

// Note adds an event of the recorder.
func (l *Live) Note(e codec.Event) {
	if e.Kind == codec.EventTotals {
		return
	}
	if len(l.events) == mostEvents {
		l.events = slices.Delete(l.events, 0, mostEvents/4)
		l.whole++
	}
	event := l.event(e)
	event.since = l.now
	l.events = append(l.events, event)
	for _, t := range l.list {
		if e.Kind == codec.EventGap && t.Name == e.Topic {
			t.Gap = max(t.Gap, event.Until-event.From)
		}
	}
}

// At returns the present end of the recording in s since the start.
func (l *Live) At() float64 { return l.seconds(l.now) }

// Pictures sets whether cameras keep their latest picture, beside the pictures along the timeline.
func (l *Live) Pictures(on bool) { l.latest = on }

// Version returns the version of the present data.
func (l *Live) Version() string {
	return fmt.Sprintf("%d.%d.%d.%d.%d", l.density.start, l.whole, l.now, len(l.data.Fields), l.params.heard)
}

// Grown returns the data since a version, all data for "".
func (l *Live) Grown(version string) *Growth {
	var start, since int64
	var whole, fields, heard int
	_, err := fmt.Sscanf(version, "%d.%d.%d.%d.%d", &start, &whole, &since, &fields, &heard)
	g := &Growth{Data: &Data{}, Whole: err != nil || start != l.density.start || whole != l.whole}
	if g.Whole {
		since, fields, heard = math.MinInt64, -1, -1
	} else {
		g.From = min(l.density.bin(since-overlap), l.density.bin(l.now-overlap))
	}
	d := g.Data
	d.Name, d.Format, d.Start, d.Good, d.Size = l.data.Name, l.data.Format, l.data.Start, true, 0
	at := l.density.at(l.now) * Bins
	bins := max(int(math.Ceil(at)), 1)
	filled := max(at-float64(bins-1), 0.01) // fraction of the last bin
	d.Duration = float64(bins) / Bins * l.density.seconds()
	for _, t := range l.list {
		row := t.Topic
		row.Density = slices.Clone(row.Density[g.From:bins])
		row.Density[len(row.Density)-1] /= float32(filled)
		if t.row != nil {
			row.Latency = latency(&t.row.delays)
		}
		d.Messages += row.Messages
		d.Size += int64(row.Bytes)
		d.Topics = append(d.Topics, row)
		if row.Dropped+row.Lost > 0 {
			d.Good = false
			d.Verdict = append(d.Verdict, fmt.Sprintf("%s: %d dropped, %d lost in transport", row.Name, row.Dropped,
				row.Lost))
		}
	}
	if d.Good {
		d.Verdict = []string{"nothing is known to be missing"}
	}
	d.Events, d.LogLines = newer(l.events, since), newer(l.logLines.list, since)
	for _, c := range l.cameras {
		camera := c.Camera
		camera.Thumbs = newer(c.Thumbs, since)
		d.Cameras = append(d.Cameras, camera)
	}
	for _, c := range l.clouds {
		d.Clouds = append(d.Clouds, newer(c.list, since)...)
	}
	for _, s := range l.signals {
		if s.some {
			signal := s.Signal
			signal.Low, signal.High = s.Low[g.From:bins], s.High[g.From:bins]
			d.Signals = append(d.Signals, signal)
		}
	}
	for _, t := range l.tracks {
		for _, name := range t.names {
			t.tracks[name].speeds()
			track := t.tracks[name].Track
			from, _ := slices.BinarySearchFunc(track.Points, Number(l.seconds(max(since, l.density.start)-overlap)),
				func(p [4]Number, at Number) int { return cmp.Compare(p[0], at) })
			track.Points, track.Speed = track.Points[from:], track.Speed[from:]
			d.Tracks = append(d.Tracks, track)
		}
	}
	if fields != len(l.data.Fields) {
		d.Fields = l.data.Fields
	}
	if heard != l.params.heard {
		d.Parameters = l.params.list()
	}
	d.Omitted = slices.Sorted(maps.Keys(l.omitted))
	return g
}

// newer returns the items that were added after the log time since.
func newer[T interface{ added() int64 }](list []T, since int64) (out []T) {
	for _, v := range list {
		if v.added() > since {
			out = append(out, v)
		}
	}
	return out
}

func (e Event) added() int64   { return e.since }
func (w LogLine) added() int64 { return w.since }
func (t Thumb) added() int64   { return t.since }
func (c Cloud) added() int64   { return c.since }

// latency returns the median and the 99 % quantile of latencies in s. It returns nil without latencies, or if they are
// from another clock.
func latency(l *contract.Latencies) *[2]float64 {
	median, most := float64(l.Quantile(0.5))/1e9, float64(l.Quantile(0.99))/1e9
	if l.Count() == 0 || math.Abs(median) >= otherClock {
		return nil
	}
	return &[2]float64{median, most}
}
