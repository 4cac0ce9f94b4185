package recorder

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/fleet/contract"
)

// exitNotMet is the exit code with --require if a recording does not meet the contract.
const exitNotMet = 3

// contractOptions are the options about the contract that a recording is checked against.
type contractOptions struct {
	Expect  string `param:"expect" group:"Contract" value:"FILE"`
	Require bool   `param:"require" group:"Contract"`
}

// contract returns the contract, nil if there is none.
func (o *contractOptions) contract() (*contract.Contract, error) {
	if o.Expect == "" {
		if o.Require {
			return nil, errors.New("require: needs --expect FILE")
		}
		return nil, nil
	}
	c, err := contract.Load(o.Expect)
	if err != nil {
		return nil, fmt.Errorf("expect: %w", err)
	}
	return c, nil
}

// contractTime returns the time by which rates and gaps are judged: now, or the simulated time if there is one.
func (r *recorder) contractTime(now time.Time) time.Time {
	if stamp := r.clock.Stamp(now.UnixNano()); stamp != now.UnixNano() {
		return time.Unix(0, stamp)
	}
	return now
}

// checkContract compares the messages received by now with the contract, and logs findings that begin or end.
func (s *session) checkContract(now time.Time) {
	r := s.recorder
	if s.live == nil {
		return
	}
	var counts []contract.Count
	for _, rec := range s.recorded() {
		c := rec.Channel.Load()
		counts = append(counts, contract.Count{Topic: c.Topic, Type: c.Type, QoS: c.QoS, Received: rec.Received.Load()})
	}
	begun, ended := s.live.Update(r.contractTime(now), r.clock.Now(), counts, r.topics.Paused())
	for _, f := range begun {
		r.node.Log(bridge.Warn, "%v", f)
	}
	for _, f := range ended {
		s.note(checkEvent(f))
		r.node.Log(bridge.Info, "no longer: %v", f)
	}
}

// checkEvent returns the event of a finding.
func checkEvent(f contract.Finding) codec.Event {
	return codec.Event{Kind: codec.EventCheck, Topic: f.Topic, Time: f.Time, Until: f.Until, Text: f.Text()}
}

// noteVerdict notes the findings that last until the end of the recording, and whether it meets the contract.
func (s *session) noteVerdict() {
	if s.live == nil {
		return
	}
	s.checkContract(time.Now())
	now := s.recorder.clock.Now()
	open, findings := s.live.Finish(s.began.Load(), now)
	for _, f := range open {
		s.note(checkEvent(f))
	}
	s.note(codec.Event{Kind: codec.EventCheck, Time: now, Text: s.verdict(findings)})
}

// verdict describes whether a recording with the findings meets the contract.
func (s *session) verdict(findings []contract.Finding) string {
	name := human.Printable(filepath.Base(s.recorder.options.Expect))
	if len(findings) == 0 {
		return "meets " + name
	}
	return fmt.Sprintf("does not meet %s: %s, first %v", name, human.Count(len(findings), "finding"), findings[0])
}

// reportContract logs whether a closed recording meets the contract. With require, findings make the recorder fail.
func (r *recorder) reportContract(s *session) {
	if s.live == nil {
		return
	}
	_, findings := s.live.Finish(s.began.Load(), r.clock.Now())
	findings = append(s.live.Before(), findings...)
	text := s.verdict(findings)
	switch {
	case len(findings) == 0:
		r.node.Log(bridge.Info, "the recording %s", text)
	case r.options.Require && r.failed == nil:
		r.failed = config.Exit(exitNotMet, errors.New("the recording "+text))
	default:
		r.node.Log(bridge.Warn, "the recording %s", text)
	}
}

// contractTrouble describes the present findings, "" if there are none.
func (s *session) contractTrouble() string {
	if s.live == nil {
		return ""
	}
	open := s.live.Open()
	switch len(open) {
	case 0:
		return ""
	case 1:
		return open[0].String()
	}
	return fmt.Sprintf("%v, and %s more", open[0], human.Count(len(open)-1, "finding"))
}

// contract returns the diagnostics of the contract, nil if there is no contract.
func (d *diagnostics) contract() []diag.DiagnosticStatus {
	s := d.recorder.session.Load()
	if s.live == nil {
		return nil
	}
	var values []any
	open := s.live.Open()
	for _, f := range open[:min(len(open), shownTroubles)] {
		values = append(values, fmt.Sprintf("%s %s", f.Topic, f.Kind),
			fmt.Sprintf("expected %s, seen %s", f.Expected, f.Seen))
	}
	status := d.Status("contract", "met", values...)
	if len(open) > 0 {
		status.Level, status.Message = diag.DiagnosticStatus_ERROR, "not met: "+s.contractTrouble()
	}
	return []diag.DiagnosticStatus{status}
}
