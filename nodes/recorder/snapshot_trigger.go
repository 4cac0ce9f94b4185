package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/graph"
)

// triggerOptions are the parameters of the subcommand.
type triggerOptions struct {
	Before time.Duration `param:"before" group:"Snapshot" min:"0" help:"how far back the snapshot reaches; 0 is as the recorder is configured"`
	After  time.Duration `param:"after" group:"Snapshot" max:"24h" help:"how long the snapshot continues; negative is as the recorder is configured"`
	Cause  string        `param:"cause" group:"Snapshot" help:"reason for the snapshot, stored in it"`
	Output string        `param:"output" short:"o" group:"Snapshot" value:"NAME" help:"NAME of the snapshot; by default that of the recording with the time"`

	SnapshotService string        `param:"snapshot_service" group:"Recorder" value:"SERVICE" help:"SERVICE to call if no option of the snapshot is set"`
	Recorder        string        `param:"recorder" group:"Recorder" value:"NODE" help:"NODE whose service take_snapshot is called if one is set"`
	Topic           string        `param:"topic" group:"Recorder" value:"TOPIC" help:"publish on this TOPIC (std_msgs/msg/Empty) instead, without waiting for an answer"`
	Timeout         time.Duration `param:"timeout" group:"Recorder" min:"1ms" help:"how long to wait for the recorder, in addition to --after"`

	graph.Options
}

func newTrigger() *cobra.Command {
	o := triggerOptions{
		After: -time.Second, SnapshotService: defaultOptions().SnapshotService, Recorder: "/recorder", Timeout: time.Minute,
	}
	const long = "Makes a running recorder write a snapshot, and prints its path."
	cmd := config.New("trigger", "Make a running recorder write a snapshot", long, &o,
		func(ctx context.Context, in *config.Input) (err error) {
			node, err := graph.Open("_recorder_trigger", in, &o, os.Stderr)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, node.Close()) }()
			ctx, cancel := context.WithTimeout(ctx, o.Timeout+max(o.After, 0))
			defer cancel()
			if o.Topic != "" {
				return publishTrigger(ctx, node, &o)
			}
			path, err := callTrigger(ctx, node, &o)
			if err == nil {
				fmt.Println(path)
			}
			return err
		})
	cmd.Args = cobra.NoArgs
	graph.ShowMiddleware(cmd)
	return cmd
}

// callTrigger calls a service of the recorder and returns the path of the snapshot.
func callTrigger(ctx context.Context, node bridge.Node, o *triggerOptions) (path string, err error) {
	if o.Before == 0 && o.After < 0 && o.Cause == "" && o.Output == "" {
		var answer std_srvs.Trigger_Response
		err := call(ctx, node, o, o.SnapshotService, "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &answer)
		return result(answer.Success, answer.Message, answer.Message, err)
	}
	request := tapedeck.TakeSnapshot_Request{Before: o.Before.Seconds(), After: o.After.Seconds(), Path: o.Output,
		Cause: o.Cause}
	var answer tapedeck.TakeSnapshot_Response
	err = call(ctx, node, o, o.Recorder+"/take_snapshot", "tapedeck/srv/TakeSnapshot", &request, &answer)
	return result(answer.Success, answer.Message, answer.Path, err)
}

func result(success bool, message, path string, err error) (string, error) {
	if err == nil && !success {
		err = fmt.Errorf("snapshot: %s", message)
	}
	return path, err
}

func call(ctx context.Context, node bridge.Node, o *triggerOptions, service, typeName string, request,
	answer msgs.Message) error {
	data, err := cdr.Marshal(request)
	if err != nil {
		return err
	}
	reply, err := node.Call(ctx, service, typeName, data)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no recorder answered on %s within %v; is one running with --snapshot or --snapshot-mode, in "+
			"this ROS_DOMAIN_ID? "+
			"It answers when the snapshot is complete: --timeout is to be longer than its snapshot_after", service, o.Timeout)
	}
	if err != nil {
		return err
	}
	if err := cdr.Unmarshal(reply, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", service, err)
	}
	return nil
}

// publishTrigger publishes one message for the recorders that listen.
func publishTrigger(ctx context.Context, node bridge.Node, o *triggerOptions) error {
	p, err := node.Advertise(o.Topic, "std_msgs/msg/Empty", codec.DefaultQoS())
	if err != nil {
		return err
	}
	for tick := time.Tick(10 * time.Millisecond); p.Subscribers() == 0; {
		select {
		case <-tick:
		case <-ctx.Done():
			return fmt.Errorf("no recorder listened on %s within %v; is one running with --snapshot or --snapshot-mode, in "+
				"this ROS_DOMAIN_ID?", p.Topic(), o.Timeout)
		}
	}
	data, err := cdr.Marshal(&std_msgs.Empty{})
	if err != nil {
		return err
	}
	if err := p.Publish(data); err != nil {
		return err
	}
	return p.Flush(ctx)
}
