package ulog

import (
	"fmt"
	"maps"
)

const (
	// longestDelay is the longest time from publishing to logging a message, in ns, for which LogTime is the time of
	// publishing. Older messages, of topics that are seldom published, would stretch the whole log.
	longestDelay = 10e9
	// longestGap is the longest time between two messages, in ns. A time after a longer gap must be confirmed.
	longestGap = 60e9
	// confirmations is the number of consecutive messages that must agree on a time to confirm it.
	confirmations = 5
	// latestTime is the year 2100, in µs. Later times are damage.
	latestTime = uint64(4102444800e6)
)

// clock estimates when messages were logged from when they were published. All times are in ns, without log.utcOffset.
type clock struct {
	start   int64 // of the log
	last    int64 // time of logging of the last message
	front   int64 // the latest confirmed time
	far     int64 // unconfirmed time of the last message that was far from front
	agree   int   // consecutive messages that agree on far
	pending int   // messages far ahead of front since the last message near front
	strays  int   // messages far ahead whose times were not confirmed
}

// now returns the time for messages without a time.
func (c *clock) now() int64 { return max(c.last, c.start) }

// observe takes a message that was published at t, and returns when it was logged.
func (c *clock) observe(t int64) int64 {
	front := max(c.front, c.start)
	ahead := t > front+longestGap
	switch {
	case front == 0, !ahead && (t >= front-longestGap || t < c.start):
		c.strays += c.pending
		c.front, c.agree, c.pending = max(t, c.front), 0, 0
	default:
		if t < c.far-longestGap || t > c.far+longestGap {
			c.agree = 0
		}
		c.far = t
		if ahead {
			c.pending++
		}
		c.agree++
		if c.agree == confirmations {
			if !ahead {
				c.strays += c.pending
			}
			c.front, c.agree, c.pending = t, 0, 0
		}
	}
	c.last = max(t, c.start, c.front-longestDelay)
	return c.last
}

// state is the knowledge about times at a position in a log. All times are in ns, without log.utcOffset.
type state struct {
	clock
	// invented are the times that were given to the last messages without a time, by channel. A channel's next message
	// is not earlier.
	invented map[int]int64
}

func (s *state) clone() state { return state{s.clock, maps.Clone(s.invented)} }

// times returns when a channel's message with a timestamp in µs was logged and published; 0: no timestamp. The times
// differ for messages that PX4 published before the log began, or did not stamp.
func (s *state) times(channel int, timestamp uint64) (logged, published int64, err error) {
	if timestamp > latestTime {
		return 0, 0, fmt.Errorf("a time of %d µs", timestamp)
	}
	if timestamp == 0 {
		return s.untimed(channel), 0, nil
	}
	published = int64(timestamp) * 1e3
	logged = s.ordered(channel, s.observe(published))
	if logged != s.invented[channel] {
		delete(s.invented, channel)
	}
	return logged, published, nil
}

// untimed returns the time for a message without a time: the time of the previous message of any channel.
func (s *state) untimed(channel int) int64 {
	t := s.ordered(channel, s.now())
	s.invented[channel] = t
	return t
}

// ordered returns t, or the invented time of the channel's last message if that is a little later.
func (s *state) ordered(channel int, t int64) int64 {
	if last, ok := s.invented[channel]; ok && t < last && t > last-longestGap {
		return last
	}
	return t
}
