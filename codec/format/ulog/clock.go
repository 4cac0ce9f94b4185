package ulog

const (
	// longestDelay is the longest time from publishing to logging a message, in ns, for which LogTime is the time of
	// publishing. Older messages, of topics that are seldom published, would stretch the whole log.
	longestDelay = 10e9
	// longestGap is the longest time between two messages, in ns. A time after a longer gap must be confirmed.
	longestGap = 60e9
	// confirmations is the number of consecutive messages that must agree on a time to confirm it.
	confirmations = 5
)

// clock estimates when messages were logged from when they were published. All times are in ns, without log.offset.
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
