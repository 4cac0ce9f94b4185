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

// topics binds the channels of a recording to a mapping.
type topics struct {
	m         *Mapping
	samplers  []*sampler
	byChannel map[*codec.Channel]*topic // bindings so far; nil: the mapping does not name the channel's topic
}

// topic is a channel that is bound to a mapping.
type topic struct {
	cameras  []int          // indices in Mapping.Cameras
	picture  *pixel.Locator // set if there are cameras
	samplers []binding      // samplers that read the channel
	trigger  *trigger       // nil: none
	receive  bool           // Mapping.Receive
	stamps   *cdr.Stamps    // nil: messages have no stamps
}

// binding is a sampler with the fields that it reads in messages of one type.
type binding struct {
	*sampler
	fields []*numbers
}

func newTopics(m *Mapping) *topics {
	t := &topics{m: m}
	t.extend()
	return t
}

// extend adds samplers for streams that were added to the mapping, and forgets all bindings.
func (t *topics) extend() {
	t.byChannel = map[*codec.Channel]*topic{}
	for i := range t.m.Arms {
		for r, s := range t.m.Arms[i].streams() {
			if !t.hasSampler(i, r) {
				t.samplers = append(t.samplers, newSampler(i, r, s))
			}
		}
	}
}

// hasSampler reports whether an arm has a sampler for a role.
func (t *topics) hasSampler(arm int, r episode.Role) bool {
	return slices.ContainsFunc(t.samplers, func(v *sampler) bool { return v.arm == arm && v.role == r })
}

// topicOf returns the binding of a channel, or nil if the mapping does not name the channel's topic.
func (t *topics) topicOf(c *codec.Channel) (*topic, error) {
	if bound, ok := t.byChannel[c]; ok {
		return bound, nil
	}
	bound, err := t.bind(c)
	if err != nil {
		return nil, fmt.Errorf("%s [%s]: %w", c.Topic, c.Type, err)
	}
	t.byChannel[c] = bound
	return bound, nil
}

// bind returns the binding of a channel that has none so far.
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
		t.addImplied(c.Topic)
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
	var topics []string
	if m.Episodes.Topic != "" {
		topics = append(topics, m.Episodes.Topic)
	}
	for _, c := range m.Cameras {
		topics = append(topics, c.Topic)
	}
	for i := range m.Arms {
		for _, s := range m.Arms[i].streams() {
			topics = append(topics, s.Topic)
		}
	}
	return topics
}

// addImplied adds samplers of velocities and efforts for a topic of type JointState with the joints of an arm, if the
// mapping names neither.
func (t *topics) addImplied(topic string) {
	for i := range t.m.Arms {
		a := &t.m.Arms[i]
		joint := a.Streams[episode.Joint]
		if joint == nil || joint.Topic != topic || joint.Fields != nil || joint.Scale != 0 ||
			a.Streams[episode.Velocity] != nil || a.Streams[episode.Effort] != nil {
			continue
		}
		for _, r := range []episode.Role{episode.Velocity, episode.Effort} {
			if t.hasSampler(i, r) {
				continue
			}
			s := &Stream{Topic: topic, Names: joint.Names, Unit: r.Unit(joint.Unit)}
			t.samplers = append(t.samplers, newSampler(i, r, s))
		}
	}
}

// stampOf returns the stamp of a message in ns since the Unix epoch. If the message has no stamp, stampOf returns the
// time of reception, and stamped is false.
func (t *topic) stampOf(m *codec.Message) (ns int64, stamped bool) {
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

// Types of messages that Default recognises.
const (
	typeJointState      = "sensor_msgs/msg/JointState"
	typeImage           = "sensor_msgs/msg/Image"
	typeCompressedImage = "sensor_msgs/msg/CompressedImage"
)

// posePaths has the path to the pose in messages of each type of poses.
var posePaths = map[string]string{
	"geometry_msgs/msg/Pose":                      "",
	"geometry_msgs/msg/PoseStamped":               "pose",
	"geometry_msgs/msg/PoseWithCovariance":        "pose",
	"geometry_msgs/msg/PoseWithCovarianceStamped": "pose.pose",
	"geometry_msgs/msg/Transform":                 "",
	"geometry_msgs/msg/TransformStamped":          "transform",
	"nav_msgs/msg/Odometry":                       "pose.pose",
}

// usualFields returns the default of Stream.Fields for a type of messages.
func usualFields(r episode.Role, typeName string) []string {
	pose, isPose := posePaths[typeName]
	switch {
	case r.Base() == episode.Pose && isPose:
		return []string{pose}
	case typeName == typeJointState && (r == episode.Effort || r == episode.Velocity):
		return []string{r.String()}
	case typeName == typeJointState:
		return []string{"position"}
	}
	return []string{"data"}
}
