package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"tapedeck/bridge/carla"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

// options are the player's parameters, each at once a flag, a ROS parameter and a line of config/player.yaml.
type options struct {
	Files       []string `param:"files" flag:"-" group:"Input" help:"recordings to play, merged in time, when none is named on the command line"`
	InputOffset []string `param:"input_offset" group:"Input" value:"FILE=DURATION" help:"play the messages of FILE that much later, or earlier: drive2.mcap=-1.5s"`

	Topics          []string `param:"topics" group:"Topics" alias:"white-channel" value:"TOPIC" help:"play this TOPIC only"`
	Services        []string `param:"services" group:"Topics" value:"SERVICE" help:"play the events of this SERVICE only"`
	Regex           string   `param:"regex" short:"e" group:"Topics" help:"play topics in whose name this regular expression is found"`
	ExcludeTopics   []string `param:"exclude_topics" group:"Topics" alias:"black-channel" value:"TOPIC" help:"leave out this TOPIC"`
	ExcludeServices []string `param:"exclude_services" group:"Topics" value:"SERVICE" help:"leave out the events of this SERVICE"`
	ExcludeRegex    string   `param:"exclude_regex" short:"x" group:"Topics" help:"leave out topics in whose name this regular expression is found"`
	Remap           []string `param:"remap" short:"m" group:"Topics" value:"/from:=/to" help:"publish under another name, /from:=/to"`
	Prefix          string   `param:"prefix" group:"Topics" value:"/PREFIX" help:"put this in front of the names of all topics"`
	QoSOverrides    string   `param:"qos_profile_overrides_path" group:"Topics" value:"FILE" help:"YAML FILE with the QoS to publish with, by topic, as rosbag2 reads it"`

	Begin       string        `param:"begin" group:"Part" value:"TIME" help:"begin at this TIME: 10:31:05, 2026-11-21 10:31:05.2, or seconds or nanoseconds since 1970"`
	End         string        `param:"end" group:"Part" alias:"until,playback-until,playback-until-sec,playback-until-nsec" value:"TIME" help:"play up to this TIME"`
	StartOffset time.Duration `param:"start_offset" group:"Part" alias:"start" help:"skip this much, but for latched messages; negative: begin so much before the end"`
	Duration    time.Duration `param:"playback_duration" short:"u" group:"Part" alias:"duration" help:"play this much of the recording; 0 or less is all of it"`
	Loop        bool          `param:"loop" short:"l" group:"Part" help:"begin again at the end"`
	LoopCount   uint64        `param:"loop_count" group:"Part" help:"play this often; 0 is once, or without end with loop"`

	Rate        float64       `param:"rate" short:"r" group:"Time" min:"0.001" max:"1000000" help:"recorded seconds to play in a second"`
	Immediate   bool          `param:"immediate" short:"i" group:"Time" help:"play as fast as subscribers take it, whatever the rate"`
	Order       string        `param:"message_order" group:"Time" options:"received|sent|header" help:"by which time messages are played: when they were received or sent, or the stamp in their header"`
	Restamp     bool          `param:"restamp" group:"Time" help:"move the stamps in messages to the time at which they are played"`
	SkipEmpty   time.Duration `param:"skip_empty" group:"Time" min:"0" help:"leave out what is empty for longer than this; 0 leaves out nothing"`
	StartPaused bool          `param:"start_paused" short:"p" alias:"pause" group:"Time" help:"begin paused"`
	PauseTopics []string      `param:"pause_topics" group:"Time" value:"TOPIC" help:"pause before each message of this TOPIC"`
	KeepAlive   bool          `param:"keep_alive" short:"k" group:"Time" help:"stay there at the end"`

	Clock          float64  `param:"clock" alias:"hz" group:"Clock" min:"0" max:"10000" bare:"40" help:"publish recorded time on /clock this many times a second; 0 is never"`
	ClockTopics    []string `param:"clock_topics" group:"Clock" value:"TOPIC" help:"publish it before each message of this TOPIC"`
	ClockTopicsAll bool     `param:"clock_topics_all" group:"Clock" help:"publish it before each message"`
	RestartClock   bool     `param:"restart_clock" group:"Clock" help:"have /clock jump back with each round of a loop"`

	LockStep      time.Duration `param:"lock_step" group:"Clock" min:"0" help:"advance by this much, then wait to be told to go on, by the service ~/step or lock_step_topic"`
	LockStepTopic string        `param:"lock_step_topic" group:"Clock" value:"TOPIC" help:"a message on this TOPIC acknowledges a step, and begins the next one"`

	Delay         time.Duration `param:"delay" short:"d" group:"Subscribers" min:"0" help:"wait this long before time begins"`
	AwaitSubs     bool          `param:"wait_for_subscribers" group:"Subscribers" help:"wait until every topic has a subscriber"`
	MatchPatience time.Duration `param:"match_patience" group:"Subscribers" min:"0" help:"wait at most this long until all subscribers that are there have met their publishers; 0 does not wait"`
	AckTimeout    time.Duration `param:"wait_for_all_acked" group:"Subscribers" min:"0" help:"how long to wait at the end until reliable subscribers have everything; 0 does not wait"`

	Interpolate     float64 `param:"interpolate" group:"CARLA" min:"0" max:"1000" value:"HZ" help:"of a CARLA log: poses and twists so many times a second, interpolated between frames; 0 is as they were recorded"`
	Follow          string  `param:"follow" group:"CARLA" value:"ACTOR" help:"of a CARLA log: have the frame spectator behind and above this ACTOR, a role_name or an id, as CARLA's replayer does"`
	IgnoreHero      bool    `param:"ignore_hero" group:"CARLA" help:"of a CARLA log: no vehicles with the role_name hero"`
	IgnoreSpectator bool    `param:"ignore_spectator" group:"CARLA" help:"of a CARLA log: not where the spectator was"`

	ReadAhead    config.Size `param:"read_ahead_size" group:"Reading" min:"1MiB" help:"bytes to read ahead"`
	DamagedError bool        `param:"stop_at_damage" group:"Reading" help:"end with an error at a damaged place instead of playing on behind it"`

	KeyboardOff bool    `param:"disable_keyboard_controls" group:"Status" help:"do not listen to the keyboard"`
	Progress    float64 `param:"progress_bar_update_rate" group:"Status" min:"0" max:"100" help:"how often a second the line on the terminal is renewed; 0 shows none"`
	Quiet       bool    `param:"quiet" short:"q" group:"Status" help:"no line on the terminal, and no log lines but warnings and errors"`
	Diagnostics bool    `param:"diagnostics" group:"Status" help:"tell how it goes on /diagnostics"`

	graph.Options
}

func defaultOptions() options {
	return options{
		Rate: 1, Order: byReceipt, MatchPatience: 5 * time.Second, AckTimeout: 5 * time.Second,
		ReadAhead: 64 << 20, Progress: 5, Diagnostics: true,
	}
}

// log returns how logs of CARLA are read.
func (o *options) log() carla.ReadOptions {
	return carla.ReadOptions{Rate: o.Interpolate, Follow: o.Follow, IgnoreHero: o.IgnoreHero, IgnoreSpectator: o.IgnoreSpectator}
}

// plan returns what the engine is to do with what lies between two recorded times, in ns. The error is one of usage.
func (o *options) plan(start, end int64) (plan, error) {
	p := plan{
		start: start, end: end, rounds: max(o.LoopCount, 1), rate: o.Rate, paused: o.StartPaused, keepAlive: o.KeepAlive,
		restartClock: o.RestartClock, skipEmpty: int64(o.SkipEmpty), pauseTopics: o.PauseTopics,
		step: int64(o.LockStep), eagerFirst: o.LockStepTopic != "",
	}
	if o.Loop {
		p.rounds = o.LoopCount
	}
	if p.rounds != 1 {
		p.end = max(p.end, p.start+int64(time.Millisecond)) // so that a single message does not come without end
	}
	if o.Immediate {
		p.rate = immediate
	}
	if o.LockStepTopic != "" && o.LockStep == 0 {
		return p, config.Usagef("lock_step_topic: lock_step has to say how long a step is")
	}
	if o.Clock > 0 {
		p.clockPeriod = int64(math.Round(float64(time.Second) / o.Clock))
	}
	if o.ClockTopicsAll {
		p.clockWith = func(string) bool { return true }
	} else if len(o.ClockTopics) > 0 {
		p.clockWith = func(topic string) bool { return names(o.ClockTopics, topic) }
	}
	return p, nil
}

// full returns the name of a topic that may stand without its first slash.
func full(topic string) string {
	if strings.HasPrefix(topic, "/") {
		return topic
	}
	return "/" + topic
}

// names says whether topic is in the list. Both there and in a recording it may stand without its first slash.
func names(list []string, topic string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return full(name) == full(topic) })
}
