package ulog

const (
	// longestDelay is how long before it was logged a message may have been published, for LogTime to be when that was,
	// in ns. Older messages, as of topics that are seldom published, would spread over the whole log.
	longestDelay = 10e9
	// longestGap is the longest time between two messages, in ns; one after a longer time must be confirmed by another.
	longestGap = 60e9
)

// clock tells when messages were logged, from when they were published. All times are in ns, without log.offset.
type clock struct {
	start int64 // of the log
	last  int64 // of the last message, as logged
	front int64 // the latest time that is confirmed
	ahead int64 // a time far ahead of front that no other message confirmed yet; 0: none
}

// now returns the time of what has none.
func (c *clock) now() int64 { return max(c.last, c.start) }

// observe returns when a message was logged that was published at t.
func (c *clock) observe(t int64) int64 {
	front := max(c.front, c.start)
	confirmed := c.ahead != 0 && t > c.ahead-longestGap && t < c.ahead+longestGap
	switch {
	case t > front+longestGap && front != 0 && !confirmed:
		c.ahead = t
	case t > front:
		c.front, c.ahead = t, 0
	}
	c.last = max(t, c.start, c.front-longestDelay)
	return c.last
}
