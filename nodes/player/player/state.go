package player

import (
	"fmt"
	"time"

	"tapedeck/codec/text/human"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/graph/remote"
	"tapedeck/nodes/internal/graph/rospub"
)

// state is the progress of a playback.
type state struct {
	word       string
	paused     bool
	rate       float64
	position   int64 // recorded time, ns
	start, end int64 // the played time range, recorded time, ns
	played     uint64
}

// String returns "[PLAYING] 2026-11-21 10:00:05.2  5.2 / 20.0 s  rate 1.00  1234 messages".
func (s state) String() string {
	rate := fmt.Sprintf("%.2f", s.rate)
	if s.rate == immediate {
		rate = "max"
	}
	return fmt.Sprintf("[%-7s] %s  %.1f / %.1f s  rate %s  %s", s.word,
		time.Unix(0, s.position).Format("2006-01-02 15:04:05.0"),
		float64(s.position-s.start)/1e9, float64(s.end-s.start)/1e9, rate, human.Count(s.played, "message"))
}

// snapshot has the values from which state computes the present position.
type snapshot struct {
	state   state
	line    timeline
	due     int64
	running bool
}

// show stores the state for other goroutines.
func (e *engine) show() {
	s := snapshot{state{"PLAYING", e.paused, e.line.rate, e.line.recorded, e.start, e.end, e.played}, e.line, e.due(),
		e.running()}
	switch {
	case e.feed == nil:
		s.state.word = "WAITING"
	case e.finished:
		s.state.word = "ENDED"
	case e.paused:
		s.state.word = "PAUSED"
	case e.lockStep.held():
		s.state.word = "HELD"
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = s
}

// state returns the progress. It does not wait for the output. Any goroutine may call it.
func (e *engine) state() state {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.shown
	if s.running {
		s.state.position = min(s.line.at(e.timer.now()), s.due)
	}
	return s.state
}

// remoteStatus returns the status for the player's service status.
func (p *player) remoteStatus() remote.Status {
	s := p.state()
	status := remote.Status{State: s.word, Text: s.String(), Seconds: float64(s.position-s.start) / 1e9,
		Duration: float64(s.end-s.start) / 1e9, Rate: rateText(s.rate), Messages: s.played}
	for _, info := range p.recordings.Infos() {
		status.Paths = append(status.Paths, info.Path)
	}
	for _, offer := range p.publishers.offers() {
		n := offer.Subscribers()
		status.Topics = append(status.Topics, remote.TopicStatus{Topic: offer.Topic(), Type: offer.Type,
			Subscribers: &n})
	}
	return status
}

const (
	diagnosticsPeriod = time.Second
	statusName        = "playback"
)

// status returns the state for rospub.DiagnosticsTopic.
func (s state) status(d *rospub.Diagnostics) diag.DiagnosticStatus {
	return d.Status(statusName, s.String(), "state", s.word, "rate", s.rate, "position",
		fmt.Sprintf("%.3f", float64(s.position-s.start)/1e9), "start", human.Seconds(s.start), "end",
		human.Seconds(s.end), "duration", fmt.Sprintf("%.3f", float64(s.end-s.start)/1e9), "messages", s.played)
}
