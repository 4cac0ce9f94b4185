package player

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"time"

	"tapedeck/config"
	"tapedeck/nodes/internal/filter/timerange"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/graph"
)

//go:generate env UPDATE_REFERENCE=1 go test -count=1 -run ^TestEveryOption .

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// options are the player's parameters, each at once a flag, a ROS parameter and a line of config/player.yaml.
type options struct {
	Files       []string `param:"files" flag:"input" short:"i" several:"storage" group:"Input" value:"FILE"`
	InputOffset []string `param:"input_offset" group:"Input" value:"FILE=DURATION"`
	AlignStarts bool     `param:"align_starts" group:"Input"`

	Topics            []string `param:"topics" several:"names" group:"Topics" alias:"white-channel" value:"TOPIC"`
	Services          []string `param:"services" several:"names" group:"Topics" value:"SERVICE"`
	Actions           []string `param:"actions" several:"names" group:"Topics" value:"ACTION"`
	Regex             string   `param:"regex" short:"e" group:"Topics"`
	ExcludeTopics     []string `param:"exclude_topics" several:"names" group:"Topics" value:"TOPIC"`
	TopicTypes        []string `param:"topic_types" several:"names" group:"Topics" value:"TYPE"`
	ExcludeTopicTypes []string `param:"exclude_topic_types" several:"names" group:"Topics" value:"TYPE"`
	AllowUnmatched    bool     `param:"allow_unmatched" group:"Topics"`
	ExcludeServices   []string `param:"exclude_services" several:"names" group:"Topics" value:"SERVICE"`
	ExcludeActions    []string `param:"exclude_actions" several:"names" group:"Topics" value:"ACTION"`
	ExcludeRegex      string   `param:"exclude_regex" short:"x" group:"Topics"`
	Remap             []string `param:"remap" short:"m" several:"rules" group:"Topics" value:"/from:=/to"`
	Prefix            string   `param:"prefix" group:"Topics" value:"/PREFIX"`
	QoSOverrides      string   `param:"qos_profile_overrides_path" group:"Topics" value:"FILE"`

	SendRequests   bool   `param:"publish_service_requests" group:"Services"`
	SendActions    bool   `param:"send_actions_as_client" group:"Services"`
	RequestsSource string `param:"service_requests_source" group:"Services"`

	timerange.Range

	Loop      bool   `param:"loop" short:"l" group:"Time range"`
	LoopCount uint64 `param:"loop_count" group:"Time range"`

	Rate        float64       `param:"rate" short:"r" group:"Time" min:"0.001" max:"1000000"`
	Immediate   bool          `param:"immediate" group:"Time"`
	Order       string        `param:"message_order" group:"Time" options:"received|sent|header"`
	Restamp     bool          `param:"restamp" group:"Time"`
	SkipEmpty   time.Duration `param:"skip_empty" group:"Time" min:"0"`
	StartPaused bool          `param:"start_paused" short:"p" alias:"pause" group:"Time"`
	PauseTopics []string      `param:"pause_topics" several:"names" group:"Time" value:"TOPIC"`
	KeepAlive   bool          `param:"keep_alive" short:"k" group:"Time"`

	Clock          float64  `param:"clock" alias:"hz" group:"Clock" min:"0" max:"10000" bare:"40"`
	ClockTopics    []string `param:"clock_topics" several:"names" group:"Clock" value:"TOPIC"`
	ClockTopicsAll bool     `param:"clock_topics_all" group:"Clock"`
	RestartClock   bool     `param:"restart_clock" group:"Clock"`

	LockStep      time.Duration `param:"lock_step" group:"Clock" min:"0"`
	LockStepTopic string        `param:"lock_step_topic" group:"Clock" value:"TOPIC"`

	Delay         time.Duration `param:"delay" short:"d" group:"Subscribers" min:"0"`
	AwaitSubs     bool          `param:"wait_for_subscribers" group:"Subscribers"`
	MatchPatience time.Duration `param:"match_patience" group:"Subscribers" min:"0"`
	AckTimeout    time.Duration `param:"wait_for_all_acked" unit:"ms" group:"Subscribers"`

	formats.ReadOptions

	ReadAhead    config.Size `param:"read_ahead_size" group:"Reading" min:"1MiB"`
	DamagedError bool        `param:"stop_at_damage" group:"Reading"`

	KeyboardOff bool    `param:"disable_keyboard_controls" group:"Status"`
	Progress    float64 `param:"progress_bar_update_rate" group:"Status" min:"0" max:"100"`
	Quiet       bool    `param:"quiet" short:"q" group:"Status"`
	Diagnostics bool    `param:"diagnostics" group:"Status"`

	Page string `param:"page" group:"Status" value:"ADDRESS"`

	graph.Options
}

func (*options) OptionTexts() string { return optionTexts }

func defaultOptions() options {
	return options{
		RequestsSource: fromServers, Rate: 1, Order: byReceipt,
		MatchPatience: 5 * time.Second, AckTimeout: 5 * time.Second, ReadAhead: 64 << 20, Progress: 5,
		Diagnostics: true,
	}
}

// longest is a time of some decades in ns, which can be added to any time of this century without overflow.
const longest = 1e18

// check returns a usage error for an invalid time, or for an option that has no effect without another one.
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

// settings returns the settings for playing the recorded times from start to end, in ns.
func (o *options) settings(start, end int64) settings {
	p := settings{
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
