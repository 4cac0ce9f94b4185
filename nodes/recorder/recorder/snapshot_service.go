package recorder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/confine"
	"tapedeck/nodes/recorder/internal/snapshot"
)

var errNoSnapshots = errors.New("the recorder was started without --snapshot or --snapshot-mode")

// refuseSnapshots offers the service take_snapshot, which answers that the recorder takes no snapshots.
func (r *recorder) refuseSnapshots() {
	const service = "tapedeck/srv/TakeSnapshot"
	_, err := r.node.Serve("~/take_snapshot", service, func(context.Context, []byte) ([]byte, error) {
		return cdr.Marshal(&tapedeck.TakeSnapshot_Response{Message: errNoSnapshots.Error()})
	})
	if err != nil && !errors.Is(err, rosidl.ErrUnknownType) {
		r.node.Log(bridge.Warn, "no service take_snapshot: %v", err)
	}
}

// serveSnapshots offers the services that take snapshots, and subscribes to the topic that triggers them.
func (r *recorder) serveSnapshots() error {
	o := &r.options
	node := r.node
	for _, service := range []struct {
		name, typeName string
		answer         func(ctx context.Context, name string, request []byte) (msgs.Message, error)
	}{
		{o.SnapshotService, "std_srvs/srv/Trigger", r.answerTrigger},
		{"~/snapshot", "rosbag2_interfaces/srv/Snapshot", r.answerSnapshot},
		{"~/take_snapshot", "tapedeck/srv/TakeSnapshot", r.answerTakeSnapshot},
	} {
		if service.name == "" {
			continue
		}
		_, err := node.Serve(service.name, service.typeName, func(ctx context.Context, request []byte) ([]byte, error) {
			answer, err := service.answer(ctx, strings.Replace(service.name, "~", node.Name(), 1), request)
			if err != nil {
				return nil, err
			}
			return cdr.Marshal(answer)
		})
		switch {
		case errors.Is(err, rosidl.ErrUnknownType):
			node.Log(bridge.Warn, "no service %s: %v", service.name, err)
		case err != nil:
			return err
		}
	}
	if o.SnapshotTopic == "" {
		return nil
	}
	_, err := node.Subscribe(o.SnapshotTopic, "std_msgs/msg/Empty", codec.DefaultQoS(), func(samples []bridge.Sample) {
		for i := range samples {
			_, _ = r.snapshots.Take(snapshot.Trigger{
				Time: samples[i].ReceiveTime, At: samples[i].Received, After: o.SnapshotAfter,
				Cause: "message on " + o.SnapshotTopic, Topic: o.SnapshotTopic,
			})
		}
	})
	return err
}

func (r *recorder) answerTrigger(ctx context.Context, name string, _ []byte) (msgs.Message, error) {
	n, err := r.snapshots.TakeNow(ctx, snapshot.Trigger{After: r.options.SnapshotAfter, Cause: "service " + name})
	if err != nil {
		return &std_srvs.Trigger_Response{Message: err.Error()}, nil
	}
	return &std_srvs.Trigger_Response{Success: true, Message: absolute(n.Path)}, nil
}

func (r *recorder) answerSnapshot(ctx context.Context, name string, _ []byte) (msgs.Message, error) {
	_, err := r.snapshots.TakeNow(ctx, snapshot.Trigger{After: r.options.SnapshotAfter, Cause: "service " + name})
	return &rosbag2_interfaces.Snapshot_Response{Success: err == nil}, nil
}

func (r *recorder) answerTakeSnapshot(ctx context.Context, name string, data []byte) (msgs.Message, error) {
	var request tapedeck.TakeSnapshot_Request
	if err := cdr.Unmarshal(data, &request); err != nil {
		return nil, err
	}
	t := snapshot.Trigger{Cause: request.Cause, Name: request.Path}
	if t.Cause == "" {
		t.Cause = "service " + name
	}
	var n *snapshot.Snapshot
	var err error
	if t.Name != "" {
		t.Name, err = r.snapshotName(ctx, t.Name)
	}
	if err == nil {
		t.Before, t.After, err = r.times(&request)
	}
	if err == nil {
		n, err = r.snapshots.TakeNow(ctx, t)
	}
	if err != nil {
		return &tapedeck.TakeSnapshot_Response{Message: err.Error()}, nil
	}
	return &tapedeck.TakeSnapshot_Response{
		Success: true, Path: absolute(n.Path), MessageCount: n.Messages, Start: builtin_interfaces.TimeAt(n.Start),
		End: builtin_interfaces.TimeAt(n.End),
	}, nil
}

// snapshotName returns the path of a snapshot that a request names.
func (r *recorder) snapshotName(ctx context.Context, name string) (string, error) {
	folder := r.options.SnapshotFolder
	if folder == "" {
		return r.root.Path(ctx, name)
	}
	if !r.root.Everywhere() {
		return confine.In(folder).Path(ctx, name)
	}
	if filepath.IsAbs(name) {
		return name, nil
	}
	return filepath.Join(folder, name), nil
}

// absolute returns the absolute path, for a client that may run in another folder.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// times returns the time range of a request.
func (r *recorder) times(request *tapedeck.TakeSnapshot_Request) (before, after time.Duration, err error) {
	if b := request.Before; !(b >= 0) {
		return 0, 0, fmt.Errorf("before is %v, want seconds, or 0 for as far as snapshots reach", b)
	} else if b < math.MaxInt64/1e9 {
		before = time.Duration(math.Ceil(b * 1e9))
	}
	longest := max(r.options.MaxSnapshotAfter, r.options.SnapshotAfter).Seconds()
	if a := request.After; math.IsNaN(a) || a > longest {
		return 0, 0, fmt.Errorf("after is %v, want at most %v seconds (max_snapshot_after), or a negative number "+
			"for as long as snapshots go on", a, longest)
	} else if a < 0 {
		after = r.options.SnapshotAfter
	} else {
		after = time.Duration(a * 1e9)
	}
	return before, after, nil
}
