// Package robot maps topics to the cameras and arms of a robot: it reads recordings as episodes, and writes messages
// into sessions while they are received. Without a Mapping, the names and types of topics decide.
package robot

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// Mapping maps topics of a recording to cameras and arms, and divides the recording into episodes. The zero Mapping
// maps nothing.
type Mapping struct {
	Task     string // task of episodes that have none themselves
	Receive  bool   // stamps are the times of reception, not the stamps in headers
	Episodes Boundaries
	Cameras  []Camera // the first one is the default for the timeline
	Arms     []Arm
}

// Boundaries divide a recording into episodes. With the zero Boundaries, the recording is one episode.
type Boundaries struct {
	// Topic is the topic of a trigger; "": none. A value of Field other than false, 0 and "" begins an episode, and the
	// next different value ends the episode. A text is the task. If messages of the trigger have no fields, each begins
	// another episode.
	Topic string
	Field string // name of a field of the trigger; "" is "data"
	// Discard is the name of a field of the trigger; "" is "discard". A value other than false, 0 and "" discards the
	// episode that is being recorded, or else the episode that ended last. If the trigger has no such field, Discard is
	// a value of Field that ends and discards an episode.
	Discard string
	Pause   time.Duration // a longer time without messages of cameras and arms ends an episode; 0: no limit
}

// Camera is a topic with images: sensor_msgs/msg/Image or CompressedImage, or a type with the fields of one of them.
type Camera struct {
	Name   string `yaml:"-"` // "camera_0"
	Topic  string
	Device map[string]any // description of the camera; nil: none
}

// Arm is an arm with its topics.
type Arm struct {
	Name    string         // "arm_0"
	Device  map[string]any // description of the arm; nil: none
	Streams Streams
}

// Streams are the streams of an arm by role; nil: none. If Velocity and Effort are both nil, velocities and
// efforts come from the JointState of the joints.
type Streams [episode.Roles]*Stream

// empty returns the arm of an episode, without samples.
func (a *Arm) empty() *episode.Arm {
	var topics []string
	for _, s := range a.streams() {
		if !slices.Contains(topics, s.Topic) {
			topics = append(topics, s.Topic)
		}
	}
	arm := &episode.Arm{Name: a.Name, Device: device(a.Device, topics...)}
	if a.Streams[episode.Gripper] != nil {
		arm.GripperRange = a.Streams[episode.Gripper].Range
	}
	return arm
}

// empty returns the camera of an episode, without frames.
func (c *Camera) empty() *episode.Camera {
	return &episode.Camera{Track: align.Track{Name: c.Name, Topic: c.Topic}, Device: device(c.Device, c.Topic)}
}

// device returns the description of a camera or an arm, with its topics.
func device(given map[string]any, topics ...string) json.RawMessage {
	description := map[string]any{"topics": topics}
	maps.Copy(description, given)
	text, _ := json.Marshal(description) // check has encoded given
	return text
}

// streams returns the streams of an arm that are not nil, by role.
func (a *Arm) streams() iter.Seq2[episode.Role, *Stream] {
	return func(yield func(episode.Role, *Stream) bool) {
		for r, s := range a.Streams {
			if s != nil && !yield(episode.Role(r), s) {
				return
			}
		}
	}
}

// Stream maps numbers in the messages of a topic to the stream of an arm.
type Stream struct {
	Topic string
	// Fields are paths, as in cdr.Schema.Path, to numbers, to arrays of numbers, or to a pose; nil: the usual fields of
	// the type.
	Fields []string
	// Names are the names of the columns; nil: the names in messages. If messages name the numbers, as
	// sensor_msgs/msg/JointState does, the stream has only numbers with one of Names, in the order of Names. A colon
	// separates the name in messages from the name of the column: "finger_joint:position".
	Names []string
	// Unit is the unit of the numbers; "" is rad for joints, m and rad for poses, none for other streams.
	Unit string
	// Scale is the factor that converts numbers of messages to Unit; 0 is 1.
	Scale float64
	// Range has the positions of the closed and the open gripper; both 0: unknown.
	Range [2]float64
	// Quaternions makes poses x, y, z, qx, qy, qz and qw instead of x, y, z, rx, ry and rz.
	Quaternions bool
}

// Topics returns the topics that m names, each once and sorted. A nil Mapping has none.
func (m *Mapping) Topics() []string {
	if m == nil {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(m.topics())))
}

// check returns an error if m is invalid.
func (m *Mapping) check() error {
	if m.Episodes.Pause < 0 {
		return fmt.Errorf("episodes: pause: %v is negative", m.Episodes.Pause)
	}
	for key, value := range map[string]string{"field": m.Episodes.Field, "discard": m.Episodes.Discard} {
		if value != "" && m.Episodes.Topic == "" {
			return fmt.Errorf("episodes: %s %s has no topic", key, value)
		}
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

// checkName checks the name of a camera or an arm, which becomes the name of a folder, and adds it to names.
func checkName(names map[string]bool, name string) error {
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("invalid name %q: want letters, digits, _ and -", name)
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
		return fmt.Errorf("range: the gripper is closed and open at %v", s.Range[0])
	case s.Range != [2]float64{} && r.Base() != episode.Gripper:
		return errors.New("range: only grippers have one")
	case s.Quaternions && r.Base() != episode.Pose:
		return errors.New("quaternions: only poses have them")
	case s.Unit != "" && s.Unit != "rad" && s.Unit != "deg" && r.Base() == episode.Joint:
		return fmt.Errorf("unit: joints are in rad or deg, not in %q; use scale to convert", s.Unit)
	case s.Scale-s.Scale != 0:
		return fmt.Errorf("scale: %v is not a factor", s.Scale)
	case s.Unit != "" && r.Base() == episode.Pose:
		return errors.New("unit: poses are in m and rad")
	}
	return nil
}
