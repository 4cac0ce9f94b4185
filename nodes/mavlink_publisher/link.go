package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/device/mavlink"
	"tapedeck/bridge/translate/mavros"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/nodes/internal/graph/rospub"
)

// link publishes the vehicles of one MAVLink link: a port, a connection or a log.
type link struct {
	node    bridge.Node
	options *options
	opened  time.Time // when the node joined the graph
	source  string    // value of the option source
	link    *mavlink.Link
	topics  *rospub.Topics // topics of all vehicles
	clock   *rospub.Topic  // topic /clock; nil: not published
	tick    int64          // time that was last published on clock, in ns since the Unix epoch

	mu       sync.Mutex // guards the fields below; held while publishing waits for a subscriber
	vehicles []*publishedVehicle
	ignored  map[uint8]bool // systems that are not published
}

// publishedVehicle is a vehicle of a link with its publishers.
type publishedVehicle struct {
	name    string
	system  uint8 // MAVLink system id; 0: unknown yet
	options *vehicleOptions
	out     *topicPublishers
	geoid   *mavros.Geoid // nil: none
	*mavros.Vehicle
}

// newLink opens a link and advertises the topics of its vehicles. The entries agree in source and link options.
func newLink(node bridge.Node, opened time.Time, o *options, entries []entry) (*link, error) {
	l := &link{node: node, options: o, opened: opened, source: entries[0].Source, ignored: map[uint8]bool{},
		topics: rospub.NewTopics(node, "")}
	lo, err := linkOptions(entries[0].vehicleOptions)
	if err != nil {
		return nil, err
	}
	lo.Report = func(text string) { node.Log(bridge.Info, "%s", text) }
	l.link, err = mavlink.Open(l.source, lo)
	if err != nil {
		return nil, config.Usagef("%w", err)
	}
	if o.Clock > 0 && l.link.IsLog() {
		l.clock, err = rospub.Advertise(node, "/clock", &rosgraph_msgs.Clock{}, codec.DefaultQoS())
		if err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		s, err := l.add(e.name, e.vehicleOptions)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		s.system = uint8(e.System)
	}
	return l, nil
}

// add adds a vehicle and advertises its topics.
func (l *link) add(name string, o *vehicleOptions) (*publishedVehicle, error) {
	out, err := newTopicPublishers(l.node, l.topics, name, o.Reliable, l.link.IsLog() && o.Rate == 0)
	if err != nil {
		return nil, err
	}
	g, err := mavros.FindGeoid(o.Geoid)
	if err != nil {
		return nil, err
	}
	s := &publishedVehicle{name: name, options: o, out: out, geoid: g}
	translation := mavros.Options(o.translation)
	clock := func() mavlink.VehicleClock { return l.linkVehicle(s.system).Clock }
	s.Vehicle = mavros.NewVehicle(&translation, out, g, clock)
	if !l.link.IsLog() {
		s.Disconnect(time.Now().UnixNano())
	}
	l.vehicles = append(l.vehicles, s)
	return s, nil
}

// run publishes until ctx or the log ends.
func (l *link) run(ctx context.Context) error {
	if l.link.IsLog() {
		if err := l.awaitSubscribers(ctx, l.vehicles); err != nil {
			return err
		}
	}
	if err := l.link.Run(ctx, func(f *mavlink.Frame) { l.handle(ctx, f) }); err != nil {
		return err
	}
	if l.link.IsLog() {
		rospub.Flush(ctx, l.node, l.topics.Offers(), l.options.AckTimeout)
	}
	return nil
}

// summary describes how many frames were read, and how many messages published.
func (l *link) summary() string {
	counts := l.link.Statistics()
	var published uint64
	for _, s := range l.vehicles {
		published += s.out.sent
	}
	return fmt.Sprintf("%s: %s, %d with a bad checksum, %s published", l.source, human.Count(counts.Received, "frame"),
		counts.BadChecksum, human.Count(published, "message"))
}

// awaitSubscribers waits for the subscribers of new vehicles.
func (l *link) awaitSubscribers(ctx context.Context, list []*publishedVehicle) error {
	var offers []rospub.Offer
	for _, s := range list {
		offers = append(offers, s.out.offers()...)
	}
	if l.options.AwaitSubs {
		if err := rospub.AwaitSubscribers(ctx, l.node, offers); err != nil {
			return err
		}
	}
	missing, err := rospub.AwaitMatches(ctx, l.node, l.opened, offers, l.options.MatchPatience)
	if len(missing) > 0 {
		l.node.Log(bridge.Warn, "subscribers of %v did not match in time; they may miss the first messages", missing)
	}
	return err
}

// handle publishes a frame.
func (l *link) handle(ctx context.Context, f *mavlink.Frame) {
	l.publishClock(f.Received)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.vehicles {
		if s.system != f.System && l.link.IsLog() {
			s.Tick(f.Received)
		}
	}
	if !f.Autopilot {
		return
	}
	if s := l.vehicle(ctx, f); s != nil {
		s.Handle(f)
	}
}

// checkConnections disconnects vehicles that have fallen silent. now is in ns since the Unix epoch.
func (l *link) checkConnections(now int64) {
	if l.link.IsLog() {
		return // handle does it by the times of frames
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.vehicles {
		s.Tick(now)
	}
}

// publishClock publishes the time of a log.
func (l *link) publishClock(now int64) {
	if l.clock == nil || now >= l.tick && float64(now-l.tick) < 1e9/l.options.Clock {
		return
	}
	l.tick = now
	if err := l.clock.Send(&rosgraph_msgs.Clock{Clock: builtin_interfaces.TimeAt(now)}); err != nil {
		l.node.Log(bridge.Error, "publish /clock: %v", err)
	}
}

// vehicle returns the vehicle of a frame's system, nil if the system is not published. The first system that no option
// names becomes the vehicle without a system id. Further systems are named after their id.
func (l *link) vehicle(ctx context.Context, f *mavlink.Frame) *publishedVehicle {
	var open *publishedVehicle // the vehicle that may be any system; nil: there is none
	for _, s := range l.vehicles {
		if s.system == f.System {
			return s
		}
		if s.options.System == 0 && open == nil {
			open = s
		}
	}
	if !mavros.FromAutopilot(f) || l.ignored[f.System] {
		return nil
	}
	switch {
	case open == nil:
		l.ignored[f.System] = true
		l.node.Log(bridge.Warn, "%s: system %d is not published: no vehicle has this system id", l.source, f.System)
		return nil
	case open.system == 0:
		open.system = f.System
		l.node.Log(bridge.Info, "%s: system %d is %s", l.source, f.System, open.name)
		return open
	}
	name := mavros.VehicleName(f.System)
	if open.name != mavros.TheVehicle {
		name = open.name + "_" + name
	}
	s, err := l.add(name, open.options)
	if err == nil && l.link.IsLog() {
		err = l.awaitSubscribers(ctx, []*publishedVehicle{s})
	}
	if err != nil {
		l.ignored[f.System] = true
		l.node.Log(bridge.Error, "%s: system %d is not published: %v", l.source, f.System, err)
		return nil
	}
	s.system = f.System
	l.node.Log(bridge.Info, "%s: system %d is %s; name it with vehicles.NAME.system", l.source, f.System, name)
	return s
}

// linkVehicle returns the state of a system on the link.
func (l *link) linkVehicle(system uint8) mavlink.Vehicle {
	list := l.link.Vehicles()
	if i := slices.IndexFunc(list, func(v mavlink.Vehicle) bool { return v.System == system }); i >= 0 {
		return list[i]
	}
	return mavlink.Vehicle{}
}

func (l *link) close() error {
	var errs []error
	for _, s := range l.vehicles {
		if s.geoid != nil {
			errs = append(errs, s.geoid.Close())
		}
	}
	return errors.Join(errs...)
}
