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

// messageReader reads the messages to be written: it merges the inputs, selects, throttles and renames topics, and
// shifts times. It counts what the output will lack. Only one Iterator may be in use at a time.
type messageReader struct {
	*recordings.Edited
	info       *codec.Info
	settings   *settings
	target     *target
	composed   bool            // the target's composer writes the messages
	frames     bool            // some selected messages have an encoding that only the target's format holds
	start, end int64           // of the selected time, as in codec.Query
	latched    []codec.Message // latched messages from before the start, with which the output begins
	reread     bool            // the recording was read before: damage is not reported again

	damaged     func(error) // called with damaged places; may be nil
	mislabelled func(error) // called as codec.Query.Mislabelled
	salvages    bool        // Job.Damaged is set

	omittedTopics losses // topics that the output cannot hold
	knownLosses   losses // other losses that are known before reading
	counts        map[*codec.Channel]*counts
}

// counts has the losses of one input channel while it is read once.
type counts struct {
	throttled    uint64 // messages dropped by --throttle
	untranslated uint64 // messages that cannot be translated
	firstErr     error  // why the first untranslated message cannot be translated
	publishTimes uint64 // messages that lose their publish time
}

// newMessageReader returns a reader of inputs. It reads messages from start on and before end, as in codec.Query.
func newMessageReader(s *settings, t *target, inputs *recordings.Recording, start, end int64) *messageReader {
	r := &messageReader{settings: s, target: t, start: start, end: end, counts: map[*codec.Channel]*counts{}}
	r.frames = r.hasBound(inputs)
	r.composed = t.composer != nil && t.encoding != "" && !r.frames
	wants := map[*codec.Channel]bool{}
	for _, in := range inputs.Parts {
		for _, topic := range in.Info.Topics {
			c := topic.Channel
			if !s.selection.Wants(c) {
				wants[c] = false
				continue
			}
			what := r.unfit(c, in.Untranslated(c))
			wants[c] = what == ""
			if what != "" {
				r.omittedTopics.add(what, c.Topic, topic.MessageCount)
			}
		}
	}
	r.Edited = inputs.Edit(recordings.Edits{
		Select: func(c *codec.Channel) bool {
			want, known := wants[c]
			if !known {
				// A channel that no Info lists is skipped if it needs a translation.
				want = s.selection.Wants(c) && r.unfit(c, nil) == ""
				wants[c] = want
			}
			return want
		},
		Rename: s.rename, Filter: r.filter,
		Start: start, End: end, Sent: s.Order == "sent", Offset: int64(s.Offset),
	})
	r.info, _ = r.Info() // has no error
	r.compare()
	return r
}

// filter resets the counts for a new Iterator. It returns a function that reports whether --throttle passes a message,
// and that counts losses.
func (r *messageReader) filter() func(*codec.Message) bool {
	clear(r.counts)
	losesSent := !r.target.format.Keeps.PublishTime && r.settings.Order != "sent"
	throttles := map[string]*pattern.Throttle{} // nil for topics without a rule; all channels of a topic share one
	var channel *codec.Channel
	var limit *pattern.Throttle
	var n *counts // of the channel
	return func(m *codec.Message) bool {
		if m.Channel != channel {
			channel, n = m.Channel, r.countsOf(m.Channel)
			topic := r.Channel(channel).Topic
			var known bool
			limit, known = throttles[topic]
			if !known {
				limit = pattern.ThrottleOf(r.settings.throttles, topic)
				throttles[topic] = limit
			}
		}
		if limit != nil && !limit.Passes(m.LogTime) {
			n.throttled++
			return false
		}
		if losesSent && m.PublishTime != 0 && m.PublishTime != m.LogTime {
			n.publishTimes++
		}
		return true
	}
}

// Read implements codec.Reader. The Iterator reports damage unless the recording was read before. If it has messages,
// the latched messages from before the start come first.
func (r *messageReader) Read(q codec.Query) (codec.Iterator, error) {
	q.Damaged, q.Mislabelled = r.onDamage, r.mislabelled
	if r.reread {
		q.Damaged, q.Mislabelled = func(error) {}, func(error) {}
	}
	it, err := r.Edited.Read(q)
	if err != nil || len(r.latched) == 0 || q.Last != nil {
		return it, err
	}
	b := &latchedFirst{Iterator: it}
	for _, m := range r.latched {
		if q.Wants(m.Channel) {
			b.latched = append(b.latched, m)
		}
	}
	return b, nil
}

// onDamage is called with errors of messages that cannot be read or translated.
func (r *messageReader) onDamage(err error) {
	var failed *bridge.TranslationError
	if errors.As(err, &failed) {
		n := r.countsOf(failed.Channel)
		n.untranslated++
		n.firstErr = cmp.Or(n.firstErr, failed.Err)
	} else if r.damaged != nil {
		r.damaged(err)
	}
}

func (r *messageReader) countsOf(c *codec.Channel) *counts {
	n := r.counts[c]
	if n == nil {
		n = &counts{}
		r.counts[c] = n
	}
	return n
}

// countedChannels returns the channels that have counts, sorted by topic.
func (r *messageReader) countedChannels() []*codec.Channel {
	return slices.SortedFunc(maps.Keys(r.counts), func(a, b *codec.Channel) int {
		return cmp.Compare(a.Topic, b.Topic)
	})
}

// lostBefore returns the losses that are known before reading.
func (r *messageReader) lostBefore() losses { return slices.Concat(r.omittedTopics, r.knownLosses) }

// lost returns the losses that the reader knows. Recording.Losses has those of translations.
func (r *messageReader) lost() losses {
	lost, all := r.lostBefore(), r.countedChannels()
	for _, c := range all {
		if n := r.counts[c]; n.untranslated > 0 {
			lost.add("messages that cannot be translated: "+n.firstErr.Error(), c.Topic, n.untranslated)
		}
	}
	for _, c := range all {
		if n := r.counts[c]; n.publishTimes > 0 {
			lost.addFormat("publish times", c.Topic, n.publishTimes)
		}
	}
	return lost
}

// throttled returns the messages that --throttle dropped.
func (r *messageReader) throttled() (dropped Loss) {
	for _, c := range r.countedChannels() {
		if n := r.counts[c]; n.throttled > 0 {
			dropped.What = "throttled"
			dropped.add(c.Topic, n.throttled)
		}
	}
	return dropped
}

// failure returns the first error of translating a message, nil if there was none.
func (r *messageReader) failure() error {
	for _, c := range r.countedChannels() {
		if n := r.counts[c]; n.untranslated > 0 {
			return fmt.Errorf("translate messages of %s [%s]: %w", c.Topic, c.Type, n.firstErr)
		}
	}
	return nil
}
