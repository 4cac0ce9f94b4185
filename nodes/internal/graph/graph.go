// Package graph opens the ROS node of an executable: with the middleware of the build, and with the name, remappings
// and parameters of the command line.
//
// The middleware is tapedeck/bridge/graph/dds, or tapedeck/bridge/graph/rcl with the build tag rcl. An executable never
// has both: our Cyclone DDS and that of ROS 2's rmw_cyclonedds_cpp export the same symbols, and the process would
// crash. So when a recorder with rcl is asked to use dds, it executes recorder_dds, which the build puts beside it.
package graph

import (
	"io"

	"tapedeck/bridge"
	"tapedeck/config"
)

// Open opens the node called name, before remapping, and declares its options as parameters. opts is the struct that in
// was read into, with Options in it. What in warns of is logged. Log lines go to console.
func Open(name string, in *config.Input, opts any, console io.Writer) (bridge.Node, error) {
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
