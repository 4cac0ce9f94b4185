package convert

import (
	"slices"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/formats/live"
)

// target is the format of an output, with the encodings of messages in it.
type target struct {
	format    formats.Format
	encoding  string            // to which messages are translated; "": none is translated
	keepsAsIs func(string) bool // reports whether messages of an encoding are not translated
	composer  live.Composer     // writes ROS 2 messages that cannot be translated one by one; may be nil
}

// newTarget returns the target for a format, or an error if the format does not take the settings.
func newTarget(format formats.Format, s *settings) (*target, error) {
	format, err := format.Configured(&s.Options.Options)
	if err == nil && format.Check != nil {
		err = format.Check(s.createOptions(nil))
	}
	if err != nil {
		return nil, config.Usagef("%w", err)
	}
	t := &target{format: format, keepsAsIs: func(string) bool { return false }}
	only := format.Keeps.Encodings
	switch {
	case s.Encoding == "keep":
		t.keepsAsIs = t.holds
	case s.Encoding != "auto":
		if !t.holds(s.Encoding) {
			return nil, config.Usagef("--encoding %s: the format %s holds only %s", s.Encoding, format.Name,
				human.List(only))
		}
		t.encoding = s.Encoding
	case len(only) == 1:
		t.encoding = only[0]
	case format.Native == nil:
		t.encoding, t.keepsAsIs = codec.EncodingCDR, func(encoding string) bool { return !recordings.Bound(encoding) }
	default:
		t.encoding, t.keepsAsIs = codec.EncodingCDR, func(encoding string) bool {
			return slices.Contains(format.Native, encoding)
		}
	}
	if l := format.Live; l != nil && l.Composer != nil {
		t.composer, err = l.Composer(&s.CARLAOptions)
		if err != nil {
			return nil, config.Usagef("%w", err)
		}
	}
	return t, nil
}

// ros2Target returns a target that has only ROS 2 messages. Episodes are made of them.
func ros2Target(format formats.Format) *target {
	return &target{format: format, encoding: codec.EncodingCDR, keepsAsIs: func(string) bool { return false }}
}

// holds reports whether the format can keep messages of an encoding.
func (t *target) holds(encoding string) bool {
	return t.format.Keeps.Encodings == nil || slices.Contains(t.format.Keeps.Encodings, encoding)
}

// writesAsIs reports whether messages of an encoding are written as they are.
func (t *target) writesAsIs(encoding string) bool {
	return encoding == t.encoding || t.keepsAsIs(encoding)
}
