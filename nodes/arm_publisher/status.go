package main

import (
	"fmt"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/device/realman"
	"tapedeck/codec/text/human"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/graph/rospub"
)

// troubleTime is how long a problem shows in the status of an arm.
const troubleTime = 10 * time.Second

// watch holds the values of the last status.
type watch struct {
	counts   realman.Counts
	updates  uint64
	at       time.Time
	trouble  time.Time // until then the status is a warning
	troubles string    // result of latest.troubles
}

// status returns the status of the arm for diagnostics.
func (a *arm) status(now time.Time, d *rospub.Diagnostics) diag.DiagnosticStatus {
	c := a.arm.Counts()
	a.mu.Lock()
	defer a.mu.Unlock()
	k, w := &a.latest, &a.watch
	if c.Connections > w.counts.Connections {
		a.node.Log(bridge.Info, "%s: connected to %s", a.name, a.arm.Address())
	}
	if c.Bad > w.counts.Bad || c.Timeouts > w.counts.Timeouts || c.Connections > w.counts.Connections &&
		w.counts.Connections > 0 {
		w.trouble = now.Add(troubleTime)
	}
	if troubles := k.troubles(); troubles != w.troubles {
		w.troubles = troubles
		if troubles != "" {
			a.node.Log(bridge.Error, "%s: %s", a.name, troubles)
		} else {
			a.node.Log(bridge.Info, "%s: all errors are gone", a.name)
		}
	}
	rate := func(n, before uint64) string {
		if w.at.IsZero() {
			return "0.0"
		}
		return fmt.Sprintf("%.1f", float64(n-before)/now.Sub(w.at).Seconds())
	}
	s := d.Status(a.name, "", "address", a.arm.Address(), "model", k.model, "connected", c.Connected, "connections",
		c.Connections, "joint states/s", rate(k.updates, w.updates), "replies/s", rate(c.Replies, w.counts.Replies),
		"pushed packets/s", rate(c.Packets, w.counts.Packets), "round trip (ms)",
		fmt.Sprintf("%.1f", c.RoundTrip.Seconds()*1000), "bad replies and packets", c.Bad, "timeouts", c.Timeouts,
		"not answered", c.Unknown, "refused", c.Refused, "others", c.Others, "late", c.Late, "last problem", c.Problem)
	s.Values = append(s.Values, k.values()...)
	s.Level, s.Message = a.judge(now, &c)
	w.counts, w.updates, w.at = c, k.updates, now
	return s
}

// judge returns the level and summary of the status. a.mu is held.
func (a *arm) judge(now time.Time, c *realman.Counts) (level byte, message string) {
	k := &a.latest
	troubles := k.troubles()
	quiet := a.options.Silence + a.options.PushCycle
	if a.options.Rate > 0 {
		quiet += period(a.options.Rate)
	}
	switch {
	case now.Sub(k.at) > quiet && c.ProblemAt.After(k.at):
		return diag.DiagnosticStatus_ERROR, c.Problem
	case k.at.IsZero():
		return diag.DiagnosticStatus_WARN, "no data yet"
	case now.Sub(k.at) > quiet:
		return diag.DiagnosticStatus_ERROR, fmt.Sprintf("no data for %.0f s", now.Sub(k.at).Seconds())
	case troubles != "":
		return diag.DiagnosticStatus_ERROR, troubles
	case a.options.Push == pushSet && now.Sub(c.LastPacket) > quiet:
		return diag.DiagnosticStatus_WARN, "it does not push as configured"
	case !c.Connected && a.options.Rate > 0:
		return diag.DiagnosticStatus_WARN, "pushing, but not connected: " + c.Problem
	case slices.Contains(k.enabled, false):
		return diag.DiagnosticStatus_WARN, fmt.Sprintf("joints are disabled: %s", k.disabled())
	case k.speeds.wrong():
		return diag.DiagnosticStatus_WARN, fmt.Sprintf("joints move %.2f times as fast as reported; set speed_unit",
			k.speeds.ratio)
	case now.Before(a.watch.trouble):
		return diag.DiagnosticStatus_WARN, fmt.Sprintf("%d bad replies, %s, %s: %s", c.Bad,
			human.Count(c.Timeouts, "timeout"), human.Count(c.Connections, "connection"), c.Problem)
	case now.Sub(c.LastPacket) < quiet:
		return diag.DiagnosticStatus_OK, "pushing"
	}
	return diag.DiagnosticStatus_OK, "replying"
}

const (
	problemPace = time.Second      // minimum time between two problems in the log
	repeatPace  = 30 * time.Second // minimum time between two equal problems in the log
)

// problemLog is the last problem of an arm in the log.
type problemLog struct {
	text string
	at   time.Time
}

// due reports whether to log a text now, and records it.
func (s *problemLog) due(text string, now time.Time) bool {
	pause := problemPace
	if text == s.text {
		pause = repeatPace
	}
	if now.Sub(s.at) < pause {
		return false
	}
	s.text, s.at = text, now
	return true
}

// problem logs an error, a repeated one only now and then.
func (a *arm) problem(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.problems.due(err.Error(), time.Now()) {
		a.node.Log(bridge.Warn, "%s: %v", a.name, err)
	}
}
