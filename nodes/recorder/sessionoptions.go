package main

import (
	"fmt"
	"slices"
	"strings"

	"tapedeck/bridge/robot"
	"tapedeck/config"
)

// robotPrefix is what the names of parameters begin with that are a mapping.
const robotPrefix = "robot."

// sessionOptions say which topics are a robot's, for sessions.
type sessionOptions struct {
	RobotMapping string `param:"robot_mapping" group:"Sessions" value:"FILE" help:"YAML FILE that says which topics are a robot's cameras and arms, and what begins another session; by default parameters below robot do, or names and types of topics; storage session only"`

	parameters map[string]any // those of a mapping
}

// takeParameters takes the parameters that are a mapping out of those that are not known.
func (o *sessionOptions) takeParameters(in *config.Input) {
	o.parameters = map[string]any{}
	for name, value := range in.Extra {
		if strings.HasPrefix(name, robotPrefix) {
			o.parameters[name] = value
		}
	}
	in.Warnings = slices.DeleteFunc(in.Warnings, func(text string) bool { return strings.HasPrefix(text, "parameter "+robotPrefix) })
}

// mapping returns which topics are a robot's, nil if names and types tell.
func (o *sessionOptions) mapping() (*robot.Mapping, error) {
	fromParameters, err := robot.MappingOf(o.parameters, robotPrefix)
	switch {
	case err != nil:
		return nil, err
	case o.RobotMapping == "":
		return fromParameters, nil
	case fromParameters != nil:
		return nil, fmt.Errorf("robot_mapping, %s*: give one of them", robotPrefix)
	}
	m, err := robot.LoadMapping(o.RobotMapping)
	if err != nil {
		return nil, fmt.Errorf("robot_mapping: %w", err)
	}
	return m, nil
}
