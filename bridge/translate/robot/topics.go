package robot

import (
	"cmp"
	"fmt"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs"
)

// topics are the channels of a recording, with what a mapping takes from their messages.
type topics struct {
	m        *Mapping
	samplers []*sampler
	known    map[*codec.Channel]*topic
}

// topic is what a mapping takes from the messages of a channel.
type topic struct {
	cameras  []int // of the mapping
	picture  *pixel.Locator
	samplers []binding
	trigger  *trigger // nil: none
	receive  bool
	stamps   *cdr.Stamps // nil: there are none
}

// binding is a sampler with its fields in the messages of a type.
type binding struct {
	*sampler
	fields []*numbers
}

func newTopics(m *Mapping) *topics {
	t := &topics{m: m}
	t.extend()
	return t
}

// extend adds what was added to the mapping.
func (t *topics) extend() {
	t.known = map[*codec.Channel]*topic{}
	for i := range t.m.Arms {
		for r, s := range t.m.Arms[i].streams() {
			if !t.has(i, r) {
				t.samplers = append(t.samplers, newSampler(i, r, s))
			}
		}
	}
}

// has reports whether an arm has a sampler for a role.
func (t *topics) has(arm int, r episode.Role) bool {
	return slices.ContainsFunc(t.samplers, func(v *sampler) bool { return v.arm == arm && v.role == r })
}

// of returns what is taken of the messages of a channel, nil if that is nothing.
func (t *topics) of(c *codec.Channel) (*topic, error) {
	known, ok := t.known[c]
	if ok {
		return known, nil
	}
	known, err := t.bind(c)
	if err != nil {
		return nil, fmt.Errorf("%s [%s]: %w", c.Topic, c.Type, err)
	}
	t.known[c] = known
	return known, nil
}

func (t *topics) bind(c *codec.Channel) (*topic, error) {
	if !t.m.names(c.Topic) {
		return nil, nil
	}
	if c.Encoding != codec.EncodingCDR {
		return nil, fmt.Errorf("its messages are %s, which have no translation to ROS 2",
			cmp.Or(c.Encoding, "of no known encoding"))
	}
	s, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return nil, err
	}
	b := &topic{receive: t.m.Receive, stamps: s.Stamps()}
	for i, camera := range t.m.Cameras {
		if camera.Topic == c.Topic {
			b.cameras = append(b.cameras, i)
			b.picture, err = pixel.NewLocator(s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", camera.Name, err)
			}
		}
	}
	if c.Type == typeJointState {
		t.implied(c.Topic)
	}
	for _, v := range t.samplers {
		if v.stream.Topic != c.Topic {
			continue
		}
		fields, err := v.fieldsIn(s)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", t.m.Arms[v.arm].Name, v.role.String(), err)
		}
		b.samplers = append(b.samplers, binding{v, fields})
	}
	if t.m.Episodes.Topic == c.Topic {
		b.trigger, err = newTrigger(s, t.m.Episodes)
	}
	return b, err
}

// names reports whether the mapping names a topic.
func (m *Mapping) names(topic string) bool { return slices.Contains(m.topics(), topic) }

// topics returns the topics that the mapping names.
func (m *Mapping) topics() []string {
	var all []string
	if m.Episodes.Topic != "" {
		all = append(all, m.Episodes.Topic)
	}
	for _, c := range m.Cameras {
		all = append(all, c.Topic)
	}
	for i := range m.Arms {
		for _, s := range m.Arms[i].streams() {
			all = append(all, s.Topic)
		}
	}
	return all
}

// implied adds velocities and efforts, which messages of a topic have beside the positions of joints.
func (t *topics) implied(topic string) {
	for i := range t.m.Arms {
		a := &t.m.Arms[i]
		joint := a.Streams[episode.Joint]
		if joint == nil || joint.Topic != topic || joint.Fields != nil || joint.Scale != 0 ||
			a.Streams[episode.Velocity] != nil || a.Streams[episode.Effort] != nil {
			continue
		}
		for _, r := range []episode.Role{episode.Velocity, episode.Effort} {
			if t.has(i, r) {
				continue
			}
			s := &Stream{Topic: topic, Names: joint.Names, Unit: r.Unit(joint.Unit)}
			t.samplers = append(t.samplers, newSampler(i, r, s))
		}
	}
}

// stamp returns the time of a message. own is false if it should be, and is not, that of its header.
func (t *topic) stamp(m *codec.Message) (ns int64, own bool) {
	if t.receive {
		return m.LogTime, true
	}
	if t.stamps != nil {
		if ns, ok, err := t.stamps.First(m.Data); err == nil && ok && ns != 0 {
			return ns, true
		}
	}
	return m.LogTime, false
}

// Types of messages that are known without a mapping.
const (
	typeJointState      = "sensor_msgs/msg/JointState"
	typeImage           = "sensor_msgs/msg/Image"
	typeCompressedImage = "sensor_msgs/msg/CompressedImage"
)

// posesIn are the paths to the pose in messages of a type.
var posesIn = map[string]string{
	"geometry_msgs/msg/Pose":                      "",
	"geometry_msgs/msg/PoseStamped":               "pose",
	"geometry_msgs/msg/PoseWithCovariance":        "pose",
	"geometry_msgs/msg/PoseWithCovarianceStamped": "pose.pose",
	"geometry_msgs/msg/Transform":                 "",
	"geometry_msgs/msg/TransformStamped":          "transform",
	"nav_msgs/msg/Odometry":                       "pose.pose",
}

// usualFields returns the fields of a stream in messages of a type, if the mapping does not name them.
func usualFields(r episode.Role, typeName string) []string {
	in, isPose := posesIn[typeName]
	switch {
	case r.Base() == episode.Pose && isPose:
		return []string{in}
	case typeName == typeJointState && (r == episode.Effort || r == episode.Velocity):
		return []string{r.String()}
	case typeName == typeJointState:
		return []string{"position"}
	}
	return []string{"data"}
}
