package main

import (
	"fmt"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/realman"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/rospub"
)

// troubleTime is for how long an arm is in trouble after something went wrong.
const troubleTime = 10 * time.Second

// watch remembers how it went when it was last told.
type watch struct {
	counts  realman.Counts
	told    uint64
	at      time.Time
	trouble time.Time // until when
	own     string    // troubles of the arm
}

// status returns how the arm is.
func (a *arm) status(now time.Time, d *rospub.Diagnostics) diag.DiagnosticStatus {
	c := a.arm.Counts()
	a.mu.Lock()
	defer a.mu.Unlock()
	k, w := &a.known, &a.watch
	if c.Connections > w.counts.Connections {
		a.node.Log(bridge.Info, "%s: connected to %s", a.name, a.arm.Address())
	}
	if c.Bad > w.counts.Bad || c.Timeouts > w.counts.Timeouts || c.Connections > w.counts.Connections &&
		w.counts.Connections > 0 {
		w.trouble = now.Add(troubleTime)
	}
	if own := k.troubles(); own != w.own {
		if w.own = own; own != "" {
			a.node.Log(bridge.Error, "%s: %s", a.name, own)
		} else {
			a.node.Log(bridge.Info, "%s: it tells of no errors any more", a.name)
		}
	}
	rate := func(n, before uint64) string {
		if w.at.IsZero() {
			return "0.0"
		}
		return fmt.Sprintf("%.1f", float64(n-before)/now.Sub(w.at).Seconds())
	}
	s := d.Status(a.name, "", "address", a.arm.Address(), "model", k.model, "connected", c.Connected, "connections",
		c.Connections,
		"joint states/s", rate(k.told, w.told), "replies/s", rate(c.Replies, w.counts.Replies), "pushed packets/s",
		rate(c.Packets, w.counts.Packets),
		"round trip (ms)", fmt.Sprintf("%.1f", c.RoundTrip.Seconds()*1000), "bad replies and packets", c.Bad, "timeouts",
		c.Timeouts,
		"not answered", c.Unknown, "refused", c.Refused, "others", c.Others, "late", c.Late, "last problem", c.Problem)
	s.Values = append(s.Values, k.values()...)
	s.Level, s.Message = a.judge(now, &c)
	w.counts, w.told, w.at = c, k.told, now
	return s
}

// judge says how an arm is in a word. a.mu is held.
func (a *arm) judge(now time.Time, c *realman.Counts) (level byte, message string) {
	k := &a.known
	troubles := k.troubles()
	quiet := a.options.Silence + a.options.PushCycle
	if a.options.Rate > 0 {
		quiet += period(a.options.Rate)
	}
	switch {
	case now.Sub(k.at) > quiet && c.ProblemAt.After(k.at):
		return diag.DiagnosticStatus_ERROR, c.Problem
	case k.at.IsZero():
		return diag.DiagnosticStatus_WARN, "it has told nothing yet"
	case now.Sub(k.at) > quiet:
		return diag.DiagnosticStatus_ERROR, fmt.Sprintf("it has told nothing for %.0f s", now.Sub(k.at).Seconds())
	case troubles != "":
		return diag.DiagnosticStatus_ERROR, troubles
	case a.options.Push == pushSet && now.Sub(c.LastPacket) > quiet:
		return diag.DiagnosticStatus_WARN, "it does not push as it is told"
	case !c.Connected && a.options.Rate > 0:
		return diag.DiagnosticStatus_WARN, "it pushes, but there is no connection: " + c.Problem
	case slices.Contains(k.enabled, false):
		return diag.DiagnosticStatus_WARN, fmt.Sprintf("joints are disabled: %s", k.disabled())
	case k.speeds.wrong():
		return diag.DiagnosticStatus_WARN, fmt.Sprintf("joints move %.2f times as fast as it says; speed_unit is another one",
			k.speeds.ratio)
	case now.Before(a.watch.trouble):
		return diag.DiagnosticStatus_WARN, fmt.Sprintf("%d bad replies, %d timeouts, %d connections: %s", c.Bad, c.Timeouts,
			c.Connections, c.Problem)
	case now.Sub(c.LastPacket) < quiet:
		return diag.DiagnosticStatus_OK, "pushing"
	}
	return diag.DiagnosticStatus_OK, "replying"
}
