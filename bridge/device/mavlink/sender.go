package mavlink

import (
	"context"
	"fmt"
	"time"

	"github.com/bluenviron/gomavlib/v3"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
)

// sender sends the messages that Options ask for, except heartbeats.
type sender struct {
	link *Link
	node *gomavlib.Node
}

// send queues m. It never blocks: gomavlib drops messages of a stuck connection.
func (s *sender) send(c *gomavlib.Channel, m message.Message) {
	// The only possible error is a message outside the dialect.
	_ = s.node.WriteMessageTo(c, m)
}

// react answers f, if necessary.
func (s *sender) react(f *Frame, c *gomavlib.Channel) {
	switch m := f.Message.(type) {
	case *ardupilotmega.MessageHeartbeat:
		if f.Autopilot {
			s.requestMessages(f, c)
		}
	case *ardupilotmega.MessageTimesync:
		switch {
		case m.Tc1 != 0:
			s.link.tracker.timeReply(f, m)
		case s.link.options.AnswerTimeSync && f.Autopilot && s.addressed(m.TargetSystem, m.TargetComponent):
			s.send(c, &ardupilotmega.MessageTimesync{Tc1: time.Now().UnixNano(), Ts1: m.Ts1,
				TargetSystem: f.System, TargetComponent: f.Component})
		}
	case *ardupilotmega.MessageCommandAck:
		if m.Command == common.MAV_CMD_SET_MESSAGE_INTERVAL && m.Result != ardupilotmega.MAV_RESULT_ACCEPTED &&
			len(s.link.options.Intervals) > 0 && s.addressed(m.TargetSystem, m.TargetComponent) &&
			s.link.tracker.refuse(f.System) {
			s.link.options.Report(fmt.Sprintf("vehicle %d rejected a message interval: %v", f.System, m.Result))
		}
	}
}

// addressed reports whether a message to this target is for us. Older autopilots send 0.
func (s *sender) addressed(system, component uint8) bool {
	o := &s.link.options
	return (system == 0 || system == o.System) && (component == 0 || component == o.Component)
}

// requestMessages requests streams and messages from the autopilot that sent f, if it is time.
func (s *sender) requestMessages(f *Frame, c *gomavlib.Channel) {
	o := &s.link.options
	if len(o.Streams)+len(o.Intervals) == 0 || !s.link.tracker.due(f.System, f.Received) {
		return
	}
	for id, rate := range o.Streams {
		m := &ardupilotmega.MessageRequestDataStream{TargetSystem: f.System, TargetComponent: f.Component,
			ReqStreamId: id, ReqMessageRate: rate, StartStop: 1}
		if rate == 0 {
			m.StartStop = 0
		}
		s.send(c, m)
	}
	for id, rate := range o.Intervals {
		interval := float32(0) // the autopilot's default
		switch {
		case rate > 0:
			interval = float32(1e6 / rate) // µs
		case rate < 0:
			interval = -1
		}
		s.send(c, &ardupilotmega.MessageCommandLong{TargetSystem: f.System, TargetComponent: f.Component,
			Command: common.MAV_CMD_SET_MESSAGE_INTERVAL, Param1: float32(id), Param2: interval})
	}
}

// requestTime sends TIMESYNC requests until ctx ends.
func (s *sender) requestTime(ctx context.Context) {
	o := &s.link.options
	if o.TimeSync == 0 {
		return
	}
	for sleep(ctx, period(o.TimeSync)) == nil {
		now := time.Now().UnixNano()
		for _, r := range s.link.tracker.timeRequests(now) {
			s.send(r.channel, &ardupilotmega.MessageTimesync{Ts1: now, TargetSystem: r.to.system,
				TargetComponent: r.to.component})
		}
	}
}
