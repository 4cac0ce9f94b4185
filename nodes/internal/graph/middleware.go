package graph

import (
	"github.com/spf13/cobra"

	"tapedeck/config"
)

// Options are those that all nodes share. A node embeds them into its own.
type Options struct {
	Middleware string `param:"middleware" group:"ROS 2" value:"rcl|dds" help:"how to reach the ROS graph: through ROS 2's own libraries (rcl) or directly over DDS (dds); the default depends on the build, see --version"`
}

// OnGraph implements config.Node.
func (Options) OnGraph() {}

// ShowMiddleware adds the middleware to the output of --version.
func ShowMiddleware(cmd *cobra.Command) {
	cobra.AddTemplateFunc("middleware", describe)
	cmd.SetVersionTemplate("{{.Version}}, {{middleware}}\n")
}

// choose returns if this executable has that middleware; "" is the one that it has. Otherwise it changes to the
// executable that has it, or returns an error.
func choose(asked string) error {
	if asked == "" || asked == built {
		return nil
	}
	if asked != "rcl" && asked != "dds" {
		return config.Usagef("middleware: %q is none, want rcl or dds", asked)
	}
	return change()
}
