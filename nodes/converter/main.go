// Command converter turns recordings of one format into another, says what is in them, salvages damaged ones and
// compares them.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tapedeck/config"
	_ "tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
)

func main() { config.Main(newCommand(os.Stdout, os.Stderr)) }

// newCommand returns the command with its subcommands.
func newCommand(stdout, stderr io.Writer) *cobra.Command {
	// command adapts one of the jobs to config, and checks how many paths it is given.
	command := func(use, short, long string, least, most int, opts any,
		job func(context.Context, []string, io.Writer, io.Writer) error) *cobra.Command {
		cmd := config.New(use, short, long, opts, func(ctx context.Context, in *config.Input) error {
			for _, warning := range in.Warnings {
				fmt.Fprintln(stderr, "warning:", warning)
			}
			in.Warnings = nil
			return job(ctx, in.Args, stdout, stderr)
		})
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) < least || most > 0 && len(args) > most {
				return config.Usagef("got %s; the usage is: %s", human.Count(len(args), "path"), cmd.UseLine())
			}
			return nil
		}
		return cmd
	}
	conversion := defaultConvertOptions()
	info := defaultInfoOptions()
	var salvage recoverOptions
	diff := diffOptions{Limit: 10, As: viewAuto}
	root := command("converter IN... OUT", "Convert recordings from one format to another",
		"Converts recordings from one format to another. Several inputs are merged in time. The name of the output says "+
			"its format, "+
			"or --to does: name.record, name.mcap, name.bag (ROS 1), name.log (CARLA), name.hdf5 (takes of a robot), or a "+
			"name without "+
			"extension for a folder as ros2 bag writes it. Messages are encoded as suits the format; what is lost is said at "+
			"the end.",
		1, 0, conversion, conversion.convert)
	root.AddCommand(
		newServe(),
		command("info FILE...", "Say what is in recordings",
			"Says what is in recordings of any format: as text, as JSON, or as Apollo's and CARLA's own tools tell it.", 1,
			0, info, info.info),
		command("recover IN [OUT]", "Save what can be saved of a damaged recording",
			"Writes a complete copy of everything that can be read of a damaged or unfinished recording, and reports each "+
				"damaged place. "+
				"The format of the output is that of the input unless its name or --to says another. Without OUT its name is "+
				"that of IN "+
				"with .recover in it.", 1, 2, &salvage, salvage.salvage),
		command("reindex BAG...", "Make the metadata.yaml of ROS 2 bags anew",
			"Writes the metadata.yaml of ROS 2 bags (folders) anew from what their files hold, all of which is read. Damaged "+
				"and unfinished "+
				"files are replaced by complete ones with everything that can be read of them; the old ones stay, as NAME.damaged.",
			1, 0, &struct{}{}, reindex),
		command("diff A B", "Compare two recordings message by message",
			"Compares two recordings message by message, whatever their formats: topics, types, the payloads of each topic "+
				"and their order. "+
				"Exits with 0 if they are the same and with 1 if they differ.", 2, 2, &diff, diff.diff))
	return root
}
