package selection

// TopicOptions select topics.
type TopicOptions struct {
	Topics                   []string `param:"topics" several:"words" group:"Topics" value:"TOPIC" help:"record this TOPIC, like one named without a flag; those of a parameter file only if the command line names none"`
	All                      bool     `param:"all" short:"a" alias:"all-topics" group:"Topics" help:"record every topic, as it appears"`
	Regex                    string   `param:"regex" short:"e" group:"Topics" help:"record topics whose name contains a match of this regular expression"`
	Node                     []string `param:"node" group:"Topics" value:"NAME" help:"record what the node NAME publishes or subscribes to"`
	TopicTypes               []string `param:"topic_types" several:"words" group:"Topics" value:"TYPE" help:"record topics of this TYPE, such as sensor_msgs/msg/Imu"`
	AllServices              bool     `param:"all_services" group:"Topics" help:"record the calls of every service, and the events of those that publish them"`
	Services                 []string `param:"services" several:"words" group:"Topics" value:"SERVICE" help:"record the calls and events of this SERVICE"`
	AllActions               bool     `param:"all_actions" group:"Topics" help:"record every action: its feedback, its status, and the calls and events of its services"`
	Actions                  []string `param:"actions" several:"words" group:"Topics" value:"ACTION" help:"record this ACTION"`
	StaticTopicsPath         string   `param:"static_topics_path" group:"Topics" value:"FILE" help:"YAML FILE with topics and types to subscribe to at once, in the format of rosbag2"`
	ExcludeRegex             string   `param:"exclude_regex" short:"x" alias:"exclude" group:"Topics" help:"leave out topics whose name contains a match of this regular expression, even named ones"`
	ExcludeTopics            []string `param:"exclude_topics" several:"words" group:"Topics" value:"TOPIC" help:"leave out this TOPIC, even if it is named"`
	ExcludeTopicTypes        []string `param:"exclude_topic_types" several:"words" group:"Topics" value:"TYPE" help:"leave out topics of this TYPE, even named ones"`
	ExcludeServices          []string `param:"exclude_services" several:"words" group:"Topics" value:"SERVICE" help:"leave out the calls and events of this SERVICE"`
	ExcludeActions           []string `param:"exclude_actions" several:"words" group:"Topics" value:"ACTION" help:"leave out this ACTION"`
	IncludeHiddenTopics      bool     `param:"include_hidden_topics" group:"Topics" help:"let --all, --regex and the like include hidden topics"`
	IncludeUnpublishedTopics bool     `param:"include_unpublished_topics" group:"Topics" help:"let --all, --regex and the like include topics without a publisher"`
	IgnoreLeafTopics         bool     `param:"ignore_leaf_topics" group:"Topics" help:"let --all, --regex and the like leave out topics without a subscriber"`
	AllowUnmatched           bool     `param:"allow_unmatched" group:"Topics" help:"only warn if nothing was recorded of a named topic; otherwise the exit code is 1"`
	NoDiscovery              bool     `param:"no_discovery" group:"Topics" help:"ignore topics that appear after the start"`
	Throttle                 []string `param:"throttle" group:"Topics" value:"TOPIC=5Hz|1/10" help:"record at most 5 messages of TOPIC per second, or one in 10; * in TOPIC matches anything; the first rule that matches applies"`
	QoSOverrides             string   `param:"qos_profile_overrides_path" group:"Topics" value:"FILE" help:"YAML FILE with the QoS to subscribe with, by topic, in the format of rosbag2"`
	DefinitionPaths          []string `param:"definition_paths" group:"Topics" value:"FOLDER" help:"FOLDER to search for message definitions before AMENT_PREFIX_PATH"`
}

// Nothing reports whether the options select nothing, beside topics that are named.
func (o *TopicOptions) Nothing(topics []string) bool {
	return len(topics)+len(o.Node)+len(o.TopicTypes)+len(o.Services)+len(o.Actions) == 0 &&
		!o.All && !o.AllServices && !o.AllActions && o.Regex == "" && o.StaticTopicsPath == ""
}
