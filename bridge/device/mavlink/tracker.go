package mavlink

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/bluenviron/gomavlib/v3"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"

	"tapedeck/codec/format/tlog"
)

const (
	firstAutopilot   = 1 // component id of autopilots (MAV_COMP_ID_AUTOPILOT1), until a HEARTBEAT says otherwise
	heartbeatTimeout = int64(10 * time.Second)
	requestPeriod    = int64(30 * time.Second)
)

// tracker keeps the vehicles on a link and their clocks.
type tracker struct {
	mu       sync.Mutex
	formats  map[uint32]tlog.MessageFormat
	stamps   Stamps
	vehicles map[uint8]*vehicle
	clocks   map[address]*componentClock
	others   map[address]bool // components whose HEARTBEAT says that they are not an autopilot
	last     int64            // reception of the last frame, in ns
}

// vehicle is a system with an autopilot.
type vehicle struct {
	Vehicle
	clock     *componentClock
	channel   *gomavlib.Channel // of its last HEARTBEAT; nil in a log
	requested int64             // last request of messages, in ns; 0: none since it connected
	refused   bool              // it has rejected a message interval
}

func newTracker(formats map[uint32]tlog.MessageFormat, stamps Stamps) *tracker {
	return &tracker{formats: formats, stamps: stamps, vehicles: make(map[uint8]*vehicle),
		clocks: make(map[address]*componentClock), others: make(map[address]bool)}
}

// note takes a frame received on channel, and sets its Stamp and Autopilot.
func (t *tracker) note(f *Frame, channel *gomavlib.Channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = f.Received
	from := address{f.System, f.Component}
	clock := t.clocks[from]
	if clock == nil {
		clock = &componentClock{stamps: make(map[uint32]lastTime)}
		t.clocks[from] = clock
	}
	if h, ok := f.Message.(*ardupilotmega.MessageHeartbeat); ok {
		t.heartbeat(f, h, clock, channel)
	}
	if v := t.vehicles[f.System]; v != nil {
		f.Autopilot = v.Autopilot == f.Component
	} else {
		f.Autopilot = f.Component == firstAutopilot && !t.others[from]
	}
	f.Stamp = clock.stamp(f, t.formats[f.Message.GetID()].Time(f.Message), t.stamps)
}

func (t *tracker) heartbeat(f *Frame, h *ardupilotmega.MessageHeartbeat, clock *componentClock, c *gomavlib.Channel) {
	if h.Autopilot == ardupilotmega.MAV_AUTOPILOT_INVALID {
		t.others[address{f.System, f.Component}] = true
		return
	}
	v := t.vehicles[f.System]
	if v == nil {
		v = &vehicle{Vehicle: Vehicle{System: f.System, Autopilot: f.Component}}
		t.vehicles[f.System] = v
	}
	if f.Component > v.Autopilot {
		return
	}
	if !v.connected(f.Received) {
		v.requested = 0
	}
	v.Autopilot, v.Type, v.Firmware, v.LastHeartbeat = f.Component, h.Type, h.Autopilot, f.Received
	v.clock, v.channel = clock, c
}

// latest returns the reception of the last frame, in ns.
func (t *tracker) latest() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// connected reports whether v is connected at now.
func (v *vehicle) connected(now int64) bool { return now-v.LastHeartbeat <= heartbeatTimeout }

// due reports whether messages must be requested from a system at now, and notes that the caller requests them. They
// are requested when the system connects, and periodically, as requests get lost and autopilots reboot.
func (t *tracker) due(system uint8, now int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.vehicles[system]
	if v == nil || v.requested != 0 && now-v.requested < requestPeriod {
		return false
	}
	v.requested = now
	return true
}

// refuse registers that a system rejected a message interval, and reports whether this is the first time.
func (t *tracker) refuse(system uint8) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.vehicles[system]
	if v == nil || v.refused {
		return false
	}
	v.refused = true
	return true
}

// timeRequest is a TIMESYNC request to send.
type timeRequest struct {
	to      address
	channel *gomavlib.Channel
}

// timeRequests returns and registers the requests to all connected vehicles at now.
func (t *tracker) timeRequests(now int64) []timeRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []timeRequest
	for _, v := range t.vehicles {
		if v.connected(now) {
			v.clock.sync.request(now)
			all = append(all, timeRequest{address{v.System, v.Autopilot}, v.channel})
		}
	}
	return all
}

// timeReply takes a TIMESYNC reply.
func (t *tracker) timeReply(f *Frame, m *ardupilotmega.MessageTimesync) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clocks[address{f.System, f.Component}].sync.reply(m.Ts1, m.Tc1, f.Received)
}

// snapshot copies the vehicles at now.
func (t *tracker) snapshot(now int64) []Vehicle {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Vehicle, 0, len(t.vehicles))
	for _, v := range t.vehicles {
		one := v.Vehicle
		one.Connected = v.connected(now)
		sync := &v.clock.sync
		one.Clock = VehicleClock{Offset: v.clock.boot.offset, Jumps: v.clock.boot.jumps + sync.jumps,
			Synchronised: sync.converged(now), Exchanges: sync.exchanges, Drift: sync.drift * 1e6,
			RoundTrip: sync.roundTrip, Remote: sync.remote, Observed: sync.observed}
		if one.Clock.Synchronised && sync.remote < unixNanos {
			one.Clock.Offset = sync.offset(now)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Vehicle) int { return cmp.Compare(a.System, b.System) })
	return all
}

// Vehicle is the state of a system with an autopilot: a copy.
type Vehicle struct {
	System    uint8
	Autopilot uint8 // component id: the lowest whose HEARTBEAT names an autopilot
	Type      ardupilotmega.MAV_TYPE
	Firmware  ardupilotmega.MAV_AUTOPILOT

	// Connected reports whether the autopilot's HEARTBEAT was received within the last ten seconds.
	Connected bool
	// LastHeartbeat is when the last HEARTBEAT of the autopilot was received, in ns since the Unix epoch.
	LastHeartbeat int64

	Clock VehicleClock
}

// VehicleClock describes the clock of a vehicle's autopilot.
type VehicleClock struct {
	// Offset added to the autopilot's time since boot gives this computer's Unix time, in ns; 0 if unknown.
	Offset int64
	// Jumps counts jumps between the clocks: reboots, and steps of either clock.
	Jumps int

	// Synchronised reports whether TIMESYNC has converged and gives the offset.
	Synchronised bool
	// Exchanges is the number of TIMESYNC exchanges in the estimate.
	Exchanges int
	// Drift is how much faster this computer's clock runs than the autopilot's, in parts per million; only by TIMESYNC.
	Drift float64
	// RoundTrip, Remote (the autopilot's clock) and Observed (the offset) are of the last TIMESYNC exchange, in ns.
	RoundTrip, Remote, Observed int64
}
