package main

import (
	"cmp"
	"fmt"
	"time"

	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/graph/rospub"
)

// troubleTime is how long a status stays a warning after images were lost.
const troubleTime = 10 * time.Second

// watch makes diagnostics of a camera.
type watch struct {
	camera     *camera
	lost       uint64    // number of images lost so far
	since      time.Time // when lost last grew
	publishing uint64    // value of camera.publishing in the last status
}

// status returns the status of the camera at now.
func (w *watch) status(now time.Time, d *rospub.Diagnostics) diag.DiagnosticStatus {
	s, stats, unfit := w.camera.capture.Status(), w.camera.capture.Stats(), w.camera.unfit.Load()
	if lost := stats.Dropped + stats.Damaged + unfit; lost > w.lost {
		w.lost, w.since = lost, now
	}
	window := &stats.Window
	status := d.Status(w.camera.name, "streaming", "device", s.Path, "card", s.Card, "serial", s.Serial, "format",
		s.Format, "nominal pictures/s", fmt.Sprintf("%.1f", s.Rate), "pictures/s", fmt.Sprintf("%.1f", window.Rate),
		"pictures", stats.Frames, "dropped", stats.Dropped, "damaged", stats.Damaged, "unfit", unfit, "driver errors",
		stats.Errors, "reopened", max(stats.Opened, 1)-1, "mean latency (ms)", milliseconds(window.MeanLatency),
		"maximum latency (ms)", milliseconds(window.MaxLatency), "stamps", stats.Clock, "calibrated",
		w.camera.calibration != nil)
	status.HardwareId = cmp.Or(s.Serial, s.Path)
	trouble := w.camera.trouble.Load()
	publishing := w.camera.publishing.Load()
	behind := publishing != 0 && publishing == w.publishing
	w.publishing = publishing
	switch fromFile := w.camera.fromFile(); {
	case trouble != nil:
		status.Level, status.Message = diag.DiagnosticStatus_ERROR, *trouble
	case !s.Streaming && s.Err != nil:
		status.Level, status.Message = diag.DiagnosticStatus_ERROR, s.Err.Error()
	case !s.Streaming && !fromFile:
		status.Level, status.Message = diag.DiagnosticStatus_WARN, "not open yet"
	case !s.Streaming && stats.Opened > 0:
		status.Message = "ended"
	case !s.Streaming:
		status.Message = "waiting for subscribers"
	case behind:
		status.Level, status.Message = diag.DiagnosticStatus_WARN, "images wait for a reliable subscriber"
	case w.lost > 0 && now.Sub(w.since) < troubleTime:
		status.Level = diag.DiagnosticStatus_WARN
		status.Message = fmt.Sprintf("images are missing: %d dropped, %d damaged, %d unfit", stats.Dropped,
			stats.Damaged, unfit)
	case !fromFile && window.Frames == 0:
		status.Level, status.Message = diag.DiagnosticStatus_WARN, "no images arrive"
	}
	return status
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }
