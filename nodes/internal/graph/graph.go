// Package graph puts an executable on the ROS graph: with the middleware that the build chose, and with the name,
// remappings and parameters of its command line.
package graph

import (
	"errors"
	"io"

	"tapedeck/bridge"
	"tapedeck/bridge/dds"
	"tapedeck/config"
)

// Open opens the node called name, before remapping, and declares its options as parameters. opts is the struct that in
// was read into. What in warns of is logged. Log lines go to console.
func Open(name string, in *config.Input, opts any, console io.Writer) (bridge.Node, error) {
	o := bridge.Options{
		Name: name, Remaps: in.ROS.Remaps, Enclave: in.ROS.Enclave, Parameters: in.Extra, Domain: -1, Console: console,
	}
	if in.ROS.LogLevel != "" && in.ROS.LogLevel != "unset" {
		level, err := bridge.ParseLogLevel(in.ROS.LogLevel)
		if err != nil {
			return nil, err
		}
		o.LogLevel = level
	}
	node, err := dds.Open(o)
	if err != nil {
		return nil, err
	}
	values := in.Values()
	for _, p := range config.Parameters(opts) {
		// Options are read once, at the start.
		d := bridge.Parameter{Name: p.Name, Value: values[p.Name], Description: p.Help, ReadOnly: true}
		if err := node.Parameters().Declare(d); err != nil {
			return nil, errors.Join(err, node.Close())
		}
	}
	for _, text := range in.Warnings {
		node.Log(bridge.Warn, "%s", text)
	}
	return node, nil
}
