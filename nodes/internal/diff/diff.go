// Package diff compares two recordings message by message.
package diff

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/internal/readahead"
)

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// Options are the options of a comparison.
type Options struct {
	Topics         []string `param:"topics" short:"t" several:"names" group:"Selection"`
	Exclude        []string `param:"exclude" alias:"ignore-topics" short:"x" several:"names" group:"Selection"`
	AllowUnmatched bool     `param:"allow_unmatched" group:"Selection"`
	As             string   `param:"as" group:"Comparison" options:"auto|ros2|raw"`
	Tolerance      []string `param:"tolerance" group:"Comparison" value:"[[TOPIC:]FIELD=]NUMBER"`
	IgnoreFields   []string `param:"ignore_fields" group:"Comparison" value:"[TOPIC:]FIELD"`
	Times          string   `param:"times" group:"Comparison" value:"DURATION"`
	Bytes          bool     `param:"bytes" group:"Comparison"`
	Limit          int      `param:"limit" group:"Output" min:"0"`
}

// OptionTexts returns the help texts of the options.
func (*Options) OptionTexts() string { return optionTexts }

// DefaultOptions returns the default options.
func DefaultOptions() Options { return Options{Limit: 10, As: viewAuto} }

// Recording is one of the two recordings to compare.
type Recording struct {
	Path   string
	Reader codec.Reader
	Info   *codec.Info // of Reader
}

// Comparison compares two recordings.
type Comparison struct {
	A, B    Recording
	Options Options

	Warn func(text string) // called with warnings; may be nil
	// Bar returns a progress bar for reading a recording with that duration; may be nil.
	Bar func(doing string, span time.Duration) *progress.Bar
}

// Run compares the recordings. It keeps 24 bytes of each message in memory.
func (j *Comparison) Run(ctx context.Context) (*Report, error) {
	c, err := j.Options.parse()
	if err != nil {
		return nil, err
	}
	c.Comparison = j
	for i, r := range []Recording{j.A, j.B} {
		c.sides[i] = &side{Recording: r, topics: map[key]*topicMessages{}, slashed: map[key]bool{}}
	}
	if err := c.translateTopics(); err != nil {
		return nil, err
	}
	if err := c.checkOptions(); err != nil {
		return nil, err
	}
	c.matchBare()
	for _, s := range c.sides {
		if err := c.read(ctx, s); err != nil {
			return nil, err
		}
	}
	c.matchTopics()
	for _, t := range c.topics {
		if err := c.compareMessages(ctx, t); err != nil {
			return nil, err
		}
		t.count()
	}
	c.compareTimes()
	c.noteDamage()
	c.noteFields()
	return c.report(), nil
}

// comparer is the state of a Comparison while it runs.
type comparer struct {
	*Comparison
	view      string // viewAuto, viewROS2 or viewRaw
	selection convert.Selection
	tolerance time.Duration // of log times; negative: times are not compared
	rules     []rule        // which fields may differ
	seed      maphash.Seed

	schemas    schemas
	translated map[*codec.Channel]bool // channels that are read as translated messages

	sides          [2]*side
	topics         []*topic // topics in both recordings, in order
	missing, extra []key    // topics only in the first or only in the second recording
	notes          []string
	times          times
}

// Check returns the error about options that Run would return before it reads anything.
func (o *Options) Check() error {
	_, err := o.parse()
	return err
}

func (o *Options) parse() (c *comparer, err error) {
	c = &comparer{view: o.As, tolerance: -1, seed: maphash.MakeSeed(), schemas: schemas{},
		translated: map[*codec.Channel]bool{}}
	c.selection.Include, err = convert.ParsePatterns("topics", o.Topics)
	if err != nil {
		return nil, err
	}
	excluded := o.Exclude
	if len(o.Topics) == 0 {
		excluded = append(slices.Clone(excluded), codec.EventTopic) // events are about the recording itself
	}
	c.selection.Exclude, err = convert.ParsePatterns("exclude", excluded)
	if err != nil {
		return nil, err
	}
	if o.Times != "" {
		c.tolerance, err = time.ParseDuration(o.Times)
		if err != nil {
			c.tolerance, err = time.ParseDuration(o.Times + "s")
		}
		if err != nil || c.tolerance < 0 {
			return nil, config.Usagef("--times %q is not a duration such as 5ms, or a number of seconds", o.Times)
		}
	}
	c.rules, err = parseRules(o.Tolerance, o.IgnoreFields)
	if err != nil {
		return nil, err
	}
	if len(c.rules) > 0 {
		if c.view == viewRaw {
			return nil, config.Usagef("--tolerance and --ignore-fields compare fields and do not go with --as raw")
		}
		c.view = viewROS2
	}
	return c, nil
}

// checkOptions returns an error about options that name topics which neither recording has. It warns of options that
// name fields which no message has.
func (c *comparer) checkOptions() error {
	warn := c.Warn
	if warn == nil {
		warn = func(string) {}
	}
	var infos []*codec.Info
	var channels []*codec.Channel
	for _, s := range c.sides {
		infos = append(infos, s.Info)
		for _, t := range s.Info.Topics {
			channels = append(channels, t.Channel)
		}
	}
	topics, fields := c.schemas.unmatched(c.rules, channels)
	if err := c.selection.Check(infos, c.Options.AllowUnmatched, warn, topics...); err != nil {
		return err
	}
	for _, option := range fields {
		warn("no message has the field of " + option)
	}
	return nil
}

// bar returns a progress bar for reading a recording.
func (c *comparer) bar(doing string, info *codec.Info) *progress.Bar {
	if c.Bar == nil {
		return nil
	}
	return c.Bar(doing, describe.Span(info))
}

// key identifies a topic. Messages of equal keys are compared.
type key struct{ topic, typeName string }

func (k key) String() string {
	return fmt.Sprintf("%s [%s]", human.Printable(k.topic), human.Printable(k.typeName))
}

func (k key) compare(o key) int {
	return cmp.Or(strings.Compare(k.topic, o.topic), strings.Compare(k.typeName, o.typeName))
}

// side is one of the two recordings.
type side struct {
	Recording
	slashed    map[key]bool // topics that the other recording has with a leading '/'
	topics     map[key]*topicMessages
	count      int      // messages read
	damaged    []string // the first places that were skipped, up to shownDamage
	moreDamage bool     // more than shownDamage places were skipped
}

// shownDamage is the largest number of damaged places of a recording that are reported.
const shownDamage = 20

// addDamage adds a damaged place, unless it is known.
func (s *side) addDamage(err error) {
	text := err.Error()
	switch {
	case slices.Contains(s.damaged, text):
	case len(s.damaged) == shownDamage:
		s.moreDamage = true
	default:
		s.damaged = append(s.damaged, text)
	}
}

// key returns the key of a channel. It adds the leading '/' of topics that matchBare found.
func (s *side) key(c *codec.Channel) key {
	k := key{c.Topic, c.Type}
	if s.slashed[k] {
		k.topic = "/" + k.topic
	}
	return k
}

// matchBare finds topics without a leading '/' that the other recording has with one. Recordings of ROS 1 have such
// names.
func (c *comparer) matchBare() {
	var keys [2]map[key]bool
	for i, s := range c.sides {
		keys[i] = map[key]bool{}
		for _, t := range s.Info.Topics {
			keys[i][s.key(t.Channel)] = true
		}
	}
	var names []string
	for i, s := range c.sides {
		for k := range keys[i] {
			full := key{"/" + k.topic, k.typeName}
			if !strings.HasPrefix(k.topic, "/") && keys[1-i][full] && !keys[i][full] && !keys[1-i][k] {
				s.slashed[k] = true
				names = append(names, human.Printable(k.topic))
			}
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		c.note("compared though only one side has a '/' in front of their names: %s", strings.Join(names, ", "))
	}
}

func (c *comparer) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// topicMessages holds the messages of a topic in one recording, in order.
type topicMessages struct {
	channels []*codec.Channel
	list     []message
}

// encodings returns the encodings of the payloads, in alphabetical order, joined by '+'.
func (m *topicMessages) encodings() string {
	var names []string
	for _, c := range m.channels {
		names = append(names, c.Encoding)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "+")
}

// read reads all messages of a recording.
func (c *comparer) read(ctx context.Context, s *side) error {
	byChannel := map[*codec.Channel]*topicMessages{}
	add := func(channel *codec.Channel) *topicMessages {
		key := s.key(channel)
		m := s.topics[key]
		if m == nil {
			m = &topicMessages{}
			s.topics[key] = m
		}
		m.channels = append(m.channels, channel)
		byChannel[channel] = m
		return m
	}
	for _, t := range s.Info.Topics {
		if c.selection.Wants(t.Channel) {
			m := add(t.Channel)
			// A damaged file may claim any number, but each message takes some bytes.
			m.list = slices.Grow(m.list, int(min(t.MessageCount, uint64(s.Info.Size)/8)))
		}
	}
	it, err := s.Reader.Read(codec.Query{Topics: c.selection.Wants, Damaged: s.addDamage})
	if err != nil {
		return err
	}
	bar := c.bar("reading", s.Info)
	defer bar.Close()
	var hash maphash.Hash
	hash.SetSeed(c.seed)
	return readahead.Each(ctx, it, readahead.Enough, func(msg *codec.Message) error {
		m := byChannel[msg.Channel]
		if m == nil {
			m = add(msg.Channel)
		}
		m.list = append(m.list, c.message(&hash, msg))
		s.count++
		bar.Set(msg.LogTime - s.Info.StartTime)
		return nil
	})
}

// message returns the kept data of a message. The hash is of the payload. Unless Options.Bytes is set, it does not
// depend on padding at the payload's end: RTPS 2.3, 10.2 counts padding in two bits of the encapsulation header, and
// Cyclone DDS sends multiples of 4 bytes, unlike Fast DDS.
func (c *comparer) message(h *maphash.Hash, msg *codec.Message) message {
	m := message{logTime: msg.LogTime}
	h.Reset()
	if data := msg.Data; c.Options.Bytes || msg.Channel.Encoding != codec.EncodingCDR || len(data) < 4 {
		h.Write(data)
	} else {
		m.padding = uint8(-len(data) & 3)
		h.Write(data[:3])
		h.WriteByte(data[3] &^ 3)
		h.Write(data[4:])
		h.Write(make([]byte, 3)[:m.padding])
	}
	m.hash = h.Sum64()
	return m
}

// topic is a topic in both recordings, with the differences of its messages.
type topic struct {
	key   key
	sides [2]*topicMessages
	a, b  []message // of sides

	encodings               string // how encodings differ; if not "", messages are not compared
	changed, missing, extra int    // messages
	padded                  int    // messages that differ only in padding at the end
	late                    []int  // indices in a of messages beyond the tolerance of times

	equalFields int                 // messages with equal fields and different bytes
	unset       []string            // fields that one definition lacks and that have their default in the other
	tolerated   toleratedDifference // the largest difference that rules allow
	details     map[int]Difference  // differences of the first changed messages, by index in a
}

// toleratedDifference is a difference that a rule allows.
type toleratedDifference struct {
	size    float64
	field   string // path
	message int    // index in topic.a
}

func (t *topic) differs() bool {
	return t.encodings != "" || t.changed+t.missing+t.extra+len(t.late) > 0
}

// count counts the differences.
func (t *topic) count() {
	for h := range differences(t.a, t.b) {
		t.changed += h.changed()
		t.missing += h.missing()
		t.extra += h.extra()
	}
}

func (c *comparer) differs() bool {
	return len(c.missing)+len(c.extra) > 0 || slices.ContainsFunc(c.topics, (*topic).differs)
}

// matchTopics finds the topics in both recordings, and the partners of their messages.
func (c *comparer) matchTopics() {
	a, b := c.sides[0].topics, c.sides[1].topics
	for _, key := range slices.SortedFunc(maps.Keys(a), key.compare) {
		if b[key] == nil {
			c.missing = append(c.missing, key)
			continue
		}
		t := &topic{key: key, sides: [2]*topicMessages{a[key], b[key]}}
		c.topics = append(c.topics, t)
		if from, to := a[key].encodings(), b[key].encodings(); from != to {
			t.encodings = fmt.Sprintf("encoding %s in A, %s in B", human.OrDash(from), human.OrDash(to))
			continue
		}
		t.a, t.b = a[key].list, b[key].list
	}
	for _, key := range slices.SortedFunc(maps.Keys(b), key.compare) {
		if a[key] == nil {
			c.extra = append(c.extra, key)
		}
	}
	repeats := make([][]hunk, len(c.topics))
	var offsets []int64 // of log times in b, of messages whose payloads alone make them partners
	for n, t := range c.topics {
		repeats[n] = match(t.a, t.b, c.byField(t))
		k := 0
		for i, m := range t.a {
			for k < len(repeats[n]) && repeats[n][k].a1 <= i {
				k++
			}
			if m.equal && (k == len(repeats[n]) || i < repeats[n][k].a0) {
				offsets = append(offsets, t.b[m.partner].logTime-m.logTime)
			}
		}
	}
	offset := median(offsets)
	for n, t := range c.topics {
		for _, run := range repeats[n] {
			placeByTime(t.a, t.b, run, offset)
		}
		for _, m := range t.a {
			if m.equal && m.padding != t.b[m.partner].padding {
				t.padded++
			}
		}
	}
}

// median sorts numbers and returns their median, 0 if there are none.
func median(n []int64) int64 {
	if len(n) == 0 {
		return 0
	}
	slices.Sort(n)
	return n[len(n)/2]
}

// times describes the differences of times of equal messages.
type times struct {
	matched      int     // equal messages
	offset       int64   // median of log time in B minus log time in A, ns
	mean, max    float64 // difference from offset, ns
	worst        *topic  // topic with the difference max
	worstMessage int     // index in worst.a of the message with the difference max
}

// compareTimes sets c.times, and finds late messages.
func (c *comparer) compareTimes() {
	var offsets []int64
	for _, t := range c.topics {
		for _, m := range t.a {
			if m.equal {
				offsets = append(offsets, t.b[m.partner].logTime-m.logTime)
			}
		}
	}
	summary := &c.times
	summary.matched, summary.offset = len(offsets), median(offsets)
	sum := 0.0
	for _, t := range c.topics {
		for i, m := range t.a {
			if !m.equal {
				continue
			}
			off := abs(t.b[m.partner].logTime - m.logTime - summary.offset)
			sum += float64(off)
			if float64(off) > summary.max {
				summary.max, summary.worst, summary.worstMessage = float64(off), t, i
			}
			if c.tolerance >= 0 && time.Duration(off) > c.tolerance {
				t.late = append(t.late, i)
			}
		}
	}
	summary.mean = sum / float64(max(summary.matched, 1))
}

// noteDamage notes damage and incompleteness of the recordings.
func (c *comparer) noteDamage() {
	for i, s := range c.sides {
		if !s.Info.Complete && len(s.damaged) == 0 {
			c.note("%c is not complete", 'A'+i)
		}
		for _, text := range s.damaged {
			c.note("%c is damaged: %s", 'A'+i, text)
		}
		if s.moreDamage {
			c.note("%c is damaged at more places", 'A'+i)
		}
	}
}

// ErrDifferent is the error of Report.Err if the recordings differ.
var ErrDifferent = errors.New("the recordings differ")
