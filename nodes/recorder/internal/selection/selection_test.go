package selection

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/config"
)

// namesOf returns a function that expands names of topics as the recorder does.
func namesOf(t *testing.T) *bridge.Names {
	names, err := bridge.NewNames(bridge.Options{Name: "recorder"})
	require.NoError(t, err)
	return names
}

func TestSelection(t *testing.T) {
	other, own := bridge.Endpoint{Node: "/other"}, bridge.Endpoint{Node: "/recorder", Own: true}
	of := func(e bridge.Endpoint, typeName string) bridge.Endpoint {
		e.Type = typeName
		return e
	}
	const number, text, event = "std_msgs/msg/UInt32", "std_msgs/msg/String", "std_srvs/srv/Trigger_Event"
	const goal, status = "a/action/Dock_SendGoal_Request", "action_msgs/msg/GoalStatusArray"
	dock := []string{"/dock/_action/cancel_goal/_service_event", "/dock/_action/feedback",
		"/dock/_action/send_goal/_request"}
	topics := []bridge.Topic{
		{Name: "/a", Publishers: []bridge.Endpoint{of(other, number)}, Subscribers: []bridge.Endpoint{of(own, number)}},
		{Name: "/b", Publishers: []bridge.Endpoint{of(other, number), of(other, text)},
			Subscribers: []bridge.Endpoint{of(other, number)}},
		{Name: "/sub", Types: []string{number}, Subscribers: []bridge.Endpoint{of(bridge.Endpoint{Node: "/robot/arm"},
			number)}},
		{Name: "/x/_hidden", Publishers: []bridge.Endpoint{of(other, number)}},
		{Name: "/x/ask/_service_event", Publishers: []bridge.Endpoint{of(other, event)}},
		{Name: "/x/do/_service_event", Publishers: []bridge.Endpoint{of(other, event)}},
		{Name: "/dock/_action/cancel_goal/_service_event",
			Publishers: []bridge.Endpoint{of(other, "action_msgs/srv/CancelGoal_Event")}},
		{Name: "/dock/_action/feedback", Publishers: []bridge.Endpoint{of(other, "a/action/Dock_FeedbackMessage")}},
		{Name: "/dock/_action/send_goal/_request", Types: []string{goal},
			Subscribers: []bridge.Endpoint{of(other, goal)}},
		{Name: "/dock/_action/status", Types: []string{status}, Subscribers: []bridge.Endpoint{of(other, status)}},
		{Name: "/fly/_action/status", Publishers: []bridge.Endpoint{of(other, status)}},
		{Name: "/diagnostics", Publishers: []bridge.Endpoint{of(own, "diagnostic_msgs/msg/DiagnosticArray")}},
		{Name: codec.EventTopic, Publishers: []bridge.Endpoint{of(other, "tapedeck/msg/RecordingEvent")}},
	}
	for name, c := range map[string]struct {
		topics  []string
		options TopicOptions
		want    []string // "topic type", or "topic" for all types
	}{
		"named":                   {topics: []string{"/a", "sub", "/none"}, want: []string{"/a", "/sub"}},
		"all":                     {options: TopicOptions{All: true}, want: []string{"/a", "/b"}},
		"all that are subscribed": {options: TopicOptions{All: true, IgnoreLeafTopics: true}, want: []string{"/b"}},
		"leafs that are named": {topics: []string{"/a"}, options: TopicOptions{IgnoreLeafTopics: true},
			want: []string{"/a"}},
		"unpublished": {options: TopicOptions{All: true, IncludeUnpublishedTopics: true},
			want: []string{"/a", "/b", "/sub"}},
		"hidden": {options: TopicOptions{All: true, IncludeHiddenTopics: true},
			want: []string{"/a", "/b", "/x/_hidden", "/x/ask/_service_event", "/x/do/_service_event",
				"/dock/_action/cancel_goal/_service_event", "/dock/_action/feedback", "/fly/_action/status"}},
		"expression": {options: TopicOptions{Regex: "^/[ax]", IncludeHiddenTopics: true},
			want: []string{"/a", "/x/_hidden", "/x/ask/_service_event", "/x/do/_service_event"}},
		"nodes": {options: TopicOptions{Node: []string{"/robot/arm"}, IncludeUnpublishedTopics: true},
			want: []string{"/sub"}},
		"types": {options: TopicOptions{TopicTypes: []string{text}}, want: []string{"/b " + text}},
		"but types": {options: TopicOptions{All: true, ExcludeTopicTypes: []string{text}},
			want: []string{"/a", "/b " + number}},
		"not even those of a type": {topics: []string{"/a"},
			options: TopicOptions{ExcludeTopicTypes: []string{number}}},
		"a service": {options: TopicOptions{Services: []string{"/x/ask", "none"}},
			want: []string{"/x/ask/_service_event"}},
		"services": {options: TopicOptions{AllServices: true},
			want: []string{"/x/ask/_service_event", "/x/do/_service_event"}},
		"all but a service": {options: TopicOptions{All: true, AllServices: true, ExcludeServices: []string{"/x/do"}},
			want: []string{"/a", "/b", "/x/ask/_service_event"}},
		"an action": {options: TopicOptions{Actions: []string{"dock"}, IgnoreLeafTopics: true}, want: dock},
		"actions": {options: TopicOptions{AllActions: true},
			want: append(slices.Clone(dock), "/fly/_action/status")},
		"but an action": {options: TopicOptions{AllActions: true, ExcludeActions: []string{"/fly"}}, want: dock},
		"no action": {options: TopicOptions{All: true, IncludeHiddenTopics: true, ExcludeRegex: "/x",
			ExcludeActions: []string{"/fly", "dock"}}, want: []string{"/a", "/b"}},
		"but topics": {topics: []string{"/a"},
			options: TopicOptions{All: true, ExcludeTopics: []string{"/b"}, ExcludeRegex: "a$"}},
		"what the recorder says": {topics: []string{"/diagnostics", codec.EventTopic},
			want: []string{"/diagnostics", codec.EventTopic}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(&c.options, c.topics, namesOf(t).Topic)
			require.NoError(t, err)
			var got []string
			for i := range topics {
				types := TypesOf(&topics[i])
				var wanted []string
				for _, typeName := range types {
					if s.Wants(&topics[i], typeName) {
						wanted = append(wanted, topics[i].Name+" "+typeName)
					}
				}
				if len(wanted) == len(types) {
					wanted = []string{topics[i].Name}
				}
				got = append(got, wanted...)
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.options.Nothing(c.topics), len(c.want) == 0 && len(c.topics) == 0)
		})
	}
}

func TestSelectionRefuses(t *testing.T) {
	write := func(text string) TopicOptions {
		require.NoError(t, os.WriteFile("topics.yaml", []byte(text), 0o644))
		return TopicOptions{StaticTopicsPath: "topics.yaml"}
	}
	t.Chdir(t.TempDir())
	for want, o := range map[string]TopicOptions{
		`topic_types: "Imu" is no type`:                     {TopicTypes: []string{"Imu"}},
		`exclude_topic_types: "sensor_msgs/Imu" is no type`: {ExcludeTopicTypes: []string{"sensor_msgs/Imu"}},
		`"not a name`:                        {Services: []string{"not a name"}},
		"regex: ":                            {Regex: "("},
		"static_topics_path: open none.yaml": {StaticTopicsPath: "none.yaml"},
		"static_topics_path: topics.yaml has no static_topics_and_types_list": write("topics: []"),
	} {
		_, err := New(&o, nil, namesOf(t).Topic)
		require.ErrorIs(t, err, config.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}
