package robot

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/episode"
)

// Default returns the mapping that the names and types of topics make. Each topic with pictures is a camera: camera_0,
// camera_1 and on in the order of their names, unless a part of its name is camera_N itself; of those that are the same
// picture, compressed and not, the compressed one. Each namespace with a JointState is an arm, likewise, which has the
// poses and the gripper that are in it, and below "command" the commands that it gets.
func Default(info *codec.Info) *Mapping {
	all := slices.Clone(info.Topics)
	slices.SortStableFunc(all, func(a, b codec.TopicInfo) int { return cmp.Compare(a.Channel.Topic, b.Channel.Topic) })
	all = slices.CompactFunc(all, func(a, b codec.TopicInfo) bool { return a.Channel.Topic == b.Channel.Topic })
	m := &Mapping{}
	m.addCameras(all)
	m.addArms(all)
	return m
}

var (
	cameraName = regexp.MustCompile(`^camera_\d+$`)
	armName    = regexp.MustCompile(`^arm_\d+$`)
)

// namer gives names to what is in recordings, in order.
type namer struct {
	prefix string
	own    *regexp.Regexp
	taken  map[string]bool
	next   int
}

// find returns the part of a topic that is a name already, "" if there is none.
func (n *namer) find(topic string) string {
	for part := range strings.SplitSeq(topic, "/") {
		if n.own.MatchString(part) && !n.taken[part] {
			return part
		}
	}
	return ""
}

// fresh returns the next name that nothing has.
func (n *namer) fresh() string {
	for {
		name := fmt.Sprint(n.prefix, n.next)
		n.next++
		if !n.taken[name] {
			return name
		}
	}
}

// nameAll returns names of topics or namespaces, which are in order.
func (n *namer) nameAll(topics []string) []string {
	names := make([]string, len(topics))
	for i, topic := range topics {
		if names[i] = n.find(topic); names[i] != "" {
			n.taken[names[i]] = true
		}
	}
	for i := range names {
		if names[i] == "" {
			names[i] = n.fresh()
			n.taken[names[i]] = true
		}
	}
	return names
}

// addCameras adds the topics with pictures.
func (m *Mapping) addCameras(all []codec.TopicInfo) {
	of := map[string]string{} // topics by what they are without the last part that says how they are compressed
	var keys []string
	for _, t := range all {
		topic := t.Channel.Topic
		key := pictureOf(topic)
		if !isPicture(t.Channel) || strings.HasSuffix(topic, "/theora") {
			continue
		}
		if before, ok := of[key]; !ok {
			keys = append(keys, key)
		} else if strings.HasSuffix(before, "/compressed") || t.MessageCount == 0 {
			continue
		}
		of[key] = topic
	}
	slices.Sort(keys)
	for i, name := range (&namer{prefix: "camera_", own: cameraName, taken: map[string]bool{}}).nameAll(keys) {
		m.Cameras = append(m.Cameras, Camera{Name: name, Topic: of[keys[i]]})
	}
	sortNames(m.Cameras, func(c Camera) string { return c.Name })
}

// pictureOf returns a topic without what says how pictures are compressed.
func pictureOf(topic string) string {
	return strings.TrimSuffix(strings.TrimSuffix(topic, "/compressedDepth"), "/compressed")
}

func isPicture(c *codec.Channel) bool {
	if c.Type == typeImage || c.Type == typeCompressedImage {
		return true
	}
	switch c.Type {
	case "foxglove_msgs/msg/CompressedImage", "foxglove_msgs/msg/RawImage":
		return true
	}
	return false
}

// addArms adds the namespaces with joints.
func (m *Mapping) addArms(all []codec.TopicInfo) {
	arms := map[string]*Arm{}
	var keys []string
	for _, t := range all {
		key, r, ok := roleOf(t.Channel)
		if !ok {
			continue
		}
		if arms[key] == nil {
			arms[key] = &Arm{}
			keys = append(keys, key)
		}
		if s := arms[key].stream(r); *s == nil {
			*s = &Stream{Topic: t.Channel.Topic}
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		a := arms[key]
		return a.Joint == nil && !armName.MatchString(key[strings.LastIndex(key, "/")+1:])
	})
	slices.Sort(keys)
	for i, name := range (&namer{prefix: "arm_", own: armName, taken: map[string]bool{}}).nameAll(keys) {
		a := arms[keys[i]]
		a.Name = name
		m.Arms = append(m.Arms, *a)
	}
	sortNames(m.Arms, func(a Arm) string { return a.Name })
}

// sortNames sorts by name, numbers as such.
func sortNames[T any](list []T, name func(T) string) {
	slices.SortStableFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(len(name(a)), len(name(b))), cmp.Compare(name(a), name(b)))
	})
}

// roleOf returns in which namespace a topic is, and what it is there of an arm.
func roleOf(c *codec.Channel) (namespace string, r episode.Role, ok bool) {
	parts := strings.Split(c.Topic, "/")
	last := parts[len(parts)-1]
	rest := parts[:len(parts)-1]
	command := slices.Contains(rest, "command")
	rest = slices.DeleteFunc(slices.Clone(rest), func(part string) bool { return part == "command" })
	if plain, found := strings.CutSuffix(last, "_command"); found {
		last, command = plain, true
	}
	_, isPose := posesIn[c.Type]
	number := slices.Contains([]string{"std_msgs/msg/Float32", "std_msgs/msg/Float64", "std_msgs/msg/Float32MultiArray",
		"std_msgs/msg/Float64MultiArray"}, c.Type)
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

// extend adds what another mapping has beside m, and reports whether there is anything. What is in m keeps its name.
func (m *Mapping) extend(other *Mapping) (more bool) {
	cameras := &namer{prefix: "camera_", own: cameraName, taken: map[string]bool{}}
	for _, c := range m.Cameras {
		cameras.taken[c.Name] = true
	}
	for _, c := range other.Cameras {
		if !slices.ContainsFunc(m.Cameras, func(known Camera) bool { return pictureOf(known.Topic) == pictureOf(c.Topic) }) {
			c.Name = cameras.nameAll([]string{c.Topic})[0]
			m.Cameras, more = append(m.Cameras, c), true
		}
	}
	arms := &namer{prefix: "arm_", own: armName, taken: map[string]bool{}}
	for _, a := range m.Arms {
		arms.taken[a.Name] = true
	}
	for _, a := range other.Arms {
		i := slices.IndexFunc(m.Arms, func(known Arm) bool { return known.shares(&a) })
		if i < 0 {
			a.Name = arms.nameAll([]string{a.topic()})[0]
			m.Arms, more = append(m.Arms, a), true
			continue
		}
		for r, s := range a.streams() {
			if to := m.Arms[i].stream(r); *to == nil {
				*to, more = s, true
			}
		}
	}
	return more
}

// topic returns one of the topics of an arm.
func (a *Arm) topic() string {
	for _, s := range a.streams() {
		return s.Topic
	}
	return ""
}

// shares reports whether two arms have a topic for the same.
func (a *Arm) shares(b *Arm) bool {
	for r, s := range a.streams() {
		if t := *b.stream(r); t != nil && s.Topic == t.Topic {
			return true
		}
	}
	return false
}

// Lines says in words what is mapped, one line for each camera and each stream of an arm.
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
