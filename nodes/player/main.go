// Player plays recordings back onto the ROS graph.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats/allformats"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/internal/progress"
)

const long = `Plays recordings of any format onto the ROS graph as ROS 2 messages, at the
pace at which they were recorded. Several recordings are merged in time. The
commands control a player that is running; write ./pause to play a file with the
name of a command.`

// hints are what to use instead of flags of ros2 bag, rosbag and cyber_recorder.
var hints = map[string]string{
	"s": hintStorage, "storage": hintStorage, "storage-config-file": "reading needs no configuration; leave it out",
	"f": hintName, "file": hintName, "input": hintName, "bags": hintName,
	"a": "all topics are played unless --topics names some", "all": "all topics are played unless --topics names some",
	"c": "use --topics TOPIC", "b": "use --begin TIME",
	"read-ahead-queue-size": hintMemory, "queue": hintMemory, "preload": hintMemory,
	"disable-loan-message": "messages are never loaned; leave it out",
	"rate-control-topic":   "use --lock-step DURATION and --lock-step-topic TOPIC",
}

const (
	hintName    = "name the recordings without a flag: player FILE..."
	hintStorage = "the format is recognised by the content; to skip the beginning use --start-offset SECONDS"
	hintMemory  = "use --read-ahead-size SIZE, in bytes"
)

func main() {
	allformats.Main()
	o := defaultOptions()
	root := config.New("player FILE...", "play recordings", long, &o,
		func(ctx context.Context, in *config.Input) error {
			return play(ctx, in, &o)
		})
	graph.ShowMiddleware(root)
	config.Hint(root, hints)
	root.AddCommand(newRemotes()...)
	config.Main(root, human.Stderr)
}

func play(ctx context.Context, in *config.Input, o *options) (err error) {
	paths := in.Args
	if len(paths) == 0 {
		paths = o.Files
	}
	if len(paths) == 0 {
		return config.Usagef("name a recording to play")
	}
	if paths[0] == "play" {
		if _, err := os.Stat(paths[0]); err != nil {
			return config.Usagef(`"play" is neither a command nor a recording; leave it out: player FILE... [flags]`)
		}
	}
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
	s, err := openSource(ctx, paths, offsets, o.AlignStarts, wants, o.ReadOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if o.DamagedError {
		if err := s.lacks(); err != nil {
			return err
		}
	}
	if err := o.unmatched(s.all); err != nil && !o.AllowUnmatched {
		return err
	} else if err != nil {
		s.warnings = append(s.warnings, err.Error())
	}
	if o.Quiet && in.ROS.LogLevel == "" {
		in.ROS.LogLevel = "warn"
	}
	line := progress.NewLine(os.Stderr)
	node, err := graph.Open("player", in, o, line)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	for _, text := range s.warnings {
		node.Log(bridge.Warn, "%s", text)
	}
	p, err := newPlayer(*o, s, node, line)
	if err != nil {
		return err
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
