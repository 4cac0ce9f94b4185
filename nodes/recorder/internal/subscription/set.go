// Package subscription subscribes to the selected topics of the graph, and keeps subscriptions in step with their
// publishers.
package subscription

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/selection"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// ErrInactive is returned while nothing may be subscribed to.
var ErrInactive = errors.New("nothing is being recorded")

const (
	// DiscoveryTime is how long the graph may take to become known; without discovery what it holds then is recorded.
	DiscoveryTime = 3 * time.Second
	// updateRest is how often the time that update took passes, at least, before it is called again, so that a large
	// graph that changes all the time leaves the recorder time to record.
	updateRest = 4
	// overlap is how long a subscription and its successor listen side by side, so that nothing falls between them.
	overlap = time.Second
)

// mostTopics are recorded, beside those that are named at the start. Somebody who lets topics appear and vanish would
// fill memory and file with them.
const mostTopics = 10_000

// Options are what a Set needs of the recorder. The functions must not call the Set.
type Options struct {
	Owner     *owner.Owner // owns the Set
	Node      bridge.Node
	Clock     *bridge.SimTime
	Selection *selection.Selection
	Library   *rosidl.Library
	Overrides map[string]codec.QoS // by topic
	Discovery bool                 // subscribe to topics that appear later
	Snapshots *snapshot.Set        // nil: there are none

	NewReceiver func(*codec.Channel) *intake.Receiver // of a topic that is recorded
	Unfit       func(topic, typeName string) string   // returns why the format cannot hold a topic, "" if it can
	Declare     func(*codec.Channel)                  // is called once the channel of a topic is complete
	Undefined   func(c *codec.Channel, err error)     // is called if the definition of c's type cannot be had
	Warn        func(what, format string, args ...any)
}

// Set is the topics that are recorded, and those that are only watched for conditions. The goroutine of Owner owns it:
// no other one calls its methods, except Look, Topics, Paused and Discovering.
type Set struct {
	Options
	definitions  definitions
	lookAgain    chan struct{}   // wakes Run
	replacements sync.WaitGroup  // of subscriptions, while both listen
	named        selection.Names // at the start

	recording  context.Context // nil: nothing may be subscribed to
	discovered time.Time       // until when topics are subscribed to even without discovery
	topics     map[key]*Topic
	watches    map[key]*Topic  // with conditions, not recorded
	unfit      selection.Names // named topics that the format cannot hold

	// Set by the owner, for all.
	sorted    atomic.Pointer[[]*Topic] // topics, in order
	paused    atomic.Bool
	discovery atomic.Bool // to topics that are not recorded yet
}

type key struct{ topic, typeName string }

// New returns a set without topics.
func New(o Options) *Set {
	s := &Set{
		Options: o, definitions: definitions{node: o.Node, fetching: map[string]*fetch{}},
		lookAgain: make(chan struct{}, 1),
		named:     maps.Clone(o.Selection.Topics),
		topics:    map[key]*Topic{}, watches: map[key]*Topic{}, unfit: selection.Names{},
	}
	s.discovery.Store(o.Discovery)
	s.sorted.Store(new([]*Topic))
	return s
}

// Run is the owner until ctx ends: it follows the graph, calls tick every pace, and does what the owner is asked for.
func (s *Set) Run(ctx context.Context, pace time.Duration, tick func(now time.Time)) {
	changes := s.Node.Watch(ctx)
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	due := time.NewTimer(0)
	defer due.Stop()
	var rested time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-changes:
			if !open { // the node is closed, too
				changes = nil
			}
			due.Reset(time.Until(rested))
		case <-s.lookAgain:
			due.Reset(time.Until(rested))
		case start := <-due.C:
			s.update()
			rested = time.Now().Add(updateRest * time.Since(start))
		case <-s.Owner.Wake():
			s.Owner.Turn()
		case now := <-ticker.C:
			tick(now)
		}
	}
}

// Look makes Run look at the graph soon.
func (s *Set) Look() {
	select {
	case s.lookAgain <- struct{}{}:
	default:
	}
}

// Reset forgets the topics of the last recording.
func (s *Set) Reset() {
	for _, t := range s.topics {
		t.Forget()
	}
	s.topics = map[key]*Topic{}
	s.sort()
}

// Start subscribes from now on, for a recording that ends with ctx.
func (s *Set) Start(ctx context.Context) {
	s.recording, s.discovered = ctx, time.Now().Add(DiscoveryTime)
	s.Look()
}

// Stop closes all subscriptions of the recording, whose context has ended.
func (s *Set) Stop() {
	s.recording = nil
	s.replacements.Wait()
	for _, t := range s.Topics() {
		t.close()
		switch {
		case t.Channel.Load().Schema.Encoding != "":
		case t.fetching:
			s.leaveUndefined(t, errors.New("its publisher did not answer in time"))
		case t.expecting:
			s.leaveUndefined(t, errUnknownNode)
		}
	}
}

// Discover subscribes to topics that appear from now on, if they are selected, or leaves it at those recorded now.
func (s *Set) Discover(on bool) {
	s.discovery.Store(on)
	s.discovered = time.Time{}
	s.Look()
}

// Discovering reports whether topics that appear are subscribed to.
func (s *Set) Discovering() bool { return s.discovery.Load() }

// starting reports whether the graph may still be becoming known.
func (s *Set) starting() bool { return time.Now().Before(s.discovered) }

// Pause pauses or resumes all topics. It reports false if they are already.
func (s *Set) Pause(on bool) bool {
	if s.paused.Swap(on) == on {
		return false
	}
	for _, t := range s.topics {
		t.Pause(on)
	}
	return true
}

// Paused reports whether topics are paused.
func (s *Set) Paused() bool { return s.paused.Load() }

// update subscribes to selected topics that are new, and replaces subscriptions that no longer suit the publishers.
func (s *Set) update() {
	if s.recording == nil {
		return
	}
	graph := s.graph()
	for _, static := range s.Selection.Static {
		if s.topics[key{static.Topic, static.TypeName}] == nil {
			info := s.info(static.Topic)
			s.subscribe(&info, static.TypeName)
		}
	}
	for i := range graph {
		info := &graph[i]
		types := slices.DeleteFunc(selection.TypesOf(info),
			func(typeName string) bool { return !s.Selection.Wants(info, typeName) })
		if len(types) > 1 {
			s.Warn("types "+info.Name, "%s has several types, %s; each is a topic of its own", info.Name,
				strings.Join(types, ", "))
		}
		for _, typeName := range types {
			if t := s.topics[key{info.Name, typeName}]; t != nil {
				t.SetPublishers(info.Publishers, typeName)
				s.listenAgain(t)
				s.adapt(t, info)
				s.define(t, info)
			} else if s.discovery.Load() || s.starting() {
				s.subscribe(info, typeName)
			}
		}
	}
	s.leaveServices(graph)
	if s.Snapshots != nil {
		s.checkConditions(graph)
	}
}

// leaveServices stops listening to the calls of services that are gone, because clients may mistake our reader for the
// server.
func (s *Set) leaveServices(graph []bridge.Topic) {
	if !s.Selection.Services() {
		return
	}
	there := selection.Names{}
	for i := range graph {
		there[graph[i].Name] = selection.Served(&graph[i])
	}
	for k, t := range s.topics {
		if _, calls := bridge.CallsToDDS(k.topic); calls && !there[k.topic] {
			t.close()
		}
	}
}

// listenAgain listens to a service that is back.
func (s *Set) listenAgain(t *Topic) {
	if _, calls := bridge.CallsToDDS(t.Name()); calls && !t.ended && len(t.Subscriptions()) == 0 {
		s.listen(t, s.handler(t), "record")
	}
}

// listen subscribes to a topic. It reports false, and warns, if that failed.
func (s *Set) listen(t *Topic, handler func([]bridge.Sample), purpose string) bool {
	c := t.Channel.Load()
	subscription, err := s.Node.Subscribe(c.Topic, c.Type, t.qos, handler)
	if err != nil {
		s.Warn("subscribe "+c.Topic, "cannot %s %s: %v", purpose, c.Topic, err)
		return false
	}
	t.Add(subscription)
	return true
}

// graph returns the topics of the graph, and the calls of services if they are to be recorded.
func (s *Set) graph() []bridge.Topic {
	topics := s.Node.Topics()
	if s.Selection.Services() {
		topics = append(topics, s.Node.Calls()...)
	}
	return topics
}

// info returns what the graph knows of a topic, at least its name.
func (s *Set) info(name string) bridge.Topic {
	for _, info := range s.graph() {
		if info.Name == name {
			return info
		}
	}
	return bridge.Topic{Name: name}
}

// EndComplete closes subscriptions of topics that have reached their limit, unless snapshots need more messages. It
// reports whether all topics that are named have.
func (s *Set) EndComplete() bool {
	if s.recording == nil {
		return false
	}
	complete := selection.Names{}
	for k, t := range s.topics {
		if !t.Complete.Load() {
			continue
		}
		complete[k.topic] = true
		if !t.ended && s.Snapshots == nil {
			t.ended = true
			t.close()
		}
	}
	for topic := range s.Selection.Topics {
		if !complete[topic] {
			return false
		}
	}
	return len(s.Selection.Topics) > 0 && !s.Selection.Automatic()
}

// Subscribe records topics beside those selected, each with the type at its index in types or, where there is none or
// it is "", with those that the graph knows. It returns the full names of those that are recorded now, and of those for
// which no type is known; they are recorded once they appear.
func (s *Set) Subscribe(topics, types []string) (subscribed, unavailable []string, err error) {
	var full []string
	for _, name := range topics {
		name, err := s.Selection.Expand(name)
		if err != nil {
			return nil, nil, err
		}
		full = append(full, name)
	}
	if s.recording == nil {
		return nil, nil, ErrInactive
	}
	if n := len(s.Selection.Topics) + len(full); n > mostTopics+len(s.named) {
		return nil, nil, fmt.Errorf("%d topics would be named, more than %d", n, mostTopics+len(s.named))
	}
	for i, name := range full {
		s.Selection.Topics[name] = true
		info := s.info(name)
		wanted := selection.TypesOf(&info)
		if i < len(types) && types[i] != "" {
			wanted = []string{types[i]}
		}
		ok := len(wanted) > 0
		for _, typeName := range wanted {
			if s.topics[key{name, typeName}] == nil {
				ok = s.subscribe(&info, typeName) && ok
			}
		}
		if ok {
			subscribed = append(subscribed, name)
		} else {
			unavailable = append(unavailable, name)
		}
	}
	return subscribed, unavailable, nil
}

// OffersOf returns what the publishers of a topic with that type offer.
func OffersOf(info *bridge.Topic, typeName string) (offers []codec.QoS) {
	for _, p := range info.Publishers {
		if p.Type == typeName {
			offers = append(offers, p.QoS)
		}
	}
	return offers
}

// subscribe records a topic with that type from now on, and reports whether it could.
func (s *Set) subscribe(info *bridge.Topic, typeName string) bool {
	if reason := s.Unfit(info.Name, typeName); reason != "" {
		if s.Selection.Topics[info.Name] {
			s.unfit[info.Name] = true
		}
		s.Warn("unfit "+info.Name+typeName, "not recorded: %s", reason)
		return false
	}
	if len(s.topics) >= mostTopics && !s.named[info.Name] {
		s.Warn("topics", "%d topics are recorded; further ones are not, unless they are named at the start",
			len(s.topics))
		return false
	}
	t := s.newTopic(info, typeName, s.NewReceiver)
	if !s.listen(t, s.handler(t), "record") {
		return false
	}
	s.topics[key{info.Name, typeName}] = t
	s.sort()
	s.define(t, info)
	s.declare(t)
	s.Node.Log(bridge.Info, "recording %s [%s]", info.Name, typeName)
	return true
}

// newTopic returns a topic that has no subscription yet.
func (s *Set) newTopic(info *bridge.Topic, typeName string, receiver func(*codec.Channel) *intake.Receiver) *Topic {
	offers := OffersOf(info, typeName)
	c := s.channel(info, typeName, offers)
	t := &Topic{Receiver: receiver(c), qos: s.request(info.Name, offers)}
	if c.Schema.Encoding == "" {
		t.AwaitDefinition()
	}
	t.SetPublishers(info.Publishers, typeName)
	t.Pause(s.Paused())
	if s.Snapshots != nil {
		s.Snapshots.Check(t.Receiver, &t.checks, s.starting())
	}
	return t
}

// checkConditions checks the messages of the graph's topics for conditions, also of topics that are not recorded.
func (s *Set) checkConditions(graph []bridge.Topic) {
	for i := range graph {
		info := &graph[i]
		if s.Snapshots.Conditions[info.Name] == nil || len(info.Publishers) == 0 {
			continue
		}
		for _, typeName := range selection.TypesOf(info) {
			k := key{info.Name, typeName}
			t, watch := s.topics[k], s.watches[k]
			switch {
			case t == nil && watch == nil:
				t = s.newTopic(info, typeName, func(c *codec.Channel) *intake.Receiver {
					return intake.NewReceiver(c, intake.Options{Clock: s.Clock})
				})
				s.define(t, info)
				if !s.listen(t, t.Take, "look for conditions on") {
					continue
				}
				s.watches[k] = t
			case t == nil:
				t = watch
				s.adapt(t, info)
				s.define(t, info)
			case watch != nil:
				watch.close()
				delete(s.watches, k)
			}
			s.Snapshots.Check(t.Receiver, &t.checks, s.starting())
		}
	}
}

// handler returns the handler of a subscription of t. Where no publisher is known yet, it looks at the graph when the
// first message comes: a message can be faster than the news of its publisher. It must not wait for the owner, which
// closes subscriptions.
func (s *Set) handler(t *Topic) func([]bridge.Sample) {
	c := t.Channel.Load()
	if c.QoS != nil {
		return t.Take
	}
	var once sync.Once
	return func(samples []bridge.Sample) {
		once.Do(func() {
			info := s.info(c.Topic)
			t.SetPublishers(info.Publishers, c.Type)
			s.meet(t, &info)
			s.Look() // to fetch the definition, if that is needed
		})
		t.Take(samples)
	}
}

// meet completes the channel of a topic once its publishers are known.
func (s *Set) meet(t *Topic, info *bridge.Topic) {
	old := t.Channel.Load()
	offers := OffersOf(info, old.Type)
	if old.QoS != nil || len(offers) == 0 {
		return
	}
	known := s.channel(info, old.Type, offers)
	t.Update(func(c *codec.Channel) bool {
		if c.QoS != nil {
			return false
		}
		schema, hash := c.Schema, c.TypeHash
		*c = *known
		switch {
		case c.Schema.Encoding != "":
		case hash == "" || hash == c.TypeHash:
			c.Schema = schema
		default:
			t.AwaitDefinition() // the one at hand is that of another version
		}
		return true
	})
}

// declare puts the channel into the file even if no message follows, once its publishers' QoS and its definition are
// known, unless it is not recorded (any more).
func (s *Set) declare(t *Topic) {
	c := t.Channel.Load()
	if !t.declared && c.QoS != nil && !t.AwaitsDefinition() && s.topics[key{c.Topic, c.Type}] == t {
		t.declared = true
		s.Declare(c)
	}
}

// request returns the QoS to subscribe with. Everything the middleware receives is taken, whatever depth is asked for.
func (s *Set) request(topic string, offers []codec.QoS) codec.QoS {
	qos, ok := s.Overrides[topic]
	if !ok {
		var mixed bool
		qos, mixed = bridge.AdaptQoS(offers)
		if mixed {
			s.Warn("mixed "+topic, "%s: its publishers offer different QoS; the subscription uses what all of them "+
				"offer, so messages may be lost and latched ones missed", topic)
		}
	}
	qos.History, qos.Depth = codec.KeepAll, 0
	return qos
}

func (s *Set) channel(info *bridge.Topic, typeName string, offers []codec.QoS) *codec.Channel {
	c := &codec.Channel{Topic: info.Name, Type: typeName, Encoding: codec.EncodingCDR}
	for _, offer := range offers {
		if !slices.Contains(c.QoS, offer) {
			c.QoS = append(c.QoS, offer)
		}
	}
	for _, p := range info.Publishers {
		if p.Type == typeName && p.TypeHash != "" {
			c.TypeHash = p.TypeHash
		}
	}
	var err error
	c.Schema, err = s.schemaOf(info.Name, typeName, c.TypeHash)
	if err == nil && c.TypeHash == "" {
		c.TypeHash, _ = s.Library.Hash(typeName)
	}
	return c
}

// adapt replaces the subscription of a topic when it cannot hear all of the publishers, or could hear more of them: all
// are reliable, or latched, now.
func (s *Set) adapt(t *Topic, info *bridge.Topic) {
	c := t.Channel.Load()
	offers := OffersOf(info, c.Type)
	current := t.Subscriptions()
	if len(offers) == 0 || t.ended || len(current) != 1 {
		return
	}
	s.meet(t, info)
	s.declare(t)
	if _, fixed := s.Overrides[c.Topic]; fixed {
		for _, offer := range offers {
			if ok, reason := bridge.Compatible(offer, t.qos); !ok {
				s.Warn("qos "+c.Topic, "%s: the QoS override does not match a publisher: %s", c.Topic, reason)
			}
		}
		return
	}
	qos := s.request(c.Topic, offers)
	if qos == t.qos {
		return
	}
	ready := make(chan struct{})
	next, err := s.Node.Subscribe(c.Topic, c.Type, qos, func(samples []bridge.Sample) {
		<-ready
		t.Take(samples)
	})
	if err != nil {
		s.Warn("subscribe again "+c.Topic, "%s: cannot subscribe for a new publisher: %v", c.Topic, err)
		return
	}
	t.Add(next)
	t.qos = qos
	ended := s.recording
	s.replacements.Go(func() {
		select {
		case <-ended.Done():
		case <-time.After(overlap):
		}
		t.drop(current[0])
		t.Replace(bridge.Now())
		close(ready)
	})
}

// Topics returns the recorded topics by name and type. The caller must not change the list.
func (s *Set) Topics() []*Topic { return *s.sorted.Load() }

// sort renews what Topics returns.
func (s *Set) sort() {
	list := slices.SortedFunc(maps.Values(s.topics), func(a, b *Topic) int {
		c, d := a.Channel.Load(), b.Channel.Load()
		return cmp.Or(strings.Compare(c.Topic, d.Topic), strings.Compare(c.Type, d.Type))
	})
	s.sorted.Store(&list)
}

// Unfit is the reason that Unheard returns for topics that the format cannot hold, which Warn was called for.
const Unfit = "the format cannot hold it"

// Unheard returns the named topics that received no messages, and why. It also returns topics of conditions and named
// actions that were never there.
func (s *Set) Unheard() (topics []string, why map[string]string) {
	named := slices.Sorted(maps.Keys(s.Selection.Topics))
	watched := selection.Names{}
	for k := range s.watches {
		watched[k.topic] = true
	}
	heard, there, actions := selection.Names{}, selection.Names{}, selection.Names{}
	for _, t := range s.Topics() {
		topic, n := t.Name(), t.Counts()
		there[topic] = true
		call, _ := bridge.CallTopicOf(topic, t.Channel.Load().Type)
		actions[call.Action] = true
		heard[topic] = heard[topic] || n.Received+n.Lost+n.Skipped+n.Throttled > 0
	}
	why = map[string]string{}
	for _, name := range named {
		service, events := strings.CutSuffix(name, bridge.ServiceEvents)
		switch {
		case heard[name], events && (there[name] || there[service+bridge.CallReplies]): // a service need not be called
			continue
		case s.unfit[name]:
			why[name] = Unfit
		case there[name]:
			why[name] = "no message came"
		case s.excluded(name):
			why[name] = "its type is excluded"
		case events:
			why[name] = "nobody served this service"
		default:
			why[name] = "nobody published it"
		}
		topics = append(topics, name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Selection.Actions)) { // an action need not be given goals
		if !actions[name] {
			topics, why[name] = append(topics, name), "nobody served this action"
		}
	}
	if s.Snapshots == nil {
		return topics, why
	}
	for _, name := range slices.Sorted(maps.Keys(s.Snapshots.Conditions)) { // their messages may be rare
		if why[name] == "" && !there[name] && !watched[name] {
			topics, why[name] = append(topics, name), "nobody published it, and a snapshot condition is about it"
		}
	}
	return topics, why
}

// excluded reports whether a named topic is there, but with no type that is recorded.
func (s *Set) excluded(name string) bool {
	return slices.ContainsFunc(s.Node.Topics(), func(t bridge.Topic) bool {
		return t.Name == name && !slices.ContainsFunc(selection.TypesOf(&t), func(typeName string) bool {
			return s.Selection.Wants(&t, typeName)
		})
	})
}
