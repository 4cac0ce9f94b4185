package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/std_srvs"
)

// serveSnapshots offers the service that writes what the ring holds.
func (r *recorder) serveSnapshots() error {
	_, err := r.node.Serve(r.options.SnapshotService, "std_srvs/srv/Trigger", func(_ context.Context, _ []byte) ([]byte, error) {
		var answer std_srvs.Trigger_Response
		path, count, err := r.writeSnapshot()
		if err != nil {
			r.node.Log(bridge.Error, "snapshot: %v", err)
			answer.Message = err.Error()
		} else {
			r.node.Log(bridge.Info, "snapshot: %d messages in %s", count, path)
			answer.Success, answer.Message = true, path
		}
		return cdr.Marshal(&answer)
	})
	return err
}

// writeSnapshot writes the messages that are in the ring now into a recording of their own and returns its path and how
// many there were. The ring keeps them, so that snapshots may overlap.
func (r *recorder) writeSnapshot() (string, int, error) {
	r.snapshots.Lock() // one at a time, each with a name of its own
	defer r.snapshots.Unlock()
	list := r.ring.snapshot(nil)
	defer func() { releaseAll(list) }()
	w, path, err := create(&r.options, snapshotName(&r.options, r.name, time.Now()))
	if err != nil {
		return "", 0, err
	}
	for _, s := range r.recorded() {
		if err := w.Declare(s.channel.Load()); err != nil {
			return "", 0, errors.Join(err, w.Close())
		}
	}
	sortByReception(list, 0)
	for _, it := range list {
		m := codec.Message{Channel: it.stream.channel.Load(), LogTime: it.logTime, PublishTime: it.publishTime, Data: it.payload.Data}
		if err := w.Write(&m); err != nil {
			return "", 0, errors.Join(fmt.Errorf("write a message of %s: %w", m.Channel.Topic, err), w.Close())
		}
	}
	return path, len(list), w.Close()
}
