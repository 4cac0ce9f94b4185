package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/formats"
)

// byField reports whether messages of a topic whose bytes differ are compared by their fields: senders may fill the
// padding between fields with anything.
func (c *comparison) byField(t *topic) bool {
	if t.encodings != "" || !t.cdr() || c.as == viewRaw {
		return false
	}
	if c.as == viewROS2 || !c.Options.Bytes {
		return true
	}
	definitions := map[string]bool{}
	for _, channel := range slices.Concat(t.sides[0].channels, t.sides[1].channels) {
		if c.translated[channel] {
			return true
		}
		definitions[channel.Schema.Encoding+"\n"+string(channel.Schema.Data)] = true
	}
	return len(definitions) > 1
}

// cdr reports whether all payloads are CDR.
func (t *topic) cdr() bool { return t.sides[0].encodings() == codec.EncodingCDR }

// compareMessages reads messages of a topic whose bytes differ once more. Where fields count it compares them all, and
// finds which of them are the same. It describes the first of the others.
func (c *comparison) compareMessages(ctx context.Context, t *topic) error {
	byField := c.byField(t)
	rules := slices.DeleteFunc(slices.Clone(c.rules), func(r rule) bool {
		return r.topic != "" && r.topic != t.key.topic
	})
	t.details = map[int]Difference{}
	first := slices.IndexFunc(t.a, func(m message) bool { return m.partner != none && !m.same })
	if first < 0 || !byField && c.Options.Limit == 0 {
		return nil
	}
	cursors := [2]*cursor{}
	for i, index := range []int{first, int(t.a[first].partner)} {
		var err error
		cursors[i], err = c.cursor(c.sides[i], t.key, t.sides[i].list, index)
		if err != nil {
			return err
		}
		defer cursors[i].it.Close()
	}
	info := c.sides[0].Info
	bar := c.bar("comparing "+human.Printable(t.key.topic), info)
	defer bar.Close()
	read := 0
	for i := range t.a {
		if t.a[i].partner == none || t.a[i].same {
			continue
		}
		if !byField && len(t.details) == c.Options.Limit {
			break
		}
		read++
		if read%256 == 1 && ctx.Err() != nil {
			return ctx.Err()
		}
		a, err := cursors[0].read(i)
		if err != nil {
			return err
		}
		b, err := cursors[1].read(int(t.a[i].partner))
		if err != nil {
			return err
		}
		bar.Set(a.LogTime - info.StartTime)
		f := fieldComparison{rules: rules, strict: c.Options.Bytes || !byField}
		decoded := f.compare(a, b, c.schemas)
		switch {
		case byField && decoded && f.count == 0:
			t.a[i].same, t.b[t.a[i].partner].same = true, true
			t.addAlike(&f, i)
		case len(t.details) >= c.Options.Limit:
		case decoded && f.count > 0:
			t.details[i] = Difference{Fields: f.first, Text: f.text()}
		default:
			t.details[i] = Difference{Text: fmt.Sprintf("%d and %s, %s", len(a.Data),
				human.Count(len(b.Data), "byte"), firstByte(a.Data, b.Data, !c.Options.Bytes && t.cdr()))}
		}
	}
	return nil
}

// addAlike counts a message of which the fields are the same, and keeps the largest difference that rules allowed.
func (t *topic) addAlike(f *fieldComparison, message int) {
	t.alike++
	for _, field := range f.unset {
		t.unset = appendNew(t.unset, field)
	}
	if f.passed > t.passed.size {
		t.passed = passed{f.passed, f.at, message}
	}
}

// cursor reads messages of a topic in one recording by their indices, which must not decrease.
type cursor struct {
	path string
	it   codec.Iterator
	next int // index of the message that it yields next
}

// cursor returns a cursor of the messages of a topic, which begins at an index or before.
func (c *comparison) cursor(s *side, topic key, list []message, index int) (*cursor, error) {
	q := codec.Query{Topics: func(channel *codec.Channel) bool { return s.key(channel) == topic },
		Damaged: func(error) {}}
	first := 0
	// What is read of a damaged recording depends on where reading begins, too.
	if !formats.FromStart(s.Info) && len(s.damaged) == 0 {
		first = index
		for first > 0 && list[first-1].log == list[first].log {
			first--
		}
		q.Start = list[first].log
	}
	it, err := s.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	return &cursor{s.Path, it, first}, nil
}

// read returns the message of an index. It is valid until the next call.
func (c *cursor) read(index int) (m *codec.Message, err error) {
	for ; c.next <= index; c.next++ {
		m, err = c.it.Next()
		if err != nil {
			return nil, fmt.Errorf("read %s again: %w", c.path, err)
		}
	}
	return m, nil
}

// firstByte describes where two payloads begin to differ. With ignorePadding it ignores
// the bits of a CDR header that count padding.
func firstByte(a, b []byte, ignorePadding bool) string {
	if ignorePadding && len(a) >= 4 && len(b) >= 4 {
		a, b = slices.Clone(a), slices.Clone(b)
		a[3], b[3] = a[3]&^3, b[3]&^3
	}
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	byteAt := func(data []byte) string {
		if at < len(data) {
			return fmt.Sprintf("0x%02x", data[at])
		}
		return "its end"
	}
	return fmt.Sprintf("first at byte %d: %s and %s", at, byteAt(a), byteAt(b))
}

// noteFields notes what is the same by its fields or without its padding alone.
func (c *comparison) noteFields() {
	alike, padded := 0, 0
	var most *topic
	var unset []string
	for _, t := range c.topics {
		alike += t.alike
		padded += t.padded
		for _, field := range t.unset {
			unset = append(unset, field+" of "+t.key.String())
		}
		if t.passed.size > 0 && (most == nil || t.passed.size > most.passed.size) {
			most = t
		}
	}
	if alike > 0 {
		c.note("the same field by field, though not byte by byte: %s", human.Count(alike, "message"))
	}
	if len(unset) > 0 {
		c.note("fields that one side's definition lacks, and that have their default on the other (--bytes makes that "+
			"a difference): %s", strings.Join(unset, ", "))
	}
	if most != nil {
		c.note("the largest difference within the tolerance is %.3g, at %s of message %d of %s", most.passed.size,
			most.passed.field, most.passed.message, most.key)
	}
	if padded > 0 {
		c.note("payloads that differ in padding at their end alone: %d (--bytes makes that a difference)", padded)
	}
}
