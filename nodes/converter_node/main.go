// Converter_node converts recordings when a service is called.
package main

import (
	"context"
	_ "embed"
	"os"

	"github.com/spf13/cobra"

	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/graph"
)

// examples are command lines for the help text.
//
//go:embed examples.txt
var examples string

//go:generate env UPDATE_REFERENCE=1 go test -count=1 -run ^TestEveryOption .

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

func main() {
	config.Main(newCommand(), human.Stderr)
}

// newCommand returns the command with its subcommands.
func newCommand() *cobra.Command {
	o := &options{defaultNodeOptions(), convert.DefaultOptions()}
	root := config.New("converter_node", "Convert recordings when a service is called",
		`Converts recordings when its service is called, one after the other, until it is interrupted. The
conversion options given here are the defaults of calls.`, o,
		func(ctx context.Context, in *config.Input) error { return serve(ctx, in, o, os.Stderr) })
	root.Args = cobra.NoArgs
	root.Annotations = map[string]string{config.NodeName: "converter"}
	graph.ShowMiddleware(root)
	root.AddCommand(newRequest())
	config.Brief(root, "service", "service_root", "max_waiting", "to", "strict", "overwrite", "compression",
		"max_bag_size", "mapping")
	config.Examples(root, examples)
	return root
}
