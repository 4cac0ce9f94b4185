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

// ErrInactive is returned while there is no recording.
var ErrInactive = errors.New("nothing is being recorded")

const (
	// DiscoveryTime is how long the graph may take to become known. Without discovery, only the topics that appear in
	// this time are recorded.
	DiscoveryTime = 3 * time.Second
	// updateRest is the pause after an update, as a multiple of the time that the update took. A large graph that
	// always changes must leave the recorder time to record.
	updateRest = 4
	// overlap is how long a subscription and its successor listen side by side, so that no message is missed.
	overlap = time.Second
)

// mostTopics is the number of topics that are recorded, beside those named at the start. Without it, a node that
// creates ever more topics would fill memory and file.
const mostTopics = 10_000

// Options connect a Set to the recorder. The functions must not call the Set.
type Options struct {
	Owner     *owner.Owner // owns the Set
	Node      bridge.Node
	Clock     *bridge.SimTime
	Selection *selection.Selection
	Library   *rosidl.Library
	Overrides map[string]codec.QoS // by topic
	Discovery bool                 // subscribe to topics that appear later
	Snapshots *snapshot.Set        // nil: there are none

	NewReceiver func(*codec.Channel) *intake.Receiver // returns the receiver of a recorded topic
	Unfit       func(topic, typeName string) string   // returns why the format cannot hold a topic, "" if it can
	Declare     func(*codec.Channel)                  // is called once the channel of a topic is complete
	Undefined   func(c *codec.Channel, err error)     // is called if the definition of c's type is not available
	// Warn logs a warning once for each subject.
	Warn func(subject, format string, args ...any)
}

// Set is the topics that are recorded, and those that are only watched for conditions. The goroutine of Owner owns it.
// Other goroutines may only call Look, Topics, Paused and Discovering.
type Set struct {
	Options
	definitions  definitions
	lookAgain    chan struct{}   // wakes Run
	replacements sync.WaitGroup  // goroutines that replace subscriptions
	named        selection.Names // topics named at the start

	recording  context.Context // nil: nothing may be subscribed to
	discovered time.Time       // until then topics are subscribed to even without discovery
	topics     map[key]*Topic  // recorded topics
	watches    map[key]*Topic  // topics with conditions that are not recorded
	unfit      selection.Names // named topics that the format cannot hold

	// Set by the owner, read by all goroutines.
	sorted    atomic.Pointer[[]*Topic] // topics, in order
	paused    atomic.Bool
	discovery atomic.Bool // topics that appear are subscribed to
}

type key struct{ topic, typeName string }

// New returns a set without topics.
func New(o Options) *Set {
	s := &Set{
		Options: o, definitions: definitions{node: o.Node, fetches: map[string]*definitionFetch{}},
		lookAgain: make(chan struct{}, 1),
		named:     maps.Clone(o.Selection.Topics),
		topics:    map[key]*Topic{}, watches: map[key]*Topic{}, unfit: selection.Names{},
	}
	s.discovery.Store(o.Discovery)
	s.sorted.Store(new([]*Topic))
	return s
}

// Run is the owner until ctx ends. It follows the graph, calls tick every pace, and calls the functions that the owner
// got.
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
			if !open { // the node was closed
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

// Look makes Run compare the graph soon.
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

// Start begins to subscribe for a recording that ends with ctx.
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
		case t.awaitingNode:
			s.leaveUndefined(t, errUnknownNode)
		}
	}
}

// Discover turns discovery on or off: whether selected topics that appear from now on are recorded.
func (s *Set) Discover(on bool) {
	s.discovery.Store(on)
	s.discovered = time.Time{}
	s.Look()
}

// Discovering reports whether topics that appear are subscribed to.
func (s *Set) Discovering() bool { return s.discovery.Load() }

// starting reports whether DiscoveryTime is not over.
func (s *Set) starting() bool { return time.Now().Before(s.discovered) }

// Pause pauses or resumes all topics. It reports false if they are paused or resumed already.
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

// update subscribes to selected topics that are new, and replaces subscriptions that no longer match the publishers.
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

// listenAgain subscribes again to the calls of a service that is back.
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

// graph returns the topics of the graph, with the calls of services if some are recorded.
func (s *Set) graph() []bridge.Topic {
	topics := s.Node.Topics()
	if s.Selection.Services() {
		topics = append(topics, s.Node.Calls()...)
	}
	return topics
}

// info returns a topic of the graph. If the graph does not have it, only the name is set.
func (s *Set) info(name string) bridge.Topic {
	for _, info := range s.graph() {
		if info.Name == name {
			return info
		}
	}
	return bridge.Topic{Name: name}
}

// EndComplete closes subscriptions of topics that have reached their limit, unless snapshots need more messages. It
// reports whether all topics have reached their limit, which is known only if topics are selected by name alone.
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

// Subscribe records further topics, each with the type at its index in types. If that is missing or "", the topic is
// recorded with its types in the graph. Subscribe returns the full names of topics that are recorded now, and of
// unavailable ones, which are recorded once they appear.
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

// OffersOf returns the QoS that the publishers of a topic with a type offer.
func OffersOf(info *bridge.Topic, typeName string) (offers []codec.QoS) {
	for _, p := range info.Publishers {
		if p.Type == typeName {
			offers = append(offers, p.QoS)
		}
	}
	return offers
}

// subscribe begins to record a topic with a type, and reports whether it could.
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

// newTopic returns a topic without a subscription.
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

// handler returns the handler of a subscription of t. If no publisher is known yet, the handler looks at the graph when
// the first message comes, because a message can arrive before the news of its publisher. The handler must not wait for
// the owner, which closes subscriptions.
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
			t.AwaitDefinition() // the old definition is of another version
		}
		return true
	})
}

// declare writes the channel to the file, even if no message follows, once the publishers' QoS and the definition are
// known. It does nothing for a topic that is not recorded.
func (s *Set) declare(t *Topic) {
	c := t.Channel.Load()
	if !t.declared && c.QoS != nil && !t.AwaitsDefinition() && s.topics[key{c.Topic, c.Type}] == t {
		t.declared = true
		s.Declare(c)
	}
}

// request returns the QoS to subscribe with. It keeps all messages that the middleware receives, whatever the depth.
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

// channel returns the channel of a topic with a type. offers are the QoS of its publishers.
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

// adapt replaces the subscription of a topic if it does not match all publishers, or could ask for more because all
// publishers are reliable or latched now.
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

// sort updates the result of Topics.
func (s *Set) sort() {
	list := slices.SortedFunc(maps.Values(s.topics), func(a, b *Topic) int {
		c, d := a.Channel.Load(), b.Channel.Load()
		return cmp.Or(strings.Compare(c.Topic, d.Topic), strings.Compare(c.Type, d.Type))
	})
	s.sorted.Store(&list)
}

// Unfit is the reason that Unheard returns for topics that the format cannot hold. Warn was called for them.
const Unfit = "the format cannot hold it"

// Unheard returns the named topics that received no messages, with the reason by topic. It also returns topics of
// conditions and named actions that never appeared.
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
		case heard[name], events && (there[name] || there[service+bridge.CallReplies]): // a service may have no calls
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
	for _, name := range slices.Sorted(maps.Keys(s.Selection.Actions)) { // an action may have no goals
		if !actions[name] {
			topics, why[name] = append(topics, name), "nobody served this action"
		}
	}
	if s.Snapshots == nil {
		return topics, why
	}
	for _, name := range slices.Sorted(maps.Keys(s.Snapshots.Conditions)) { // messages of conditions may be rare
		if why[name] == "" && !there[name] && !watched[name] {
			topics, why[name] = append(topics, name), "nobody published it, and a snapshot condition is about it"
		}
	}
	return topics, why
}

// excluded reports whether the graph has a named topic only with types that are excluded.
func (s *Set) excluded(name string) bool {
	return slices.ContainsFunc(s.Node.Topics(), func(t bridge.Topic) bool {
		return t.Name == name && !slices.ContainsFunc(selection.TypesOf(&t), func(typeName string) bool {
			return s.Selection.Wants(&t, typeName)
		})
	})
}
