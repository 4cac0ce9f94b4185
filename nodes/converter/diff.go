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
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/internal/progress"
)

// diffOptions are the parameters of diff.
type diffOptions struct {
	Topics       []string `param:"topics" short:"t" group:"Selection" help:"compare only these topics: names, or regular expressions that must match the whole name; separate several by commas"`
	IgnoreTopics []string `param:"ignore_topics" alias:"exclude" short:"x" group:"Selection" help:"leave out these topics; same syntax as topics"`
	As           string   `param:"as" group:"Comparison" options:"auto|ros2|raw" help:"compare all messages as ROS 2 field by field (ros2), or all payloads byte by byte (raw); auto compares topics that the recordings encode differently as ROS 2, and other payloads byte by byte"`
	Tolerance    []string `param:"tolerance" group:"Comparison" value:"[[TOPIC:]FIELD=]NUMBER" help:"treat floats, and times in seconds, as equal if they differ by at most this: 1e-5, or 0.1% of the larger one; with FIELD, such as header.stamp or pose, all numbers inside it; the last rule that matches applies; separate several by commas; implies --as ros2"`
	IgnoreFields []string `param:"ignore_fields" group:"Comparison" value:"[TOPIC:]FIELD" help:"do not compare these fields or anything inside them; separate several by commas; implies --as ros2"`
	Times        string   `param:"times" group:"Comparison" value:"DURATION" help:"also report log times that differ by more than DURATION once the offset that all have in common is subtracted; by default a note sums up how times differ"`
	Strict       bool     `param:"strict" group:"Comparison" help:"also report padding at the end of payloads, which DDS may add, and fields that only one side defines, even at their default value"`
	Limit        int      `param:"limit" group:"Output" min:"0" help:"number of differences to show"`
	JSON         bool     `param:"json" group:"Output" help:"print one JSON object"`
	Brief        bool     `param:"brief" short:"q" group:"Output" help:"print only the verdict"`
}

var errDifferent = errors.New("the recordings differ")

// diff compares the recordings at the two paths.
func (o *diffOptions) diff(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	d, err := o.parse()
	if err != nil {
		return err
	}
	ins, err := openInputs(paths)
	if err != nil {
		return err
	}
	defer ins.Close()
	report, err := d.run(ctx, ins, o.Limit, stderr)
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
	if err == nil && !report.Same {
		err = errDifferent
	}
	return err
}

// run compares two recordings, and tells of limit differences one by one.
func (d *difference) run(ctx context.Context, ins inputs, limit int, stderr io.Writer) (*diffReport, error) {
	if err := d.view(ins); err != nil {
		return nil, err
	}
	if err := d.selection.Check(ins.infos(), func(text string) { fmt.Fprintln(stderr, "warning:", text) }); err != nil {
		return nil, err
	}
	d.matchBare(ins)
	for i, in := range ins {
		var err error
		if d.sides[i], err = d.read(ctx, i, in); err != nil {
			return nil, err
		}
	}
	if err := d.compare(ctx, limit); err != nil {
		return nil, err
	}
	return d.report(limit), nil
}

func (o *diffOptions) parse() (*difference, error) {
	d := &difference{
		strict: o.Strict, tolerance: -1, seed: maphash.MakeSeed(),
		as: o.As, schemas: schemas{}, translated: map[*codec.Channel]bool{},
	}
	var err error
	if d.selection.Include, err = convert.ParsePatterns("topics", o.Topics); err != nil {
		return nil, err
	}
	ignored := o.IgnoreTopics
	if len(o.Topics) == 0 {
		ignored = append(slices.Clone(ignored), codec.EventTopic) // what a recording says about itself
	}
	if d.selection.Exclude, err = convert.ParsePatterns("ignore-topics", ignored); err != nil {
		return nil, err
	}
	if o.Times != "" {
		m, err := convert.ParseMoment("times", o.Times)
		if err != nil || !m.Relative {
			return nil, config.Usagef("--times %q is not a duration such as 5ms, or a number of seconds", o.Times)
		}
		d.tolerance = time.Duration(m.NS)
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
			return nil, config.Usagef("--tolerance and --ignore-fields are about fields, which --as raw does not compare")
		}
		d.as = viewROS2
	}
	return d, nil
}

// streamKey is what the messages that are compared with each other have in common.
type streamKey struct{ topic, typeName string }

func keyOf(c *codec.Channel) streamKey { return streamKey{c.Topic, c.Type} }

// matchBare finds topics without a leading '/' that the other recording has with it, as ROS 1 and what is made of it
// have.
func (d *difference) matchBare(ins inputs) {
	var keys [2]map[streamKey]bool
	for i, in := range ins {
		keys[i] = map[streamKey]bool{}
		for _, t := range in.info.Topics {
			keys[i][keyOf(t.Channel)] = true
		}
	}
	var names []string
	for i := range keys {
		d.slashed[i] = map[streamKey]bool{}
		for k := range keys[i] {
			full := streamKey{"/" + k.topic, k.typeName}
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

// key returns the key of a channel of a recording by which both are compared.
func (d *difference) key(side int, c *codec.Channel) streamKey {
	k := keyOf(c)
	if d.slashed[side][k] {
		k.topic = "/" + k.topic
	}
	return k
}

func (k streamKey) String() string {
	return fmt.Sprintf("%s [%s]", human.Printable(k.topic), human.Printable(k.typeName))
}

func (k streamKey) compare(o streamKey) int {
	return cmp.Or(strings.Compare(k.topic, o.topic), strings.Compare(k.typeName, o.typeName))
}

// stream is all messages of a topic and type in one recording, in order.
type stream struct {
	channels []*codec.Channel
	messages []stamp
}

// encodings returns the encodings of its payloads, in alphabetical order.
func (s *stream) encodings() string {
	var names []string
	for _, c := range s.channels {
		names = append(names, c.Encoding)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "+")
}

// side is one of the two recordings.
type side struct {
	in      *input
	streams map[streamKey]*stream
	count   int // of all messages
}

// cdr reports whether the payloads compared are CDR.
func (c *comparison) cdr() bool { return c.a.encodings() == codec.EncodingCDR }

// difference is the comparison of two recordings. A message costs it 40 bytes, whatever its size.
type difference struct {
	selection convert.Selection
	strict    bool
	tolerance time.Duration // of log times; negative if times do not count
	seed      maphash.Seed

	as         string // what the recordings are read as
	rules      []rule // about fields
	schemas    schemas
	translated map[*codec.Channel]bool // those that the recordings do not have as they are
	slashed    [2]map[streamKey]bool   // those of each recording that the other has with a leading '/'

	sides  [2]*side
	topics []*comparison // of the topics that both recordings have, in order

	missing, extra []streamKey // only in the first or the second recording
	notes          []string
	times          times
}

// comparison is how the messages of one topic and type differ.
type comparison struct {
	key   streamKey
	a, b  *stream
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

// pair is a message in both recordings, by its index among those of its topic.
type pair struct{ a, b int }

func (c *comparison) differs() bool {
	return c.encodings != "" || len(c.hunks) > 0 || len(c.late) > 0
}

func (d *difference) differs() bool {
	return len(d.missing) > 0 || len(d.extra) > 0 || slices.ContainsFunc(d.topics, (*comparison).differs)
}

// read takes the stamps of all messages of a recording.
func (d *difference) read(ctx context.Context, i int, in *input) (*side, error) {
	s := &side{in: in, streams: map[streamKey]*stream{}}
	of := map[*codec.Channel]*stream{}
	add := func(c *codec.Channel) *stream {
		key := d.key(i, c)
		st := s.streams[key]
		if st == nil {
			st = &stream{}
			s.streams[key] = st
		}
		st.channels = append(st.channels, c)
		of[c] = st
		return st
	}
	for _, t := range in.info.Topics {
		if d.selection.Wants(t.Channel) {
			st := add(t.Channel)
			// A damaged file may claim any number; this many bytes a message takes at least.
			st.messages = slices.Grow(st.messages, int(min(t.MessageCount, uint64(in.info.Size)/8)))
		}
	}
	it, err := in.reader.Read(codec.Query{Topics: d.selection.Wants})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	bar := progress.Seconds(os.Stderr, "reading", span(in.info))
	defer bar.Close()
	var hash maphash.Hash
	hash.SetSeed(d.seed)
	for {
		msg, err := it.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w; 'converter recover' saves what follows the damage", err)
		}
		st := of[msg.Channel]
		if st == nil {
			st = add(msg.Channel)
		}
		hash.Reset()
		d.hash(&hash, msg)
		st.messages = append(st.messages, stamp{hash: hash.Sum64(), log: msg.LogTime, size: uint32(len(msg.Data))})
		s.count++
		bar.Set(msg.LogTime - in.info.StartTime)
		if s.count%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// hash writes to h what of a payload counts.
func (d *difference) hash(h *maphash.Hash, msg *codec.Message) {
	data := msg.Data
	if d.strict || msg.Channel.Encoding != codec.EncodingCDR || len(data) < 4 {
		h.Write(data)
		return
	}
	header, padding := paddingless(data)
	h.Write(header[:])
	h.Write(data[4:])
	h.Write(zeros[:padding])
}

var zeros [3]byte

// paddingless returns the encapsulation header of a CDR payload without what it says of padding, and how many bytes the
// payload is short of a multiple of 4. Cyclone DDS sends multiples of 4, Fast DDS does not; both then may set the two
// lowest bits of the header's options to the number of bytes added, as RTPS 2.3 and later say in 10.2.
func paddingless(data []byte) (header [4]byte, padding int) {
	copy(header[:], data)
	header[3] &^= 3
	return header, -len(data) & 3
}

// compare fills in what differs between the two sides. Of each topic it keeps the fields that differ in limit messages.
func (d *difference) compare(ctx context.Context, limit int) error {
	a, b := d.sides[0], d.sides[1]
	for _, key := range slices.SortedFunc(maps.Keys(a.streams), streamKey.compare) {
		other := b.streams[key]
		if other == nil {
			d.missing = append(d.missing, key)
			continue
		}
		c := &comparison{key: key, a: a.streams[key], b: other}
		d.topics = append(d.topics, c)
		if from, to := c.a.encodings(), c.b.encodings(); from != to {
			c.encodings = fmt.Sprintf("encoding %s in A, %s in B", human.OrDash(from), human.OrDash(to))
			continue
		}
		c.hunks = align(c.a.messages, c.b.messages)
		if err := d.compareMessages(ctx, c, limit); err != nil {
			return err
		}
	}
	for key := range b.streams {
		if a.streams[key] == nil {
			d.extra = append(d.extra, key)
		}
	}
	slices.SortFunc(d.extra, streamKey.compare)
	d.compareTimes()
	for i, s := range d.sides {
		if !s.in.info.Complete {
			d.notes = append(d.notes, fmt.Sprintf("%c is not complete", 'A'+i))
		}
	}
	d.notes = append(d.notes, d.fieldNotes()...)
	padded := 0
	for _, c := range d.topics {
		padded += c.padded
	}
	if padded > 0 {
		d.notes = append(d.notes, fmt.Sprintf("payloads that differ in padding at their end alone: %d (--strict makes "+
			"that a difference)", padded))
	}
	return nil
}

// matches calls yield for each pair of messages that are the same.
func (c *comparison) matches(yield func(pair) bool) {
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
