package main

import (
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/builtin_interfaces"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/std_msgs"
)

const (
	diagnosticsTopic = "/diagnostics"
	diagnosticsPace  = time.Second
	troubleTime      = 10 * time.Second // for which a topic that lost messages is in trouble
)

// diagnostics tells the state of a recorder as ROS 2's tools expect it: a status of its own, and one of each topic that loses
// messages.
type diagnostics struct {
	recorder  *recorder
	publisher bridge.Publisher
	troubles  map[*recording]*trouble
}

// trouble is how much a topic had lost, and when that became more.
type trouble struct {
	lost, dropped uint64
	since         time.Time
}

func newDiagnostics(r *recorder) (*diagnostics, error) {
	p, err := r.node.Advertise(diagnosticsTopic, "diagnostic_msgs/msg/DiagnosticArray", codec.DefaultQoS())
	if err != nil {
		return nil, err
	}
	return &diagnostics{recorder: r, publisher: p, troubles: map[*recording]*trouble{}}, nil
}

// publish tells the state at now.
func (d *diagnostics) publish(now time.Time, list []*recording) {
	r := d.recorder
	stamp := r.clock.Now()
	message := &diag.DiagnosticArray{Header: std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(stamp / 1e9), Nanosec: uint32(stamp % 1e9)}}}
	var topics []diag.DiagnosticStatus
	current := map[*recording]*trouble{}
	for _, rec := range list {
		c := rec.counts()
		t := d.troubles[rec]
		if t == nil {
			t = &trouble{}
		}
		if c.Lost > t.lost || c.Dropped > t.dropped {
			t.lost, t.dropped, t.since = c.Lost, c.Dropped, now
		}
		current[rec] = t
		if now.Sub(t.since) < troubleTime {
			topics = append(topics, diag.DiagnosticStatus{
				Level: diag.DiagnosticStatus_WARN, Name: r.node.Name() + ": " + rec.channel.Load().Topic,
				Message: fmt.Sprintf("messages are missing: %d dropped, %d lost in transport", c.Dropped, c.Lost),
				Values: values("received", c.Received, "written", c.Written, "dropped", c.Dropped, "lost", c.Lost,
					"messages/s", fmt.Sprintf("%.1f", rec.meter.rate)),
			})
		}
	}
	d.troubles = current
	message.Status = append([]diag.DiagnosticStatus{d.own(len(topics))}, topics...)
	data, err := cdr.Marshal(message)
	if err == nil {
		err = d.publisher.Publish(data)
	}
	if err != nil {
		r.warn("diagnostics", "publish on %s: %v", d.publisher.Topic(), err)
	}
}

// own returns the status of the recorder, of whose topics so many lose messages.
func (d *diagnostics) own(troubled int) diag.DiagnosticStatus {
	r := d.recorder
	s := r.session.Load()
	t := r.totals()
	status := diag.DiagnosticStatus{Level: diag.DiagnosticStatus_OK, Name: r.node.Name() + ": recording", Message: r.state()}
	status.Values = values("path", s.path, "file", r.file(), "duration", fmt.Sprintf("%.1f s", t.elapsed.Seconds()), "topics", t.topics,
		"messages", t.messages, "bytes", t.bytes, "dropped", t.dropped, "lost", t.lost, "waiting bytes", t.waiting)
	if troubled > 0 {
		status.Level = diag.DiagnosticStatus_WARN
		status.Message += fmt.Sprintf(", %d topics lose messages", troubled)
	}
	if s.guard == nil {
		return status
	}
	status.Values = append(status.Values, values("free bytes", s.guard.free.Load())...)
	if left := r.left(); left != "" {
		status.Message += ", " + left
		if time.Duration(s.guard.left.Load()) < soonFull {
			status.Level = diag.DiagnosticStatus_WARN
		}
	}
	if s.guard.holds() {
		status.Level = diag.DiagnosticStatus_ERROR
	}
	return status
}

// values returns pairs of a name and a value.
func values(pairs ...any) []diag.KeyValue {
	var list []diag.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, diag.KeyValue{Key: pairs[i].(string), Value: fmt.Sprint(pairs[i+1])})
	}
	return list
}
