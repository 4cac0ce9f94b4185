package main

import (
	"path"
	"slices"

	"tapedeck/bridge/robot"
	"tapedeck/codec"
)

// isRobotTopic reports whether a recording of a robot can hold a topic.
func isRobotTopic(m *robot.Mapping, topic, typeName string) bool {
	if m != nil {
		return slices.Contains(m.Topics(), topic)
	}
	channel := func(topic, typeName string) codec.TopicInfo {
		return codec.TopicInfo{Channel: &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR},
			MessageCount: 1}
	}
	// The joints, which an arm is known by, may come later. There may be some on a topic behind all others.
	space, joints := path.Dir(topic), "sensor_msgs/msg/JointState"
	info := codec.Info{Topics: []codec.TopicInfo{channel(topic, typeName), channel(path.Join(space, "~joints"), joints),
		channel(path.Join(path.Dir(space), "~joints"), joints)}}
	return slices.Contains(robot.Default(&info).Topics(), topic)
}

// slow says what cannot keep up.
func (r *recorder) slow() string {
	if s := r.session.Load(); s != nil && s.writer != nil && s.writer.Late() {
		return "PNGs cannot be made as fast as pictures come, whose topics had better be compressed"
	}
	return "the disk does not keep up"
}
