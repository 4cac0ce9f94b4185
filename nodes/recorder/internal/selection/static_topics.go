package selection

import (
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"

	"tapedeck/config"
)

// staticTopic is a topic that is subscribed to with a given type, even before the graph has it.
type staticTopic struct{ Topic, TypeName string }

var typeForm = regexp.MustCompile(`^[a-zA-Z]\w*/(msg|srv|action)/[a-zA-Z]\w*$`)

func isTypeName(name string) bool { return typeForm.MatchString(name) }

// readStaticTopics reads a file in rosbag2's format. An empty path means no topics.
//
//	static_topics_and_types_list:
//	  - [/imu, sensor_msgs/msg/Imu]
func readStaticTopics(path string, expand func(string) (string, error)) ([]staticTopic, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, config.Usagef("static_topics_path: %w", err)
	}
	var file struct {
		List [][]string `yaml:"static_topics_and_types_list"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, config.Usagef("static_topics_path: %s: %w", path, err)
	}
	var list []staticTopic
	for i, pair := range file.List {
		if len(pair) != 2 || !isTypeName(pair[1]) {
			return nil, config.Usagef("static_topics_path: %s: entry %d is %q, want a topic and its type, as [/imu, "+
				"sensor_msgs/msg/Imu]", path, i+1, pair)
		}
		name, err := expand(pair[0])
		if err != nil {
			return nil, config.Usagef("static_topics_path: %s: entry %d: %w", path, i+1, err)
		}
		list = append(list, staticTopic{name, pair[1]})
	}
	if list == nil {
		return nil, config.Usagef("static_topics_path: %s has no static_topics_and_types_list", path)
	}
	return list, nil
}
