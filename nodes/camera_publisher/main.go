// Camera_publisher publishes the images of cameras on ROS 2 topics.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

// examples are command lines for the help text.
//
//go:embed examples.txt
var examples string

const long = `Publishes the images of V4L2 cameras on NAME/image_raw or
NAME/image_raw/compressed, and on NAME/camera_info. A DEVICE is a path, a
serial number or a name. A camera may be unplugged and plugged in again. A
folder of images, or a file of concatenated JPEGs, can take the place of a
camera.`

func main() { config.Main(newCommand(), human.Stderr) }

func newCommand() *cobra.Command {
	o := defaultOptions()
	root := config.New("camera_publisher [DEVICE...]", "publish cameras", long, &o,
		func(ctx context.Context, in *config.Input) error {
			if o.List {
				return cmp.Or(list(human.Stdout, v4l2.Kernel{}), printable.Err(human.Stdout))
			}
			return run(ctx, in, &o)
		})
	graph.ShowMiddleware(root)
	config.Brief(root, "format", "width", "height", "rate", "controls", "encoding", "calibration",
		"loop", "reliable", "list")
	config.Examples(root, examples)
	return root
}

func run(ctx context.Context, in *config.Input, o *options) (err error) {
	cameras, err := o.cameras(in.Args)
	if err != nil {
		return err
	}
	node, err := graph.Open("camera_publisher", in, o, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	p, err := newPublisher(o, cameras, node, v4l2.Kernel{})
	if err != nil {
		return err
	}
	return p.run(ctx)
}
