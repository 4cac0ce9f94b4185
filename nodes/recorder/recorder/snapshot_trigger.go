package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/graph/remote"
)

// triggerOptions are the parameters of the subcommand.
type triggerOptions struct {
	Before time.Duration `param:"before" group:"Snapshot" min:"0"`
	After  time.Duration `param:"after" group:"Snapshot" max:"24h"`
	Cause  string        `param:"cause" group:"Snapshot"`
	Output string        `param:"output" short:"o" group:"Snapshot" value:"NAME"`

	SnapshotService string `param:"snapshot_service" group:"Node" value:"SERVICE"`
	Topic           string `param:"topic" group:"Node" value:"TOPIC"`

	remote.Options
}

func (*triggerOptions) OptionTexts() string { return optionTexts }

// answerTime is the default time limit for the answer.
const answerTime = time.Minute

func newTrigger() *cobra.Command {
	o := triggerOptions{After: -time.Second, Options: remote.Options{Timeout: answerTime}}
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
			path, err := takeSnapshot(ctx, node, &o)
			if err == nil {
				_, err = fmt.Fprintln(human.Stdout, printable.Line(path))
			}
			return err
		})
	cmd.Aliases = []string{"snapshot"}
	cmd.Args = cobra.NoArgs
	graph.ShowMiddleware(cmd)
	return cmd
}

// takeSnapshot calls a service of the recorder and returns the path of the snapshot.
func takeSnapshot(ctx context.Context, node bridge.Node, o *triggerOptions) (path string, err error) {
	const advice = "is a recorder running with --snapshot or --snapshot-mode, in this ROS_DOMAIN_ID? It answers when " +
		"the snapshot is complete: --timeout must be longer than its snapshot_after"
	if o.SnapshotService != "" {
		client, err := node.Client(o.SnapshotService, "std_srvs/srv/Trigger")
		if err != nil {
			return "", err
		}
		if err := o.await(ctx, node, "node offered "+client.Service(), client.Available); err != nil {
			return "", err
		}
		var answer std_srvs.Trigger_Response
		err = remote.Call(ctx, node, o.SnapshotService, &std_srvs.Trigger_Request{}, &answer, advice)
		return result(answer.Success, answer.Message, answer.Message, err)
	}
	find := o.Options
	if find.Timeout <= answerTime { // finding the recorder takes less time than the answer
		find.Timeout = min(find.Timeout, remote.DefaultOptions().Timeout)
	}
	p, err := remote.Recorder.Find(ctx, node, &find)
	if err != nil {
		return "", err
	}
	p.Timeout, p.Advice = o.Timeout+max(o.After, 0), advice
	request := tapedeck.TakeSnapshot_Request{Before: o.Before.Seconds(), After: o.After.Seconds(), Path: o.Output,
		Cause: o.Cause}
	var answer tapedeck.TakeSnapshot_Response
	rosbag2, err := node.Client(p.Name+"/snapshot", "rosbag2_interfaces/srv/Snapshot")
	if err != nil && !errors.Is(err, rosidl.ErrUnknownType) {
		return "", err
	}
	err = p.Call(ctx, "take_snapshot", &request, &answer)
	lacks, unknown := errors.Is(err, remote.ErrLacks), errors.Is(err, rosidl.ErrUnknownType)
	switch {
	case !lacks && !unknown:
		return result(answer.Success, answer.Message, answer.Path, err)
	case lacks && (rosbag2 == nil || !rosbag2.Available()):
		return "", fmt.Errorf("%w; was the recorder started with --snapshot or --snapshot-mode?", err)
	case o.Before != 0 || o.After >= 0 || o.Cause+o.Output != "":
		return "", errors.New("the recorder offers only rosbag2's service snapshot, which takes no --before, " +
			"--after, " +
			"--cause and --output")
	}
	var old rosbag2_interfaces.Snapshot_Response
	err = p.Call(ctx, "snapshot", &rosbag2_interfaces.Snapshot_Request{}, &old)
	return result(old.Success, "the recorder gave no reason",
		p.Name+": wrote a snapshot; rosbag2's service does not return its path", err)
}

// result returns path and err. If the recorder refused, the error has its message.
func result(success bool, message, path string, err error) (string, error) {
	if err == nil && !success {
		err = fmt.Errorf("snapshot: %s", message)
	}
	return path, err
}

// await waits until there returns true. Its error names what was missing, for example "recorder listened on /trigger".
func (o *triggerOptions) await(ctx context.Context, node bridge.Node, what string, there func() bool) error {
	var patience time.Duration
	if o.Timeout > answerTime { // the user wants to wait for a recorder that is being started
		patience = o.Timeout
	}
	began := time.Now()
	err := remote.Await(ctx, node, patience, there)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	return fmt.Errorf("no %s within %v; is a recorder running with --snapshot or --snapshot-mode, in this "+
		"ROS_DOMAIN_ID?", what, time.Since(began).Round(time.Millisecond))
}

// publishTrigger publishes one message once a recorder listens.
func publishTrigger(ctx context.Context, node bridge.Node, o *triggerOptions) error {
	p, err := node.Advertise(o.Topic, "std_msgs/msg/Empty", codec.DefaultQoS())
	if err != nil {
		return err
	}
	listens := func() bool { return p.Subscribers() > 0 }
	if err := o.await(ctx, node, "recorder listened on "+p.Topic(), listens); err != nil {
		return err
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
