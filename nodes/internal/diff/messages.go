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

// byField reports whether messages of a topic with different bytes are compared by their fields. Senders may fill the
// padding between fields with any bytes.
func (c *comparer) byField(t *topic) bool {
	if t.encodings != "" || !t.cdr() || c.view == viewRaw {
		return false
	}
	if c.view == viewROS2 || !c.Options.Bytes {
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

// compareMessages reads messages with different bytes again. If byField is true, it compares all of them and finds the
// ones with equal fields. It describes the first differences.
func (c *comparer) compareMessages(ctx context.Context, t *topic) error {
	byField := c.byField(t)
	rules := slices.DeleteFunc(slices.Clone(c.rules), func(r rule) bool {
		return r.topic != "" && r.topic != t.key.topic
	})
	t.details = map[int]Difference{}
	first := slices.IndexFunc(t.a, func(m message) bool { return m.partner != none && !m.equal })
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
		if t.a[i].partner == none || t.a[i].equal {
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
			t.a[i].equal, t.b[t.a[i].partner].equal = true, true
			t.addEqualFields(&f, i)
		case len(t.details) >= c.Options.Limit:
		case decoded && f.count > 0:
			t.details[i] = Difference{Fields: f.fields, Text: f.text()}
		default:
			t.details[i] = Difference{Text: fmt.Sprintf("%d and %s, %s", len(a.Data),
				human.Count(len(b.Data), "byte"), firstByte(a.Data, b.Data, !c.Options.Bytes && t.cdr()))}
		}
	}
	return nil
}

// addEqualFields counts a message with equal fields, and keeps the largest difference that rules allowed.
func (t *topic) addEqualFields(f *fieldComparison, message int) {
	t.equalFields++
	for _, field := range f.unset {
		t.unset = appendNew(t.unset, field)
	}
	if f.tolerated > t.tolerated.size {
		t.tolerated = toleratedDifference{f.tolerated, f.toleratedPath, message}
	}
}

// cursor reads messages of a topic in one recording by index. Indices must not decrease.
type cursor struct {
	path string
	it   codec.Iterator
	next int // index of the message that it yields next
}

// cursor returns a cursor that begins at index or before.
func (c *comparer) cursor(s *side, topic key, list []message, index int) (*cursor, error) {
	q := codec.Query{Topics: func(channel *codec.Channel) bool { return s.key(channel) == topic },
		Damaged: func(error) {}}
	first := 0
	// The messages read from a damaged recording depend on where reading begins.
	if !formats.FromStart(s.Info) && len(s.damaged) == 0 {
		first = index
		for first > 0 && list[first-1].logTime == list[first].logTime {
			first--
		}
		q.Start = list[first].logTime
	}
	it, err := s.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	return &cursor{s.Path, it, first}, nil
}

// read returns the message at index. It is valid until the next call.
func (c *cursor) read(index int) (m *codec.Message, err error) {
	for ; c.next <= index; c.next++ {
		m, err = c.it.Next()
		if err != nil {
			return nil, fmt.Errorf("read %s again: %w", c.path, err)
		}
	}
	return m, nil
}

// firstByte describes the first difference of two payloads. With ignorePadding it ignores the bits of a CDR header that
// count padding.
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

// noteFields notes messages that are equal by their fields or without their padding.
func (c *comparer) noteFields() {
	alike, padded := 0, 0
	var most *topic
	var unset []string
	for _, t := range c.topics {
		alike += t.equalFields
		padded += t.padded
		for _, field := range t.unset {
			unset = append(unset, field+" of "+t.key.String())
		}
		if t.tolerated.size > 0 && (most == nil || t.tolerated.size > most.tolerated.size) {
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
		c.note("the largest difference within the tolerance is %.3g, at %s of message %d of %s", most.tolerated.size,
			most.tolerated.field, most.tolerated.message, most.key)
	}
	if padded > 0 {
		c.note("payloads that differ in padding at their end alone: %d (--bytes makes that a difference)", padded)
	}
}
