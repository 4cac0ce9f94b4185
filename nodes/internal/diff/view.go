package diff

import (
	"errors"
	"slices"

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
	others, left, err := recordings.ToROS2{}.Translate(&channelsOf{s.Reader, func(c *codec.Channel) bool {
		return !stays[c]
	}})
	if err != nil {
		return nil, err
	}
	m := &mixed{others, &channelsOf{s.Reader, func(c *codec.Channel) bool { return stays[c] }}}
	info, err := m.Info()
	if err != nil {
		return nil, err
	}
	s.Reader, s.Info = m, info
	return left, nil
}

// mixed reads some channels of a recording as they are and the others as ROS 2.
type mixed struct {
	codec.Reader // of the others; owns the recording
	stays        codec.Reader
}

func (m *mixed) Info() (*codec.Info, error) {
	info, err := m.stays.Info()
	if err != nil {
		return nil, err
	}
	others, err := m.Reader.Info()
	if err != nil {
		return nil, err
	}
	info.Topics = append(info.Topics, others.Topics...)
	return info, nil
}

func (m *mixed) Read(q codec.Query) (codec.Iterator, error) {
	it, err := m.stays.Read(q)
	if err != nil {
		return nil, err
	}
	others, err := m.Reader.Read(q)
	if err != nil {
		return nil, errors.Join(err, it.Close())
	}
	return codec.Merge(it, others), nil
}

// channelsOf reads only some channels of a recording.
type channelsOf struct {
	codec.Reader
	wants func(*codec.Channel) bool
}

func (r *channelsOf) Info() (*codec.Info, error) {
	whole, err := r.Reader.Info()
	if err != nil {
		return nil, err
	}
	info := *whole
	info.Topics = slices.DeleteFunc(slices.Clone(whole.Topics),
		func(t codec.TopicInfo) bool { return !r.wants(t.Channel) })
	return &info, nil
}

func (r *channelsOf) Read(q codec.Query) (codec.Iterator, error) {
	own := q
	own.Topics = func(c *codec.Channel) bool { return r.wants(c) && q.Wants(c) }
	return r.Reader.Read(own)
}
