package player

import (
	"math"
	"slices"
	"strings"
	"time"

	"tapedeck/config"
	"tapedeck/nodes/internal/filter/timerange"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/graph"
)

// options are the player's parameters, each at once a flag, a ROS parameter and a line of config/player.yaml.
type options struct {
	Files       []string `param:"files" flag:"input" short:"i" several:"storage" letter:"as in ros2 bag; rosbag's -i is --immediate" alias:"file,bags" group:"Input" value:"FILE" help:"play this FILE, like one named without a flag; several are merged in time; those of a parameter file only if the command line names none"`
	InputOffset []string `param:"input_offset" group:"Input" value:"FILE=DURATION" help:"shift the messages of FILE in time, later or earlier: drive2.mcap=-1.5s"`
	AlignStarts bool     `param:"align_starts" group:"Input" help:"shift recordings in time so that all begin with the earliest one; input_offset counts from there"`

	Topics            []string `param:"topics" several:"names" group:"Topics" alias:"white-channel" value:"TOPIC" help:"play only this TOPIC: a name, a name in which * matches anything, or a regular expression that must match the whole name"`
	Services          []string `param:"services" several:"names" group:"Topics" value:"SERVICE" help:"of services, play only this SERVICE; same syntax as topics"`
	Actions           []string `param:"actions" several:"names" group:"Topics" value:"ACTION" help:"of actions, play only this ACTION; same syntax as topics"`
	Regex             string   `param:"regex" short:"e" letter:"as in ros2 bag; cyber_recorder's -e is --end" group:"Topics" help:"play topics whose whole name matches this regular expression"`
	ExcludeTopics     []string `param:"exclude_topics" several:"names" group:"Topics" alias:"black-channel" value:"TOPIC" help:"leave out this TOPIC; same syntax as topics"`
	TopicTypes        []string `param:"topic_types" several:"names" group:"Topics" value:"TYPE" help:"play topics of this TYPE, such as sensor_msgs/msg/Imu, and those of topics; same syntax as topics"`
	ExcludeTopicTypes []string `param:"exclude_topic_types" several:"names" group:"Topics" value:"TYPE" help:"leave out topics of this TYPE; same syntax as topics"`
	AllowUnmatched    bool     `param:"allow_unmatched" group:"Topics" help:"accept options that name topics which no recording has"`
	ExcludeServices   []string `param:"exclude_services" several:"names" group:"Topics" value:"SERVICE" help:"leave out this SERVICE; same syntax as topics"`
	ExcludeActions    []string `param:"exclude_actions" several:"names" group:"Topics" value:"ACTION" help:"leave out this ACTION; same syntax as topics"`
	ExcludeRegex      string   `param:"exclude_regex" short:"x" group:"Topics" help:"leave out topics whose whole name matches this regular expression"`
	Remap             []string `param:"remap" short:"m" several:"rules" group:"Topics" value:"/from:=/to" help:"rename a topic: /from:=/to"`
	Prefix            string   `param:"prefix" group:"Topics" value:"/PREFIX" help:"put this in front of all topic names"`
	QoSOverrides      string   `param:"qos_profile_overrides_path" group:"Topics" value:"FILE" help:"YAML FILE with the QoS to publish with, by topic, in the format of rosbag2"`

	SendRequests   bool   `param:"publish_service_requests" group:"Services" help:"send recorded requests to their services instead of publishing service events"`
	SendActions    bool   `param:"send_actions_as_client" group:"Services" help:"send recorded goals, cancellations and requests for results to their action servers instead of publishing the topics of actions"`
	RequestsSource string `param:"service_requests_source" group:"Services" options:"service_introspection|client_introspection" help:"take requests from events of servers (service_introspection) or clients (client_introspection); without such events, from requests recorded without introspection"`

	timerange.Range

	Loop      bool   `param:"loop" short:"l" group:"Time range" help:"begin again at the end"`
	LoopCount uint64 `param:"loop_count" group:"Time range" help:"number of times to play; 0 is once, or without end with loop"`

	Rate        float64       `param:"rate" short:"r" group:"Time" min:"0.001" max:"1000000" help:"recorded seconds to play per second"`
	Immediate   bool          `param:"immediate" group:"Time" help:"play as fast as subscribers accept messages; ignores rate"`
	Order       string        `param:"message_order" group:"Time" options:"received|sent|header" help:"order messages by when they were received, when they were sent, or the stamp in their header"`
	Restamp     bool          `param:"restamp" group:"Time" help:"shift the stamps inside messages to the time at which they are played"`
	SkipEmpty   time.Duration `param:"skip_empty" group:"Time" min:"0" help:"skip gaps without messages that last longer than this; 0 skips none"`
	StartPaused bool          `param:"start_paused" short:"p" letter:"as in ros2 bag; rosbag's -p is --prefix, cyber_recorder's is --read-ahead-size" alias:"pause" group:"Time" help:"begin paused"`
	PauseTopics []string      `param:"pause_topics" several:"names" group:"Time" value:"TOPIC" help:"pause before each message of this TOPIC"`
	KeepAlive   bool          `param:"keep_alive" short:"k" letter:"as in rosbag; cyber_recorder's -k is --exclude-topics" group:"Time" help:"keep running at the end"`

	Clock          float64  `param:"clock" alias:"hz" group:"Clock" min:"0" max:"10000" bare:"40" help:"publish recorded time on /clock this many times per second; 0 is never"`
	ClockTopics    []string `param:"clock_topics" several:"names" group:"Clock" value:"TOPIC" help:"publish /clock before each message of this TOPIC"`
	ClockTopicsAll bool     `param:"clock_topics_all" group:"Clock" help:"publish /clock before each message"`
	RestartClock   bool     `param:"restart_clock" group:"Clock" help:"let /clock jump back at each round of a loop"`

	LockStep      time.Duration `param:"lock_step" group:"Clock" min:"0" help:"advance by this much, then wait for a call of the service ~/step or a message on lock_step_topic"`
	LockStepTopic string        `param:"lock_step_topic" group:"Clock" value:"TOPIC" help:"a message on this TOPIC acknowledges a step and begins the next one"`

	Delay         time.Duration `param:"delay" short:"d" group:"Subscribers" min:"0" help:"wait this long before playing begins"`
	AwaitSubs     bool          `param:"wait_for_subscribers" group:"Subscribers" help:"wait until every topic has a subscriber, and until services to which requests are sent exist"`
	MatchPatience time.Duration `param:"match_patience" group:"Subscribers" min:"0" help:"wait at most this long for existing subscribers to match their publishers; 0 does not wait"`
	AckTimeout    time.Duration `param:"wait_for_all_acked" unit:"ms" group:"Subscribers" help:"wait at most this long at the end for reliable subscribers to acknowledge all messages; 0 waits for ever, less than 0 not at all; as in rosbag2, a number behind the flag is in milliseconds"`

	formats.ReadOptions

	ReadAhead    config.Size `param:"read_ahead_size" group:"Reading" min:"1MiB" help:"bytes to read ahead"`
	DamagedError bool        `param:"stop_at_damage" group:"Reading" help:"stop with an error at a damaged place instead of continuing after it, and refuse recordings whose videos or images are missing"`

	KeyboardOff bool    `param:"disable_keyboard_controls" group:"Status" help:"do not listen to the keyboard"`
	Progress    float64 `param:"progress_bar_update_rate" group:"Status" min:"0" max:"100" help:"updates of the status line on the terminal per second; 0 shows none"`
	Quiet       bool    `param:"quiet" short:"q" group:"Status" help:"no status line, and only warnings and errors in the log"`
	Diagnostics bool    `param:"diagnostics" group:"Status" help:"publish the state of the player on /diagnostics"`

	Page string `param:"page" group:"Status" value:"ADDRESS" help:"serve a page that shows the recordings and where the player is, with buttons, at ADDRESS: :8080 for this machine only, 0.0.0.0:8080 for others too; the address with its token is printed"`

	graph.Options
}

func defaultOptions() options {
	return options{
		RequestsSource: fromServers, Rate: 1, Order: byReceipt,
		MatchPatience: 5 * time.Second, AckTimeout: 5 * time.Second, ReadAhead: 64 << 20, Progress: 5,
		Diagnostics: true,
	}
}

// longest is a time in ns, some decades, that can be added to any of this century.
const longest = 1e18

// check returns a usage error for an option that does nothing without another one, or for a time that is none.
func (o *options) check() error {
	switch {
	case o.LockStepTopic != "" && o.LockStep == 0:
		return config.Usagef("lock_step_topic: set lock_step to the length of a step")
	case o.RestartClock && !o.Loop && o.LoopCount < 2:
		return config.Usagef("restart_clock: it is for loops; add --loop or --loop-count")
	case o.RequestsSource != fromServers && !o.SendRequests && !o.SendActions:
		return config.Usagef("service_requests_source: no requests are sent; add --publish-service-requests or " +
			"--send-actions-as-client")
	}
	return o.CheckTimes()
}

// plan returns how to play the time range from start to end, in ns of recorded time.
func (o *options) plan(start, end int64) plan {
	p := plan{
		start: start, end: end, rounds: max(o.LoopCount, 1), rate: o.Rate, paused: o.StartPaused,
		keepAlive:    o.KeepAlive,
		restartClock: o.RestartClock, skipEmpty: int64(o.SkipEmpty), pauseTopics: o.PauseTopics,
		step: min(int64(o.LockStep), longest), eagerFirst: o.LockStepTopic != "",
	}
	if o.Loop {
		p.rounds = o.LoopCount
	}
	if o.Immediate {
		p.rate = immediate
	}
	if o.Clock > 0 {
		p.clockPeriod = int64(min(math.Round(float64(time.Second)/o.Clock), longest))
	}
	if o.ClockTopicsAll {
		p.clockWith = func(string) bool { return true }
	} else if len(o.ClockTopics) > 0 {
		p.clockWith = func(topic string) bool { return names(o.ClockTopics, topic) }
	}
	return p
}

// full returns the name of a topic with its first slash.
func full(topic string) string {
	if strings.HasPrefix(topic, "/") {
		return topic
	}
	return "/" + topic
}

// names reports whether topic is in the list. The first slash may be missing in either.
func names(list []string, topic string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return full(name) == full(topic) })
}
