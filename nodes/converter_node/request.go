package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/graph/remote"
)

// requestOptions are the options of request.
type requestOptions struct {
	Option []string `param:"option" short:"O" group:"Conversion" value:"NAME=VALUE"`

	Output string `param:"output_path" flag:"output" short:"o" group:"Conversion" value:"OUT"`

	remote.Options
}

func (*requestOptions) OptionTexts() string { return optionTexts }

// newRequest returns the command that requests a conversion from a running node.
func newRequest() *cobra.Command {
	o := &requestOptions{Options: remote.DefaultOptions()}
	cmd := remote.Converter.Command("request IN... OUT", "Let a running converter_node convert recordings",
		`Lets a running converter_node convert recordings, waits until it has done so
and prints what the output does not keep. Paths begin at the folder
service_root of that node.`, 1, math.MaxInt, o, &o.Options,
		func(ctx context.Context, args []string, p *remote.Peer) error {
			if o.Output != "" {
				args = append(args, o.Output)
			}
			request := tapedeck.Convert_Request{Options: o.Option}
			last := len(args) - 1
			request.Inputs, request.Output = args[:last], args[last]
			p.Timeout = 0 // conversions may take long
			var r tapedeck.Convert_Response
			if err := p.Call(ctx, ownService, &request, &r); err != nil {
				return err
			}
			if err := p.Conclude(r.Success, r.Message, fmt.Sprintf("converted %s on %s to %s",
				human.Count(r.MessageCount, "message"), human.Count(int(r.TopicCount), "topic"),
				request.Output)); err != nil {
				return err
			}
			for _, loss := range r.Losses {
				fmt.Fprintln(human.Stdout, printable.Line("lost: "+loss))
			}
			return printable.Err(human.Stdout)
		})
	least := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && !cmd.Flags().Changed("output") {
			return config.Usagef("got 1 path; the usage is: %s", cmd.UseLine())
		}
		return least(cmd, args)
	}
	return cmd
}
