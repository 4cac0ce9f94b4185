package recorder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tapedeck/bridge/translate/robot"
	"tapedeck/config"
)

// robotPrefix is the prefix of the names of parameters of a mapping.
const robotPrefix = "robot."

// sessionOptions are about the mapping of topics to the cameras and arms of a robot.
type sessionOptions struct {
	RobotMapping string `param:"robot_mapping" group:"Sessions" value:"FILE"`
	Hardware     string `param:"hardware" group:"Sessions" value:"FILE"`

	parameters map[string]any // parameters with robotPrefix
	namespace  string         // namespace of the node
}

// takeParameters takes over the parameters of a mapping from the unknown parameters, and removes the warnings about
// them. If the storage is not session, it warns that they have no effect.
func (o *options) takeParameters(in *config.Input) {
	o.parameters, o.namespace = map[string]any{}, in.Namespace
	for name, value := range in.Extra {
		if strings.HasPrefix(name, robotPrefix) {
			o.parameters[name] = value
		}
	}
	in.Warnings = slices.DeleteFunc(in.Warnings,
		func(text string) bool { return strings.HasPrefix(text, "parameter "+robotPrefix) })
	if o.format().Robot == nil && len(o.parameters) > 0 {
		o.parameters = nil
		in.Warnings = append(in.Warnings, "parameters "+robotPrefix+"* are for --storage session")
	}
}

// mapping returns the mapping of topics. If it is nil, names and types of topics decide.
func (o *sessionOptions) mapping() (*robot.Mapping, error) {
	fromParameters, err := robot.MappingOf(o.parameters, robotPrefix)
	switch {
	case err != nil:
		return nil, err
	case o.RobotMapping != "" && o.Hardware != "":
		return nil, errors.New("robot_mapping, hardware: give one of them")
	case o.Hardware != "":
		return o.fromHardware(fromParameters)
	case o.RobotMapping != "" && fromParameters != nil:
		return nil, fmt.Errorf("robot_mapping, %s*: give one of them", robotPrefix)
	case o.RobotMapping == "":
		return fromParameters, nil
	}
	m, err := robot.LoadMapping(o.RobotMapping)
	if err != nil {
		return nil, fmt.Errorf("robot_mapping: %w", err)
	}
	return m, nil
}

// fromHardware returns a mapping with the topics of the hardware. The task, the boundaries of episodes and the choice
// of stamps come from parameters, which may be nil.
func (o *sessionOptions) fromHardware(parameters *robot.Mapping) (*robot.Mapping, error) {
	m, err := hardwareMapping(o.Hardware, o.namespace)
	if err != nil {
		return nil, fmt.Errorf("hardware: %w", err)
	}
	if parameters == nil {
		return m, nil
	}
	if len(parameters.Cameras)+len(parameters.Arms) > 0 {
		return nil, fmt.Errorf("hardware, %scameras and %[1]sarms: give one of them", robotPrefix)
	}
	m.Task, m.Episodes, m.Receive = parameters.Task, parameters.Episodes, parameters.Receive
	return m, nil
}
