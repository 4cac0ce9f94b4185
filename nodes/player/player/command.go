// Package player plays recordings back onto the ROS graph. It is the body of the executable player.
package player

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/othertools"
	"tapedeck/nodes/internal/progress"
)

// examples are command lines for the help text.
//
//go:embed examples.txt
var examples string

const long = `Plays recordings of any format onto the ROS graph as ROS 2 messages, at the
pace at which they were recorded. Several recordings are merged in time. The
commands control a player that is running; write ./pause to play a file with the
name of a command.`

// hints name the options to use instead of flags of ros2 bag, rosbag and cyber_recorder.
var hints = map[string]string{
	"s": hintStorage, "storage": hintStorage, "storage-config-file": "reading needs no configuration; leave it out",
	"f": "name the recordings without a flag, or behind --input",
	"a": "all topics are played unless --topics names some", "all": "all topics are played unless --topics names some",
	"c": "use --topics TOPIC", "t": "use --topics TOPIC", "b": "use --begin TIME",
	"n": hintBurst, "num-messages": hintBurst, "burst n": hintBurst, "burst num-messages": hintBurst,
	"time-factor":           "use --rate",
	"read-ahead-queue-size": hintMemory, "queue": hintMemory, "preload": hintMemory,
	"disable-loan-message":          "messages are never loaned; leave it out",
	"progress-bar-separation-lines": "the status line keeps itself apart; leave it out",
	"rate-control-topic":            hintLockStep, "rate-control-max-delay": hintLockStep,
	"try-future-version": "all versions of bags are played; leave it out",
}

const (
	hintStorage  = "the format is recognised by the content; to skip the beginning use --start-offset SECONDS"
	hintMemory   = "use --read-ahead-size SIZE, in bytes"
	hintLockStep = "use --lock-step DURATION and --lock-step-topic TOPIC"
	hintBurst    = "start with --start-paused, and use player burst N"
)

// System is what a player works with. Tests replace it by simulations.
type System struct {
	Files *store.Files // where recordings are
	Graph graph.Opener // nil: the middleware's
	// GoTime makes the player wait by package time, which testing/synctest simulates. The system's timers, which it
	// otherwise waits by, are more exact.
	GoTime bool
}

// NewCommand returns the command player with its subcommands.
func NewCommand(system System) *cobra.Command {
	o := defaultOptions()
	root := config.New("player FILE...", "play recordings", long, &o,
		func(ctx context.Context, in *config.Input) error {
			return play(ctx, in, &o, system)
		})
	root.Args = func(cmd *cobra.Command, args []string) error {
		if err := othertools.Command(cmd, args, "recording"); err != nil {
			return err
		}
		return noTopics(args)
	}
	graph.ShowMiddleware(root)
	config.Hint(root, hints, human.DidYouMean)
	root.AddCommand(newRemotes()...)
	config.Brief(root, "topics", "exclude_topics", "remap", "begin", "end", "rate", "loop", "start_paused", "clock",
		"page")
	config.Examples(root, examples)
	return root
}

// noTopics returns a usage error if an argument is the name of a topic and not of a file.
func noTopics(args []string) error {
	for _, arg := range args {
		if config.IsName(arg) && strings.HasPrefix(arg, "/") {
			return config.Usagef("%s is no recording; name a topic behind a flag: --topics %[1]s plays only it, "+
				"--exclude-topics %[1]s leaves it out", arg)
		}
	}
	return nil
}

// inputPaths returns the paths of the recordings, from the command line or else from the parameter files. rules are the
// arguments that rename topics, /from:=/to, as in rosbag play.
func inputPaths(in *config.Input, o *options) (paths, rules []string) {
	for _, arg := range in.Args {
		if _, err := os.Stat(arg); err != nil && strings.Contains(arg, ":=") {
			rules = append(rules, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	if len(paths) == 0 || in.Flag("files") {
		paths = append(paths, o.Files...)
	}
	return paths, rules
}

func play(ctx context.Context, in *config.Input, o *options, system System) (err error) {
	paths, rules := inputPaths(in, o)
	if len(paths) == 0 {
		return config.Usagef("name a recording to play")
	}
	o.Remap = append(o.Remap, rules...)
	if err := o.check(); err != nil {
		return err
	}
	wants, err := topicFilter(o)
	if err != nil {
		return err
	}
	offsets, err := o.offsets(paths)
	if err != nil {
		return err
	}
	in.ROS.Remaps = append(slices.Clone(o.Remap), in.ROS.Remaps...)
	names, err := bridge.NewNames(bridge.Options{Name: "player", Remaps: in.ROS.Remaps})
	if err != nil {
		return config.Usagef("%w", err)
	}
	if _, err := names.Topic(o.prefixed("/topic")); err != nil {
		return config.Usagef("prefix: %w", err)
	}
	recordings, err := openRecordings(ctx, system.Files, paths, offsets, o.AlignStarts, wants, o.ReadOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recordings.Close()) }()
	if o.DamagedError {
		if err := recordings.checkMissing(); err != nil {
			return err
		}
	}
	if err := o.unmatched(recordings.allChannels); err != nil && !o.AllowUnmatched {
		return err
	} else if err != nil {
		recordings.warnings = append(recordings.warnings, err.Error())
	}
	if o.Quiet && in.ROS.LogLevel == "" {
		in.ROS.LogLevel = "warn"
	}
	line := progress.NewLine(os.Stderr)
	node, err := system.Graph.Open("player", in, o, line)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	for _, text := range recordings.warnings {
		node.Log(bridge.Warn, "%s", text)
	}
	p, err := newPlayer(*o, recordings, node, line)
	if err != nil {
		return err
	}
	if system.GoTime {
		p.timer.useGoTime()
	}
	closePage, err := p.servePage(ctx, paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closePage()) }()
	began := time.Now()
	if err := p.run(ctx); err != nil {
		return err
	}
	fmt.Fprintf(line.Above(human.Stdout), "played %s in %.1f s\n", human.Count(p.state().played, "message"),
		time.Since(began).Seconds())
	return nil
}
