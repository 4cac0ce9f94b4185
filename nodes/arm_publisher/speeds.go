package main

import (
	"math"
	"time"

	"tapedeck/bridge/realman"
)

// What is compared of speeds and motion.
const (
	slowest    = 0.02                   // rad/s; slower joints tell nothing
	farApart   = 100 * time.Millisecond // between packets; so long a joint may do anything
	enough     = 1.0                    // rad, of motion told and done, after which there is a result
	acceptable = 1.5                    // how much one may be of the other; the units are a factor of 2 apart, at least
)

// speeds compares the speeds that an arm pushes with how its joints move: in which unit it tells them is not known for
// sure.
type speeds struct {
	at         time.Time
	joints     []float64
	done, told float64 // rad
	ratio      float64 // of what is done and what is told; 0 is not known yet
}

// update takes what an arm pushes.
func (s *speeds) update(u *realman.Update) {
	if u.Speeds == nil {
		return
	}
	if dt := u.Stamp.Sub(s.at); dt > 0 && dt < farApart && len(s.joints) == len(u.Joints) {
		for i, speed := range u.Speeds {
			if math.Abs(speed) > slowest {
				s.done += math.Abs(u.Joints[i] - s.joints[i])
				s.told += math.Abs(speed) * dt.Seconds()
			}
		}
	}
	s.at, s.joints = u.Stamp, append(s.joints[:0], u.Joints...)
	if s.done+s.told >= enough && s.told > 0 {
		s.ratio, s.done, s.told = s.done/s.told, 0, 0
	}
}

// wrong says whether joints move otherwise than they tell.
func (s *speeds) wrong() bool {
	return s.ratio != 0 && (s.ratio > acceptable || s.ratio < 1/acceptable)
}
