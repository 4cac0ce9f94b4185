package main

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/config"
)

// namesOf returns how a recorder reads names of topics.
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
	topics := []bridge.Topic{
		{Name: "/a", Publishers: []bridge.Endpoint{of(other, number)}, Subscribers: []bridge.Endpoint{of(own, number)}},
		{Name: "/b", Publishers: []bridge.Endpoint{of(other, number), of(other, text)}, Subscribers: []bridge.Endpoint{of(other, number)}},
		{Name: "/sub", Types: []string{number}, Subscribers: []bridge.Endpoint{of(bridge.Endpoint{Node: "/robot/arm"}, number)}},
		{Name: "/x/_hidden", Publishers: []bridge.Endpoint{of(other, number)}},
		{Name: "/x/ask/_service_event", Publishers: []bridge.Endpoint{of(other, event)}},
		{Name: "/x/do/_service_event", Publishers: []bridge.Endpoint{of(other, event)}},
		{Name: "/diagnostics", Publishers: []bridge.Endpoint{of(own, "diagnostic_msgs/msg/DiagnosticArray")}},
		{Name: codec.EventTopic, Publishers: []bridge.Endpoint{of(other, "tapedeck/msg/RecordingEvent")}},
	}
	for name, c := range map[string]struct {
		topics  []string
		options topicOptions
		want    []string // of "topic type"; the types are left out where all of a topic are wanted
	}{
		"named":                    {topics: []string{"/a", "sub", "/none"}, want: []string{"/a", "/sub"}},
		"all":                      {options: topicOptions{All: true}, want: []string{"/a", "/b"}},
		"all that are subscribed":  {options: topicOptions{All: true, IgnoreLeafTopics: true}, want: []string{"/b"}},
		"leafs that are named":     {topics: []string{"/a"}, options: topicOptions{IgnoreLeafTopics: true}, want: []string{"/a"}},
		"unpublished":              {options: topicOptions{All: true, IncludeUnpublishedTopics: true}, want: []string{"/a", "/b", "/sub"}},
		"hidden":                   {options: topicOptions{All: true, IncludeHiddenTopics: true}, want: []string{"/a", "/b", "/x/_hidden", "/x/ask/_service_event", "/x/do/_service_event"}},
		"expression":               {options: topicOptions{Regex: "^/[ax]", IncludeHiddenTopics: true}, want: []string{"/a", "/x/_hidden", "/x/ask/_service_event", "/x/do/_service_event"}},
		"nodes":                    {options: topicOptions{Node: []string{"/robot/arm"}, IncludeUnpublishedTopics: true}, want: []string{"/sub"}},
		"types":                    {options: topicOptions{TopicTypes: []string{text}}, want: []string{"/b " + text}},
		"but types":                {options: topicOptions{All: true, ExcludeTopicTypes: []string{text}}, want: []string{"/a", "/b " + number}},
		"not even those of a type": {topics: []string{"/a"}, options: topicOptions{ExcludeTopicTypes: []string{number}}},
		"a service":                {options: topicOptions{Services: []string{"/x/ask", "none"}}, want: []string{"/x/ask/_service_event"}},
		"services":                 {options: topicOptions{AllServices: true}, want: []string{"/x/ask/_service_event", "/x/do/_service_event"}},
		"all but a service":        {options: topicOptions{All: true, AllServices: true, ExcludeServices: []string{"/x/do"}}, want: []string{"/a", "/b", "/x/ask/_service_event"}},
		"but topics":               {topics: []string{"/a"}, options: topicOptions{All: true, ExcludeTopics: []string{"/b"}, ExcludeRegex: "a$"}},
		"what the recorder says":   {topics: []string{"/diagnostics", codec.EventTopic}, want: []string{"/diagnostics", codec.EventTopic}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newSelection(&options{topicOptions: c.options}, c.topics, namesOf(t).Topic)
			require.NoError(t, err)
			var got []string
			for i := range topics {
				types := typesOf(&topics[i])
				var wanted []string
				for _, typeName := range types {
					if s.wants(&topics[i], typeName) {
						wanted = append(wanted, topics[i].Name+" "+typeName)
					}
				}
				if len(wanted) == len(types) {
					wanted = []string{topics[i].Name}
				}
				got = append(got, wanted...)
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.options.nothing(c.topics), len(c.want) == 0 && len(c.topics) == 0)
		})
	}
}

func TestSelectionRefuses(t *testing.T) {
	write := func(text string) topicOptions {
		require.NoError(t, os.WriteFile("topics.yaml", []byte(text), 0o644))
		return topicOptions{StaticTopicsPath: "topics.yaml"}
	}
	t.Chdir(t.TempDir())
	for want, o := range map[string]topicOptions{
		`topic_types: "Imu" is no type`:                     {TopicTypes: []string{"Imu"}},
		`exclude_topic_types: "sensor_msgs/Imu" is no type`: {ExcludeTopicTypes: []string{"sensor_msgs/Imu"}},
		`"not a name`:                        {Services: []string{"not a name"}},
		"regex: ":                            {Regex: "("},
		"static_topics_path: open none.yaml": {StaticTopicsPath: "none.yaml"},
		"static_topics_path: topics.yaml has no static_topics_and_types_list": write("topics: []"),
	} {
		_, err := newSelection(&options{topicOptions: o}, nil, namesOf(t).Topic)
		require.ErrorIs(t, err, config.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}

func TestStaticTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Chdir(t.TempDir())
		path, err := os.Getwd()
		require.NoError(t, err)
		path += "/topics.yaml"
		require.NoError(t, os.WriteFile(path, []byte("static_topics_and_types_list:\n  - [/n, std_msgs/msg/UInt32]\n  - [m, std_msgs/msg/UInt32]\n"), 0o644))
		o := testOptions("mcap")
		o.StaticTopicsPath = path
		d := newDeck(t, o)
		require.Eventually(t, func() bool { return len(d.subscribedTopics()) == 2 }, patient, time.Millisecond)
		require.Equal(t, []string{"/m", "/n"}, d.subscribedTopics())
		p, err := d.source.Advertise("/n", "std_msgs/msg/UInt32", codec.DefaultQoS())
		require.NoError(t, err)
		require.Equal(t, 1, p.Subscribers(), "it listened before")
		d.publish(p, 1)
		require.NoError(t, d.stop(""))
		require.Equal(t, []uint32{1}, numbers(t, d.path(), "/n"))
		require.NoError(t, d.start("second"))
		require.Eventually(t, func() bool { return len(d.subscribedTopics()) == 2 }, patient, time.Millisecond)
	})
}
