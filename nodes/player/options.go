package main

import (
	"time"

	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

// options are the player's parameters, each at once a flag, a ROS parameter and a line of config/player.yaml.
type options struct {
	Files []string `param:"files" flag:"-" group:"Input" help:"recordings to play, merged in time, when none is named on the command line"`

	Topics        []string `param:"topics" group:"Topics" value:"TOPIC" help:"play this TOPIC only"`
	Regex         string   `param:"regex" short:"e" group:"Topics" help:"play topics in whose name this regular expression is found"`
	ExcludeTopics []string `param:"exclude_topics" group:"Topics" value:"TOPIC" help:"leave out this TOPIC"`
	ExcludeRegex  string   `param:"exclude_regex" short:"x" group:"Topics" help:"leave out topics in whose name this regular expression is found"`
	Remap         []string `param:"remap" short:"m" group:"Topics" value:"/from:=/to" help:"publish under another name, /from:=/to"`
	QoSOverrides  string   `param:"qos_profile_overrides_path" group:"Topics" value:"FILE" help:"YAML FILE with the QoS to publish with, by topic, as rosbag2 reads it"`

	Rate         float64       `param:"rate" short:"r" group:"Time" min:"0.001" max:"1000000" help:"recorded seconds to play in a second"`
	StartOffset  time.Duration `param:"start_offset" alias:"start" group:"Time" min:"0" help:"skip this much of the recording, but for latched messages"`
	Duration     time.Duration `param:"playback_duration" short:"u" alias:"duration" group:"Time" min:"0" help:"play this much of the recording; 0 is all of it"`
	Loop         bool          `param:"loop" short:"l" group:"Time" help:"begin again at the end"`
	Clock        float64       `param:"clock" group:"Time" min:"0" max:"10000" bare:"40" help:"publish recorded time on /clock this many times a second; 0 is never"`
	StartPaused  bool          `param:"start_paused" short:"p" alias:"pause" group:"Time" help:"wait for the space bar"`
	Delay        time.Duration `param:"delay" short:"d" group:"Time" min:"0" help:"wait this long once the publishers are there"`
	AwaitSubs    bool          `param:"wait_for_subscribers" group:"Time" help:"wait until every topic has a subscriber"`
	ReadAhead    config.Size   `param:"read_ahead_size" group:"Memory" min:"1MiB" help:"bytes to read ahead"`
	KeyboardOff  bool          `param:"disable_keyboard_controls" group:"Other" help:"do not listen to the keyboard"`
	AckTimeout   time.Duration `param:"wait_for_all_acked" group:"Other" min:"0" help:"how long to wait at the end until reliable subscribers have everything; 0 does not wait"`
	DamagedError bool          `param:"stop_at_damage" group:"Other" help:"end with an error at a damaged place instead of playing on behind it"`

	graph.Options
}

func defaultOptions() options {
	return options{Rate: 1, Delay: 200 * time.Millisecond, ReadAhead: 64 << 20, AckTimeout: 5 * time.Second}
}
