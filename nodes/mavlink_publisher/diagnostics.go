package main

import (
	"fmt"

	"tapedeck/codec/text/human"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/graph/rospub"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
)

const (
	lowBattery = 0.2 // a charge below this fraction is a warning
	poorLink   = 90  // less than this percentage of received frames is a warning
)

// statuses returns the statuses of links and vehicles.
func (p *publisher) statuses() []diag.DiagnosticStatus {
	var list []diag.DiagnosticStatus
	for _, l := range p.links {
		list = append(list, p.linkStatus(l))
		l.mu.Lock()
		for _, s := range l.vehicles {
			list = append(list, p.heartbeatStatus(s), p.gpsStatus(s), p.batteryStatus(s), p.clockStatus(l, s))
		}
		l.mu.Unlock()
	}
	return list
}

func (p *publisher) linkStatus(l *link) diag.DiagnosticStatus {
	s := l.link.Statistics()
	status := p.diagnostics.Status("link "+l.source,
		fmt.Sprintf("%.0f frames/s, %.0f %% of them received", s.Rate, s.Quality), "frames", s.Received, "bytes",
		s.Bytes, "lost", s.Lost, "quality (%)", fmt.Sprintf("%.1f", s.Quality), "frames per second",
		fmt.Sprintf("%.1f", s.Rate), "bytes per second", fmt.Sprintf("%.0f", s.ByteRate), "bad checksum", s.BadChecksum,
		"garbage (bytes)", s.Garbage, "unknown messages", s.Unknown, "unknown ids", s.UnknownIDs, "dropped", s.Dropped,
		"duplicates", s.Duplicates, "reordered", s.Reordered, "restarts", s.Restarts, "open", s.Open, "opened",
		s.Opened, "problem", s.Problem)
	for _, c := range s.Components {
		status.Values = append(status.Values, rospub.Values(fmt.Sprintf("from %d/%d", c.System, c.Component),
			fmt.Sprintf("%s, %d lost", human.Count(c.Received, "frame"), c.Lost))...)
	}
	switch {
	case !l.link.IsLog() && s.Open == 0:
		status.Level, status.Message = diag.DiagnosticStatus_ERROR, "not open"
	case !l.link.IsLog() && s.Rate == 0:
		status.Level, status.Message = diag.DiagnosticStatus_WARN, "nothing arrives"
	case s.Quality < poorLink:
		status.Level = diag.DiagnosticStatus_WARN
	}
	return status
}

func (p *publisher) heartbeatStatus(s *publishedVehicle) diag.DiagnosticStatus {
	h := s.Health()
	status := p.diagnostics.Status(s.name+": heartbeat", h.State.Mode,
		"system", s.system, "mode", h.State.Mode, "armed", h.State.Armed, "vehicle", h.Kind, "autopilot", h.Firmware,
		"state", ardupilotmega.MAV_STATE(h.State.SystemStatus), "attitude",
		map[bool]string{false: "none yet", true: "known"}[h.Oriented])
	if !h.State.Connected {
		status.Level, status.Message = diag.DiagnosticStatus_ERROR, "no heartbeat"
	}
	return status
}

func (p *publisher) gpsStatus(s *publishedVehicle) diag.DiagnosticStatus {
	h, height := s.Health(), "ellipsoid"
	if h.NoGeoid {
		height = "mean sea level: no geoid"
	}
	status := p.diagnostics.Status(s.name+": GPS", "fix",
		"fix type", h.Fix, "satellites", h.Satellites, "altitudes above", height)
	switch {
	case !h.GPS:
		status.Level, status.Message = diag.DiagnosticStatus_STALE, "nothing received"
	case !h.Fixed:
		status.Level, status.Message = diag.DiagnosticStatus_WARN, "no fix"
	}
	return status
}

func (p *publisher) batteryStatus(s *publishedVehicle) diag.DiagnosticStatus {
	b := s.Health().Battery
	status := p.diagnostics.Status(s.name+": battery", fmt.Sprintf("%.2f V", b.Voltage),
		"voltage (V)", b.Voltage, "current (A)", b.Current, "percentage", 100*b.Percentage, "cells (V)", b.CellVoltage)
	switch {
	case !b.Present:
		status.Level, status.Message = diag.DiagnosticStatus_STALE, "nothing received"
	case b.Percentage < lowBattery: // false for NaN
		status.Level, status.Message = diag.DiagnosticStatus_WARN, fmt.Sprintf("low: %.0f %%", 100*b.Percentage)
	}
	return status
}

func (p *publisher) clockStatus(l *link, s *publishedVehicle) diag.DiagnosticStatus {
	c := l.linkVehicle(s.system).Clock
	message := "estimated from the least delayed messages"
	switch {
	case c.Synchronised:
		message = "synchronised"
	case c.Offset == 0:
		message = "unknown"
	}
	return p.diagnostics.Status(s.name+": clock", message, "offset (s)", fmt.Sprintf("%.6f", float64(c.Offset)/1e9),
		"drift (ppm)", fmt.Sprintf("%.3f", c.Drift), "round trip (ms)", fmt.Sprintf("%.3f", float64(c.RoundTrip)/1e6),
		"exchanges", c.Exchanges, "jumps", c.Jumps)
}
