package diff

import (
	"tapedeck/bridge/recordings"
	"tapedeck/codec"
)

// The values of --as.
const (
	viewAuto = "auto" // as ROS 2 messages if encodings differ, else as recorded
	viewROS2 = "ros2" // all as ROS 2 messages, field by field
	viewRaw  = "raw"  // all as recorded
)

// topicForm is a topic with its type and encoding.
type topicForm struct{ topic, typeName, encoding string }

func formOf(c *codec.Channel) topicForm { return topicForm{c.Topic, c.Type, c.Encoding} }

// translateTopics translates the topics that are compared as ROS 2 messages.
func (c *comparer) translateTopics() error {
	if c.view == viewRaw {
		return nil
	}
	var forms [2]map[topicForm]bool
	for i, s := range c.sides {
		forms[i] = map[topicForm]bool{}
		for _, t := range s.Info.Topics {
			if !codec.IsEvents(t.Channel) {
				forms[i][formOf(t.Channel)] = true
			}
		}
	}
	if c.view == viewAuto && !encodedOtherwise(forms[0], forms[1]) {
		return nil
	}
	for i, s := range c.sides {
		unchanged := map[*codec.Channel]bool{}
		for _, t := range s.Info.Topics {
			f := formOf(t.Channel)
			unchanged[t.Channel] = f.encoding == codec.EncodingCDR || c.view == viewAuto && forms[0][f] && forms[1][f]
		}
		untranslated, err := s.translate(unchanged)
		if err != nil {
			return err
		}
		for _, err := range untranslated {
			c.note("%c: %v", 'A'+i, err)
		}
		for _, t := range s.Info.Topics {
			c.translated[t.Channel] = !unchanged[t.Channel]
		}
	}
	return nil
}

// encodedOtherwise reports whether a topic of one recording may be a topic of the other in another encoding.
func encodedOtherwise(a, b map[topicForm]bool) bool {
	for f := range a {
		for g := range b {
			if !b[f] && !a[g] && f.encoding != g.encoding {
				return true
			}
		}
	}
	return false
}

// translate replaces the reader by one that translates all channels but the unchanged ones to ROS 2. untranslated are
// errors about channels that cannot be translated.
func (s *side) translate(unchanged map[*codec.Channel]bool) (untranslated []error, err error) {
	to := recordings.ToROS2{Raw: func(c *codec.Channel) bool { return unchanged[c] }}
	translated, untranslated, err := to.Translate(s.Reader)
	if err != nil {
		return nil, err
	}
	s.Reader = translated
	s.Info, err = translated.Info()
	return untranslated, err
}
