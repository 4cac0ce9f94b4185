package recorder

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tapedeck/config"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/graph/remote"
)

// newRemotes returns the commands that control a running recorder.
func newRemotes() []*cobra.Command {
	command := func(use, short string, most int, run func(ctx context.Context, args []string, p *remote.Peer) error,
	) *cobra.Command {
		o := remote.DefaultOptions()
		return remote.Recorder.Command(use, short, short+".", 0, most, &o, &o, run)
	}
	next := command("record [NAME]", "Start another recording after stop", 1,
		func(ctx context.Context, args []string, p *remote.Peer) error {
			var request srv.Record_Request
			if len(args) == 1 {
				request.Uri = args[0]
			}
			var response srv.Record_Response
			if err := p.Call(ctx, "record", &request, &response); err != nil {
				return err
			}
			return p.Conclude(response.ReturnCode == 0, response.ErrorString, "recording")
		})
	count := next.Args
	next.Args = func(cmd *cobra.Command, args []string) error { // users of ros2 bag may name topics here
		if len(args) > 0 && config.IsName(args[0]) {
			return config.Usagef("%s is not the name of a recording; record makes a running recorder begin another "+
				"one; to record topics leave out record: recorder %s", args[0], strings.Join(args, " "))
		}
		return count(cmd, args)
	}
	return []*cobra.Command{
		remote.Recorder.NewStatus(),
		command("pause", "Pause a running recorder", 0, remote.Pause),
		command("resume", "Resume a paused recorder", 0, remote.Resume),
		newSplit(),
		command("discard", "Mark the present or the last episode as discarded; nothing is deleted", 0,
			callTrigger("discard")),
		command("uploads", "Show what a running recorder has to upload", 0, callTrigger("uploads")),
		command("stop", "End the recording; the recorder keeps running", 0, remote.Stop),
		next,
	}
}

// callTrigger returns a function that calls a Trigger service of a recorder and prints the answer.
func callTrigger(service string) func(ctx context.Context, args []string, p *remote.Peer) error {
	return func(ctx context.Context, _ []string, p *remote.Peer) error {
		var response std_srvs.Trigger_Response
		if err := p.Call(ctx, service, &std_srvs.Trigger_Request{}, &response); err != nil {
			return err
		}
		return p.Conclude(response.Success, response.Message, response.Message)
	}
}

// splitCommandOptions are the parameters of the command split.
type splitCommandOptions struct {
	Output string `param:"output" short:"o" group:"Split" value:"NAME"`

	remote.Options
}

func (*splitCommandOptions) OptionTexts() string { return optionTexts }

func newSplit() *cobra.Command {
	o := splitCommandOptions{Options: remote.DefaultOptions()}
	const short = "Let a running recorder start another file or recording"
	return remote.Recorder.Command("split", short, short+".", 0, 0, &o, &o.Options,
		func(ctx context.Context, _ []string, p *remote.Peer) error {
			if o.Output == "" { // rosbag2's recorder offers this service, too
				var response srv.SplitBagfile_Response
				if err := p.Call(ctx, "split_bagfile", &srv.SplitBagfile_Request{}, &response); err != nil {
					return err
				}
				return p.Conclude(response.ReturnCode == 0, response.ErrorString, "split")
			}
			var response tapedeck.Split_Response
			if err := p.Call(ctx, "split", &tapedeck.Split_Request{Output: o.Output}, &response); err != nil {
				return err
			}
			return p.Conclude(response.Success, response.Message, "continues in "+response.OpenedFile)
		})
}
