package graph

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/config"
)

// Options are the options that all nodes share. A node embeds them into its own.
type Options struct {
	Middleware string `param:"middleware" group:"ROS 2" value:"rcl|dds"`
}

// OptionTexts returns the help texts of the options.
func (*Options) OptionTexts() string { return optionTexts }

// OnGraph implements config.Node.
func (Options) OnGraph() {}

// ShowMiddleware adds the middleware, and whether nodes use SROS 2, to the output of --version.
func ShowMiddleware(cmd *cobra.Command) {
	config.ShowVersion(cmd, func() string { return describe() + ", security " + describeSecurity() })
}

// describeSecurity describes the security by the environment and the ROS arguments of the command line.
func describeSecurity() string {
	ros, _, err := config.SplitROSArgs(os.Args[1:])
	if err != nil {
		return err.Error()
	}
	s, warnings, err := bridge.NewSecurity(ros.Enclave, os.Getenv)
	switch {
	case err != nil:
		return strings.TrimPrefix(err.Error(), "security: ")
	case len(warnings) > 0:
		return strings.TrimPrefix(warnings[0], "security is ")
	}
	s.Unsure = built == "rcl" && !s.Enforce
	return s.String()
}

// choose returns nil if this executable has the middleware; "" is the middleware of the build. Otherwise it executes
// the executable that has it, or returns an error.
func choose(middleware string) error {
	if middleware == "" || middleware == built {
		return nil
	}
	if middleware != "rcl" && middleware != "dds" {
		return config.Usagef("middleware: %q is none, want rcl or dds", middleware)
	}
	return change()
}
