package main

import (
	"math"
	"time"

	"tapedeck/bridge/device/realman"
)

// Limits for comparing speeds with motion.
const (
	slowest    = 0.02                   // slower joints are not compared; rad/s
	farApart   = 100 * time.Millisecond // maximum time between packets that are compared
	enough     = 1.0                    // sum of reported and measured motion that gives a result; rad
	acceptable = 1.5                    // maximum ratio of measured and reported; units differ by 2 or more
)

// speeds compares the speeds that an arm pushes with the motion of its joints, because the unit of the speeds is not
// certain.
type speeds struct {
	at                 time.Time // time of the last packet
	joints             []float64 // positions in the last packet
	measured, reported float64   // sums of motion in rad
	ratio              float64   // measured divided by reported; 0: not known yet
}

// update adds a pushed packet.
func (s *speeds) update(u *realman.Update) {
	if u.Speeds == nil {
		return
	}
	if dt := u.Stamp.Sub(s.at); dt > 0 && dt < farApart && len(s.joints) == len(u.Joints) {
		for i, speed := range u.Speeds {
			if math.Abs(speed) > slowest {
				s.measured += math.Abs(u.Joints[i] - s.joints[i])
				s.reported += math.Abs(speed) * dt.Seconds()
			}
		}
	}
	s.at, s.joints = u.Stamp, append(s.joints[:0], u.Joints...)
	if s.measured+s.reported >= enough && s.reported > 0 {
		s.ratio, s.measured, s.reported = s.measured/s.reported, 0, 0
	}
}

// wrong reports whether speeds and motion disagree.
func (s *speeds) wrong() bool {
	return s.ratio != 0 && (s.ratio > acceptable || s.ratio < 1/acceptable)
}
