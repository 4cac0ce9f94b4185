package mavlink

// arrival classifies a frame by its sequence number.
type arrival int

const (
	inOrder   arrival = iota // the next one, possibly after lost ones
	duplicate                // received before
	late                     // counted as lost before
	restart                  // the sequence restarted
)

const (
	silence     = 2e9 // ns after which a sequence may have wrapped any number of times
	burst       = 32  // frames that may be lost at once, in however short a time
	stuckFrames = 8   // old sequence numbers in a row that mean a restart
)

// sequence follows the sequence numbers of one component on one connection, which wrap at 256.
type sequence struct {
	started  bool
	last     uint8
	seen     uint64  // bit i: last-i was received
	at       int64   // reception of last, in ns
	interval float64 // mean between frames, in ns
	stuck    int     // number of old sequence numbers since the last new one
}

// next takes the sequence number of a frame received at now, and returns how many frames are missing before it.
func (s *sequence) next(number uint8, now int64) (lost int, a arrival) {
	if !s.started {
		s.begin(number, now)
		return 0, inOrder
	}
	ahead := number - s.last
	elapsed := float64(max(0, now-s.at))
	switch {
	case ahead != 1 && elapsed > max(silence, 8*s.interval):
		s.begin(number, now)
		return 0, restart
	case ahead == 0 || ahead > 256-64: // one of the last 64
		s.stuck++
		if s.stuck > stuckFrames {
			s.begin(number, now)
			return 0, restart
		}
		bit := uint64(1) << -ahead
		if s.seen&bit != 0 {
			return 0, duplicate
		}
		s.seen |= bit
		return 0, late
	case float64(ahead-1)*s.interval > burst*s.interval+4*elapsed: // more than can have been sent
		s.begin(number, now)
		return 0, restart
	}
	if mean := elapsed / float64(ahead); s.interval == 0 {
		s.interval = mean
	} else {
		s.interval += (mean - s.interval) / 8
	}
	s.seen = s.seen<<ahead | 1
	s.last, s.at, s.stuck = number, now, 0
	return int(ahead) - 1, inOrder
}

func (s *sequence) begin(number uint8, now int64) {
	*s = sequence{started: true, last: number, seen: ^uint64(0), at: now, interval: s.interval}
}
