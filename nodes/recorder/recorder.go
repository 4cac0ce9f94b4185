package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// recorder subscribes to the selected topics of a node's graph and writes what they carry.
type recorder struct {
	options   options
	node      bridge.Node
	selection *selection
	overrides map[string]codec.QoS
	library   *rosidl.Library
	name      string // of the recording, without the endings that the storage adds
	path      string // of the recording; "" in snapshot mode
	started   time.Time
	clock     *bridge.SimTime

	queue *queue // nil in snapshot mode
	sink  *sink  // nil in snapshot mode
	ring  *queue // nil without snapshots

	snapshots sync.Mutex // held while a snapshot is written

	mu      sync.Mutex
	streams map[streamKey]*recording
	warned  map[string]bool // what was said already
}

type streamKey struct{ topic, typeName string }

// recording is a stream with its subscription.
type recording struct {
	*stream
	qos          codec.QoS
	subscription bridge.Subscription
	lost         uint64 // in transport, of subscriptions that were replaced
}

// run records until ctx ends, the time is up or the disk fails. Everything received by then is in the file when it
// returns.
func (r *recorder) run(ctx context.Context) (err error) {
	r.started = time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.options.MaxDuration > 0 {
		timer := time.AfterFunc(r.options.MaxDuration, func() { cancel(nil) })
		defer timer.Stop()
	}
	var workers sync.WaitGroup
	stopSink := make(chan struct{})
	if r.sink != nil {
		workers.Go(func() {
			if err := r.sink.run(stopSink); err != nil {
				cancel(err)
			}
		})
		workers.Go(func() { r.syncEvery(r.options.ChunkDuration, stopSink, cancel) })
	}
	if r.ring != nil {
		if err := r.serveSnapshots(); err != nil {
			cancel(err)
		}
	}
	status := newStatus(r)
	if r.awaitTime(ctx) == nil {
		r.follow(ctx, status)
	}
	status.clear()

	r.unsubscribe()
	close(stopSink)
	workers.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if r.sink != nil {
		err = errors.Join(err, r.sink.writer.Close())
	}
	return err
}

// awaitTime waits until there is a time to stamp messages with: at once, or with use_sim_time when /clock is heard.
func (r *recorder) awaitTime(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); r.clock.Now() == 0; {
		if time.Since(start) > 2*time.Second {
			r.warn("clock", "use_sim_time is set and nothing was heard on /clock yet; recording begins then")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// follow keeps the subscriptions in step with the graph until ctx ends.
func (r *recorder) follow(ctx context.Context, status *status) {
	changes := r.node.Watch(ctx)
	tick := time.NewTicker(statusPace)
	defer tick.Stop()
	start := time.Now()
	for {
		if !r.options.NoDiscovery || time.Since(start) < discoveryTime {
			r.update(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-changes:
		case <-tick.C:
			status.print()
		}
	}
}

// discoveryTime is how long the graph may take to become known; with no_discovery what it holds then is recorded.
const discoveryTime = 3 * time.Second

// syncEvery puts what was written on the disk, every period, until stop is closed.
func (r *recorder) syncEvery(period time.Duration, stop <-chan struct{}, fail func(error)) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if err := r.sink.writer.Sync(); err != nil {
				fail(fmt.Errorf("sync %s: %w", r.path, err))
				return
			}
		}
	}
}

// update subscribes to what is wanted and not subscribed yet, and replaces subscriptions that cannot hear all
// publishers.
func (r *recorder) update(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, topic := range r.node.Topics() {
		if !r.selection.wants(&topic) {
			continue
		}
		if len(topic.Types) > 1 {
			r.warn("types "+topic.Name, "%s has several types, %s; each is recorded on its own", topic.Name, strings.Join(topic.Types, ", "))
		}
		for _, typeName := range topic.Types {
			offers := offersOf(&topic, typeName)
			known := r.streams[streamKey{topic.Name, typeName}]
			if known == nil {
				r.subscribe(&topic, typeName, offers)
			} else {
				r.adapt(ctx, known, offers)
			}
		}
	}
}

// offersOf returns what the publishers of topic with that type offer.
func offersOf(topic *bridge.Topic, typeName string) (offers []codec.QoS) {
	for _, p := range topic.Publishers {
		if p.Type == typeName {
			offers = append(offers, p.QoS)
		}
	}
	return offers
}

func (r *recorder) subscribe(topic *bridge.Topic, typeName string, offers []codec.QoS) {
	s := &stream{channel: r.channel(topic, typeName, offers), queue: r.queue, ring: r.ring, clock: r.clock}
	rec := &recording{stream: s, qos: r.request(topic.Name, offers)}
	var err error
	if rec.subscription, err = r.node.Subscribe(topic.Name, typeName, rec.qos, s.take); err != nil {
		r.warn("subscribe "+topic.Name, "cannot record %s: %v", topic.Name, err)
		return
	}
	if r.sink != nil {
		r.sink.declare(s.channel)
	}
	r.streams[streamKey{topic.Name, typeName}] = rec
	r.node.Log(bridge.Info, "recording %s [%s]", topic.Name, typeName)
}

// request returns the QoS to subscribe with. Everything the middleware receives is taken, whatever depth is asked for.
func (r *recorder) request(topic string, offers []codec.QoS) codec.QoS {
	qos, ok := r.overrides[topic]
	if !ok {
		qos, _ = bridge.AdaptQoS(offers)
	}
	qos.History, qos.Depth = codec.KeepAll, 0
	return qos
}

func (r *recorder) channel(topic *bridge.Topic, typeName string, offers []codec.QoS) *codec.Channel {
	c := &codec.Channel{Topic: topic.Name, Type: typeName, Encoding: codec.EncodingCDR}
	for _, offer := range offers {
		if !slices.Contains(c.QoS, offer) {
			c.QoS = append(c.QoS, offer)
		}
	}
	for _, p := range topic.Publishers {
		if p.Type == typeName && p.TypeHash != "" {
			c.TypeHash = p.TypeHash
		}
	}
	text, err := r.library.Concatenated(typeName)
	if err != nil {
		r.warn("type "+typeName, "%s is recorded without its definition, its readers must know it: %v; name the folder that has it with --definition-paths", topic.Name, err)
		return c
	}
	c.Schema = codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}
	if hash, err := r.library.Hash(typeName); err == nil && c.TypeHash == "" {
		c.TypeHash = hash
	} else if err == nil && c.TypeHash != hash {
		r.warn("hash "+topic.Name, "%s: its publisher's %s differs from the definition at hand; that definition is recorded", topic.Name, typeName)
	}
	return c
}

// overlap is how long a subscription and its successor listen side by side, so that nothing falls between them.
const overlap = time.Second

// adapt replaces the subscription of rec when there are publishers that it cannot hear.
func (r *recorder) adapt(ctx context.Context, rec *recording, offers []codec.QoS) {
	deaf := false
	for _, offer := range offers {
		if ok, reason := bridge.Compatible(offer, rec.qos); !ok {
			deaf = true
			if _, fixed := r.overrides[rec.channel.Topic]; fixed {
				r.warn("qos "+rec.channel.Topic, "%s: the QoS override does not match a publisher: %s", rec.channel.Topic, reason)
				return
			}
		}
	}
	if !deaf {
		return
	}
	rec.qos = r.request(rec.channel.Topic, offers)
	gate := make(chan struct{})
	next, err := r.node.Subscribe(rec.channel.Topic, rec.channel.Type, rec.qos, func(samples []bridge.Sample) {
		<-gate
		rec.take(samples)
	})
	if err != nil {
		r.warn("subscribe again "+rec.channel.Topic, "%s: cannot subscribe for a new publisher: %v", rec.channel.Topic, err)
		return
	}
	rec.track()
	old := rec.subscription
	rec.subscription = next
	go func() {
		defer close(gate)
		select {
		case <-ctx.Done():
		case <-time.After(overlap):
		}
		_ = old.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		rec.lost += old.Lost()
	}()
}

// recorded returns the recordings by topic and type.
func (r *recorder) recorded() []*recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*recording, 0, len(r.streams))
	for _, rec := range r.streams {
		list = append(list, rec)
	}
	slices.SortFunc(list, func(a, b *recording) int {
		return strings.Compare(a.channel.Topic+" "+a.channel.Type, b.channel.Topic+" "+b.channel.Type)
	})
	return list
}

// unsubscribe closes all subscriptions.
func (r *recorder) unsubscribe() {
	for _, rec := range r.recorded() {
		_ = rec.subscription.Close()
	}
}

// warn logs a warning the first time it is about what.
func (r *recorder) warn(what, format string, args ...any) {
	if !r.warned[what] {
		r.warned[what] = true
		r.node.Log(bridge.Warn, format, args...)
	}
}

// newRecorder checks the options and sets up what run needs. Nothing is created when they are wrong.
func newRecorder(o options, chosen *selection, node bridge.Node) (*recorder, error) {
	r := &recorder{
		options: o, selection: chosen, node: node, name: o.Output, library: msgs.Library(o.DefinitionPaths...),
		streams: map[streamKey]*recording{}, warned: map[string]bool{},
	}
	if r.name == "" {
		r.name = defaultName(time.Now())
	}
	var err error
	if r.clock, err = bridge.NewSimTime(node); err != nil {
		return nil, err
	}
	if o.QoSOverrides != "" {
		text, err := os.ReadFile(o.QoSOverrides)
		if err != nil {
			return nil, fmt.Errorf("read QoS overrides: %w", err)
		}
		if r.overrides, err = codec.ParseQoSOverrides(text); err != nil {
			return nil, fmt.Errorf("read QoS overrides: %s: %w", o.QoSOverrides, err)
		}
	}
	if o.Snapshot || o.SnapshotMode {
		r.ring = newQueue(int64(o.SnapshotSize), o.SnapshotDuration)
	}
	if o.SnapshotMode {
		return r, nil
	}
	w, path, err := create(&o, r.name)
	if err != nil {
		return nil, err
	}
	r.path = path
	r.queue = newQueue(int64(o.QueueSize), 0)
	r.sink = &sink{queue: r.queue, writer: w}
	return r, nil
}
