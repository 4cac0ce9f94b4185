package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/internal/progress"
)

// compareFields compares messages whose bytes differ by their fields, where that is asked for or one of them was
// encoded anew, and takes those that are the same out of the hunks.
func (d *difference) compareFields(ctx context.Context, limit int) error {
	var todo []*fieldPass
	for _, c := range d.streams {
		if c.encodings == "" && c.cdr() && len(c.hunks) > 0 && d.byField(c) {
			c.byField, c.fields = true, map[pair]fieldComparison{}
			p := &fieldPass{comparison: c, rules: d.rulesOf(c.key.topic), limit: limit}
			for _, h := range c.hunks {
				p.pairs = append(p.pairs, h.pairs(c.a.messages, c.b.messages)...)
			}
			p.same = make([]bool, len(p.pairs))
			todo = append(todo, p)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	bar := progress.Seconds(os.Stderr, "comparing fields", span(d.sides[0].in.info))
	defer bar.Close()
	if err := d.compareAll(ctx, todo, bar); err != nil {
		return err
	}
	for _, p := range todo {
		p.hunks = p.remaining()
	}
	return nil
}

// byField reports whether the messages of a stream are to be compared by their fields.
func (d *difference) byField(c *comparison) bool {
	if d.as == viewROS2 {
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

// rulesOf returns those of the rules that are about a topic.
func (d *difference) rulesOf(topic string) []rule {
	return slices.DeleteFunc(slices.Clone(d.rules), func(r rule) bool { return r.topic != "" && r.topic != topic })
}

// pairs returns which messages of h stand against each other. If one side has more of them, those of equal log times
// do, or if none has an equal one, the first ones.
func (h hunk) pairs(a, b []stamp) []pair {
	var pairs []pair
	if h.a1-h.a0 != h.b1-h.b0 {
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

// fieldPass compares messages of one stream by their fields.
type fieldPass struct {
	*comparison
	rules []rule
	limit int    // of the messages of which the fields that differ are kept
	pairs []pair // in order
	same  []bool // of pairs

	seen    [2]int // messages of each side
	next    [2]int // pair to come of each side
	waiting map[int]codec.Message
}

// compareAll compares the messages of some streams, all at once if the two recordings have them in about the same
// order.
func (d *difference) compareAll(ctx context.Context, passes []*fieldPass, bar *progress.Bar) error {
	err := d.compareTogether(ctx, passes, bar)
	if !errors.Is(err, errWaiting) {
		return err
	}
	half := len(passes) / 2 // of a single one no message waits
	if err := d.compareAll(ctx, passes[:half], bar); err != nil {
		return err
	}
	return d.compareAll(ctx, passes[half:], bar)
}

var errWaiting = errors.New("too many messages wait for those of the other recording")

// compareTogether goes through both recordings side by side.
func (d *difference) compareTogether(ctx context.Context, passes []*fieldPass, bar *progress.Bar) error {
	of := map[streamKey]*fieldPass{}
	left := 0
	for _, p := range passes {
		p.seen, p.next, p.waiting = [2]int{}, [2]int{}, map[int]codec.Message{}
		p.alike, p.allowed, p.unset = 0, fieldComparison{}, nil
		clear(p.fields)
		of[p.key] = p
		left += len(p.pairs)
	}
	var its [2]codec.Iterator
	for i, s := range d.sides {
		it, err := s.in.reader.Read(codec.Query{Topics: func(c *codec.Channel) bool { return of[d.key(i, c)] != nil }})
		if err != nil {
			return err
		}
		defer it.Close()
		its[i] = it
	}
	waiting := 0
	// advance goes to the next message of a side that has a partner.
	advance := func(side int) (p *fieldPass, k int, m *codec.Message, err error) {
		for {
			m, err := its[side].Next()
			if err != nil {
				return nil, 0, nil, fmt.Errorf("read %s again: %w", d.sides[side].in.path, err)
			}
			p := of[d.key(side, m.Channel)]
			index, k := p.seen[side], p.next[side]
			p.seen[side]++
			if k < len(p.pairs) && p.pairs[k].side(side) == index {
				p.next[side]++
				return p, k, m, nil
			}
		}
	}
	for done := 0; done < left; done++ {
		if done%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, k, a, err := advance(0)
		if err != nil {
			return err
		}
		bar.Set(a.LogTime - d.sides[0].in.info.StartTime)
		if b, ok := p.waiting[k]; ok {
			delete(p.waiting, k)
			waiting -= len(b.Data)
			d.compareFieldsOf(p, k, a, &b)
			continue
		}
		for {
			q, j, b, err := advance(1)
			if err != nil {
				return err
			}
			if q == p && j == k {
				d.compareFieldsOf(p, k, a, b)
				break
			}
			if waiting += len(b.Data); waiting > d.waiting && len(passes) > 1 {
				return errWaiting
			}
			copied := *b
			copied.Data = slices.Clone(b.Data)
			q.waiting[j] = copied
		}
	}
	return nil
}

func (p pair) side(side int) int { return [...]int{p.a, p.b}[side] }

// compareFieldsOf compares the messages of the k-th pair.
func (d *difference) compareFieldsOf(p *fieldPass, k int, a, b *codec.Message) {
	f := fieldComparison{rules: p.rules, strict: d.strict}
	decoded := f.compare(a, b, d.schemas)
	p.same[k] = decoded && f.count == 0
	if p.same[k] {
		p.alike++
		for _, field := range f.unset {
			if !slices.Contains(p.unset, field) {
				p.unset = append(p.unset, field)
			}
		}
		if f.passed > p.allowed.passed {
			p.allowed, p.of = f, p.pairs[k]
		}
	} else if decoded && len(p.fields) < p.limit {
		p.fields[p.pairs[k]] = f
	}
}

// remaining returns the hunks without what is the same.
func (p *fieldPass) remaining() []hunk {
	var hunks []hunk
	k := 0
	for _, h := range p.hunks {
		i, j := h.a0, h.b0
		// until ends what stands between pairs.
		until := func(a, b int) {
			if i < a {
				hunks = append(hunks, hunk{i, a, j, j})
			}
			if j < b {
				hunks = append(hunks, hunk{a, a, j, b})
			}
		}
		for ; k < len(p.pairs) && p.pairs[k].a < h.a1; k++ {
			at := p.pairs[k]
			until(at.a, at.b)
			i, j = at.a+1, at.b+1
			if !p.same[k] {
				hunks = append(hunks, hunk{at.a, i, at.b, j})
			}
		}
		until(h.a1, h.b1)
	}
	return hunks
}

// fieldNotes say what is the same by its fields alone.
func (d *difference) fieldNotes() []string {
	alike := 0
	var most *comparison
	var unset []string
	for _, c := range d.streams {
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
			"(--strict makes that a difference): "+
			strings.Join(unset, ", "))
	}
	if most != nil {
		notes = append(notes, fmt.Sprintf("the largest difference within the tolerance is %.3g, at %s of message %d of %s",
			most.allowed.passed, most.allowed.at, most.of.a, most.key))
	}
	return notes
}
