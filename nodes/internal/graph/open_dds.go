//go:build !rcl

package graph

import (
	"errors"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
)

const built = "dds"

func describe() string { return dds.Middleware() }

func open(o bridge.Options) (bridge.Node, error) { return dds.Open(o) }

// change returns an error that explains how to get rcl.
func change() error {
	return errors.New("middleware: this executable was built without ROS 2, so it has no rcl; source ROS 2 and build " +
		"tapedeck with colcon")
}
