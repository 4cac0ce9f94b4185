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

// target describes what an output can hold.
type target struct {
	format   formats.Format
	to       string            // encoding to which messages are translated; "": none is translated
	keeps    func(string) bool // reports whether messages of an encoding are kept as they are
	composer live.Composer     // writes ROS 2 messages that cannot be translated one by one; else nil
}

// newTarget returns the target of a plan in a format.
func newTarget(format formats.Format, p *plan) (*target, error) {
	format, err := format.Configured(&p.Options.Options)
	if err == nil && format.Check != nil {
		err = format.Check(p.create(nil))
	}
	if err != nil {
		return nil, config.Usagef("%w", err)
	}
	t := &target{format: format, keeps: func(string) bool { return false }}
	only := format.Keeps.Encodings
	switch {
	case p.Encoding == "keep":
		t.keeps = t.can
	case p.Encoding != "auto":
		if !t.can(p.Encoding) {
			return nil, config.Usagef("--encoding %s: the format %s holds only %s", p.Encoding, format.Name,
				human.List(only))
		}
		t.to = p.Encoding
	case len(only) == 1:
		t.to = only[0]
	case format.Native == nil:
		t.to, t.keeps = codec.EncodingCDR, func(encoding string) bool { return !recordings.Bound(encoding) }
	default:
		t.to, t.keeps = codec.EncodingCDR, func(encoding string) bool {
			return slices.Contains(format.Native, encoding)
		}
	}
	if l := format.Live; l != nil && l.Composer != nil {
		t.composer, err = l.Composer(&p.CARLAOptions)
		if err != nil {
			return nil, config.Usagef("%w", err)
		}
	}
	return t, nil
}

// ros2Target is a target that holds ROS 2 messages only, for a format that is made of them.
func ros2Target(format formats.Format) *target {
	return &target{format: format, to: codec.EncodingCDR, keeps: func(string) bool { return false }}
}

// can reports whether the format can hold messages of an encoding.
func (t *target) can(encoding string) bool {
	return t.format.Keeps.Encodings == nil || slices.Contains(t.format.Keeps.Encodings, encoding)
}

// takes reports whether messages of an encoding are written as they are.
func (t *target) takes(encoding string) bool { return encoding == t.to || t.keeps(encoding) }
