package diff

import (
	"tapedeck/bridge/recordings"
	"tapedeck/codec"
)

// The values of --as.
const (
	viewAuto = "auto" // topics that are encoded differently as ROS 2, others as they are
	viewROS2 = "ros2" // all as ROS 2 messages, field by field
	viewRaw  = "raw"  // all as they are
)

// form is a topic with its type and encoding.
type form struct{ topic, typeName, encoding string }

func formOf(c *codec.Channel) form { return form{c.Topic, c.Type, c.Encoding} }

// view translates the topics that are compared as ROS 2.
func (c *comparison) view() error {
	if c.as == viewRaw {
		return nil
	}
	var forms [2]map[form]bool
	for i, s := range c.sides {
		forms[i] = map[form]bool{}
		for _, t := range s.Info.Topics {
			if !codec.IsEvents(t.Channel) {
				forms[i][formOf(t.Channel)] = true
			}
		}
	}
	if c.as == viewAuto && !encodedOtherwise(forms[0], forms[1]) {
		return nil
	}
	for i, s := range c.sides {
		stays := map[*codec.Channel]bool{}
		for _, t := range s.Info.Topics {
			f := formOf(t.Channel)
			stays[t.Channel] = f.encoding == codec.EncodingCDR || c.as == viewAuto && forms[0][f] && forms[1][f]
		}
		left, err := s.translate(stays)
		if err != nil {
			return err
		}
		for _, err := range left {
			c.note("%c: %v", 'A'+i, err)
		}
		for _, t := range s.Info.Topics {
			c.translated[t.Channel] = !stays[t.Channel]
		}
	}
	return nil
}

// encodedOtherwise reports whether a topic of one recording may be a topic of the other in another encoding.
func encodedOtherwise(a, b map[form]bool) bool {
	for f := range a {
		for g := range b {
			if !b[f] && !a[g] && f.encoding != g.encoding {
				return true
			}
		}
	}
	return false
}

// translate reads all channels but those that stay as ROS 2. It returns errors for channels that cannot be translated.
func (s *side) translate(stays map[*codec.Channel]bool) (left []error, err error) {
	to := recordings.ToROS2{Raw: func(c *codec.Channel) bool { return stays[c] }}
	translated, left, err := to.Translate(s.Reader)
	if err != nil {
		return nil, err
	}
	s.Reader = translated
	s.Info, err = translated.Info()
	return left, err
}
