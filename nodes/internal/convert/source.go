package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/episode"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// source reads what is to be written: the inputs merged, selected, throttled, shifted in time and renamed.
type source struct {
	info     codec.Info
	to       map[*codec.Channel]*codec.Channel // channels of the output, by those of the inputs
	plan     *plan
	target   *target
	ins      *recordings.Recording
	composed bool        // the target's composer writes ROS 2 messages
	frames   bool        // there are messages that are bound to the target's format already
	window   codec.Query // of times
	wants    func(*codec.Channel) bool
	state    []codec.Message // of latched topics before the start, with which the output begins
	observer observer
	again    bool // what is read was read before: damage is known
}

func newSource(p *plan, t *target, ins *recordings.Recording, window codec.Query) *source {
	s := &source{plan: p, target: t, ins: ins, window: window, to: map[*codec.Channel]*codec.Channel{},
		observer: observer{channels: map[*codec.Channel]*counts{}}}
	s.frames = s.hasBound()
	s.composed = t.composer != nil && t.to != "" && !s.frames
	all := channels{byKey: map[channelKey]*codec.Channel{}}
	wants := map[*codec.Channel]bool{}
	counts := map[*codec.Channel]uint64{}
	for _, in := range ins.Parts {
		of := all.recording(p.rename)
		for _, topic := range in.Info.Topics {
			c := topic.Channel
			wants[c] = false
			if !p.selection.Wants(c) {
				continue
			}
			if what := s.unfit(c, in.Untranslated(c)); what != "" {
				s.observer.left.add(what, c.Topic, topic.MessageCount)
				continue
			}
			wants[c] = true
			to := of(c)
			s.to[c] = to
			counts[to] += topic.MessageCount
		}
	}
	for _, c := range all.all {
		s.info.Topics = append(s.info.Topics, codec.TopicInfo{Channel: c, MessageCount: counts[c]})
		s.info.MessageCount += counts[c]
	}
	s.compare(wants)
	s.wants = func(c *codec.Channel) bool {
		want, known := wants[c]
		if !known {
			// A channel that no Info has is left out if it needs a translation.
			want = p.selection.Wants(c) && s.unfit(c, nil) == ""
			wants[c] = want
		}
		return want
	}
	return s
}

// hasBound reports whether messages are selected that are bound to the format of the output.
func (s *source) hasBound() bool {
	return slices.ContainsFunc(s.ins.Parts, func(in *recordings.Part) bool {
		return slices.ContainsFunc(in.Info.Topics, func(t codec.TopicInfo) bool {
			encoding := t.Channel.Encoding
			return recordings.Bound(encoding) && slices.Contains(s.target.format.Keeps.Encodings, encoding) &&
				s.plan.selection.Wants(t.Channel)
		})
	})
}

// unfit returns why the output cannot hold a channel, "" if it can.
func (s *source) unfit(c *codec.Channel, left error) string {
	t := s.target
	if t.format.Accepts != nil && t.takes(c.Encoding) {
		if err := t.format.Accepts(c); err != nil {
			return fmt.Sprintf("topics that %s cannot hold: %v", t.format.Name, err)
		}
	}
	switch {
	case t.takes(c.Encoding), codec.IsEvents(c) && t.can(c.Encoding):
		return ""
	case s.composed && c.Encoding == codec.EncodingCDR:
		if t.composer.Accepts(s.plan.rename(c.Topic), c.Type) == nil && !codec.IsEvents(c) {
			return ""
		}
		return "topics without a counterpart in the format"
	case s.plan.Unmatched == "raw" && t.can(c.Encoding):
		return ""
	case left == nil:
		left = fmt.Errorf("their encoding is %s, which %s cannot hold", cmp.Or(c.Encoding, "unknown"), t.format.Name)
	}
	return "topics that cannot be translated: " + left.Error()
}

// compare notes what the format of the output cannot hold.
func (s *source) compare(wants map[*codec.Channel]bool) {
	keeps, known := s.target.format.Keeps, &s.observer.known
	if !keeps.QoS {
		for _, t := range s.info.Topics {
			if slices.ContainsFunc(t.Channel.QoS, special) {
				known.addFormat("quality of service, except durability", t.Channel.Topic, 0)
			}
		}
	}
	if !keeps.ChannelMetadata && !s.frames {
		s.compareChannels(wants)
	}
	if keeps.NoDefinitions {
		for _, t := range s.info.Topics {
			if !released(t.Channel) {
				known.addFormat("definitions of types", t.Channel.Topic, 0)
			}
		}
	}
	if keeps.Joins {
		s.join()
	}
	if !keeps.Attachments {
		for _, in := range s.ins.Parts {
			leaveAttachments(in, known)
		}
	}
	metadata := metadata(s.ins, s.target, 0)
	if s.composed {
		maps.DeleteFunc(metadata, func(key, _ string) bool { return s.target.composer.HoldsKey(key) })
	}
	if s.target.format.Episodes != nil { // each episode has all, or its own if the recording was made of episodes
		if metadata[episode.MetadataKey] == "" {
			clear(metadata)
		}
		delete(metadata, episode.MetadataKey)
	}
	if keeps.ChannelMetadata { // where logs of CARLA have it, too
		maps.DeleteFunc(metadata, func(key, value string) bool {
			return slices.ContainsFunc(s.info.Topics, func(t codec.TopicInfo) bool {
				kept, ok := t.Channel.Metadata[key]
				return ok && kept == value
			})
		})
	}
	if !keeps.Metadata && len(metadata) > 0 && !s.frames {
		known.addFormat("metadata of the recording", "", 0)
	}
}

// compareChannels notes channels whose metadata the format cannot hold, but for metadata that a translation added.
func (s *source) compareChannels(wants map[*codec.Channel]bool) {
	for _, in := range s.ins.Parts {
		own := s.ownKeys(in)
		for _, t := range in.Info.Topics {
			for key := range t.Channel.Metadata {
				if wants[t.Channel] && own[key] {
					s.observer.known.addFormat("metadata of topics", s.to[t.Channel].Topic, 0)
				}
			}
		}
	}
}

// released reports whether readers know the definition of a channel without it, because it is one of ROS 2.
func released(c *codec.Channel) bool {
	if len(c.Schema.Data) == 0 {
		return true
	}
	own, err := rosidl.ParseConcatenated(c.Type, string(c.Schema.Data))
	if err != nil || c.Schema.Encoding != codec.SchemaROS2Msg {
		return false
	}
	hash, err := own.Hash(c.Type)
	return err == nil && slices.ContainsFunc([]*rosidl.Library{msgs.Library(), msgs.Release("humble")},
		func(l *rosidl.Library) bool {
			other, err := l.Hash(c.Type)
			return err == nil && other == hash
		})
}

// ownKeys returns the metadata keys of a recording's channels with whether the output needs them to keep the values.
func (s *source) ownKeys(in *recordings.Part) map[string]bool {
	own := map[string]bool{}
	for _, t := range in.Original.Topics {
		for key := range t.Channel.Metadata {
			own[key] = !s.needless(key)
		}
	}
	return own
}

// join removes the metadata in which channels differ that become one in the output: there it would be about messages of
// the others, too. Where messages mean something only with the metadata, it is noted but kept.
func (s *source) join() {
	own := map[string]bool{}
	for _, in := range s.ins.Parts {
		maps.Copy(own, s.ownKeys(in))
	}
	for i, t := range s.info.Topics {
		for _, other := range s.info.Topics[:i] {
			a, b := other.Channel, t.Channel
			if a.Topic != b.Topic || a.Type != b.Type || a.Encoding != b.Encoding ||
				a.Schema.Encoding != b.Schema.Encoding || !bytes.Equal(a.Schema.Data, b.Schema.Data) {
				continue
			}
			keys := slices.AppendSeq(slices.Collect(maps.Keys(a.Metadata)), maps.Keys(b.Metadata))
			for _, key := range keys {
				x, inA := a.Metadata[key]
				y, inB := b.Metadata[key]
				if x == y && inA == inB {
					continue
				}
				if own[key] {
					s.observer.known.addFormat("metadata of topics", b.Topic, 0)
				}
				if !recordings.Bound(a.Encoding) {
					delete(a.Metadata, key)
					delete(b.Metadata, key)
				}
			}
		}
	}
}

// needless reports whether the output keeps the value of a metadata key elsewhere.
func (s *source) needless(key string) bool {
	switch key {
	case "md5sum", "record.proto_desc": // the type says so
		return true
	case codec.UnreadQoS: // the job reports it
		return true
	case "latching": // as quality of service
		return s.target.format.Keeps.QoS
	}
	return s.composed && s.target.composer.HoldsKey(key)
}

// special reports whether a QoS differs from the default in more than durability and history.
func special(q codec.QoS) bool {
	usual := codec.DefaultQoS()
	usual.Durability, usual.History, usual.Depth = q.Durability, q.History, q.Depth
	return q != usual
}

// Info describes what is read as far as the output tells of it.
func (s *source) Info() (*codec.Info, error) { return &s.info, nil }

// Close does nothing: the inputs are closed by the job.
func (s *source) Close() error { return nil }

// refuse returns an error if losses that are known before reading forbid the conversion.
func (s *source) refuse(path string) error {
	left := s.observer.left
	switch {
	case s.plan.Unmatched == "fail" && len(left) > 0:
		return fmt.Errorf("%s is not written because of --unmatched fail: %s", path, left[0])
	case s.plan.Strict:
		return s.observer.before().strict(path, s.target.format)
	case len(s.info.Topics) == 0 && len(left) > 0:
		return fmt.Errorf("%s is not written, because nothing could be stored in it: %s", path, left[0])
	}
	return nil
}

// channelKey identifies a channel of the output: channels of several recordings with the same key become one.
type channelKey struct {
	topic, typeName, encoding, schemaEncoding, schema, metadata string
	// index among channels of one recording that are equal otherwise
	nth int
}

// channels are the channels of the output.
type channels struct {
	all   []*codec.Channel
	byKey map[channelKey]*codec.Channel
}

// recording returns a function that maps channels of one recording to channels of the output, renamed by rename. Equal
// channels of several recordings become one; equal channels of one recording stay apart.
func (c *channels) recording(rename func(topic string) string) func(*codec.Channel) *codec.Channel {
	seen := map[channelKey]int{}
	return func(from *codec.Channel) *codec.Channel {
		to := clone(from)
		to.Topic = rename(from.Topic)
		delete(to.Metadata, codec.UnreadQoS) // the job reports it
		metadata := maps.Clone(to.Metadata)
		delete(metadata, "md5sum") // the schema says it, too
		key := channelKey{to.Topic, from.Type, from.Encoding, from.Schema.Encoding, string(from.Schema.Data),
			fmt.Sprint(metadata), 0}
		nth := seen[key]
		seen[key]++
		key.nth = nth
		if other := c.byKey[key]; other != nil {
			merge(other, from)
			return other
		}
		c.byKey[key] = to
		c.all = append(c.all, to)
		return to
	}
}

func clone(from *codec.Channel) *codec.Channel {
	to := *from
	to.QoS = slices.Clone(from.QoS)
	to.Metadata = maps.Clone(from.Metadata)
	return &to
}

// merge adds the type hash and QoS of an equal channel of another recording to a channel.
func merge(to, from *codec.Channel) {
	if to.TypeHash == "" {
		to.TypeHash = from.TypeHash
	}
	to.QoS = codec.JoinQoS(to.QoS, from.QoS)
}
