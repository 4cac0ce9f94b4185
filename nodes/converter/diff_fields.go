package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/internal/progress"
)

// compareMessages reads messages of a topic whose bytes differ once more. Where fields count it compares them all, and
// takes those that are the same out of the hunks. It describes the first limit differences.
func (d *comparison) compareMessages(ctx context.Context, c *topicComparison, limit int) error {
	byField := d.byField(c)
	var pairs []pair
	for _, h := range c.hunks {
		if !byField && len(pairs) >= limit {
			break
		}
		pairs = append(pairs, h.pairs(c.a.messages, c.b.messages, byField)...)
	}
	if !byField {
		pairs = pairs[:min(limit, len(pairs))]
	}
	rules := slices.DeleteFunc(slices.Clone(d.rules), func(r rule) bool {
		return r.topic != "" && r.topic != c.key.topic
	})
	same := make([]bool, len(pairs))
	c.details = map[pair]messageDiff{}
	err := d.readPairs(ctx, c, pairs, func(k int, a, b *codec.Message) {
		f := fieldComparison{rules: rules, strict: d.bytes || !byField}
		decoded := f.compare(a, b, d.schemas)
		same[k] = byField && decoded && f.count == 0
		switch {
		case same[k]:
			c.addAlike(&f, pairs[k])
		case len(c.details) >= limit:
		case decoded && f.count > 0:
			c.details[pairs[k]] = messageDiff{Fields: f.first, Text: f.text()}
		default:
			c.details[pairs[k]] = messageDiff{Text: fmt.Sprintf("%d and %s, %s", len(a.Data),
				human.Count(len(b.Data), "byte"), firstByte(a.Data, b.Data, !d.bytes && c.cdr()))}
		}
	})
	if byField {
		c.hunks = remaining(c.hunks, pairs, same)
	}
	return err
}

// byField reports whether messages of a topic whose bytes differ are compared by their fields: senders may fill the
// padding between fields with anything.
func (d *comparison) byField(c *topicComparison) bool {
	if !c.cdr() || d.as == viewRaw {
		return false
	}
	if d.as == viewROS2 || !d.bytes {
		return true
	}
	definitions := map[string]bool{}
	for _, channel := range slices.Concat(c.a.channels, c.b.channels) {
		if d.translated[channel] {
			return true
		}
		definitions[channel.Schema.Encoding+"\n"+string(channel.Schema.Data)] = true
	}
	return len(definitions) > 1
}

// pairs returns which messages of a hunk are compared with each other: the first of one side with the first of the
// other and so on. With byTime, if one side has more, those of equal log times are, as long as there are any.
func (h hunk) pairs(a, b []stamp, byTime bool) []pair {
	var pairs []pair
	if byTime && h.a1-h.a0 != h.b1-h.b0 {
		for i, j := h.a0, h.b0; i < h.a1 && j < h.b1; {
			switch {
			case a[i].log < b[j].log:
				i++
			case a[i].log > b[j].log:
				j++
			default:
				pairs = append(pairs, pair{i, j})
				i, j = i+1, j+1
			}
		}
	}
	if pairs == nil {
		for i := range h.changed() {
			pairs = append(pairs, pair{h.a0 + i, h.b0 + i})
		}
	}
	return pairs
}

// readPairs reads pairs of messages of a topic, which are in order, and calls compare with the index of each.
func (d *comparison) readPairs(ctx context.Context, c *topicComparison, pairs []pair,
	compare func(k int, a, b *codec.Message)) error {
	if len(pairs) == 0 {
		return nil
	}
	var its [2]codec.Iterator
	var next [2]int // index of the message that its yields next
	for i, messages := range [][]stamp{c.a.messages, c.b.messages} {
		q := codec.Query{Topics: func(channel *codec.Channel) bool { return d.key(i, channel) == c.key },
			Damaged: func(error) {}}
		first := 0
		// What is read of a damaged recording depends on where reading begins, too.
		if !formats.FromStart(d.sides[i].info) && len(d.sides[i].damaged) == 0 {
			first = [...]int{pairs[0].a, pairs[0].b}[i]
			for first > 0 && messages[first-1].log == messages[first].log {
				first--
			}
			q.Start = messages[first].log
		}
		it, err := d.sides[i].reader.Read(q)
		if err != nil {
			return err
		}
		defer it.Close()
		its[i], next[i] = it, first
	}
	read := func(side, index int) (*codec.Message, error) {
		for {
			m, err := its[side].Next()
			if err != nil {
				return nil, fmt.Errorf("read %s again: %w", d.sides[side].path, err)
			}
			if next[side]++; next[side] > index {
				return m, nil
			}
		}
	}
	bar := progress.Seconds(os.Stderr, "comparing "+human.Printable(c.key.topic), describe.Span(d.sides[0].info))
	defer bar.Close()
	for k, p := range pairs {
		if k%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		a, err := read(0, p.a)
		if err != nil {
			return err
		}
		b, err := read(1, p.b)
		if err != nil {
			return err
		}
		bar.Set(a.LogTime - d.sides[0].info.StartTime)
		compare(k, a, b)
	}
	return nil
}

// addAlike counts messages of which the fields are the same, and keeps the largest difference that rules allowed.
func (c *topicComparison) addAlike(f *fieldComparison, at pair) {
	c.alike++
	for _, field := range f.unset {
		if !slices.Contains(c.unset, field) {
			c.unset = append(c.unset, field)
		}
	}
	if f.passed > c.allowed.passed {
		c.allowed, c.allowedAt = *f, at
	}
}

// remaining returns hunks without those of the pairs that are the same.
func remaining(hunks []hunk, pairs []pair, same []bool) []hunk {
	var left []hunk
	k := 0
	for _, h := range hunks {
		i, j := h.a0, h.b0
		until := func(a, b int) { // adds what is between two pairs
			if i < a {
				left = append(left, hunk{i, a, j, j})
			}
			if j < b {
				left = append(left, hunk{a, a, j, b})
			}
		}
		for ; k < len(pairs) && pairs[k].a < h.a1; k++ {
			p := pairs[k]
			until(p.a, p.b)
			i, j = p.a+1, p.b+1
			if !same[k] {
				left = append(left, hunk{p.a, i, p.b, j})
			}
		}
		until(h.a1, h.b1)
	}
	return left
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

// fieldNotes describe what is the same by its fields alone.
func (d *comparison) fieldNotes() []string {
	alike := 0
	var most *topicComparison
	var unset []string
	for _, c := range d.topics {
		alike += c.alike
		for _, field := range c.unset {
			unset = append(unset, field+" of "+c.key.String())
		}
		if c.allowed.passed > 0 && (most == nil || c.allowed.passed > most.allowed.passed) {
			most = c
		}
	}
	var notes []string
	if alike > 0 {
		notes = append(notes, "the same field by field, though not byte by byte: "+human.Count(alike, "message"))
	}
	if len(unset) > 0 {
		notes = append(notes, "fields that one side's definition lacks, and that have their default on the other "+
			"(--bytes makes that a difference): "+strings.Join(unset, ", "))
	}
	if most != nil {
		notes = append(notes, fmt.Sprintf("the largest difference within the tolerance is %.3g, at %s of message %d "+
			"of %s",
			most.allowed.passed, most.allowed.at, most.allowedAt.a, most.key))
	}
	return notes
}
