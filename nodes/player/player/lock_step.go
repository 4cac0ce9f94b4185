package player

// lockStep advances time in steps, each on request, so that messages and /clock depend on the recording alone: /clock
// is published at each step's end and, within a step, by recorded time. All times are in ns.
type lockStep struct {
	length int64 // length of a step; 0: time runs freely
	period int64 // of /clock; 0: none

	limit   int64       // recorded time at which the step ends
	clock   int64       // recorded time of the next /clock
	waiting bool        // the step is complete
	asked   []chan bool // requested steps; each channel, unless nil, receives true when its step is complete
	current chan bool
}

// start begins at a recorded time. The step before is complete.
func (l *lockStep) start(t int64) {
	if l.length == 0 {
		return
	}
	l.limit, l.waiting = t, true
	l.clock = t + l.period
	l.answer(true)
}

// held reports whether time stands still until a step is requested.
func (l *lockStep) held() bool { return l.length > 0 && l.waiting }

// ask requests a step. reply, unless nil, receives true when the step is complete, or false at the end.
func (l *lockStep) ask(reply chan bool) { l.asked = append(l.asked, reply) }

// next begins the next step. It returns false if none was requested.
func (l *lockStep) next() bool {
	if len(l.asked) == 0 {
		return false
	}
	l.current, l.asked = l.asked[0], l.asked[1:]
	l.limit += l.length
	l.waiting = false
	return true
}

// nextMark returns the recorded time of the next /clock message.
func (l *lockStep) nextMark() int64 {
	switch {
	case l.length == 0:
		return never
	case l.period == 0:
		return l.limit
	}
	return min(l.limit, l.clock)
}

// isNextMark reports whether t is the time of the next /clock message.
func (l *lockStep) isNextMark(t int64) bool { return l.length > 0 && t == l.nextMark() }

// passMark is called when recorded time has reached the next mark, t. It reports whether the step ends there.
func (l *lockStep) passMark(t int64) bool {
	if t == l.clock {
		l.clock += l.period
	}
	if t < l.limit {
		return false
	}
	l.waiting = true
	l.answer(true)
	return true
}

// reach is called after a message recorded at t was played without a step, by a burst or at the rate immediate.
func (l *lockStep) reach(t int64) {
	if l.length == 0 {
		return
	}
	l.limit = max(l.limit, t)
	if l.period > 0 && l.clock <= t {
		l.clock += (t-l.clock)/l.period*l.period + l.period
	}
}

func (l *lockStep) answer(complete bool) {
	if l.current != nil {
		l.current <- complete
		l.current = nil
	}
}

// drop answers all requested steps with false.
func (l *lockStep) drop() {
	l.answer(false)
	for _, reply := range l.asked {
		if reply != nil {
			reply <- false
		}
	}
	l.asked = nil
}
