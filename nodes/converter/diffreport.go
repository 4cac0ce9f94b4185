package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tapedeck/codec"
)

// report writes which differences there are, limit of them message by message, and the notes.
func (d *difference) report(w io.Writer, limit int) error {
	r := &reporter{difference: d, left: limit}
	for i, s := range d.sides {
		fmt.Fprintf(&r.text, "%c: %s (%s): %s, %s\n", 'A'+i, printable(s.in.path), s.in.info.Format,
			count(len(s.streams), "topic"), count(len(s.order), "message"))
	}
	for _, key := range d.missing {
		r.only("A", key, d.sides[0].streams[key], d.extra)
	}
	for _, key := range d.extra {
		r.only("B", key, d.sides[1].streams[key], d.missing)
	}
	for _, c := range d.streams {
		if c.differs() {
			r.stream(c)
		}
	}
	if r.omitted > 0 {
		fmt.Fprintf(&r.text, "%s not shown; --limit shows more\n", count(r.omitted, "more difference"))
	}
	for _, note := range d.notes {
		fmt.Fprintln(&r.text, "note:", note)
	}
	if slices.ContainsFunc(d.streams, func(c *comparison) bool {
		return slices.ContainsFunc(c.a.messages, func(m stamp) bool { return m.matched })
	}) {
		for _, line := range d.times.lines() {
			fmt.Fprintln(&r.text, "note:", line)
		}
	}
	_, err := io.WriteString(w, r.text.String())
	return err
}

// verdict is the result in one line.
func (d *difference) verdict() string {
	messages, differing := 0, len(d.missing)+len(d.extra)
	var changed, missing, extra, late, encodings int
	for _, c := range d.streams {
		messages += len(c.a.messages)
		if c.differs() {
			differing++
		}
		if c.encodings != "" {
			encodings++
		}
		late += len(c.late)
		for _, h := range c.hunks {
			changed += h.changed()
			missing += h.missing()
			extra += h.extra()
		}
	}
	topics := len(d.streams) + len(d.missing) + len(d.extra)
	if !d.differs() {
		return fmt.Sprintf("identical: %s, %s", count(topics, "topic"), count(messages, "message"))
	}
	parts := []string{fmt.Sprintf("%d of %s", differing, count(topics, "topic"))}
	for _, p := range []struct {
		n    int
		what string
	}{
		{len(d.missing), "missing in B"}, {len(d.extra), "only in B"}, {encodings, "encoded otherwise"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(p.n, "topic"), p.what))
		}
	}
	for _, p := range []struct {
		n    int
		what string
	}{
		{changed, "changed"}, {missing, "missing in B"}, {extra, "only in B"}, {late, "at another time"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(p.n, "message"), p.what))
		}
	}
	return "different: " + strings.Join(parts, ", ")
}

// reporter writes differences until it has written enough of them.
type reporter struct {
	*difference
	text    strings.Builder
	left    int // differences to be shown still
	omitted int
}

// show writes one difference of a stream, which stands for n, unless there were enough already.
func (r *reporter) show(n int, line func() string) {
	if r.left == 0 {
		r.omitted += n
		return
	}
	r.left--
	fmt.Fprintf(&r.text, "  %s\n", line())
}

// only reports a stream that one recording lacks, unless that has the topic under another type and the other side tells.
func (r *reporter) only(side string, key streamKey, s *stream, others []streamKey) {
	i := slices.IndexFunc(others, func(o streamKey) bool { return o.topic == key.topic })
	switch {
	case i < 0:
		fmt.Fprintf(&r.text, "%s: only in %s, with %s\n", key, side, count(len(s.messages), "message"))
	case side == "A":
		fmt.Fprintf(&r.text, "%s: type %s in A, %s in B\n", printable(key.topic), printable(key.typeName), printable(others[i].typeName))
	}
}

func (r *reporter) stream(c *comparison) {
	if c.encodings != "" {
		fmt.Fprintf(&r.text, "%s: %s; payloads are not compared\n", c.key, c.encodings)
		return
	}
	fmt.Fprintf(&r.text, "%s: %d messages in A, %d in B\n", c.key, len(c.a.messages), len(c.b.messages))
	moved := c.moved()
	for _, h := range c.hunks {
		for k := range h.changed() {
			r.show(1, func() string { return r.changed(c, h.a0+k, h.b0+k) })
		}
		if n := h.missing(); n > 0 {
			r.show(n, func() string { return gone("missing in B", n, h.a1-n, c.a.messages, moved) })
		}
		if n := h.extra(); n > 0 {
			r.show(n, func() string { return gone("only in B", n, h.b1-n, c.b.messages, nil) })
		}
	}
	for _, p := range c.late {
		r.show(1, func() string {
			off := c.b.messages[p.b].log - c.a.messages[p.a].log - r.times.offset
			return fmt.Sprintf("message %d is %s s late: %s in A, %s in B", p.a, seconds(off), seconds(c.a.messages[p.a].log), seconds(c.b.messages[p.b].log))
		})
	}
}

// moved returns the indices in the second recording of payloads that only have another place there, by hash.
func (c *comparison) moved() map[uint64]int {
	to := map[uint64]int{}
	for _, h := range c.hunks {
		for i := h.b1 - h.extra(); i < h.b1; i++ {
			to[c.b.messages[i].hash] = i
		}
	}
	return to
}

// gone tells of n messages from index at on, which only one recording has.
func gone(what string, n, at int, messages []stamp, moved map[uint64]int) string {
	text := fmt.Sprintf("%d %s at index %d, log time %s", n, what, at, seconds(messages[at].log))
	if to, ok := moved[messages[at].hash]; ok {
		text += fmt.Sprintf("; its payload stands at index %d there", to)
	}
	return text
}

// changed tells where the payloads of two messages begin to differ.
func (r *reporter) changed(c *comparison, i, j int) string {
	a, b := c.a.messages[i], c.b.messages[j]
	text := fmt.Sprintf("message %d differs", i)
	if i != j {
		text += fmt.Sprintf(" from message %d of B", j)
	}
	text += fmt.Sprintf(", log times %s and %s", seconds(a.log), seconds(b.log))
	first, err := r.fetch(0, c, i)
	if err != nil {
		return fmt.Sprintf("%s (reading it again: %v)", text, err)
	}
	second, err := r.fetch(1, c, j)
	if err != nil {
		return fmt.Sprintf("%s (reading it again: %v)", text, err)
	}
	if !r.strict && c.cdr() && len(first) >= 4 && len(second) >= 4 {
		first[3], second[3] = first[3]&^3, second[3]&^3
	}
	at := 0
	for at < len(first) && at < len(second) && first[at] == second[at] {
		at++
	}
	byteAt := func(data []byte) string {
		if at < len(data) {
			return fmt.Sprintf("0x%02x", data[at])
		}
		return "its end"
	}
	return fmt.Sprintf("%s, %d and %d bytes, first at byte %d: %s and %s", text, a.size, b.size, at, byteAt(first), byteAt(second))
}

// fetch reads the payload of a message again, by its index among those of its topic.
func (r *reporter) fetch(side int, c *comparison, index int) ([]byte, error) {
	messages := [...]*stream{c.a, c.b}[side].messages
	log := messages[index].log
	it, err := r.sides[side].in.reader.Read(codec.Query{
		Start: log, End: log + 1,
		Topics: func(channel *codec.Channel) bool { return keyOf(channel) == c.key },
	})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for before := index - 1; before >= 0 && messages[before].log == log; before-- {
		if _, err := it.Next(); err != nil {
			return nil, err
		}
	}
	msg, err := it.Next()
	if err != nil {
		return nil, err
	}
	return slices.Clone(msg.Data), nil
}
