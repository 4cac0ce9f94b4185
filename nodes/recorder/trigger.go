package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/codec/cdr"
	"tapedeck/config"
	"tapedeck/msgs/std_srvs"
	"tapedeck/nodes/internal/graph"
)

// triggerOptions are the parameters of the subcommand.
type triggerOptions struct {
	SnapshotService string        `param:"snapshot_service" help:"service to call"`
	Timeout         time.Duration `param:"timeout" min:"1ms" help:"how long to wait for the recorder"`

	graph.Options
}

func newTrigger() *cobra.Command {
	o := triggerOptions{SnapshotService: defaultOptions().SnapshotService, Timeout: time.Minute}
	cmd := config.New("trigger", "have a running recorder write a snapshot", "", &o, func(ctx context.Context, in *config.Input) error {
		return trigger(ctx, in, &o)
	})
	cmd.Args = cobra.NoArgs
	graph.ShowMiddleware(cmd)
	return cmd
}

// trigger calls the snapshot service of a running recorder and prints the path of the snapshot.
func trigger(ctx context.Context, in *config.Input, o *triggerOptions) (err error) {
	node, err := graph.Open("_recorder_trigger", in, o, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	request, err := cdr.Marshal(&std_srvs.Trigger_Request{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	reply, err := node.Call(ctx, o.SnapshotService, "std_srvs/srv/Trigger", request)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no recorder answered on %s within %v; is one running with --snapshot or --snapshot-mode, in this ROS_DOMAIN_ID?", o.SnapshotService, o.Timeout)
	}
	if err != nil {
		return err
	}
	var answer std_srvs.Trigger_Response
	if err := cdr.Unmarshal(reply, &answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", o.SnapshotService, err)
	}
	if !answer.Success {
		return fmt.Errorf("snapshot: %s", answer.Message)
	}
	fmt.Println(answer.Message)
	return nil
}
