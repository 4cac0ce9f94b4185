package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/throttle"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/selection"
)

// updateRest is how often the time that update took passes, at least, before it is called again, so that a large graph
// that changes all the time leaves the recorder time to record.
const updateRest = 4

// follow keeps the subscriptions in step with the graph until ctx ends.
func (r *recorder) follow(ctx context.Context) {
	changes := r.node.Watch(ctx)
	tick := time.NewTicker(statusPace)
	defer tick.Stop()
	status := status{recorder: r, logged: time.Now()}
	if r.options.Diagnostics {
		var err error
		if status.diagnostics, err = newDiagnostics(r); err != nil {
			r.warn("diagnostics", "no diagnostics: %v", err)
		}
	}
	due := time.NewTimer(0)
	defer due.Stop()
	var rested time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
			due.Reset(time.Until(rested))
		case <-r.lookAgain:
			due.Reset(time.Until(rested))
		case start := <-due.C:
			r.update()
			rested = time.Now().Add(updateRest * time.Since(start))
		case now := <-tick.C:
			r.endComplete()
			status.update(now)
		}
	}
}

// update subscribes to what is wanted and new, if it may, and replaces subscriptions that do not suit the publishers
// any more.
func (r *recorder) update() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.active {
		return
	}
	discover := r.discovery || time.Now().Before(r.discovered)
	topics := r.topics()
	if r.snapshots != nil {
		defer r.checkConditions(topics)
	}
	for _, static := range r.selection.Static {
		if r.recorders[topicKey{static.Topic, static.TypeName}] == nil {
			topic := r.topic(static.Topic)
			r.subscribe(&topic, static.TypeName, offersOf(&topic, static.TypeName))
		}
	}
	for _, topic := range topics {
		types := slices.DeleteFunc(selection.TypesOf(&topic),
			func(typeName string) bool { return !r.selection.Wants(&topic, typeName) })
		if len(types) > 1 {
			r.warn("types "+topic.Name, "%s has several types, %s; each is recorded on its own", topic.Name,
				strings.Join(types, ", "))
		}
		for _, typeName := range types {
			offers := offersOf(&topic, typeName)
			if known := r.recorders[topicKey{topic.Name, typeName}]; known != nil {
				known.SetPublishers(topic.Publishers, typeName)
				r.listenAgain(known)
				r.adapt(known, &topic, offers)
				r.define(known, &topic)
			} else if discover {
				r.subscribe(&topic, typeName, offers)
			}
		}
	}
	r.leaveServices(topics)
}

// leaveServices stops listening to the calls of services that are gone, as clients may take who listens for the
// service.
func (r *recorder) leaveServices(topics []bridge.Topic) {
	if !r.selection.Services() {
		return
	}
	there := selection.Names{}
	for _, topic := range topics {
		there[topic.Name] = selection.Served(&topic)
	}
	for key, rec := range r.recorders {
		if _, calls := bridge.CallsToDDS(key.topic); calls && !there[key.topic] {
			rec.close()
		}
	}
}

// listenAgain listens to a service that is back.
func (r *recorder) listenAgain(rec *topicRecorder) {
	c := rec.Channel.Load()
	if _, calls := bridge.CallsToDDS(c.Topic); !calls || rec.ended || len(rec.current()) > 0 {
		return
	}
	subscription, err := r.node.Subscribe(c.Topic, c.Type, rec.qos, r.handler(rec))
	if err != nil {
		r.warn("subscribe "+c.Topic, "cannot record %s: %v", c.Topic, err)
		return
	}
	rec.add(subscription)
}

// topics returns the topics of the graph, and the calls of services if they are to be recorded.
func (r *recorder) topics() []bridge.Topic {
	topics := r.node.Topics()
	if lister, ok := r.node.(bridge.CallLister); ok && r.selection.Services() {
		topics = append(topics, lister.Calls()...)
	}
	return topics
}

// endComplete closes the subscriptions that have as many messages as are wanted, unless snapshots want more. When all
// topics that are named have theirs, the recording is complete.
func (r *recorder) endComplete() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Limit == 0 || !r.active {
		return
	}
	complete := map[string]bool{}
	for key, rec := range r.recorders {
		if !rec.Complete.Load() {
			continue
		}
		complete[key.topic] = true
		if !rec.ended && r.snapshots == nil {
			rec.ended = true
			rec.close()
		}
	}
	named := len(r.selection.Topics) > 0 && !r.selection.Automatic()
	for topic := range r.selection.Topics {
		named = named && complete[topic]
	}
	if named {
		r.session.Load().endAt(fmt.Sprintf("%d messages of each topic are recorded", r.options.Limit))
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

// subscribe records topic with that type from now on, and says whether it could.
func (r *recorder) subscribe(topic *bridge.Topic, typeName string, offers []codec.QoS) bool {
	if r.composer != nil {
		if err := r.composer.Accepts(topic.Name, typeName); err != nil {
			r.unfit[topic.Name] = true
			r.warn("unfit "+topic.Name+typeName, "not recorded: %v", err)
			return false
		}
	}
	if r.options.format().Live.Robot != nil && !isRobotTopic(r.robot, topic.Name, typeName) {
		r.unfit[topic.Name] = true
		r.warn("unfit "+topic.Name+typeName, "not recorded: %s [%s] is no camera and no arm; robot_mapping can say that "+
			"it is", topic.Name, typeName)
		return false
	}
	rec := r.newTopicRecorder(r.channel(topic, typeName, offers))
	rec.SetPublishers(topic.Publishers, typeName)
	rec.qos = r.request(topic.Name, offers)
	subscription, err := r.node.Subscribe(topic.Name, typeName, rec.qos, r.handler(rec))
	if err != nil {
		r.warn("subscribe "+topic.Name, "cannot record %s: %v", topic.Name, err)
		return false
	}
	rec.add(subscription)
	r.recorders[topicKey{topic.Name, typeName}] = rec
	r.define(rec, topic)
	r.declare(rec)
	r.node.Log(bridge.Info, "recording %s [%s]", topic.Name, typeName)
	return true
}

// handler returns the handler of a subscription of rec. Where no publisher is known yet, it looks at the graph when the
// first message comes: a message can be faster than the news of its publisher. It must not lock r.mu, under which
// subscriptions are closed.
func (r *recorder) handler(rec *topicRecorder) func([]bridge.Sample) {
	c := rec.Channel.Load()
	if c.QoS != nil {
		return rec.Take
	}
	var once sync.Once
	return func(samples []bridge.Sample) {
		once.Do(func() {
			topic := r.topic(c.Topic)
			rec.SetPublishers(topic.Publishers, c.Type)
			r.meet(rec, &topic, offersOf(&topic, c.Type))
		})
		rec.Take(samples)
	}
}

// meet completes the channel of rec once its publishers are known.
func (r *recorder) meet(rec *topicRecorder, topic *bridge.Topic, offers []codec.QoS) {
	old := rec.Channel.Load()
	if old.QoS != nil || len(offers) == 0 {
		return
	}
	known := r.channel(topic, old.Type, offers)
	rec.Update(func(c *codec.Channel) bool {
		if c.QoS != nil {
			return false
		}
		schema := c.Schema
		*c = *known
		if c.Schema.Encoding == "" {
			c.Schema = schema
		}
		return true
	})
}

// newTopicRecorder returns a topicRecorder as the options want it.
func (r *recorder) newTopicRecorder(c *codec.Channel) *topicRecorder {
	o := intake.Options{
		Clock: r.clock, Queue: r.backlog, Events: &r.session.Load().journal, Limit: r.options.Limit,
		Throttle: throttle.Of(r.throttles, c.Topic), Resumption: &r.resumption, OnResume: r.resume,
	}
	o.RepeatDepth, o.Repeat = selection.NumberOf(r.repeats, c.Topic)
	if o.Repeat || r.options.RepeatLatched {
		o.Cache = r.latches
	}
	if r.snapshots != nil {
		o.Ring = r.snapshots.Ring
	}
	rec := &topicRecorder{Receiver: intake.NewReceiver(c, o)}
	if c.Schema.Encoding == "" {
		rec.AwaitDefinition()
	}
	if priority, found := selection.NumberOf(r.priorities, c.Topic); found {
		rec.Priority = priority
	}
	if r.snapshots != nil {
		rec.Limits = limitsOf(r.limits, c.Topic, queue.Limits{Age: r.options.SnapshotDuration})
		r.snapshots.Check(rec.Receiver, &rec.checks)
	}
	rec.Pause(r.pausing, r.pausedAt)
	return rec
}

// declare has the channel in the file even if no message follows, once its publishers' QoS and its definition are
// known, unless it is not recorded (any more). r.mu is locked.
func (r *recorder) declare(rec *topicRecorder) {
	c, writer := rec.Channel.Load(), r.session.Load().writer
	if rec.declared || writer == nil || c.QoS == nil || rec.AwaitsDefinition() {
		return
	}
	if r.recorders[topicKey{c.Topic, c.Type}] == rec {
		rec.declared = true
		writer.Declare(c)
	}
}

// request returns the QoS to subscribe with. Everything the middleware receives is taken, whatever depth is asked for.
func (r *recorder) request(topic string, offers []codec.QoS) codec.QoS {
	qos, ok := r.overrides[topic]
	if !ok {
		var mixed bool
		if qos, mixed = bridge.AdaptQoS(offers); mixed {
			r.warn("mixed "+topic, "%s: its publishers offer different QoS, and what all of them offer is subscribed to; "+
				"messages may be lost, and latched ones missed", topic)
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
	var err error
	if c.Schema, err = r.schemaOf(typeName, c.TypeHash); err != nil {
		return c
	}
	if hash, err := r.library.Hash(typeName); err == nil && c.TypeHash == "" {
		c.TypeHash = hash
	} else if err == nil && c.TypeHash != hash {
		r.warn("hash "+topic.Name, "%s: its publisher's %s differs from the definition at hand; that definition is recorded",
			topic.Name, typeName)
	}
	return c
}

// overlap is how long a subscription and its successor listen side by side, so that nothing falls between them.
const overlap = time.Second

// adapt replaces the subscription of rec when it cannot hear all of the publishers, or could hear more of them: all are
// reliable, or latched, now.
func (r *recorder) adapt(rec *topicRecorder, topic *bridge.Topic, offers []codec.QoS) {
	if len(offers) == 0 || rec.ended || len(rec.current()) != 1 {
		return
	}
	r.meet(rec, topic, offers)
	r.declare(rec)
	c := rec.Channel.Load()
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
		rec.Take(samples)
	})
	if err != nil {
		r.warn("subscribe again "+c.Topic, "%s: cannot subscribe for a new publisher: %v", c.Topic, err)
		return
	}
	old := rec.current()[0]
	rec.add(next)
	rec.qos = qos
	ended := r.session.Load().ctx
	r.replacements.Go(func() {
		select {
		case <-ended.Done():
		case <-time.After(overlap):
		}
		rec.drop(old)
		rec.Replace(time.Now().UnixNano())
		close(ready)
	})
}

// recorded returns the recordings by topic and type.
func (r *recorder) recorded() []*topicRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*topicRecorder, 0, len(r.recorders))
	for _, rec := range r.recorders {
		list = append(list, rec)
	}
	slices.SortFunc(list, func(a, b *topicRecorder) int {
		c, d := a.Channel.Load(), b.Channel.Load()
		return cmp.Or(strings.Compare(c.Topic, d.Topic), strings.Compare(c.Type, d.Type))
	})
	return list
}

// unsubscribe closes all subscriptions.
func (r *recorder) unsubscribe() {
	r.replacements.Wait()
	for _, rec := range r.recorded() {
		rec.close()
	}
}

// unheard says of which topics that were named nothing came.
func (r *recorder) unheard() []string {
	r.mu.Lock()
	named := slices.Sorted(maps.Keys(r.selection.Topics))
	heard := maps.Clone(r.unfit)
	r.mu.Unlock()
	there := selection.Names{}
	for _, rec := range r.recorded() {
		topic, n := rec.Channel.Load().Topic, rec.counts()
		there[topic] = true
		heard[topic] = heard[topic] || n.Received+n.Lost+n.skipped+n.throttled > 0
	}
	var list []string
	for _, name := range named {
		service, events := strings.CutSuffix(name, selection.ServiceEvents)
		switch {
		case heard[name], events && (there[name] || there[service+bridge.CallReplies]): // a service need not be called
		case there[name]:
			list = append(list, name+": no message came")
		default:
			list = append(list, name+": nobody published it")
		}
	}
	return list
}

// warn logs a warning the first time it is about what.
func (r *recorder) warn(what, format string, args ...any) {
	r.warning.Lock()
	defer r.warning.Unlock()
	if !r.warned[what] {
		r.warned[what] = true
		r.node.Log(bridge.Warn, format, args...)
	}
}
