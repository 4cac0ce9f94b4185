// Arm_publisher publishes what robot arms tell of themselves on ROS 2 topics.
package main

import (
	"context"
	"errors"
	"os"

	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

const long = `Publishes arms of RealMan: NAME/joint_states, NAME/tool_pose, and of those that have them NAME/gripper
and NAME/wrench. They are asked over TCP, and what they push over UDP is listened to. They are only observed, but
for --push set, which tells them to push. Arms may be switched off and come back. A HOST is an address or a name,
with :PORT or without.`

func main() {
	o := defaultOptions()
	root := config.New("arm_publisher [HOST...]", "publish robot arms", long, &o,
		func(ctx context.Context, in *config.Input) error {
			return run(ctx, in, &o)
		})
	graph.ShowMiddleware(root)
	config.Main(root)
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
