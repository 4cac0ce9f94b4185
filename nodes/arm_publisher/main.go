// Arm_publisher publishes the state of robot arms on ROS 2 topics.
package main

import (
	"context"
	_ "embed"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

// examples are command lines for the help text.
//
//go:embed examples.txt
var examples string

const long = `Publishes the state of RealMan arms: NAME/joint_states and NAME/tool_pose, and
NAME/gripper and NAME/wrench of arms that have them. It requests the state
over TCP, and receives what arms push over UDP. It never moves an arm; only
--push set changes a setting, so that the arm pushes. Arms may be switched off
and on again. A HOST is an address or a name, with or without :PORT.`

func main() { config.Main(newCommand(), human.Stderr) }

func newCommand() *cobra.Command {
	o := defaultOptions()
	root := config.New("arm_publisher [HOST...]", "publish robot arms", long, &o,
		func(ctx context.Context, in *config.Input) error {
			return run(ctx, in, &o)
		})
	graph.ShowMiddleware(root)
	config.Brief(root, "port", "joints", "rate", "query", "gripper_rate", "force_rate", "push",
		"push_port", "push_cycle", "base_frame")
	config.Examples(root, examples)
	return root
}

func run(ctx context.Context, in *config.Input, o *options) (err error) {
	arms, err := o.arms(in.Args)
	if err != nil {
		return err
	}
	node, err := graph.Open("arm_publisher", in, o, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	p, err := newPublisher(arms, node)
	if err != nil {
		return err
	}
	return p.run(ctx)
}
