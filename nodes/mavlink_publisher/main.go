// Mavlink_publisher publishes the messages of MAVLink autopilots on ROS 2 topics, as mavros does.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

// examples are command lines for the help text.
//
//go:embed examples.txt
var examples string

const long = `Publishes the messages of MAVLink autopilots on ROS 2 topics, with the names
and types of mavros, from serial ports, UDP, TCP and telemetry logs (.tlog).
It sends nothing to an autopilot unless options ask for it. At the end of a
.tlog file it exits.`

func main() { config.Main(newCommand(), human.Stderr) }

func newCommand() *cobra.Command {
	o := defaultOptions()
	root := config.New("mavlink_publisher [SOURCE...]", "publish the messages of autopilots", long, &o,
		func(ctx context.Context, in *config.Input) error {
			return run(ctx, in, &o)
		})
	graph.ShowMiddleware(root)
	config.Brief(root, "system", "rate", "stamps", "heartbeat", "timesync", "streams",
		"intervals", "clock", "reliable", "map_frame")
	config.Examples(root, examples)
	return root
}

func run(ctx context.Context, in *config.Input, o *options) (err error) {
	entries, err := o.entries(in.Args)
	if err != nil {
		return err
	}
	groups, err := group(entries)
	if err != nil {
		return err
	}
	node, err := graph.Open("mavlink_publisher", in, o, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	p, err := newPublisher(node, time.Now(), o, groups)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.run(ctx); err != nil {
		return err
	}
	for _, l := range p.links {
		fmt.Fprintln(human.Stdout, l.summary())
	}
	return nil
}

// group returns the entries grouped by the option source. Entries of a group must have the same link options. Errors
// wrap config.ErrUsage.
func group(entries []entry) (groups [][]entry, err error) {
	index := map[string]int{}
	for _, e := range entries {
		options, err := linkOptions(e.vehicleOptions)
		if err != nil {
			return nil, err
		}
		i, ok := index[e.Source]
		if !ok {
			index[e.Source] = len(groups)
			groups = append(groups, []entry{e})
			continue
		}
		for _, other := range groups[i] {
			if o, _ := linkOptions(other.vehicleOptions); !reflect.DeepEqual(options, o) { // other was checked before
				return nil, config.Usagef("%s: %s is also the source of %s, with other link options", e.name, e.Source,
					other.name)
			}
			if other.System == e.System {
				return nil, config.Usagef("%s: %s is also the source of %s: each needs its own system", e.name,
					e.Source, other.name)
			}
		}
		groups[i] = append(groups[i], e)
	}
	return groups, nil
}
