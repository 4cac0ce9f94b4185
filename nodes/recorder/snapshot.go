package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
)

// serveSnapshots offers the services that write what the ring holds.
func (r *recorder) serveSnapshots() error {
	_, err := r.node.Serve(r.options.SnapshotService, "std_srvs/srv/Trigger", func(context.Context, []byte) ([]byte, error) {
		s, err := r.takeSnapshot(&tapedeck.TakeSnapshot_Request{})
		if err != nil {
			return cdr.Marshal(&std_srvs.Trigger_Response{Message: err.Error()})
		}
		return cdr.Marshal(&std_srvs.Trigger_Response{Success: true, Message: s.path})
	})
	if err != nil {
		return err
	}
	_, err = r.node.Serve("~/take_snapshot", "tapedeck/srv/TakeSnapshot", func(_ context.Context, data []byte) ([]byte, error) {
		var request tapedeck.TakeSnapshot_Request
		if err := cdr.Unmarshal(data, &request); err != nil {
			return nil, err
		}
		s, err := r.takeSnapshot(&request)
		if err != nil {
			return cdr.Marshal(&tapedeck.TakeSnapshot_Response{Message: err.Error()})
		}
		return cdr.Marshal(&tapedeck.TakeSnapshot_Response{
			Success: true, Path: s.path, MessageCount: s.messages, Start: rosTime(s.start), End: rosTime(s.end),
		})
	})
	return err
}

func rosTime(ns int64) builtin_interfaces.Time {
	return builtin_interfaces.Time{Sec: int32(ns / 1e9), Nanosec: uint32(ns % 1e9)}
}

// snapshot is one that was written.
type snapshot struct {
	path       string
	messages   uint64
	start, end int64 // LogTime of the first and the last message; 0 without messages
}

// takeSnapshot writes what is asked for and logs how that went.
func (r *recorder) takeSnapshot(request *tapedeck.TakeSnapshot_Request) (snapshot, error) {
	s, err := r.writeSnapshot(request, time.Now())
	if err != nil {
		r.node.Log(bridge.Error, "snapshot: %v", err)
	} else {
		r.node.Log(bridge.Info, "snapshot: %d messages in %s", s.messages, s.path)
	}
	return s, err
}

// writeSnapshot writes the messages that are in the ring now into a recording of their own. The ring keeps them, so that
// snapshots may overlap.
func (r *recorder) writeSnapshot(request *tapedeck.TakeSnapshot_Request, now time.Time) (s snapshot, err error) {
	if math.IsNaN(request.Before) || request.Before < 0 {
		return s, fmt.Errorf("before is %v, want seconds, or 0 for everything that is held", request.Before)
	}
	r.snapshots.Lock() // one at a time, each with a name of its own
	defer r.snapshots.Unlock()
	list := r.ring.snapshot(nil)
	defer func() { releaseAll(list) }()
	sortByReception(list, 0)

	o := r.options
	o.Overwrite = false // which is for the recording, and could hit it
	name := request.Path
	if name == "" {
		name = snapshotName(&o, r.name, now)
	}
	var metadata map[string]string
	if request.Cause != "" {
		metadata = map[string]string{"cause": request.Cause}
	}
	w, path, err := create(&o, name, metadata)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, rec := range r.recorded() {
		if err := w.Declare(rec.channel.Load()); err != nil {
			return s, err
		}
	}
	s.path = path
	for _, it := range list[firstSince(list, request.Before, now):] {
		m := codec.Message{Channel: it.stream.channel.Load(), LogTime: it.logTime, PublishTime: it.publishTime, Data: it.payload.Data}
		if err := w.Write(&m); err != nil {
			return s, fmt.Errorf("write a message of %s: %w", m.Channel.Topic, err)
		}
		if s.messages == 0 {
			s.start, s.end = m.LogTime, m.LogTime
		}
		s.messages++
		s.start, s.end = min(s.start, m.LogTime), max(s.end, m.LogTime)
	}
	return s, nil
}

// firstSince returns the index of the first item that was received in the last so many seconds before now; 0 seconds are
// all of them. The list is in the order of reception.
func firstSince(list []*item, seconds float64, now time.Time) int {
	if seconds == 0 || seconds*1e9 >= math.MaxInt64 {
		return 0
	}
	since := now.UnixNano() - int64(seconds*1e9)
	i, _ := slices.BinarySearchFunc(list, since, func(it *item, t int64) int { return int(it.receiveTime - t) })
	return i
}
