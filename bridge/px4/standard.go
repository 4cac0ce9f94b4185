// Package px4 makes messages of sensor_msgs and nav_msgs of those of px4_msgs. PX4's world axes are north, east, down
// and its body axes forward, right, down; those of ROS (REP 103) are east, north, up and forward, left, up. Its
// quaternions w, x, y, z rotate from body to world.
package px4

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// rule makes messages of one type. Messages of old versions of the type lack some of the fields.
type rule struct {
	fields []string // that there must be
	topics []output // below the topic
	learns bool     // others need what these messages say
	make   func(*state, values) []msgs.Message
}

// output is a topic for a message of a type.
type output struct {
	name    string
	message msgs.Message
}

// source is a channel of PX4 with what becomes of it.
type source struct {
	*rule
	schema *cdr.Schema
	to     []*codec.Channel
	own    bool // of the vehicle's own estimate, not of one of several estimators
	// the namespace of its topics
	vehicle string
}

// standard is a recording with further messages.
type standard struct {
	codec.Reader
	info    codec.Info
	sources map[*codec.Channel]*source
}

// Standard returns the recording that r reads with standard messages beside those of px4_msgs, on topics below theirs.
// It is r itself if there are none. The reader returned owns r.
func Standard(r codec.Reader) (codec.Reader, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	s := &standard{Reader: r, info: *info, sources: map[*codec.Channel]*source{}}
	s.info.Topics = slices.Clone(info.Topics)
	library, own := msgs.Library(), msgs.Release("")
	for _, topic := range info.Topics {
		from, err := newSource(topic.Channel, library, own)
		if err != nil {
			return nil, err
		}
		if from == nil {
			continue
		}
		s.sources[topic.Channel] = from
		for _, c := range from.to {
			s.info.Topics = append(s.info.Topics, codec.TopicInfo{Channel: c, MessageCount: topic.MessageCount})
			s.info.MessageCount += topic.MessageCount
		}
	}
	if len(s.sources) == 0 {
		return r, nil
	}
	return s, nil
}

// newSource returns what becomes of a channel; nil if there is no rule for it.
func newSource(c *codec.Channel, library, own *rosidl.Library) (*source, error) {
	pkg, name, _ := strings.Cut(c.Type, "/msg/")
	known := rules[name]
	if known == nil || c.Encoding != codec.EncodingCDR || pkg != "px4_msgs" && pkg != "ulog" {
		return nil, nil
	}
	definitions := c.Library(library)
	m, err := definitions.Message(c.Type)
	if err != nil {
		return nil, nil // without a definition nothing can be made of it
	}
	for _, field := range known.fields {
		if !slices.ContainsFunc(m.Fields, func(f rosidl.Field) bool { return f.Name == field }) {
			return nil, nil
		}
	}
	base := path.Base(c.Topic)
	s := &source{rule: known, own: base == "vehicle_attitude" || base == "vehicle_angular_velocity",
		vehicle: path.Dir(c.Topic)}
	if s.schema, err = cdr.NewSchema(definitions, c.Type); err != nil {
		return nil, nil
	}
	for _, out := range known.topics {
		to, err := codec.NewChannel(own, c.Topic+"/"+out.name, out.message.TypeName(), codec.DefaultQoS())
		if err != nil {
			return nil, err
		}
		s.to = append(s.to, to)
	}
	return s, nil
}

func (s *standard) Info() (*codec.Info, error) { return &s.info, nil }

func (s *standard) Read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		if s.wantsMade(&q) {
			return codec.ReadLast(q, s.Read)
		}
		return s.Reader.Read(q)
	}
	it := &iterator{query: q, sources: s.sources, wanted: map[*codec.Channel]bool{}, states: map[string]*state{}}
	any := false
	for c, from := range s.sources {
		it.wanted[c] = q.Wants(c)
		for _, to := range from.to {
			it.wanted[to] = q.Wants(to)
			any = any || it.wanted[to]
		}
	}
	inner := q
	inner.Topics = func(c *codec.Channel) bool {
		from := s.sources[c]
		return q.Wants(c) || from != nil && (any && from.learns ||
			slices.ContainsFunc(from.to, func(to *codec.Channel) bool { return it.wanted[to] }))
	}
	var err error
	it.source, err = s.Reader.Read(inner)
	return it, err
}

// wantsMade reports whether q wants any of the messages that are made.
func (s *standard) wantsMade(q *codec.Query) bool {
	for _, from := range s.sources {
		if slices.ContainsFunc(from.to, func(to *codec.Channel) bool { return q.Depth(to) > 0 }) {
			return true
		}
	}
	return false
}

// iterator yields messages of PX4, each followed by those that are made of it.
type iterator struct {
	source  codec.Iterator
	query   codec.Query
	sources map[*codec.Channel]*source
	wanted  map[*codec.Channel]bool // of the channels in sources and those made of them
	states  map[string]*state       // of vehicles, by the namespaces of their topics
	ready   []codec.Message
	err     error
}

func (it *iterator) Next() (*codec.Message, error) {
	for it.err == nil {
		if len(it.ready) > 0 {
			m := &it.ready[0]
			it.ready = it.ready[1:]
			return m, nil
		}
		m, err := it.source.Next()
		if err != nil {
			it.err = err
			break
		}
		from := it.sources[m.Channel]
		if from != nil {
			if err := it.translate(from, m); err != nil {
				err = &bridge.TranslationError{Channel: m.Channel, LogTime: m.LogTime, Err: err}
				it.err = it.query.Damage(err)
				if it.err != nil {
					break
				}
			}
		}
		if from == nil || it.wanted[m.Channel] {
			return m, nil
		}
	}
	return nil, it.err
}

// translate makes the messages that are wanted of m.
func (it *iterator) translate(from *source, m *codec.Message) error {
	fields, err := from.schema.Decode(m.Data)
	if err != nil {
		return err
	}
	vehicle := it.states[from.vehicle]
	if vehicle == nil {
		vehicle = &state{attitude: unknownAttitude}
		it.states[from.vehicle] = vehicle
	}
	vehicle.begin(m, from.own)
	for i, made := range from.make(vehicle, values{fields}) {
		if !it.wanted[from.to[i]] {
			continue
		}
		data, err := cdr.Marshal(made)
		if err != nil {
			return fmt.Errorf("make %s: %w", made.TypeName(), err)
		}
		it.ready = append(it.ready, codec.Message{Channel: from.to[i], LogTime: m.LogTime, PublishTime: m.PublishTime,
			Data: data})
	}
	return nil
}

func (it *iterator) Close() error {
	it.ready = nil
	if it.err == nil {
		it.err = fmt.Errorf("read: %w", os.ErrClosed)
	}
	return it.source.Close()
}
