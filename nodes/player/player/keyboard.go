package player

import "time"

const (
	keysHelp = "Space pauses and resumes, ↑ and ↓ change the rate, ← and → seek, . plays the next message while " +
		"paused, s the next step."
	seekBy = 5 * time.Second // of recorded time, by an arrow
	rateBy = 1.1
)

// press executes the command of a key.
func (e *engine) press(key string) {
	e.do(func() {
		switch key {
		case " ":
			e.setPaused(!e.paused)
		case ".":
			e.burst(1, make(chan uint64, 1))
		case "s":
			if e.step > 0 {
				e.askStep(nil)
			} else {
				e.burst(1, make(chan uint64, 1))
			}
		case "t":
			e.pausesAtTopics = !e.pausesAtTopics
		case "\x1b[A": // up
			if e.line.rate != immediate {
				e.setRate(min(e.line.rate*rateBy, maxRate))
			}
		case "\x1b[B": // down
			e.setRate(max(e.line.rate/rateBy, minRate))
		case "\x1b[C": // right
			e.seek(e.position(e.timer.now()) + int64(seekBy))
		case "\x1b[D": // left
			e.seek(e.position(e.timer.now()) - int64(seekBy))
		}
	})
}
