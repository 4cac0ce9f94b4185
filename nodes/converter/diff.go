package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/msgs/printable"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/internal/readahead"
)

// diffOptions are the options of diff.
type diffOptions struct {
	Topics         []string `param:"topics" short:"t" several:"names" group:"Selection" help:"compare only these topics: names, or regular expressions that must match the whole name; separate several by commas"`
	Exclude        []string `param:"exclude" alias:"ignore-topics" short:"x" several:"names" group:"Selection" help:"leave out these topics; same syntax as topics"`
	AllowUnmatched bool     `param:"allow_unmatched" group:"Selection" help:"accept options that name topics which neither recording has"`
	As             string   `param:"as" group:"Comparison" options:"auto|ros2|raw" help:"compare all messages as ROS 2 field by field (ros2), or all payloads byte by byte (raw); auto compares topics that the recordings encode differently as ROS 2, and of other payloads the bytes, then the fields of those that differ"`
	Tolerance      []string `param:"tolerance" group:"Comparison" value:"[[TOPIC:]FIELD=]NUMBER" help:"treat floats, and times in seconds, as equal if they differ by at most this: 1e-5, or 0.1% of the larger one; with FIELD, such as header.stamp or pose, all numbers inside it; the last rule that matches applies; separate several by commas; implies --as ros2"`
	IgnoreFields   []string `param:"ignore_fields" group:"Comparison" value:"[TOPIC:]FIELD" help:"do not compare these fields or anything inside them; separate several by commas; implies --as ros2"`
	Times          string   `param:"times" group:"Comparison" value:"DURATION" help:"also report log times that differ by more than DURATION once the offset that all have in common is subtracted; by default a note sums up how times differ"`
	Bytes          bool     `param:"bytes" group:"Comparison" help:"also report padding inside payloads and at their end, which DDS may add, and fields that only one side defines, even at their default value"`
	Limit          int      `param:"limit" group:"Output" min:"0" help:"number of differences to show"`
	JSON           bool     `param:"json" group:"Output" help:"print one JSON object"`
	Brief          bool     `param:"brief" short:"q" group:"Output" help:"print only the verdict"`

	formats.DefinitionOptions
}

var errDifferent = errors.New("the recordings differ")

// notCompared is the exit code if recordings cannot be compared. As of cmp and diff, 1 says that they differ.
const notCompared = 2

// diff compares the recordings at two paths.
func (o *diffOptions) diff(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	err := o.compare(ctx, paths, stdout, stderr)
	if err != nil && !errors.Is(err, errDifferent) {
		return config.Exit(notCompared, err)
	}
	return err
}

func (o *diffOptions) compare(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	d, err := o.parse()
	if err != nil {
		return err
	}
	for i, path := range paths {
		in, err := openInput(path, o.DefinitionOptions)
		if err != nil {
			return err
		}
		defer in.Close()
		note(stderr, in.info)
		d.sides[i] = &side{input: in, topics: map[topicKey]*topicMessages{}}
	}
	report, err := d.run(ctx, o.Limit, stderr)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		err = report.json(stdout)
	case o.Brief:
		_, err = fmt.Fprintln(stdout, report.Verdict)
	default:
		err = report.text(stdout)
	}
	switch {
	case err != nil:
		return err
	case d.differs():
		return errDifferent
	case !report.Same:
		return fmt.Errorf("%s: everything readable is the same, but damage hides the rest; 'converter recover' "+
			"saves what can be read", d.damagedPaths())
	}
	return nil
}

// run compares the recordings, and describes the first limit differences one by one.
func (d *comparison) run(ctx context.Context, limit int, stderr io.Writer) (*diffReport, error) {
	if err := d.view(); err != nil {
		return nil, err
	}
	infos := []*codec.Info{d.sides[0].info, d.sides[1].info}
	var channels []*codec.Channel
	for _, info := range infos {
		for _, t := range info.Topics {
			channels = append(channels, t.Channel)
		}
	}
	warn := func(text string) { fmt.Fprintln(stderr, "warning:", printable.Line(text)) }
	topics, fields := d.schemas.unmatched(d.rules, channels)
	if err := d.selection.Check(infos, d.allowUnmatched, warn, topics...); err != nil {
		return nil, err
	}
	for _, option := range fields {
		warn("no message has the field of " + option)
	}
	d.matchBare()
	for i := range d.sides {
		if err := d.read(ctx, i); err != nil {
			return nil, err
		}
	}
	if err := d.compare(ctx, limit); err != nil {
		return nil, err
	}
	return d.report(limit), nil
}

func (o *diffOptions) parse() (*comparison, error) {
	d := &comparison{
		allowUnmatched: o.AllowUnmatched, bytes: o.Bytes, tolerance: -1, seed: maphash.MakeSeed(),
		as: o.As, schemas: schemas{}, translated: map[*codec.Channel]bool{},
	}
	var err error
	if d.selection.Include, err = convert.ParsePatterns("topics", o.Topics); err != nil {
		return nil, err
	}
	ignored := o.Exclude
	if len(o.Topics) == 0 {
		ignored = append(slices.Clone(ignored), codec.EventTopic) // what a recording says about itself
	}
	if d.selection.Exclude, err = convert.ParsePatterns("exclude", ignored); err != nil {
		return nil, err
	}
	if o.Times != "" {
		if d.tolerance, err = time.ParseDuration(o.Times); err != nil {
			d.tolerance, err = time.ParseDuration(o.Times + "s")
		}
		if err != nil || d.tolerance < 0 {
			return nil, config.Usagef("--times %q is not a duration such as 5ms, or a number of seconds", o.Times)
		}
	}
	if d.rules, err = parseTolerances(o.Tolerance); err != nil {
		return nil, err
	}
	ignoredFields, err := parseIgnored(o.IgnoreFields)
	if err != nil {
		return nil, err
	}
	if d.rules = append(d.rules, ignoredFields...); len(d.rules) > 0 {
		if d.as == viewRaw {
			return nil, config.Usagef("--tolerance and --ignore-fields compare fields and do not go with --as raw")
		}
		d.as = viewROS2
	}
	return d, nil
}

// topicKey identifies a topic: messages of equal keys are compared with each other.
type topicKey struct{ topic, typeName string }

func keyOf(c *codec.Channel) topicKey { return topicKey{c.Topic, c.Type} }

// matchBare finds topics without a leading '/' that the other recording has with one, as happens with ROS 1.
func (d *comparison) matchBare() {
	var keys [2]map[topicKey]bool
	for i, s := range d.sides {
		keys[i] = map[topicKey]bool{}
		for _, t := range s.info.Topics {
			keys[i][keyOf(t.Channel)] = true
		}
	}
	var names []string
	for i := range keys {
		d.slashed[i] = map[topicKey]bool{}
		for k := range keys[i] {
			full := topicKey{"/" + k.topic, k.typeName}
			if !strings.HasPrefix(k.topic, "/") && keys[1-i][full] && !keys[i][full] && !keys[1-i][k] {
				d.slashed[i][k] = true
				names = append(names, human.Printable(k.topic))
			}
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		d.notes = append(d.notes, "compared though only one side has a '/' in front of their names: "+
			strings.Join(names, ", "))
	}
}

// key returns the key of a channel, with the leading '/' that matchBare found.
func (d *comparison) key(side int, c *codec.Channel) topicKey {
	k := keyOf(c)
	if d.slashed[side][k] {
		k.topic = "/" + k.topic
	}
	return k
}

func (k topicKey) String() string {
	return fmt.Sprintf("%s [%s]", human.Printable(k.topic), human.Printable(k.typeName))
}

func (k topicKey) compare(o topicKey) int {
	return cmp.Or(strings.Compare(k.topic, o.topic), strings.Compare(k.typeName, o.typeName))
}

// topicMessages holds the messages of a topic in one recording, in order.
type topicMessages struct {
	channels []*codec.Channel
	messages []stamp
}

// encodings returns the encodings of the payloads, in alphabetical order.
func (s *topicMessages) encodings() string {
	var names []string
	for _, c := range s.channels {
		names = append(names, c.Encoding)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "+")
}

// side is one of the two recordings.
type side struct {
	*input
	topics  map[topicKey]*topicMessages
	count   int      // messages
	damaged []string // the first places that were skipped, up to shownDamage
	more    bool     // there are more
}

// passOver keeps a damaged place, once.
func (s *side) passOver(err error) {
	text := err.Error()
	switch {
	case slices.Contains(s.damaged, text):
	case len(s.damaged) == shownDamage:
		s.more = true
	default:
		s.damaged = append(s.damaged, text)
	}
}

// cdr reports whether all payloads are CDR.
func (c *topicComparison) cdr() bool { return c.a.encodings() == codec.EncodingCDR }

// comparison is the comparison of two recordings. It keeps 24 bytes per message.
type comparison struct {
	selection      convert.Selection
	allowUnmatched bool
	bytes          bool
	tolerance      time.Duration // of log times; negative if times do not count
	seed           maphash.Seed

	as         string // what the recordings are read as
	rules      []rule // about fields
	schemas    schemas
	translated map[*codec.Channel]bool // those that the recordings do not have as they are
	slashed    [2]map[topicKey]bool    // those of each recording that the other has with a leading '/'

	sides  [2]*side
	topics []*topicComparison // of the topics that both recordings have, in order

	missing, extra []topicKey // only in the first or the second recording
	notes          []string
	times          times
}

// topicComparison holds how the messages of a topic differ.
type topicComparison struct {
	key   topicKey
	a, b  *topicMessages
	hunks []hunk

	encodings string // how they differ, or ""
	padded    int    // messages that differ in padding only
	late      []pair // those beyond the tolerance

	alike     int                  // messages of which the fields are the same, but not the bytes
	unset     []string             // fields that one definition lacks, at their default where they are
	allowed   fieldComparison      // the one with the largest difference that rules allowed
	allowedAt pair                 // where that is
	details   map[pair]messageDiff // how the first messages differ
}

// pair is a message in both recordings, by its index among the messages of its topic.
type pair struct{ a, b int }

func (c *topicComparison) differs() bool {
	return c.encodings != "" || len(c.hunks) > 0 || len(c.late) > 0
}

func (d *comparison) differs() bool {
	return len(d.missing) > 0 || len(d.extra) > 0 || slices.ContainsFunc(d.topics, (*topicComparison).differs)
}

// damagedPaths names the recordings that are damaged, or is empty.
func (d *comparison) damagedPaths() string {
	var paths []string
	for _, s := range d.sides {
		if len(s.damaged) > 0 {
			paths = append(paths, human.Printable(s.path))
		}
	}
	return strings.Join(slices.Compact(paths), " and ")
}

// read reads the stamps of all messages of a recording.
func (d *comparison) read(ctx context.Context, i int) error {
	s := d.sides[i]
	of := map[*codec.Channel]*topicMessages{}
	add := func(c *codec.Channel) *topicMessages {
		key := d.key(i, c)
		st := s.topics[key]
		if st == nil {
			st = &topicMessages{}
			s.topics[key] = st
		}
		st.channels = append(st.channels, c)
		of[c] = st
		return st
	}
	for _, t := range s.info.Topics {
		if d.selection.Wants(t.Channel) {
			st := add(t.Channel)
			// A damaged file may claim any number, but each message takes some bytes.
			st.messages = slices.Grow(st.messages, int(min(t.MessageCount, uint64(s.info.Size)/8)))
		}
	}
	it, err := s.reader.Read(codec.Query{Topics: d.selection.Wants, Damaged: s.passOver})
	if err != nil {
		return err
	}
	bar := progress.Seconds(os.Stderr, "reading", describe.Span(s.info))
	defer bar.Close()
	var hash maphash.Hash
	hash.SetSeed(d.seed)
	return readahead.Each(ctx, it, readahead.Enough, func(msg *codec.Message) error {
		st := of[msg.Channel]
		if st == nil {
			st = add(msg.Channel)
		}
		hash.Reset()
		d.hash(&hash, msg)
		st.messages = append(st.messages, stamp{hash: hash.Sum64(), log: msg.LogTime, size: uint32(len(msg.Data))})
		s.count++
		bar.Set(msg.LogTime - s.info.StartTime)
		return nil
	})
}

// hash hashes a payload, without padding unless bytes count.
func (d *comparison) hash(h *maphash.Hash, msg *codec.Message) {
	data := msg.Data
	if d.bytes || msg.Channel.Encoding != codec.EncodingCDR || len(data) < 4 {
		h.Write(data)
		return
	}
	header, padding := paddingless(data)
	h.Write(header[:])
	h.Write(data[4:])
	h.Write(zeros[:padding])
}

var zeros [3]byte

// paddingless returns the encapsulation header of a CDR payload without the two bits that count padding (RTPS 2.3,
// 10.2), and how many bytes the payload is short of a multiple of 4. Cyclone DDS sends multiples of 4, unlike Fast DDS.
func paddingless(data []byte) (header [4]byte, padding int) {
	copy(header[:], data)
	header[3] &^= 3
	return header, -len(data) & 3
}

// compare compares the two sides, and describes the first limit differences of each topic.
func (d *comparison) compare(ctx context.Context, limit int) error {
	a, b := d.sides[0], d.sides[1]
	for _, key := range slices.SortedFunc(maps.Keys(a.topics), topicKey.compare) {
		other := b.topics[key]
		if other == nil {
			d.missing = append(d.missing, key)
			continue
		}
		c := &topicComparison{key: key, a: a.topics[key], b: other}
		d.topics = append(d.topics, c)
		if from, to := c.a.encodings(), c.b.encodings(); from != to {
			c.encodings = fmt.Sprintf("encoding %s in A, %s in B", human.OrDash(from), human.OrDash(to))
			continue
		}
		c.hunks = align(c.a.messages, c.b.messages)
	}
	d.pairByTime()
	for _, c := range d.topics {
		if err := d.compareMessages(ctx, c, limit); err != nil {
			return err
		}
	}
	for key := range b.topics {
		if a.topics[key] == nil {
			d.extra = append(d.extra, key)
		}
	}
	slices.SortFunc(d.extra, topicKey.compare)
	d.compareTimes()
	for i, s := range d.sides {
		if !s.info.Complete && len(s.damaged) == 0 {
			d.notes = append(d.notes, fmt.Sprintf("%c is not complete", 'A'+i))
		}
		for _, text := range s.damaged {
			d.notes = append(d.notes, fmt.Sprintf("%c is damaged: %s", 'A'+i, text))
		}
		if s.more {
			d.notes = append(d.notes, fmt.Sprintf("%c is damaged at more places", 'A'+i))
		}
	}
	d.notes = append(d.notes, d.fieldNotes()...)
	padded := 0
	for _, c := range d.topics {
		padded += c.padded
	}
	if padded > 0 {
		d.notes = append(d.notes, fmt.Sprintf("payloads that differ in padding at their end alone: %d (--bytes makes "+
			"that a difference)", padded))
	}
	return nil
}

// matches yields each pair of equal messages.
func (c *topicComparison) matches(yield func(pair) bool) {
	if c.encodings != "" {
		return
	}
	i, j := 0, 0
	for _, h := range append(slices.Clip(c.hunks), hunk{a0: len(c.a.messages)}) {
		for ; i < h.a0; i, j = i+1, j+1 {
			if !yield(pair{i, j}) {
				return
			}
		}
		i, j = h.a1, h.b1
	}
}
