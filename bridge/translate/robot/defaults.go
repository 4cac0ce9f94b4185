package robot

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/training/episode"
)

// Default returns the mapping by the names and types of topics.
//
// Each topic with images is a camera. If two topics have the images of one camera, one of them compressed, the
// compressed topic is the camera. Each namespace with a JointState is an arm. Poses and gripper of an arm are in the
// arm's namespace, commands in the namespace "command" below.
//
// If an element of a topic is camera_N, the camera is called camera_N. If an element of a namespace is arm_N, the arm
// is called arm_N. Other cameras and arms get the free numbers from 0 on, in the order of topics.
func Default(info *codec.Info) *Mapping {
	topics := slices.Clone(info.Topics)
	slices.SortStableFunc(topics, func(a, b codec.TopicInfo) int {
		return cmp.Compare(a.Channel.Topic, b.Channel.Topic)
	})
	topics = slices.CompactFunc(topics, func(a, b codec.TopicInfo) bool { return a.Channel.Topic == b.Channel.Topic })
	m := &Mapping{}
	m.addCameras(topics)
	m.addArms(topics)
	return m
}

// Maps reports whether m names a topic. A nil m stands for Default: Maps reports whether Default may map a topic of
// this name and type.
func (m *Mapping) Maps(topic, typeName string) bool {
	if m != nil {
		return m.names(topic)
	}
	info := func(topic, typeName string) codec.TopicInfo {
		return codec.TopicInfo{Channel: &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR},
			MessageCount: 1}
	}
	// The joints that make a namespace an arm may come later. "~joints" is sorted behind all other topics.
	namespace := path.Dir(topic)
	return Default(&codec.Info{Topics: []codec.TopicInfo{
		info(topic, typeName), info(path.Join(namespace, "~joints"), typeJointState),
		info(path.Join(path.Dir(namespace), "~joints"), typeJointState),
	}}).names(topic)
}

// Prefixes of the names of cameras and arms. A number follows.
const (
	cameraPrefix = "camera_"
	armPrefix    = "arm_"
)

// isNumberedName reports whether a name is the prefix followed by a number.
func isNumberedName(name, prefix string) bool {
	number, ok := strings.CutPrefix(name, prefix)
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// nameAll returns names for sorted topics or namespaces. A name is the first element that isNumberedName accepts, or
// else the prefix with the next free number. nameAll adds the names to taken.
func nameAll(topics []string, prefix string, taken map[string]bool) []string {
	names := make([]string, len(topics))
	for i, topic := range topics {
		for element := range strings.SplitSeq(topic, "/") {
			if isNumberedName(element, prefix) && !taken[element] {
				names[i], taken[element] = element, true
				break
			}
		}
	}
	next := 0
	for i := range names {
		for ; names[i] == ""; next++ {
			if name := fmt.Sprint(prefix, next); !taken[name] {
				names[i], taken[name] = name, true
			}
		}
	}
	return names
}

// addCameras adds the topics with images.
func (m *Mapping) addCameras(topics []codec.TopicInfo) {
	byPicture := map[string]string{} // topics by pictureOf
	var keys []string
	for _, t := range topics {
		topic := t.Channel.Topic
		key := pictureOf(topic)
		if !isPicture(t.Channel) || strings.HasSuffix(topic, "/theora") {
			continue
		}
		if previous, ok := byPicture[key]; !ok {
			keys = append(keys, key)
		} else if strings.HasSuffix(previous, "/compressed") || t.MessageCount == 0 {
			continue
		}
		byPicture[key] = topic
	}
	slices.Sort(keys)
	for i, name := range nameAll(keys, cameraPrefix, map[string]bool{}) {
		m.Cameras = append(m.Cameras, Camera{Name: name, Topic: byPicture[keys[i]]})
	}
	slices.SortFunc(m.Cameras, func(a, b Camera) int { return episode.CompareNames(a.Name, b.Name) })
}

// pictureOf returns a topic without the suffix of a compression.
func pictureOf(topic string) string {
	return strings.TrimSuffix(strings.TrimSuffix(topic, "/compressedDepth"), "/compressed")
}

// isPicture reports whether the messages of a channel are images.
func isPicture(c *codec.Channel) bool {
	switch c.Type {
	case typeImage, typeCompressedImage, "foxglove_msgs/msg/CompressedImage", "foxglove_msgs/msg/RawImage":
		return true
	}
	return false
}

// addArms adds the namespaces with joints.
func (m *Mapping) addArms(topics []codec.TopicInfo) {
	arms := map[string]*Arm{} // by namespace
	var keys []string
	for _, t := range topics {
		key, r, ok := roleOf(t.Channel)
		if !ok {
			continue
		}
		if arms[key] == nil {
			arms[key] = &Arm{}
			keys = append(keys, key)
		}
		if s := &arms[key].Streams[r]; *s == nil {
			*s = &Stream{Topic: t.Channel.Topic}
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		a := arms[key]
		return a.Streams[episode.Joint] == nil && !isNumberedName(key[strings.LastIndex(key, "/")+1:], armPrefix)
	})
	slices.Sort(keys)
	for i, name := range nameAll(keys, armPrefix, map[string]bool{}) {
		a := arms[keys[i]]
		a.Name = name
		m.Arms = append(m.Arms, *a)
	}
	slices.SortFunc(m.Arms, func(a, b Arm) int { return episode.CompareNames(a.Name, b.Name) })
}

// roleOf returns the namespace of an arm's topic, and the role of the topic. ok is false if no arm has such a topic.
func roleOf(c *codec.Channel) (namespace string, r episode.Role, ok bool) {
	elements := strings.Split(c.Topic, "/")
	last := elements[len(elements)-1]
	rest := elements[:len(elements)-1]
	command := slices.Contains(rest, "command")
	rest = slices.DeleteFunc(slices.Clone(rest), func(element string) bool { return element == "command" })
	if plain, found := strings.CutSuffix(last, "_command"); found {
		last, command = plain, true
	}
	_, isPose := posePaths[c.Type]
	number := strings.HasPrefix(c.Type, "std_msgs/msg/Float") // also an array
	switch {
	case strings.Contains(last, "gripper") && (c.Type == typeJointState || number):
		r = episode.Gripper
	case c.Type == typeJointState:
		r = episode.Joint
	case isPose && strings.Contains(last, "pose"):
		r = episode.Pose
	default:
		return "", 0, false
	}
	if command {
		r += episode.CommandPose
	}
	return strings.Join(rest, "/"), r, true
}

// extend adds the cameras, arms and streams of other that m lacks, and reports whether there were any. Cameras and arms
// of m keep their names.
func (m *Mapping) extend(other *Mapping) (extended bool) {
	taken := map[string]bool{}
	for _, c := range m.Cameras {
		taken[c.Name] = true
	}
	for _, a := range m.Arms {
		taken[a.Name] = true
	}
	for _, c := range other.Cameras {
		if !slices.ContainsFunc(m.Cameras, func(existing Camera) bool {
			return pictureOf(existing.Topic) == pictureOf(c.Topic)
		}) {
			c.Name = nameAll([]string{c.Topic}, cameraPrefix, taken)[0]
			m.Cameras, extended = append(m.Cameras, c), true
		}
	}
	for _, a := range other.Arms {
		i := slices.IndexFunc(m.Arms, func(existing Arm) bool { return existing.sharesTopic(&a) })
		if i < 0 {
			a.Name = nameAll([]string{a.topic()}, armPrefix, taken)[0]
			m.Arms, extended = append(m.Arms, a), true
			continue
		}
		for r, s := range a.streams() {
			if to := &m.Arms[i].Streams[r]; *to == nil {
				*to, extended = s, true
			}
		}
	}
	return extended
}

// topic returns the first topic of an arm.
func (a *Arm) topic() string {
	for _, s := range a.streams() {
		return s.Topic
	}
	return ""
}

// sharesTopic reports whether a and b have a common topic in a common role.
func (a *Arm) sharesTopic(b *Arm) bool {
	for r, s := range a.streams() {
		if t := b.Streams[r]; t != nil && s.Topic == t.Topic {
			return true
		}
	}
	return false
}

// Lines describes the mapping, one line for each camera and each stream of an arm.
func (m *Mapping) Lines() []string {
	var lines []string
	for _, c := range m.Cameras {
		lines = append(lines, c.Name+": "+c.Topic)
	}
	for i := range m.Arms {
		for r, s := range m.Arms[i].streams() {
			lines = append(lines, fmt.Sprintf("%s/%v: %s", m.Arms[i].Name, r, s.Topic))
		}
	}
	return lines
}
