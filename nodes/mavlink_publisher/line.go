package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/mavlink"
	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/nodes/internal/hardware"
	"tapedeck/nodes/internal/rospub"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
)

// line is a source with the vehicles that are heard on it.
type line struct {
	node   bridge.Node
	o      *options
	opened time.Time // when the node came to the graph
	source string
	link   *mavlink.Link
	clock  *rospub.Topic // nil: none
	tick   int64         // what it showed last

	mu       sync.Mutex // guards what follows; held while a subscriber holds publishing up
	stations []*station
	ignored  map[uint8]bool // systems that nobody asked for

	adding sync.Mutex // guards out
	out    []*outlets // of the stations
}

// station is a vehicle of a line.
type station struct {
	name   string
	system uint8 // 0: not heard yet
	out    *outlets
	*vehicle
}

// newLine gets a source ready with what its vehicles publish.
func newLine(node bridge.Node, opened time.Time, o *options, entries []entry) (*line, error) {
	l := &line{node: node, o: o, opened: opened, source: entries[0].Source, ignored: map[uint8]bool{}}
	how, err := linkOptions(entries[0].Vehicle)
	if err != nil {
		return nil, err
	}
	how.Report = func(text string) { node.Log(bridge.Info, "%s", text) }
	if l.link, err = mavlink.Open(l.source, how); err != nil {
		return nil, config.Usagef("%w", err)
	}
	if o.Clock > 0 && l.link.IsLog() {
		if l.clock, err = rospub.Advertise(node, "/clock", &rosgraph_msgs.Clock{}, codec.DefaultQoS()); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		s, err := l.add(e.name, e.Vehicle)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		s.system = uint8(e.System)
	}
	return l, nil
}

// add advertises the topics of another vehicle.
func (l *line) add(name string, o *hardware.Vehicle) (*station, error) {
	out, err := newOutlets(l.node, name, o.Reliable, l.link.IsLog() && o.Rate == 0)
	if err != nil {
		return nil, err
	}
	g, err := findGeoid(o.Geoid)
	if err != nil {
		return nil, err
	}
	s := &station{name: name, out: out}
	s.vehicle = newVehicle(o, out, g, func() mavlink.VehicleClock { return l.known(s.system).Clock })
	if !l.link.IsLog() {
		s.disconnect(time.Now().UnixNano())
	}
	l.stations = append(l.stations, s)
	l.adding.Lock()
	defer l.adding.Unlock()
	l.out = append(l.out, out)
	return s, nil
}

// run publishes what comes until ctx or a log ends.
func (l *line) run(ctx context.Context) error {
	// Publishing what a log has waits for subscribers that are behind, which may be for ever.
	defer context.AfterFunc(ctx, l.hangUp)()
	if l.link.IsLog() {
		if err := l.await(ctx, l.stations); err != nil {
			return err
		}
	}
	if err := l.link.Run(ctx, func(f *mavlink.Frame) { l.handle(ctx, f) }); err != nil {
		return err
	}
	if l.link.IsLog() {
		rospub.Flush(ctx, l.node, l.offers(), l.o.AckTimeout)
	}
	return nil
}

// offers returns what all topics of the vehicles offer.
func (l *line) offers() (list []rospub.Offer) {
	l.adding.Lock()
	defer l.adding.Unlock()
	for _, o := range l.out {
		list = append(list, o.offers()...)
	}
	return list
}

// hangUp ends publishing.
func (l *line) hangUp() {
	l.adding.Lock()
	for _, o := range l.out {
		o.failed.Store(true) // on purpose
	}
	l.adding.Unlock()
	rospub.Close(l.offers())
}

// summary says what was read and published.
func (l *line) summary() string {
	s := l.link.Statistics()
	var published uint64
	for _, o := range l.out {
		published += o.sent
	}
	return fmt.Sprintf("%s: %d frames, %d bad ones, %d messages published", l.source, s.Received, s.BadChecksum, published)
}

// await waits for subscribers of vehicles whose topics are new.
func (l *line) await(ctx context.Context, list []*station) error {
	var offers []rospub.Offer
	for _, s := range list {
		offers = append(offers, s.out.offers()...)
	}
	if l.o.AwaitSubs {
		if err := rospub.AwaitSubscribers(ctx, l.node, offers); err != nil {
			return err
		}
	}
	missing, err := rospub.AwaitMatches(ctx, l.node, l.opened, offers, l.o.MatchPatience)
	if len(missing) > 0 {
		l.node.Log(bridge.Warn, "subscribers of %v do not answer, they may miss what comes first", missing)
	}
	return err
}

// handle publishes what a frame says.
func (l *line) handle(ctx context.Context, f *mavlink.Frame) {
	l.tell(f.Received)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.stations {
		if s.system != f.System && l.link.IsLog() {
			s.tick(f.Received)
		}
	}
	if !f.Autopilot {
		return
	}
	if s := l.station(ctx, f); s != nil {
		s.handle(f)
	}
}

// watch notices vehicles that are gone, at a time in ns since the Unix epoch.
func (l *line) watch(now int64) {
	if l.link.IsLog() {
		return // whose time its frames tell
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.stations {
		s.tick(now)
	}
}

// tell publishes the time of a log.
func (l *line) tell(now int64) {
	if l.clock == nil || now >= l.tick && float64(now-l.tick) < 1e9/l.o.Clock {
		return
	}
	l.tick = now
	if err := l.clock.Send(&rosgraph_msgs.Clock{Clock: rospub.Time(now)}); err != nil {
		l.node.Log(bridge.Error, "publish /clock: %v", err)
	}
}

// station returns the one of a frame's system, nil if nobody asked for it. The first system of which nothing is said is
// the vehicle of which nothing is said, others are called after their id.
func (l *line) station(ctx context.Context, f *mavlink.Frame) *station {
	var open *station // whichever system there is
	for _, s := range l.stations {
		if s.system == f.System {
			return s
		}
		if s.o.System == 0 && open == nil {
			open = s
		}
	}
	if m, ok := f.Message.(*ardupilotmega.MessageHeartbeat); ok && m.Autopilot == ardupilotmega.MAV_AUTOPILOT_INVALID ||
		l.ignored[f.System] {
		return nil
	}
	switch {
	case open == nil:
		l.ignored[f.System] = true
		l.node.Log(bridge.Warn, "%s: system %d is not published: no vehicle has its id", l.source, f.System)
		return nil
	case open.system == 0:
		open.system = f.System
		l.node.Log(bridge.Info, "%s: system %d is %s", l.source, f.System, open.name)
		return open
	}
	name := fmt.Sprintf("uas%d", f.System)
	if open.name != theVehicle {
		name = open.name + "_" + name
	}
	s, err := l.add(name, open.o)
	if err == nil && l.link.IsLog() {
		err = l.await(ctx, []*station{s})
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

// known returns what the link knows of a system.
func (l *line) known(system uint8) mavlink.Vehicle {
	list := l.link.Vehicles()
	if i := slices.IndexFunc(list, func(v mavlink.Vehicle) bool { return v.System == system }); i >= 0 {
		return list[i]
	}
	return mavlink.Vehicle{}
}

func (l *line) close() error {
	var errs []error
	for _, s := range l.stations {
		if s.geoid != nil {
			errs = append(errs, s.geoid.close())
		}
	}
	return errors.Join(errs...)
}
