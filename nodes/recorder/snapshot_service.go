package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/rospub"
)

// serve offers the services that take snapshots, and listens to the topic that does.
func (s *snapshots) serve() error {
	o := &s.recorder.options
	node := s.recorder.node
	for _, service := range []struct {
		name, typeName string
		answer         func(ctx context.Context, name string, request []byte) (msgs.Message, error)
	}{
		{o.SnapshotService, "std_srvs/srv/Trigger", s.answerTrigger},
		{"~/snapshot", "rosbag2_interfaces/srv/Snapshot", s.answerSnapshot},
		{"~/take_snapshot", "tapedeck/srv/TakeSnapshot", s.answerTakeSnapshot},
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
			_, _ = s.take(trigger{
				time: samples[i].ReceiveTime, after: o.SnapshotAfter, cause: "message on " + o.SnapshotTopic,
				topic: o.SnapshotTopic,
			})
		}
	})
	return err
}

// takeNow takes a snapshot and waits until it is written.
func (s *snapshots) takeNow(ctx context.Context, t trigger) (*snapshot, error) {
	t.time = time.Now().UnixNano()
	n, err := s.take(t)
	if err != nil {
		return nil, err
	}
	select {
	case <-n.done:
		return n, n.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *snapshots) answerTrigger(ctx context.Context, name string, _ []byte) (msgs.Message, error) {
	n, err := s.takeNow(ctx, trigger{after: s.recorder.options.SnapshotAfter, cause: "service " + name})
	if err != nil {
		return &std_srvs.Trigger_Response{Message: err.Error()}, nil
	}
	return &std_srvs.Trigger_Response{Success: true, Message: n.path}, nil
}

func (s *snapshots) answerSnapshot(ctx context.Context, name string, _ []byte) (msgs.Message, error) {
	_, err := s.takeNow(ctx, trigger{after: s.recorder.options.SnapshotAfter, cause: "service " + name})
	return &rosbag2_interfaces.Snapshot_Response{Success: err == nil}, nil
}

func (s *snapshots) answerTakeSnapshot(ctx context.Context, name string, data []byte) (msgs.Message, error) {
	var request tapedeck.TakeSnapshot_Request
	if err := cdr.Unmarshal(data, &request); err != nil {
		return nil, err
	}
	t := trigger{cause: request.Cause, name: request.Path}
	if t.cause == "" {
		t.cause = "service " + name
	}
	var n *snapshot
	var err error
	if t.before, t.after, err = s.times(&request); err == nil {
		n, err = s.takeNow(ctx, t)
	}
	if err != nil {
		return &tapedeck.TakeSnapshot_Response{Message: err.Error()}, nil
	}
	return &tapedeck.TakeSnapshot_Response{
		Success: true, Path: n.path, MessageCount: n.messages, Start: rospub.Time(n.start), End: rospub.Time(n.end),
	}, nil
}

// maxAfter is how long a snapshot may be asked to go on.
const maxAfter = 24 * time.Hour

// times returns the time that is asked for.
func (s *snapshots) times(request *tapedeck.TakeSnapshot_Request) (before, after time.Duration, err error) {
	if b := request.Before; !(b >= 0) {
		return 0, 0, fmt.Errorf("before is %v, want seconds, or 0 for as far as snapshots reach", b)
	} else if b < math.MaxInt64/1e9 {
		before = time.Duration(math.Ceil(b * 1e9))
	}
	if a := request.After; math.IsNaN(a) || a > maxAfter.Seconds() {
		return 0, 0, fmt.Errorf("after is %v, want at most %v seconds, or a negative number for as long as snapshots go on",
			a, maxAfter.Seconds())
	} else if a < 0 {
		after = s.recorder.options.SnapshotAfter
	} else {
		after = time.Duration(a * 1e9)
	}
	return before, after, nil
}
