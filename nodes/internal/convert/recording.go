package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/bridge/carla"
	"tapedeck/codec"
	"tapedeck/codec/mcap"
	"tapedeck/nodes/internal/throttle"
)

// recording is what is to be written: the inputs as one, with all changes but those of stamps. It implements codec.Reader.
type recording struct {
	plan    *plan
	holding *holding
	ins     inputs
	window  codec.Query
	damaged func(error)                // see Job.Damaged
	streams map[*codec.Channel]*stream // of the inputs
	info    codec.Info
	left    losses // topics that cannot be in the output
	lost    losses // other losses that are known before reading
}

// stream is a channel of an input and what becomes of it.
type stream struct {
	to       *codec.Channel     // nil: it is left out
	throttle *throttle.Throttle // nil: none

	throttled uint64 // messages that it left out
	failed    uint64 // messages that cannot be translated
	why       error  // the first of these
	published uint64 // messages that lost when they were published
}

func newRecording(p *plan, h *holding, ins inputs, window codec.Query) *recording {
	r := &recording{plan: p, holding: h, ins: ins, window: window, streams: map[*codec.Channel]*stream{}}
	all := channels{byKey: map[channelKey]*codec.Channel{}}
	counts := map[*codec.Channel]uint64{}
	for _, in := range ins {
		of := all.recording(p.rename)
		for _, t := range in.info.Topics {
			s := &stream{}
			r.streams[t.Channel] = s
			if !p.selection.Wants(t.Channel) {
				continue
			}
			if what := r.unfit(t.Channel, in.left[t.Channel]); what != "" {
				r.left.add(what, t.Channel.Topic, t.MessageCount)
				continue
			}
			s.to = of(t.Channel)
			counts[s.to] += t.MessageCount
		}
	}
	for _, c := range all.all {
		r.info.Topics = append(r.info.Topics, codec.TopicInfo{Channel: c, MessageCount: counts[c]})
		r.info.MessageCount += counts[c]
	}
	for _, s := range r.streams {
		if s.to != nil {
			s.throttle = throttle.Of(p.throttles, s.to.Topic)
		}
	}
	r.compare(ins.metadata())
	return r
}

// unfit says why a channel cannot be in the output, "" if it can.
func (r *recording) unfit(c *codec.Channel, left error) string {
	h := r.holding
	switch {
	case h.takes(c.Encoding), codec.IsEvents(c) && h.can(c.Encoding):
		return ""
	case r.authors() && c.Encoding == codec.EncodingCDR:
		renamed := *c
		renamed.Topic = r.plan.rename(c.Topic)
		if author := carla.NewWriter(nil, r.plan.carla); author.Declare(&renamed) == nil && len(author.Left()) == 0 && !codec.IsEvents(c) {
			return ""
		}
		return "topics that tell nothing to a log"
	case r.plan.Unmatched == "raw" && h.can(c.Encoding):
		return ""
	case left == nil:
		left = fmt.Errorf("messages are %s, and a %s has none", cmp.Or(c.Encoding, "of no known encoding"), h.format.Name)
	}
	return "topics that have no translation: " + left.Error()
}

// authors says whether a log is made of messages of ROS 2.
func (r *recording) authors() bool {
	return r.holding.to == codec.EncodingCARLA && !r.copiesFrames()
}

// copiesFrames says whether there are frames of a log already.
func (r *recording) copiesFrames() bool {
	return slices.ContainsFunc(r.ins, func(in *input) bool {
		return slices.ContainsFunc(in.info.Topics, func(t codec.TopicInfo) bool {
			return t.Channel.Encoding == codec.EncodingCARLA && r.plan.selection.Wants(t.Channel)
		})
	})
}

// compare notes what the format has no place for.
func (r *recording) compare(metadata map[string]string) {
	keeps := r.holding.format.Keeps
	if !keeps.QoS {
		for _, t := range r.info.Topics {
			if slices.ContainsFunc(t.Channel.QoS, special) {
				r.lost.add("quality of service, but for durability", t.Channel.Topic, 0)
			}
		}
	}
	if !keeps.ChannelMetadata && !r.copiesFrames() {
		r.compareChannels()
	}
	for _, in := range r.ins {
		if extra, ok := in.original.Extra.(mcap.Extra); ok && extra.Attachments > 0 {
			r.lost.add(count(extra.Attachments, "attachment")+" of "+in.path, "", 0)
		}
	}
	if r.authors() { // a log itself says what the keys of CARLA's say
		metadata = maps.Clone(metadata)
		maps.DeleteFunc(metadata, func(key, _ string) bool { return strings.HasPrefix(key, "carla.") })
	}
	if !keeps.Metadata && len(metadata) > 0 && !r.copiesFrames() {
		r.lost.add("metadata of the recording", "", 0)
	}
}

// compareChannels notes channels with metadata, which the format has no place for. What a translation adds is none.
func (r *recording) compareChannels() {
	for _, in := range r.ins {
		set := map[string]bool{}
		for _, t := range in.original.Topics {
			for key := range t.Channel.Metadata {
				set[key] = !r.needless(key)
			}
		}
		for _, t := range in.info.Topics {
			to := r.streams[t.Channel].to
			for key := range t.Channel.Metadata {
				if to != nil && set[key] {
					r.lost.add("metadata of topics", to.Topic, 0)
				}
			}
		}
	}
}

// needless says whether what channels have under a key is said by the output in other ways.
func (r *recording) needless(key string) bool {
	switch key {
	case "md5sum", "record.proto_desc": // the type says so
		return true
	case "latching": // as quality of service
		return r.holding.format.Keeps.QoS
	}
	return r.authors() && strings.HasPrefix(key, "carla.")
}

// special says whether a publisher offered something else than usual, besides durability and how much it kept.
func special(q codec.QoS) bool {
	usual := codec.DefaultQoS()
	usual.Durability, usual.History, usual.Depth = q.Durability, q.History, q.Depth
	return q != usual
}

// Info implements codec.Reader.
func (r *recording) Info() (*codec.Info, error) { return &r.info, nil }

// Close does nothing: the inputs are not r's.
func (r *recording) Close() error { return nil }

// Read implements codec.Reader. What was left out is counted anew. The times of the query are those at which messages were received.
func (r *recording) Read(q codec.Query) (codec.Iterator, error) {
	for _, s := range r.streams {
		s.throttled, s.failed, s.why, s.published = 0, 0, nil, 0
	}
	window := r.window
	offset := int64(r.plan.Offset)
	if q.Start != 0 {
		window.Start = max(window.Start, later(q.Start, -offset))
	}
	if end := later(q.End, -offset); q.End != 0 && (window.End == 0 || end < window.End) {
		window.End = end
	}
	window.Topics = func(c *codec.Channel) bool {
		s := r.stream(c)
		return s.to != nil && q.Wants(s.to)
	}
	window.Damaged = func(err error) {
		var failed *bridge.TranslationError
		if errors.As(err, &failed) {
			s := r.stream(failed.Channel)
			s.failed++
			s.why = cmp.Or(s.why, failed.Err)
		} else if r.damaged != nil {
			r.damaged(err)
		}
	}
	source, err := r.ins.read(window)
	if err != nil {
		return nil, err
	}
	return &edited{recording: r, source: source, query: q}, nil
}

// stream returns the stream of a channel of an input. One that no Info told of is left out if it would need a translation.
func (r *recording) stream(c *codec.Channel) *stream {
	s := r.streams[c]
	if s == nil {
		s = &stream{}
		if r.plan.selection.Wants(c) && r.unfit(c, nil) == "" {
			s.to = clone(c)
			s.to.Topic = r.plan.rename(c.Topic)
			s.throttle = throttle.Of(r.plan.throttles, s.to.Topic)
		}
		r.streams[c] = s
	}
	return s
}

// finish notes what was lost in reading, and returns what was left out on demand.
func (r *recording) finish() (lost losses, throttled Loss) {
	lost = slices.Concat(r.left, r.lost)
	var cut losses
	for c, s := range r.sorted() {
		if s.failed > 0 {
			lost.add("messages that cannot be translated: "+s.why.Error(), c.Topic, s.failed)
		}
		if s.published > 0 {
			lost.add("the time at which they were sent", c.Topic, s.published)
		}
		if s.throttled > 0 {
			cut.add("throttled", c.Topic, s.throttled)
		}
	}
	for _, in := range r.ins {
		if lossy, ok := in.reader.(bridge.Lossy); ok {
			lost.addAll(lossy.Losses())
		}
	}
	if len(cut) > 0 {
		throttled = cut[0]
	}
	return lost, throttled
}

// failure returns why a message could not be translated, nil if all could.
func (r *recording) failure() error {
	for c, s := range r.sorted() {
		if s.failed > 0 {
			return fmt.Errorf("translate messages of %s [%s]: %w", c.Topic, c.Type, s.why)
		}
	}
	return nil
}

// sorted yields the streams by topic.
func (r *recording) sorted() func(yield func(*codec.Channel, *stream) bool) {
	var all []*codec.Channel
	for c := range r.streams {
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b *codec.Channel) int { return cmp.Compare(a.Topic, b.Topic) })
	return func(yield func(*codec.Channel, *stream) bool) {
		for _, c := range all {
			if !yield(c, r.streams[c]) {
				return
			}
		}
	}
}

// edited yields the messages of a recording.
type edited struct {
	*recording
	source  codec.Iterator
	query   codec.Query
	channel *codec.Channel // of the last message, and its stream
	current *stream
	out     codec.Message
}

// Next implements codec.Iterator.
func (it *edited) Next() (*codec.Message, error) {
	for {
		m, err := it.source.Next()
		if err != nil {
			return nil, err
		}
		if m.Channel != it.channel {
			it.channel, it.current = m.Channel, it.stream(m.Channel)
		}
		s := it.current
		if s.to == nil {
			continue
		}
		if s.throttle != nil && !s.throttle.Passes(m.LogTime) {
			s.throttled++
			continue
		}
		it.out = codec.Message{Channel: s.to, LogTime: m.LogTime, PublishTime: m.PublishTime, Data: m.Data}
		if it.plan.Order == "sent" && m.PublishTime != 0 {
			it.out.LogTime = m.PublishTime
		}
		if m.PublishTime != 0 && m.PublishTime != it.out.LogTime && !it.holding.format.Keeps.PublishTime {
			s.published++
		}
		if offset := int64(it.plan.Offset); offset != 0 {
			it.out.LogTime = later(it.out.LogTime, offset)
			if m.PublishTime != 0 {
				it.out.PublishTime = later(m.PublishTime, offset)
			}
		}
		return &it.out, nil
	}
}

// later adds to a time, as far as there are times.
func later(t, ns int64) int64 {
	switch sum := t + ns; {
	case ns > 0 && sum < t:
		return math.MaxInt64
	case ns < 0 && sum > t:
		return math.MinInt64
	default:
		return sum
	}
}

// Close implements codec.Iterator.
func (it *edited) Close() error { return it.source.Close() }
