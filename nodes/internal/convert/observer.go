package convert

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// observer counts the losses of a conversion. Only one goroutine at a time may use it.
type observer struct {
	left     losses // topics that the output cannot hold
	known    losses // other losses that are known before reading
	channels map[*codec.Channel]*counts
	damaged  func(error) // see Job.Damaged
}

// counts are the counts of an input channel since the last reset.
type counts struct {
	throttled uint64 // messages dropped by --throttle
	failed    uint64 // messages that cannot be translated
	why       error  // of the first of these
	published uint64 // messages that lost their send time
}

func (o *observer) of(c *codec.Channel) *counts {
	n := o.channels[c]
	if n == nil {
		n = &counts{}
		o.channels[c] = n
	}
	return n
}

func (o *observer) reset() { clear(o.channels) }

// onDamage is called with errors of messages that cannot be read or translated.
func (o *observer) onDamage(err error) {
	var failed *bridge.TranslationError
	if errors.As(err, &failed) {
		n := o.of(failed.Channel)
		n.failed++
		n.why = cmp.Or(n.why, failed.Err)
	} else if o.damaged != nil {
		o.damaged(err)
	}
}

// before returns the losses that are known before reading.
func (o *observer) before() losses { return slices.Concat(o.left, o.known) }

// finish returns all losses, and what --throttle dropped.
func (o *observer) finish(ins inputs) (lost losses, throttled Loss) {
	lost = o.before()
	var cut losses
	for c, n := range o.sorted() {
		if n.failed > 0 {
			lost.add("messages that cannot be translated: "+n.why.Error(), c.Topic, n.failed)
		}
		if n.published > 0 {
			lost.add("publish times", c.Topic, n.published)
		}
		if n.throttled > 0 {
			cut.add("throttled", c.Topic, n.throttled)
		}
	}
	for _, in := range ins {
		if lossy, ok := in.reader.(bridge.Lossy); ok {
			lost.addAll(lossy.Losses())
		}
	}
	if len(cut) > 0 {
		throttled = cut[0]
	}
	return lost, throttled
}

// failure returns the first error of a translation, nil if there was none.
func (o *observer) failure() error {
	for c, n := range o.sorted() {
		if n.failed > 0 {
			return fmt.Errorf("translate messages of %s [%s]: %w", c.Topic, c.Type, n.why)
		}
	}
	return nil
}

// sorted yields the counts by topic.
func (o *observer) sorted() iter.Seq2[*codec.Channel, *counts] {
	var all []*codec.Channel
	for c := range o.channels {
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b *codec.Channel) int { return cmp.Compare(a.Topic, b.Topic) })
	return func(yield func(*codec.Channel, *counts) bool) {
		for _, c := range all {
			if !yield(c, o.channels[c]) {
				return
			}
		}
	}
}
