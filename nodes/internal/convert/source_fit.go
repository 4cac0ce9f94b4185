package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// hasBound reports whether messages are selected that are bound to the format of the output.
func (s *source) hasBound(ins *recordings.Recording) bool {
	return slices.ContainsFunc(ins.Parts, func(in *recordings.Part) bool {
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
func (s *source) compare() {
	keeps, known := s.target.format.Keeps, &s.known
	if !keeps.QoS {
		for _, t := range s.info.Topics {
			if slices.ContainsFunc(t.Channel.QoS, special) {
				known.addFormat("quality of service, except durability", t.Channel.Topic, 0)
			}
		}
	}
	if !keeps.ChannelMetadata && !s.frames {
		s.compareChannels()
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
		for _, in := range s.Parts {
			leaveAttachments(in, known)
		}
	}
	metadata := metadata(s.Recording, s.target, 0)
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
func (s *source) compareChannels() {
	for _, in := range s.Parts {
		own := s.ownKeys(in)
		for _, t := range in.Info.Topics {
			for key := range t.Channel.Metadata {
				if s.Selects(t.Channel) && own[key] {
					s.known.addFormat("metadata of topics", s.Channel(t.Channel).Topic, 0)
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
	for _, in := range s.Parts {
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
					s.known.addFormat("metadata of topics", b.Topic, 0)
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

// refuse returns an error if losses that are known before reading forbid the conversion.
func (s *source) refuse(path string) error {
	left := s.left
	switch {
	case s.plan.Unmatched == "fail" && len(left) > 0:
		return fmt.Errorf("%s is not written because of --unmatched fail: %s", path, left[0])
	case s.plan.Strict:
		return s.lostBefore().strict(path, s.target.format)
	case len(s.info.Topics) == 0 && len(left) > 0:
		return fmt.Errorf("%s is not written, because nothing could be stored in it: %s", path, left[0])
	}
	return nil
}
