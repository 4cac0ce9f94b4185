// Package graph opens the ROS node of an executable, with the middleware of the build, and with the name, remappings
// and parameters of the command line.
//
// The middleware is tapedeck/bridge/graph/dds, or tapedeck/bridge/graph/rcl with the build tag rcl. An executable never
// has both: our Cyclone DDS and rmw_cyclonedds_cpp's export the same symbols, and the process would crash. If a
// recorder with rcl must use dds, it executes recorder_dds, which the build puts beside it.
package graph

import (
	"io"

	"tapedeck/bridge"
	"tapedeck/config"
)

// Opener opens a node of a graph.
type Opener func(bridge.Options) (bridge.Node, error)

// Open opens a node and declares its options as parameters. name is its name before remapping. opts is the options
// struct of in, with Options embedded. Open logs the warnings of in. Log lines go to console.
func Open(name string, in *config.Input, opts any, console io.Writer) (bridge.Node, error) {
	return Opener(open).Open(name, in, opts, console)
}

// Open is the function Open with a graph of the caller's choice; nil is the middleware's.
func (open Opener) Open(name string, in *config.Input, opts any, console io.Writer) (bridge.Node, error) {
	if open == nil {
		return Open(name, in, opts, console)
	}
	values := in.Values()
	if err := choose(values["middleware"].(string)); err != nil {
		return nil, err
	}
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
	for _, p := range config.Parameters(opts) {
		// Options are read once, at the start.
		d := bridge.Parameter{Name: p.Name, Value: values[p.Name], Description: p.Help, ReadOnly: true}
		o.Declare = append(o.Declare, d)
	}
	node, err := open(o)
	if err != nil {
		return nil, err
	}
	for _, text := range in.Warnings {
		node.Log(bridge.Warn, "%s", text)
	}
	in.Warnings = nil
	return node, nil
}
