package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
)

// Report is the result of a comparison.
type Report struct {
	A       Side     `json:"a"`
	B       Side     `json:"b"`
	Same    bool     `json:"same"`
	Verdict string   `json:"verdict"`
	Topics  []Topic  `json:"topics"`  // topics that differ
	Omitted int      `json:"omitted"` // differences that Topics lack
	Notes   []string `json:"notes"`

	err       error
	remaining int // number of differences that may be added before Options.Limit is reached
}

// Side describes one of the recordings.
type Side struct {
	Path     string `json:"path"`
	Format   string `json:"format"`
	Topics   int    `json:"topics"`
	Messages int    `json:"messages"`

	Damaged []string `json:"damaged,omitempty"` // places that were skipped
}

// Topic describes how a topic differs.
type Topic struct {
	Topic       string       `json:"topic"`
	Type        string       `json:"type"`
	Text        string       `json:"text"`
	Differences []Difference `json:"differences"`
}

// Difference describes how a message differs, or which messages only one recording has.
type Difference struct {
	Message int     `json:"message"`  // index among the topic's messages
	Time    int64   `json:"log_time"` // ns since the Unix epoch
	Fields  []Field `json:"fields,omitempty"`
	Text    string  `json:"text"`
}

// Err returns nil if the recordings are equal, ErrDifferent if they differ, and another error if damage hides whether
// they do.
func (r *Report) Err() error { return r.err }

// WriteText writes the report as text.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i, s := range []*Side{&r.A, &r.B} {
		fmt.Fprintf(&b, "%c: %s (%s): %s, %s\n", 'A'+i, human.Printable(s.Path), s.Format,
			human.Count(s.Topics, "topic"), human.Count(s.Messages, "message"))
	}
	for _, t := range r.Topics {
		fmt.Fprintln(&b, printable.Line(t.Text))
		for _, d := range t.Differences {
			fmt.Fprintf(&b, "  %s\n", printable.Line(d.Text))
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

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// report returns the result with the first differences.
func (c *comparer) report() *Report {
	r := &Report{Verdict: c.verdict(), Topics: []Topic{}, remaining: c.Options.Limit}
	for i, to := range []*Side{&r.A, &r.B} {
		s := c.sides[i]
		*to = Side{s.Path, s.Info.Format, len(s.topics), s.count, s.damaged}
	}
	damaged := c.damagedPaths()
	switch {
	case c.differs():
		r.err = ErrDifferent
	case damaged != "":
		r.err = fmt.Errorf("%s: everything readable is the same, but damage hides the rest; 'converter recover' saves "+
			"what can be read", damaged)
	}
	r.Same = r.err == nil
	for _, key := range c.missing {
		r.addOnly("A", key, c.sides[0].topics[key], c.extra)
	}
	for _, key := range c.extra {
		r.addOnly("B", key, c.sides[1].topics[key], c.missing)
	}
	for _, t := range c.topics {
		if t.differs() {
			r.addDifferences(t, c.times.offset)
		}
	}
	r.Notes = append([]string{}, c.notes...)
	if c.times.matched > 0 {
		r.Notes = append(r.Notes, c.times.text())
	}
	return r
}

// damagedPaths returns the paths of the damaged recordings, "" if there are none.
func (c *comparer) damagedPaths() string {
	var paths []string
	for _, s := range c.sides {
		if len(s.damaged) > 0 {
			paths = appendNew(paths, human.Printable(s.Path))
		}
	}
	return strings.Join(paths, " and ")
}

// verdict returns the result in one line.
func (c *comparer) verdict() string {
	messages, differing := 0, len(c.missing)+len(c.extra)
	var changed, missing, extra, late, encodings int
	for _, t := range c.topics {
		messages += len(t.sides[0].list)
		if t.differs() {
			differing++
		}
		if t.encodings != "" {
			encodings++
		}
		changed, missing, extra, late = changed+t.changed, missing+t.missing, extra+t.extra, late+len(t.late)
	}
	topics := human.Count(len(c.topics)+len(c.missing)+len(c.extra), "topic")
	if differing == 0 {
		same := "identical"
		if len(c.rules) > 0 && slices.ContainsFunc(c.topics, func(t *topic) bool { return t.equalFields > 0 }) {
			same = "the same as far as it was asked for"
		}
		if c.damagedPaths() != "" {
			same = "damaged, " + same + " where it can be read"
		}
		return fmt.Sprintf("%s: %s, %s", same, topics, human.Count(messages, "message"))
	}
	parts := []string{fmt.Sprintf("%d of %s", differing, topics)}
	for _, p := range []struct {
		n          int
		noun, what string
	}{
		{len(c.missing), "topic", "missing in B"}, {len(c.extra), "topic", "only in B"},
		{encodings, "topic", "encoded otherwise"}, {changed, "message", "changed"},
		{missing, "message", "missing in B"}, {extra, "message", "only in B"}, {late, "message", "at another time"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", human.Count(p.n, p.noun), p.what))
		}
	}
	return "different: " + strings.Join(parts, ", ")
}

// addTopic adds a topic without differences.
func (r *Report) addTopic(k key, text string) {
	r.Topics = append(r.Topics, Topic{k.topic, k.typeName, text, []Difference{}})
}

// addDifference adds n differences to the last topic as one entry, or counts them as omitted.
func (r *Report) addDifference(n int, d Difference) {
	if r.remaining == 0 {
		r.Omitted += n
		return
	}
	r.remaining--
	t := &r.Topics[len(r.Topics)-1]
	t.Differences = append(t.Differences, d)
}

// addOnly adds a topic that only one recording has. If the other recording has the topic with another type, it is added
// once, for A.
func (r *Report) addOnly(side string, k key, m *topicMessages, others []key) {
	i := slices.IndexFunc(others, func(o key) bool { return o.topic == k.topic })
	switch {
	case i < 0:
		r.addTopic(k, fmt.Sprintf("%s: only in %s, with %s", k, side, human.Count(len(m.list), "message")))
	case side == "A":
		r.addTopic(k, fmt.Sprintf("%s: type %s in A, %s in B", human.Printable(k.topic), human.Printable(k.typeName),
			human.Printable(others[i].typeName)))
	}
}

// addDifferences adds a topic that both recordings have. Log times in B are offset later than in A.
func (r *Report) addDifferences(t *topic, offset int64) {
	if t.encodings != "" {
		r.addTopic(t.key, fmt.Sprintf("%s: %s; payloads are not compared", t.key, t.encodings))
		return
	}
	r.addTopic(t.key, fmt.Sprintf("%s: %s in A, %d in B", t.key, human.Count(len(t.a), "message"), len(t.b)))
	for h := range differences(t.a, t.b) {
		switch {
		case h.missing() > 0:
			r.addDifference(h.missing(), only("missing in B", t.a, h.a0, h.a1))
		case h.extra() > 0:
			r.addDifference(h.extra(), only("only in B", t.b, h.b0, h.b1))
		default:
			r.addDifference(1, t.change(h.a0, h.b0))
		}
	}
	for _, i := range t.late {
		a, b := t.a[i].logTime, t.b[t.a[i].partner].logTime
		r.addDifference(1, Difference{i, a, nil, fmt.Sprintf("message %d is %s s late: %s in A, %s in B", i,
			human.Seconds(b-a-offset), human.Seconds(a), human.Seconds(b))})
	}
}

// only describes messages with indices from one to another that only one recording has.
func only(what string, list []message, from, to int) Difference {
	at := list[from].logTime
	return Difference{from, at, nil, fmt.Sprintf("%d %s at index %d, log time %s", to-from, what, from,
		human.Seconds(at))}
}

// change describes the difference of the messages a[i] and b[j].
func (t *topic) change(i, j int) Difference {
	text := fmt.Sprintf("message %d differs", i)
	if i != j {
		text += fmt.Sprintf(" from message %d of B", j)
	}
	a, b := t.a[i].logTime, t.b[j].logTime
	d := t.details[i]
	d.Message, d.Time = i, a
	d.Text = fmt.Sprintf("%s, log times %s and %s, %s", text, human.Seconds(a), human.Seconds(b), d.Text)
	return d
}

// text describes the differences of times.
func (t *times) text() string {
	shift := fmt.Sprintf("log times in B are %s s later than in A", human.Seconds(t.offset))
	if t.offset < 0 {
		shift = fmt.Sprintf("log times in B are %s s earlier than in A", human.Seconds(-t.offset))
	}
	switch {
	case t.offset == 0 && t.max == 0:
		return "log times are the same"
	case t.max == 0:
		return shift + ", all of them"
	}
	return fmt.Sprintf("%s; beyond that they differ by %v on average and by %v at most, at message %d of %s", shift,
		roundDuration(t.mean), roundDuration(t.max), t.worstMessage, t.worst.key)
}

func roundDuration(ns float64) time.Duration {
	d := time.Duration(ns)
	if d > 10*time.Microsecond {
		return d.Round(time.Microsecond)
	}
	return d
}
