package selection

// TopicOptions select topics.
type TopicOptions struct {
	Topics                   []string `param:"topics" several:"words" group:"Topics" value:"TOPIC"`
	All                      bool     `param:"all" short:"a" alias:"all-topics" group:"Topics"`
	Regex                    string   `param:"regex" short:"e" group:"Topics"`
	Node                     []string `param:"node" group:"Topics" value:"NAME"`
	TopicTypes               []string `param:"topic_types" several:"words" group:"Topics" value:"TYPE"`
	AllServices              bool     `param:"all_services" group:"Topics"`
	Services                 []string `param:"services" several:"words" group:"Topics" value:"SERVICE"`
	AllActions               bool     `param:"all_actions" group:"Topics"`
	Actions                  []string `param:"actions" several:"words" group:"Topics" value:"ACTION"`
	StaticTopicsPath         string   `param:"static_topics_path" group:"Topics" value:"FILE"`
	ExcludeRegex             string   `param:"exclude_regex" short:"x" alias:"exclude" group:"Topics"`
	ExcludeTopics            []string `param:"exclude_topics" several:"words" group:"Topics" value:"TOPIC"`
	ExcludeTopicTypes        []string `param:"exclude_topic_types" several:"words" group:"Topics" value:"TYPE"`
	ExcludeServices          []string `param:"exclude_services" several:"words" group:"Topics" value:"SERVICE"`
	ExcludeActions           []string `param:"exclude_actions" several:"words" group:"Topics" value:"ACTION"`
	IncludeHiddenTopics      bool     `param:"include_hidden_topics" group:"Topics"`
	IncludeUnpublishedTopics bool     `param:"include_unpublished_topics" group:"Topics"`
	IgnoreLeafTopics         bool     `param:"ignore_leaf_topics" group:"Topics"`
	AllowUnmatched           bool     `param:"allow_unmatched" group:"Topics"`
	NoDiscovery              bool     `param:"no_discovery" group:"Topics"`
	Throttle                 []string `param:"throttle" group:"Topics" value:"TOPIC=5Hz|1/10"`
	QoSOverrides             string   `param:"qos_profile_overrides_path" group:"Topics" value:"FILE"`
	DefinitionPaths          []string `param:"definition_paths" group:"Topics" value:"FOLDER"`
}

// Nothing reports whether the options and the list of named topics select no topic.
func (o *TopicOptions) Nothing(topics []string) bool {
	return len(topics)+len(o.Node)+len(o.TopicTypes)+len(o.Services)+len(o.Actions) == 0 &&
		!o.All && !o.AllServices && !o.AllActions && o.Regex == "" && o.StaticTopicsPath == ""
}
