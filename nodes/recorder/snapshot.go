package main

import (
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/selection"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// snapshotChunk is how large a chunk of a snapshot is at most, in bytes, as many snapshots may be written at once.
const snapshotChunk = 2 << 20

// newSnapshots sets up the snapshots that the options ask for.
func (r *recorder) newSnapshots() (err error) {
	o := &r.options
	if r.limits, err = o.topicLimits(r.selection.Expand); err != nil {
		return err
	}
	conditions, err := o.conditions(r.selection.Expand)
	if err != nil {
		return err
	}
	r.snapshots = snapshot.New(snapshot.Options{
		Ring: queue.NewRing(int64(o.SnapshotSize)), Duration: o.SnapshotDuration, After: o.SnapshotAfter,
		Cooldown: o.SnapshotCooldown, Folder: o.SnapshotFolder, Conditions: conditions,
		Live:     o.format().Live,
		BaseName: r.baseName, Create: r.createSnapshot, Stamp: r.clock.Stamp,
		Topics: func() (list []*queue.Topic) {
			for _, rec := range r.recorded() {
				list = append(list, rec.Topic)
			}
			return list
		},
		Latched: func(since func(*queue.Topic) int64) (list []*queue.Item) {
			for _, rec := range r.recorded() {
				list = rec.Latched(since(rec.Topic), list)
			}
			return list
		},
		OnEvent: func(e codec.Event) {
			if s := r.session.Load(); s.writer != nil {
				s.journal.Note(e)
			}
		},
		Strict: func() bool { return time.Now().Before(r.discovered) }, Quit: func() { r.quit() },
		Warn: r.warn, Log: r.node.Log,
	})
	return nil
}

func (r *recorder) baseName() string {
	return r.options.format().Live.BareName(r.session.Load().name)
}

func (r *recorder) createSnapshot(name string, metadata map[string]string) (codec.Writer, string, error) {
	o := r.options
	o.Overwrite = false // which is for the recording, and could hit it
	o.ChunkSize = min(o.ChunkSize, snapshotChunk)
	return create(&o, &r.settings, name, metadata, nil)
}

// checkConditions makes the messages of the graph's topics be checked for conditions, also of topics that are not
// recorded. r.mu is held.
func (r *recorder) checkConditions(topics []bridge.Topic) {
	for i := range topics {
		topic := &topics[i]
		if r.snapshots.Conditions[topic.Name] == nil || len(topic.Publishers) == 0 {
			continue
		}
		for _, typeName := range selection.TypesOf(topic) {
			key := topicKey{topic.Name, typeName}
			rec, watch := r.recorders[key], r.watches[key]
			switch {
			case rec == nil && watch == nil:
				if rec = r.watch(topic, typeName); rec == nil {
					continue
				}
				r.watches[key] = rec
			case rec == nil:
				rec = watch
				r.adapt(rec, topic, offersOf(topic, typeName))
				r.define(rec, topic)
			case watch != nil:
				watch.close()
				delete(r.watches, key)
			}
			r.snapshots.Check(rec.Receiver, &rec.checks)
		}
	}
}

// watch subscribes to a topic for its conditions alone; nil if that is not possible.
func (r *recorder) watch(topic *bridge.Topic, typeName string) *topicRecorder {
	offers := offersOf(topic, typeName)
	rec := &topicRecorder{Receiver: intake.NewReceiver(r.channel(topic, typeName, offers), intake.Options{Clock: r.clock})}
	if rec.Channel.Load().Schema.Encoding == "" {
		rec.AwaitDefinition()
	}
	r.define(rec, topic)
	r.snapshots.Check(rec.Receiver, &rec.checks)
	rec.qos = r.request(topic.Name, offers)
	subscription, err := r.node.Subscribe(topic.Name, typeName, rec.qos, rec.Take)
	if err != nil {
		r.warn("subscribe "+topic.Name, "cannot look for conditions on %s: %v", topic.Name, err)
		return nil
	}
	rec.add(subscription)
	return rec
}
