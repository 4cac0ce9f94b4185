package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/progress"
)

// recorder subscribes to the selected topics of a node's graph and writes what they carry.
type recorder struct {
	options   options
	node      bridge.Node
	line      *progress.Line
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

	warned       map[string]bool // what was said already
	replacements sync.WaitGroup  // of subscriptions, while both listen

	mu      sync.Mutex
	streams map[streamKey]*recording
}

type streamKey struct{ topic, typeName string }

// recording is a stream with its subscription.
type recording struct {
	*stream
	qos          codec.QoS
	subscription bridge.Subscription
	replacing    atomic.Bool   // the subscription before this one listens still
	lost         atomic.Uint64 // messages in transport, of subscriptions that were replaced
}

// run records until ctx ends, the time is up or the disk fails. Everything received by then is in the file when it
// returns.
func (r *recorder) run(ctx context.Context) (err error) {
	r.started = time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.options.MaxDuration > 0 {
		defer time.AfterFunc(r.options.MaxDuration, cancel).Stop()
	}
	failed := make(chan error, 3) // has room for all
	check := func(err error) {
		if err != nil {
			failed <- err
			cancel()
		}
	}
	var workers sync.WaitGroup
	stopSink := make(chan struct{})
	if r.sink != nil {
		workers.Go(func() { check(r.sink.run(stopSink)) })
		workers.Go(func() { check(r.syncEvery(r.options.ChunkDuration, stopSink)) })
	}
	if r.ring != nil {
		check(r.serveSnapshots())
	}
	if r.awaitTime(ctx) == nil {
		r.follow(ctx)
	}
	r.line.Clear()

	r.unsubscribe()
	close(stopSink)
	workers.Wait()
	select {
	case err = <-failed:
	default:
	}
	if r.sink == nil {
		return err
	}
	r.sink.discard()
	if err == nil {
		err = r.sink.writer.Sync() // Close then keeps to it
	}
	if closeErr := r.sink.writer.Close(); !errors.Is(err, closeErr) {
		err = errors.Join(err, closeErr)
	}
	if err != nil {
		r.recount()
	}
	return err
}

// recount counts what is in the recording. After an error of the disk that is less than what was written.
func (r *recorder) recount() {
	reader, err := codec.Open(r.path)
	if err != nil {
		return
	}
	defer reader.Close()
	info, err := reader.Info()
	if err != nil {
		return
	}
	r.sink.bytes.Store(uint64(info.Size))
	for _, topic := range info.Topics {
		if rec := r.streams[streamKey{topic.Channel.Topic, topic.Channel.Type}]; rec != nil {
			rec.written.Store(topic.MessageCount)
			rec.dropped.Store(rec.received.Load() - topic.MessageCount)
		}
	}
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
func (r *recorder) follow(ctx context.Context) {
	changes := r.node.Watch(ctx)
	tick := time.NewTicker(statusPace)
	defer tick.Stop()
	start := time.Now()
	status := status{recorder: r, line: r.line, logged: start}
	for {
		r.update(ctx, !r.options.NoDiscovery || time.Since(start) < discoveryTime)
		select {
		case <-ctx.Done():
			return
		case <-changes:
		case <-tick.C:
			status.tell()
		}
	}
}

// discoveryTime is how long the graph may take to become known; with no_discovery what it holds then is recorded.
const discoveryTime = 3 * time.Second

// syncEvery puts what was written on the disk, every period, until stop is closed.
func (r *recorder) syncEvery(period time.Duration, stop <-chan struct{}) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
			if err := r.sink.writer.Sync(); err != nil {
				return err
			}
		}
	}
}

// update subscribes to what is wanted and new, if it may, and replaces subscriptions that do not suit the publishers any
// more.
func (r *recorder) update(ctx context.Context, discover bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, topic := range r.node.Topics() {
		if !r.selection.wants(&topic) {
			continue
		}
		types := typesOf(&topic)
		if len(types) > 1 {
			r.warn("types "+topic.Name, "%s has several types, %s; each is recorded on its own", topic.Name, strings.Join(types, ", "))
		}
		for _, typeName := range types {
			offers := offersOf(&topic, typeName)
			if known := r.streams[streamKey{topic.Name, typeName}]; known != nil {
				r.adapt(ctx, known, &topic, offers)
			} else if discover {
				r.subscribe(&topic, typeName, offers)
			}
		}
	}
}

// typesOf returns the types that are published on topic, or where nobody publishes those that are subscribed.
func typesOf(topic *bridge.Topic) []string {
	if len(topic.Publishers) == 0 {
		return topic.Types
	}
	var types []string
	for _, p := range topic.Publishers {
		if !slices.Contains(types, p.Type) {
			types = append(types, p.Type)
		}
	}
	return types
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
	rec := &recording{stream: newStream(r.channel(topic, typeName, offers), r.queue, r.ring, r.clock)}
	rec.qos = r.request(topic.Name, offers)
	var err error
	if rec.subscription, err = r.node.Subscribe(topic.Name, typeName, rec.qos, rec.take); err != nil {
		r.warn("subscribe "+topic.Name, "cannot record %s: %v", topic.Name, err)
		return
	}
	r.streams[streamKey{topic.Name, typeName}] = rec
	r.declare(rec)
	r.node.Log(bridge.Info, "recording %s [%s]", topic.Name, typeName)
}

// declare has the channel in the file even if no message follows, unless its publishers' QoS is still to come.
func (r *recorder) declare(rec *recording) {
	if c := rec.channel.Load(); r.sink != nil && c.QoS != nil {
		r.sink.declare(c)
	}
}

// request returns the QoS to subscribe with. Everything the middleware receives is taken, whatever depth is asked for.
func (r *recorder) request(topic string, offers []codec.QoS) codec.QoS {
	qos, ok := r.overrides[topic]
	if !ok {
		var mixed bool
		if qos, mixed = bridge.AdaptQoS(offers); mixed {
			r.warn("mixed "+topic, "%s: its publishers offer different QoS, and what all of them offer is subscribed to; messages may be lost, and latched ones missed", topic)
		}
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
		advice := ""
		if errors.Is(err, rosidl.ErrUnknownType) {
			advice = "; name the folder that has it with --definition-paths"
		}
		r.warn("type "+typeName, "%s is recorded without its definition, its readers must know it: %v%s", topic.Name, err, advice)
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

// adapt replaces the subscription of rec when it cannot hear all of the publishers, or could hear more of them: all are
// reliable, or latched, now.
func (r *recorder) adapt(ctx context.Context, rec *recording, topic *bridge.Topic, offers []codec.QoS) {
	if len(offers) == 0 || rec.replacing.Load() {
		return
	}
	c := rec.channel.Load()
	if c.QoS == nil {
		c = r.channel(topic, c.Type, offers)
		rec.channel.Store(c)
		r.declare(rec)
	}
	if _, fixed := r.overrides[c.Topic]; fixed {
		for _, offer := range offers {
			if ok, reason := bridge.Compatible(offer, rec.qos); !ok {
				r.warn("qos "+c.Topic, "%s: the QoS override does not match a publisher: %s", c.Topic, reason)
			}
		}
		return
	}
	qos := r.request(c.Topic, offers)
	if qos == rec.qos {
		return
	}
	ready := make(chan struct{})
	next, err := r.node.Subscribe(c.Topic, c.Type, qos, func(samples []bridge.Sample) {
		<-ready
		rec.take(samples)
	})
	if err != nil {
		r.warn("subscribe again "+c.Topic, "%s: cannot subscribe for a new publisher: %v", c.Topic, err)
		return
	}
	old := rec.subscription
	rec.subscription, rec.qos = next, qos
	rec.replacing.Store(true)
	r.replacements.Go(func() {
		select {
		case <-ctx.Done():
		case <-time.After(overlap):
		}
		_ = old.Close()
		rec.lost.Add(old.Lost())
		rec.replace(time.Now().UnixNano())
		close(ready)
		rec.replacing.Store(false)
	})
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
		c, d := a.channel.Load(), b.channel.Load()
		return cmp.Or(strings.Compare(c.Topic, d.Topic), strings.Compare(c.Type, d.Type))
	})
	return list
}

// unsubscribe closes all subscriptions.
func (r *recorder) unsubscribe() {
	r.replacements.Wait()
	for _, rec := range r.recorded() {
		_ = rec.subscription.Close()
	}
}

// unheard returns the topics that were named and never there.
func (r *recorder) unheard() []string {
	return slices.DeleteFunc(slices.Clone(r.selection.topics), func(name string) bool {
		return slices.ContainsFunc(r.recorded(), func(rec *recording) bool { return rec.channel.Load().Topic == name })
	})
}

// warn logs a warning the first time it is about what.
func (r *recorder) warn(what, format string, args ...any) {
	if !r.warned[what] {
		r.warned[what] = true
		r.node.Log(bridge.Warn, format, args...)
	}
}

// newRecorder checks the options and sets up what run needs. Nothing is created when they are wrong.
func newRecorder(o options, chosen *selection, node bridge.Node, line *progress.Line) (*recorder, error) {
	r := &recorder{
		options: o, selection: chosen, node: node, line: line, name: o.Output, library: msgs.Library(o.DefinitionPaths...),
		streams: map[streamKey]*recording{}, warned: map[string]bool{},
	}
	if r.name == "" {
		r.name = defaultName(time.Now())
	}
	var err error
	if r.clock, err = bridge.NewSimTime(node); err != nil {
		return nil, err
	}
	if r.overrides, err = graph.QoSOverrides(o.QoSOverrides); err != nil {
		return nil, err
	}
	if o.Snapshot || o.SnapshotMode {
		r.ring = newQueue(int64(o.SnapshotSize), o.SnapshotDuration)
	}
	if o.SnapshotMode {
		return r, nil
	}
	w, path, err := create(&o, r.name, nil)
	if err != nil {
		return nil, err
	}
	r.path = path
	r.queue = newQueue(int64(o.QueueSize), 0)
	r.sink = &sink{queue: r.queue, writer: w}
	return r, nil
}
