// Package robot knows which topics of a recording are the cameras and arms of a robot: it makes episodes of recordings,
// and sessions of messages while they are received. A Mapping says what is what; where there is none, names and types
// of topics do.
package robot

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"tapedeck/codec/align"
	"tapedeck/codec/episode"
)

// Mapping says which topics of a recording are cameras and arms, and what of it is an episode. The zero Mapping has
// nothing.
type Mapping struct {
	Task     string // what is done in the episodes that don't say so themselves
	Receive  bool   // samples have the times at which messages were received, not those in their headers
	Episodes Boundaries
	Cameras  []Camera // the first one is that of the timeline, unless that is another one
	Arms     []Arm
}

// Boundaries say what of a recording is an episode. The zero Boundaries are those of a recording that is one.
type Boundaries struct {
	// Topic, unless it is "", is that of a trigger: a field that is neither false nor 0 nor "" begins an episode, and
	// its next value ends it, unless it is the same. A text says what is done. Each message without fields begins
	// another episode.
	Topic string
	Field string        // of the trigger; "" is "data"
	Pause time.Duration // unless it is 0, a time without messages of cameras and arms that is longer ends an episode
}

// Camera is a topic with pictures: sensor_msgs/msg/Image or CompressedImage, or another type with the same fields.
type Camera struct {
	Name   string `yaml:"-"` // "camera_0"
	Topic  string
	Device map[string]any // what is known of it; nil is nothing
}

// Arm is an arm with its topics. A stream that there is not is nil.
type Arm struct {
	Name                 string         // "arm_0"
	Device               map[string]any // what is known of it; nil is nothing
	Pose, Joint, Gripper *Stream
	// of the joints; where both are nil, those that a JointState for Joint has
	Velocity, Effort                          *Stream
	CommandPose, CommandJoint, CommandGripper *Stream // the commands that it gets
}

// empty returns the arm without samples.
func (a *Arm) empty() *episode.Arm {
	var topics []string
	for _, s := range a.streams() {
		if !slices.Contains(topics, s.Topic) {
			topics = append(topics, s.Topic)
		}
	}
	arm := &episode.Arm{Name: a.Name, Device: device(a.Device, topics...)}
	if a.Gripper != nil {
		arm.GripperRange = a.Gripper.Range
	}
	return arm
}

// empty returns the camera without pictures.
func (c *Camera) empty() *episode.Camera {
	return &episode.Camera{Track: align.Track{Name: c.Name, Topic: c.Topic}, Device: device(c.Device, c.Topic)}
}

// device returns what is known of a camera or an arm, and which topics it has.
func device(known map[string]any, topics ...string) json.RawMessage {
	all := map[string]any{"topics": topics}
	maps.Copy(all, known)
	text, _ := json.Marshal(all) // as check has tried
	return text
}

// stream returns where an arm has the stream of a role.
func (a *Arm) stream(r episode.Role) **Stream {
	return [episode.Roles]**Stream{
		&a.Pose, &a.Joint, &a.Gripper, &a.Velocity, &a.Effort, &a.CommandPose, &a.CommandJoint, &a.CommandGripper,
	}[r]
}

// streams returns the streams of an arm that there are, with their roles.
func (a *Arm) streams() iter.Seq2[episode.Role, *Stream] {
	return func(yield func(episode.Role, *Stream) bool) {
		for r := range episode.Roles {
			if s := *a.stream(r); s != nil && !yield(r, s) {
				return
			}
		}
	}
}

// Stream says where numbers are in the messages of a topic.
type Stream struct {
	Topic string
	// Fields are paths to numbers, as cdr.Schema.Path has them, to arrays of them, or to a pose. nil is what is usual
	// in the type.
	Fields []string
	// Names are those of the columns. Where messages name their numbers, as sensor_msgs/msg/JointState does, they are
	// the ones that are taken, in this order; nil is all of them. A column is called what is behind a colon, if there
	// is one: "finger_joint:position".
	Names []string
	// Unit is that of the messages; "" is rad of joints, m and rad of poses, none of others.
	Unit string
	// Scale is what numbers are multiplied with to be in Unit; 0 is 1.
	Scale float64
	// Range, unless both are 0, are the positions of a gripper that is closed and of one that is open.
	Range [2]float64
	// Quaternions is true if a pose is given by x, y, z, qx, qy, qz and qw; by default it is x, y, z, rx, ry and rz.
	Quaternions bool
}

// Topics returns the topics that m names, each once and in their order. A nil Mapping has none.
func (m *Mapping) Topics() []string {
	if m == nil {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(m.topics())))
}

// check says what is wrong with m.
func (m *Mapping) check() error {
	if m.Episodes.Pause < 0 {
		return fmt.Errorf("episodes: pause: %v is negative", m.Episodes.Pause)
	}
	if m.Episodes.Field != "" && m.Episodes.Topic == "" {
		return fmt.Errorf("episodes: field %s is of no topic", m.Episodes.Field)
	}
	names := map[string]bool{}
	for _, c := range m.Cameras {
		if err := checkName(names, c.Name); err != nil {
			return fmt.Errorf("cameras: %w", err)
		}
		if c.Topic == "" {
			return fmt.Errorf("cameras: %s: the topic is missing", c.Name)
		}
		if _, err := json.Marshal(c.Device); err != nil {
			return fmt.Errorf("cameras: %s: device: %w", c.Name, err)
		}
	}
	for i := range m.Arms {
		a := &m.Arms[i]
		if err := checkName(names, a.Name); err != nil {
			return fmt.Errorf("arms: %w", err)
		}
		if _, err := json.Marshal(a.Device); err != nil {
			return fmt.Errorf("arms: %s: device: %w", a.Name, err)
		}
		for r, s := range a.streams() {
			if err := s.check(r); err != nil {
				return fmt.Errorf("arms: %s: %v: %w", a.Name, r, err)
			}
		}
	}
	return nil
}

// checkName reports whether a camera or an arm can have a name, which becomes that of a folder, and that no other one
// has.
func checkName(names map[string]bool, name string) error {
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("%q is no name: letters, digits, _ and - are allowed", name)
	case names[name]:
		return fmt.Errorf("%s is there twice", name)
	}
	names[name] = true
	return nil
}

func (s *Stream) check(r episode.Role) error {
	switch {
	case s.Topic == "":
		return errors.New("the topic is missing")
	case s.Range[0] == s.Range[1] && s.Range[0] != 0:
		return fmt.Errorf("range: a gripper that is closed at %v is not open at %[1]v", s.Range[0])
	case s.Range != [2]float64{} && r.Base() != episode.Gripper:
		return errors.New("range: only grippers open and close")
	case s.Quaternions && r.Base() != episode.Pose:
		return errors.New("quaternions: only poses have them")
	case s.Unit != "" && s.Unit != "rad" && s.Unit != "deg" && r.Base() == episode.Joint:
		return fmt.Errorf("unit: joints are in rad or deg, not in %q; scale makes these of others", s.Unit)
	case s.Scale-s.Scale != 0:
		return fmt.Errorf("scale: %v is no factor", s.Scale)
	case s.Unit != "" && r.Base() == episode.Pose:
		return errors.New("unit: poses are in m and rad")
	}
	return nil
}
