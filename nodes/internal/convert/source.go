package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tapedeck/bridge"
	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/nodes/internal/filter/pattern"
)

// source reads what is to be written: the inputs merged, selected, throttled, shifted in time and renamed. It counts
// what the output does not have of that, in one reading at a time.
type source struct {
	*recordings.Edited
	info       *codec.Info
	plan       *plan
	target     *target
	composed   bool            // the target's composer writes ROS 2 messages
	frames     bool            // there are messages that are bound to the target's format already
	start, end int64           // of the selected time, as in codec.Query
	state      []codec.Message // of latched topics before the start, with which the output begins
	again      bool            // what is read was read before: damage is known

	damaged  func(error) // called with damaged places; may be nil
	labels   func(error) // codec.Query.Mislabelled
	salvages bool        // Job.Damaged is set

	left   losses // topics that the output cannot hold
	known  losses // other losses that are known before reading
	counts map[*codec.Channel]*counts
}

// counts are what the messages of an input channel lose in one reading.
type counts struct {
	throttled uint64 // messages dropped by --throttle
	failed    uint64 // messages that cannot be translated
	why       error  // of the first of these
	published uint64 // messages that lost their send time
}

// newSource returns the source of a conversion of ins. It selects the messages from start on and before end.
func newSource(p *plan, t *target, ins *recordings.Recording, start, end int64) *source {
	s := &source{plan: p, target: t, start: start, end: end, counts: map[*codec.Channel]*counts{}}
	s.frames = s.hasBound(ins)
	s.composed = t.composer != nil && t.to != "" && !s.frames
	wants := map[*codec.Channel]bool{}
	for _, in := range ins.Parts {
		for _, topic := range in.Info.Topics {
			c := topic.Channel
			if !p.selection.Wants(c) {
				wants[c] = false
				continue
			}
			what := s.unfit(c, in.Untranslated(c))
			wants[c] = what == ""
			if what != "" {
				s.left.add(what, c.Topic, topic.MessageCount)
			}
		}
	}
	s.Edited = ins.Edit(recordings.Edits{
		Select: func(c *codec.Channel) bool {
			want, known := wants[c]
			if !known {
				// A channel that no Info has is left out if it needs a translation.
				want = p.selection.Wants(c) && s.unfit(c, nil) == ""
				wants[c] = want
			}
			return want
		},
		Rename: p.rename, Filter: s.filter,
		Start: start, End: end, Sent: p.Order == "sent", Offset: int64(p.Offset),
	})
	s.info, _ = s.Info() // has no error
	s.compare()
	return s
}

// filter begins a reading. The function returned reports whether --throttle passes a message, and counts what the
// output does not have of the messages.
func (s *source) filter() func(*codec.Message) bool {
	clear(s.counts)
	losesSent := !s.target.format.Keeps.PublishTime && s.plan.Order != "sent"
	throttles := map[string]*pattern.Throttle{} // nil for topics without a rule; all channels of a topic share one
	var channel *codec.Channel
	var limit *pattern.Throttle
	var n *counts // of the channel
	return func(m *codec.Message) bool {
		if m.Channel != channel {
			channel, n = m.Channel, s.countsOf(m.Channel)
			topic := s.Channel(channel).Topic
			var known bool
			limit, known = throttles[topic]
			if !known {
				limit = pattern.ThrottleOf(s.plan.throttles, topic)
				throttles[topic] = limit
			}
		}
		if limit != nil && !limit.Passes(m.LogTime) {
			n.throttled++
			return false
		}
		if losesSent && m.PublishTime != 0 && m.PublishTime != m.LogTime {
			n.published++
		}
		return true
	}
}

// Read implements codec.Reader. It reports damage, unless that is known. The messages of latched
// topics from before the start come first, if any other follows.
func (s *source) Read(q codec.Query) (codec.Iterator, error) {
	q.Damaged, q.Mislabelled = s.onDamage, s.labels
	if s.again {
		q.Damaged, q.Mislabelled = func(error) {}, func(error) {}
	}
	it, err := s.Edited.Read(q)
	if err != nil || len(s.state) == 0 || q.Last != nil {
		return it, err
	}
	b := &beginning{Iterator: it}
	for _, m := range s.state {
		if q.Wants(m.Channel) {
			b.state = append(b.state, m)
		}
	}
	return b, nil
}

// onDamage is called with errors of messages that cannot be read or translated.
func (s *source) onDamage(err error) {
	var failed *bridge.TranslationError
	if errors.As(err, &failed) {
		n := s.countsOf(failed.Channel)
		n.failed++
		n.why = cmp.Or(n.why, failed.Err)
	} else if s.damaged != nil {
		s.damaged(err)
	}
}

func (s *source) countsOf(c *codec.Channel) *counts {
	n := s.counts[c]
	if n == nil {
		n = &counts{}
		s.counts[c] = n
	}
	return n
}

// counted returns the channels that have counts, by topic.
func (s *source) counted() []*codec.Channel {
	return slices.SortedFunc(maps.Keys(s.counts), func(a, b *codec.Channel) int {
		return cmp.Compare(a.Topic, b.Topic)
	})
}

// lostBefore returns the losses that are known before reading.
func (s *source) lostBefore() losses { return slices.Concat(s.left, s.known) }

// lost returns all losses but those of translations.
func (s *source) lost() losses {
	lost, all := s.lostBefore(), s.counted()
	for _, c := range all {
		if n := s.counts[c]; n.failed > 0 {
			lost.add("messages that cannot be translated: "+n.why.Error(), c.Topic, n.failed)
		}
	}
	for _, c := range all {
		if n := s.counts[c]; n.published > 0 {
			lost.addFormat("publish times", c.Topic, n.published)
		}
	}
	return lost
}

// throttled returns what --throttle dropped.
func (s *source) throttled() (dropped Loss) {
	for _, c := range s.counted() {
		if n := s.counts[c]; n.throttled > 0 {
			dropped.What = "throttled"
			dropped.add(c.Topic, n.throttled)
		}
	}
	return dropped
}

// failure returns the first error of a translation, nil if there was none.
func (s *source) failure() error {
	for _, c := range s.counted() {
		if n := s.counts[c]; n.failed > 0 {
			return fmt.Errorf("translate messages of %s [%s]: %w", c.Topic, c.Type, n.why)
		}
	}
	return nil
}
