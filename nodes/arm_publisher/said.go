package main

import (
	"time"

	"tapedeck/bridge"
)

// How often problems are told in the log.
const (
	saidPace  = time.Second
	sameAgain = 30 * time.Second
)

// said is what the log had last of an arm.
type said struct {
	text string
	at   time.Time
}

// says whether a text is to be told at now.
func (s *said) says(text string, now time.Time) bool {
	pause := saidPace
	if text == s.text {
		pause = sameAgain
	}
	if now.Sub(s.at) < pause {
		return false
	}
	s.text, s.at = text, now
	return true
}

// problem tells what goes wrong, but not all of what goes wrong again and again.
func (a *arm) problem(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said.says(err.Error(), time.Now()) {
		a.node.Log(bridge.Warn, "%s: %v", a.name, err)
	}
}
