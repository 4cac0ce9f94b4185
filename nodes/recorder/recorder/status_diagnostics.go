package recorder

import (
	"fmt"
	"time"

	"tapedeck/codec/text/human"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/subscription"
)

const (
	diagnosticsPace = time.Second
	troubleTime     = 10 * time.Second // a topic is in trouble for so long after it lost messages
	shownTroubles   = 100              // maximum number of topics, or findings, in a message
)

// diagnostics publishes the state of a recorder on /diagnostics: one status of the recorder, and one of each topic that
// loses messages.
type diagnostics struct {
	*rospub.Diagnostics
	recorder *recorder
	troubles map[*subscription.Topic]*trouble
}

// trouble is the number of messages that a topic has lost, and when it last grew.
type trouble struct {
	lost, dropped uint64
	since         time.Time
}

func newDiagnostics(r *recorder) (*diagnostics, error) {
	d, err := rospub.NewDiagnostics(r.node)
	if err != nil {
		return nil, err
	}
	return &diagnostics{Diagnostics: d, recorder: r, troubles: map[*subscription.Topic]*trouble{}}, nil
}

// publish publishes the state at now. list has the recorded topics.
func (d *diagnostics) publish(now time.Time, list []*subscription.Topic) {
	r := d.recorder
	var topics []diag.DiagnosticStatus
	troubled := 0
	current := map[*subscription.Topic]*trouble{}
	for _, rec := range list {
		c := rec.Counts()
		t := d.troubles[rec]
		if t == nil {
			t = &trouble{}
		}
		if c.Lost > t.lost || c.Dropped > t.dropped {
			t.lost, t.dropped, t.since = c.Lost, c.Dropped, now
		}
		current[rec] = t
		if now.Sub(t.since) >= troubleTime {
			continue
		}
		troubled++
		if troubled <= shownTroubles {
			status := d.Status(rec.Channel.Load().Topic,
				fmt.Sprintf("messages are missing: %d dropped, %d lost in transport", c.Dropped, c.Lost),
				"received", c.Received, "written", c.Written, "dropped", c.Dropped, "lost", c.Lost, "messages/s",
				fmt.Sprintf("%.1f", rec.Rate().Messages))
			status.Level = diag.DiagnosticStatus_WARN
			topics = append(topics, status)
		}
	}
	d.troubles = current
	topics = append(topics, d.contract()...)
	topics = append(topics, d.uploads()...)
	if err := d.Send(r.clock.Now(), append([]diag.DiagnosticStatus{d.own(troubled)}, topics...)...); err != nil {
		r.warn("diagnostics", "publish on %s: %v", rospub.DiagnosticsTopic, err)
	}
}

// own returns the status of the recorder. troubled is the number of topics that lose messages.
func (d *diagnostics) own(troubled int) diag.DiagnosticStatus {
	r := d.recorder
	s := r.session.Load()
	t := r.totals()
	status := d.Status("recording", r.state(), "path", s.path(), "file", r.file(), "duration",
		fmt.Sprintf("%.1f s", t.elapsed.Seconds()), "topics", t.topics,
		"messages", t.messages, "bytes", t.bytes, "dropped", t.dropped, "lost", t.lost, "waiting bytes", t.waiting)
	if troubled > 0 {
		status.Level = diag.DiagnosticStatus_WARN
		status.Message += ", messages are missing on " + human.Count(troubled, "topic")
	}
	if s.guard == nil {
		return status
	}
	status.Values = append(status.Values, rospub.Values("free bytes", s.guard.Free.Load())...)
	if left := r.untilFull(); left != "" {
		status.Message += ", " + left
		if time.Duration(s.guard.Left.Load()) < diskguard.SoonFull {
			status.Level = diag.DiagnosticStatus_WARN
		}
	}
	if s.guard.Holds() {
		status.Level = diag.DiagnosticStatus_ERROR
	}
	return status
}
