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

// hasBound reports whether selected messages have an encoding that only the format of the output holds.
func (r *messageReader) hasBound(inputs *recordings.Recording) bool {
	return slices.ContainsFunc(inputs.Parts, func(in *recordings.Part) bool {
		return slices.ContainsFunc(in.Info.Topics, func(t codec.TopicInfo) bool {
			encoding := t.Channel.Encoding
			return recordings.Bound(encoding) && slices.Contains(r.target.format.Keeps.Encodings, encoding) &&
				r.settings.selection.Wants(t.Channel)
		})
	})
}

// unfit returns why the output cannot hold a channel, "" if it can. untranslated is the error of translating the
// channel, nil if there is none.
func (r *messageReader) unfit(c *codec.Channel, untranslated error) string {
	t := r.target
	if t.format.Accepts != nil && t.writesAsIs(c.Encoding) {
		if err := t.format.Accepts(c); err != nil {
			return fmt.Sprintf("topics that %s cannot hold: %v", t.format.Name, err)
		}
	}
	switch {
	case t.writesAsIs(c.Encoding), codec.IsEvents(c) && t.holds(c.Encoding):
		return ""
	case r.composed && c.Encoding == codec.EncodingCDR:
		if t.composer.Accepts(r.settings.rename(c.Topic), c.Type) == nil && !codec.IsEvents(c) {
			return ""
		}
		return "topics without a counterpart in the format"
	case r.settings.Unmatched == "raw" && t.holds(c.Encoding):
		return ""
	case untranslated == nil:
		untranslated = fmt.Errorf("their encoding is %s, which %s cannot hold", cmp.Or(c.Encoding, "unknown"),
			t.format.Name)
	}
	return "topics that cannot be translated: " + untranslated.Error()
}

// compare adds to the known losses what the format of the output cannot hold.
func (r *messageReader) compare() {
	keeps, known := r.target.format.Keeps, &r.knownLosses
	if !keeps.QoS {
		for _, t := range r.info.Topics {
			if slices.ContainsFunc(t.Channel.QoS, special) {
				known.addFormat("quality of service, except durability", t.Channel.Topic, 0)
			}
		}
	}
	if !keeps.ChannelMetadata && !r.frames {
		r.compareChannels()
	}
	if keeps.NoDefinitions {
		for _, t := range r.info.Topics {
			if !released(t.Channel) {
				known.addFormat("definitions of types", t.Channel.Topic, 0)
			}
		}
	}
	if keeps.Joins {
		r.join()
	}
	if !keeps.Attachments {
		for _, in := range r.Parts {
			loseAttachments(in, known)
		}
	}
	metadata := metadata(r.Recording, r.target, 0)
	if r.composed {
		maps.DeleteFunc(metadata, func(key, _ string) bool { return r.target.composer.HoldsKey(key) })
	}
	if r.target.format.Episodes != nil { // each episode gets all metadata, or its own
		if metadata[episode.MetadataKey] == "" {
			clear(metadata)
		}
		delete(metadata, episode.MetadataKey)
	}
	if keeps.ChannelMetadata { // logs of CARLA also have it in channels
		maps.DeleteFunc(metadata, func(key, value string) bool {
			return slices.ContainsFunc(r.info.Topics, func(t codec.TopicInfo) bool {
				kept, ok := t.Channel.Metadata[key]
				return ok && kept == value
			})
		})
	}
	if !keeps.Metadata && len(metadata) > 0 && !r.frames {
		known.addFormat("metadata of the recording", "", 0)
	}
}

// compareChannels adds metadata of channels to the known losses, except metadata that a translation added.
func (r *messageReader) compareChannels() {
	for _, in := range r.Parts {
		own := r.ownKeys(in)
		for _, t := range in.Info.Topics {
			for key := range t.Channel.Metadata {
				if r.Selects(t.Channel) && own[key] {
					r.knownLosses.addFormat("metadata of topics", r.Channel(t.Channel).Topic, 0)
				}
			}
		}
	}
}

// released reports whether readers know the definition of a channel because it belongs to a release of ROS 2.
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

// ownKeys returns the metadata keys of a recording's channels. The value is true if the output keeps a key's value
// nowhere else.
func (r *messageReader) ownKeys(in *recordings.Part) map[string]bool {
	own := map[string]bool{}
	for _, t := range in.Original.Topics {
		for key := range t.Channel.Metadata {
			own[key] = !r.needless(key)
		}
	}
	return own
}

// join removes metadata in which channels differ that become one channel in the output, because it does not apply to
// all messages of that channel. The removed metadata is a known loss. Metadata that messages of a bound encoding need
// is kept.
func (r *messageReader) join() {
	own := map[string]bool{}
	for _, in := range r.Parts {
		maps.Copy(own, r.ownKeys(in))
	}
	for i, t := range r.info.Topics {
		for _, other := range r.info.Topics[:i] {
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
					r.knownLosses.addFormat("metadata of topics", b.Topic, 0)
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
func (r *messageReader) needless(key string) bool {
	switch key {
	case "md5sum", "record.proto_desc": // the type of the channel implies it
		return true
	case codec.UnreadQoS: // the job reports it
		return true
	case "latching": // as quality of service
		return r.target.format.Keeps.QoS
	}
	return r.composed && r.target.composer.HoldsKey(key)
}

// special reports whether a QoS differs from the default in more than durability and history.
func special(q codec.QoS) bool {
	usual := codec.DefaultQoS()
	usual.Durability, usual.History, usual.Depth = q.Durability, q.History, q.Depth
	return q != usual
}

// checkLosses returns an error if losses that are known before reading forbid the conversion.
func (r *messageReader) checkLosses(path string) error {
	omitted := r.omittedTopics
	switch {
	case r.settings.Unmatched == "fail" && len(omitted) > 0:
		return fmt.Errorf("%s is not written because of --unmatched fail: %s", path, omitted[0])
	case r.settings.Strict:
		return r.lostBefore().strictError(path, r.target.format)
	case len(r.info.Topics) == 0 && len(omitted) > 0:
		return fmt.Errorf("%s is not written, because nothing could be stored in it: %s", path, omitted[0])
	}
	return nil
}
