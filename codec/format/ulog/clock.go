package ulog

const (
	// longestDelay is how long before it was logged a message may have been published, for LogTime to be when that was,
	// in ns. Older messages, as of topics that are seldom published, would spread over the whole log.
	longestDelay = 10e9
	// longestGap is the longest time between two messages, in ns; one after a longer time must be confirmed by others.
	longestGap = 60e9
	// several is how many messages one after the other must agree on a time to confirm it.
	several = 5
)

// clock tells when messages were logged, from when they were published. All times are in ns, without log.offset.
type clock struct {
	start   int64 // of the log
	last    int64 // of the last message, as logged
	front   int64 // the latest time that is confirmed
	far     int64 // a time far from front, of the last messages
	agree   int   // how many of them agree on it
	pending int   // messages far ahead of front, since the last that was not
	strays  int   // messages far ahead of others, which did not confirm them
}

// now returns the time of what has none.
func (c *clock) now() int64 { return max(c.last, c.start) }

// observe returns when a message was logged that was published at t.
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
		if c.agree == several {
			if !ahead {
				c.strays += c.pending
			}
			c.front, c.agree, c.pending = t, 0, 0
		}
	}
	c.last = max(t, c.start, c.front-longestDelay)
	return c.last
}
