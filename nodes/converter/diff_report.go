package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"tapedeck/msgs/printable"
	"tapedeck/nodes/internal/human"
)

// diffReport is the result of a comparison.
type diffReport struct {
	A       reportSide  `json:"a"`
	B       reportSide  `json:"b"`
	Same    bool        `json:"same"`
	Verdict string      `json:"verdict"`
	Topics  []topicDiff `json:"topics"`  // those that differ
	Omitted int         `json:"omitted"` // differences that are not among those of the topics
	Notes   []string    `json:"notes"`
}

// reportSide describes one of the recordings.
type reportSide struct {
	Path     string `json:"path"`
	Format   string `json:"format"`
	Topics   int    `json:"topics"`
	Messages int    `json:"messages"`

	Damaged []string `json:"damaged,omitempty"` // places that were skipped
}

// topicDiff describes how a topic differs.
type topicDiff struct {
	Topic       string        `json:"topic"`
	Type        string        `json:"type"`
	Text        string        `json:"text"`
	Differences []messageDiff `json:"differences"`
}

// messageDiff describes how a message differs, or which messages only one recording has.
type messageDiff struct {
	Message int               `json:"message"`  // index among those of the topic
	Time    int64             `json:"log_time"` // ns since the Unix epoch
	Fields  []fieldDifference `json:"fields,omitempty"`
	Text    string            `json:"text"`
}

// report returns the result, with limit differences message by message.
func (d *comparison) report(limit int) *diffReport {
	r := &reporter{comparison: d, left: limit}
	r.Same, r.Verdict, r.Topics = !d.differs() && d.damagedPaths() == "", d.verdict(), []topicDiff{}
	for i, to := range []*reportSide{&r.A, &r.B} {
		s := d.sides[i]
		*to = reportSide{s.path, s.info.Format, len(s.topics), s.count, s.damaged}
	}
	for _, key := range d.missing {
		r.only("A", key, d.sides[0].topics[key], d.extra)
	}
	for _, key := range d.extra {
		r.only("B", key, d.sides[1].topics[key], d.missing)
	}
	for _, c := range d.topics {
		if c.differs() {
			r.topicDifferences(c)
		}
	}
	r.Notes = append([]string{}, d.notes...)
	if d.times.matched > 0 {
		r.Notes = append(r.Notes, d.times.note())
	}
	return &r.diffReport
}

func (r *diffReport) text(w io.Writer) error {
	var b strings.Builder
	for i, s := range []*reportSide{&r.A, &r.B} {
		fmt.Fprintf(&b, "%c: %s (%s): %s, %s\n", 'A'+i, human.Printable(s.Path), s.Format,
			human.Count(s.Topics, "topic"),
			human.Count(s.Messages, "message"))
	}
	for _, t := range r.Topics {
		fmt.Fprintln(&b, printable.Line(t.Text))
		for _, m := range t.Differences {
			fmt.Fprintf(&b, "  %s\n", printable.Line(m.Text))
		}
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "%s not shown; --limit shows more\n", human.Count(r.Omitted, "more difference"))
	}
	for _, note := range r.Notes {
		fmt.Fprintln(&b, "note:", printable.Line(note))
	}
	fmt.Fprintln(&b, r.Verdict)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *diffReport) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// verdict returns the result in one line.
func (d *comparison) verdict() string {
	messages, differing := 0, len(d.missing)+len(d.extra)
	var changed, missing, extra, late, encodings int
	for _, c := range d.topics {
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
	topics := len(d.topics) + len(d.missing) + len(d.extra)
	if !d.differs() {
		same := "identical"
		if slices.ContainsFunc(d.topics, func(c *topicComparison) bool { return c.alike > 0 }) && len(d.rules) > 0 {
			same = "the same as far as it was asked for"
		}
		if d.damagedPaths() != "" {
			same = "damaged, " + same + " where it can be read"
		}
		return fmt.Sprintf("%s: %s, %s", same, human.Count(topics, "topic"), human.Count(messages, "message"))
	}
	parts := []string{fmt.Sprintf("%d of %s", differing, human.Count(topics, "topic"))}
	for _, p := range []struct {
		n          int
		noun, what string
	}{
		{len(d.missing), "topic", "missing in B"}, {len(d.extra), "topic", "only in B"},
		{encodings, "topic", "encoded otherwise"}, {changed, "message", "changed"},
		{missing, "message", "missing in B"}, {extra, "message", "only in B"}, {late, "message", "at another time"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", human.Count(p.n, p.noun), p.what))
		}
	}
	return "different: " + strings.Join(parts, ", ")
}

// reporter collects the differences to be shown.
type reporter struct {
	*comparison
	diffReport
	left int // how many more differences are shown
}

// show adds an entry for n differences of the last topic, or counts them as omitted.
func (r *reporter) show(n int, found func() messageDiff) {
	if r.left == 0 {
		r.Omitted += n
		return
	}
	r.left--
	t := &r.Topics[len(r.Topics)-1]
	t.Differences = append(t.Differences, found())
}

// topic starts the entry of a topic.
func (r *reporter) topic(key topicKey, text string) {
	r.Topics = append(r.Topics, topicDiff{key.topic, key.typeName, text, []messageDiff{}})
}

// only reports a topic that one recording lacks. If that has the topic with another type, it is reported once, for A.
func (r *reporter) only(side string, key topicKey, s *topicMessages, others []topicKey) {
	i := slices.IndexFunc(others, func(o topicKey) bool { return o.topic == key.topic })
	switch {
	case i < 0:
		r.topic(key, fmt.Sprintf("%s: only in %s, with %s", key, side, human.Count(len(s.messages), "message")))
	case side == "A":
		r.topic(key, fmt.Sprintf("%s: type %s in A, %s in B", human.Printable(key.topic), human.Printable(key.typeName),
			human.Printable(others[i].typeName)))
	}
}

func (r *reporter) topicDifferences(c *topicComparison) {
	if c.encodings != "" {
		r.topic(c.key, fmt.Sprintf("%s: %s; payloads are not compared", c.key, c.encodings))
		return
	}
	r.topic(c.key, fmt.Sprintf("%s: %s in A, %d in B", c.key, human.Count(len(c.a.messages), "message"),
		len(c.b.messages)))
	for _, h := range c.hunks {
		for k := range h.changed() {
			r.show(1, func() messageDiff { return c.changed(pair{h.a0 + k, h.b0 + k}) })
		}
		if n := h.missing(); n > 0 {
			r.show(n, func() messageDiff { return gone("missing in B", n, h.a1-n, c.a.messages) })
		}
		if n := h.extra(); n > 0 {
			r.show(n, func() messageDiff { return gone("only in B", n, h.b1-n, c.b.messages) })
		}
	}
	for _, p := range c.late {
		r.show(1, func() messageDiff {
			a, b := c.a.messages[p.a].log, c.b.messages[p.b].log
			return messageDiff{p.a, a, nil, fmt.Sprintf("message %d is %s s late: %s in A, %s in B", p.a,
				human.Seconds(b-a-r.times.offset), human.Seconds(a), human.Seconds(b))}
		})
	}
}

// gone describes n messages from index at on that only one recording has.
func gone(what string, n, at int, messages []stamp) messageDiff {
	text := fmt.Sprintf("%d %s at index %d, log time %s", n, what, at, human.Seconds(messages[at].log))
	return messageDiff{at, messages[at].log, nil, text}
}

// changed describes how two messages differ.
func (c *topicComparison) changed(p pair) messageDiff {
	a, b := c.a.messages[p.a], c.b.messages[p.b]
	text := fmt.Sprintf("message %d differs", p.a)
	if p.a != p.b {
		text += fmt.Sprintf(" from message %d of B", p.b)
	}
	found := c.details[p]
	found.Message, found.Time = p.a, a.log
	found.Text = fmt.Sprintf("%s, log times %s and %s, %s", text, human.Seconds(a.log), human.Seconds(b.log),
		found.Text)
	return found
}
