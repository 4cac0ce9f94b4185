// Recorder records topics of the ROS graph.
package main

import (
	"context"
	"errors"
	"os"

	"tapedeck/bridge"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/selection"
)

const long = `Records topics of the ROS graph until it is interrupted, into Apollo record
files, ROS 2 bag folders, CARLA logs or robot sessions. Name the topics, or
select them with --all, --regex or --node, also those that appear later. The
commands control a recorder that is running; write /pause to record a topic with
the name of a command.`

func main() {
	o := defaultOptions()
	root := config.New("recorder [TOPIC...]", "record topics", long, &o,
		func(ctx context.Context, in *config.Input) error {
			return record(ctx, in, &o)
		})
	graph.ShowMiddleware(root)
	root.AddCommand(append(newRemotes(), newTrigger())...)
	config.Main(root)
}

func record(ctx context.Context, in *config.Input, o *options) (err error) {
	topics := in.Args
	if len(topics) == 0 {
		topics = o.Topics
	}
	if _, err := formats.All().Recorded(o.Storage, o.Output); err != nil {
		return err
	}
	o.takeParameters(in)
	if o.format().Live.Robot != nil {
		if m, err := o.mapping(); err == nil && o.Nothing(topics) {
			topics = m.Topics()
		}
	}
	if err := o.check(topics); err != nil {
		return err
	}
	names, err := bridge.NewNames(bridge.Options{Name: "recorder", Remaps: in.ROS.Remaps})
	if err != nil {
		return config.Usagef("%w", err)
	}
	chosen, err := selection.New(&o.TopicOptions, topics, names.Topic)
	if err != nil {
		return err
	}
	if o.Quiet && in.ROS.LogLevel == "" {
		in.ROS.LogLevel = "warn"
	}
	line := progress.NewLine(os.Stderr)
	node, err := graph.Open("recorder", in, o, line)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	r, err := newRecorder(*o, chosen, node, line)
	if err != nil {
		return err
	}
	return r.run(ctx)
}
