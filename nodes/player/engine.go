package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"tapedeck/codec"
)

// tape is what an engine plays.
type tape interface {
	// from returns the messages from a time on, up to before another.
	from(t, end int64) (feed, error)
	// latched calls publish with the last messages of latched topics before a time, in their order. No feed is open meanwhile.
	latched(t int64, publish func(*codec.Message) error) error
}

// feed yields messages in the order of LogTime.
type feed interface {
	// Next returns the next message, which is valid until the next call; nil while it is still being read, or io.EOF.
	Next() (*codec.Message, error)
	Close() error
}

// stage is where an engine plays.
type stage interface {
	publish(m *codec.Message) error
	tell(clock int64) error // on /clock
}

// plan is what an engine is to do. Times are ns.
type plan struct {
	start, end   int64  // of what is played, in recorded time
	rounds       uint64 // how often; 0: without end
	rate         float64
	paused       bool
	keepAlive    bool  // wait at the end for what is asked for then
	restartClock bool  // with each round
	skipEmpty    int64 // the longest time without messages that is waited for; 0: any

	pauseTopics []string // before whose messages it pauses

	clockPeriod int64                   // of /clock, 0: none
	clockWith   func(topic string) bool // whose messages are preceded by one on /clock

	step       int64 // that time advances at once, when it is told to; 0: it runs
	eagerFirst bool  // the first step need not be told
}

// clocked says whether there is a /clock.
func (p *plan) clocked() bool { return p.clockPeriod > 0 || p.clockWith != nil }

// engine plays a tape: it decides when which message is published, and what time it is. All of it belongs to the goroutine of run;
// what others want is done by do, between two messages. It waits for nothing but its timer, and for the stage.
type engine struct {
	plan
	tape  tape
	stage stage
	timer timer

	requests chan func()
	done     chan struct{} // closed when run has ended

	line  timeline
	first int64          // recorded time at which it begins
	last  int64          // recorded time up to which everything was played
	feed  feed           // nil before the beginning
	head  *codec.Message // what comes next; nil while it is not known
	empty bool           // the feed has ended

	finished    bool // everything was played, or it was stopped
	over        bool // run ends
	failure     error
	pausing     bool // pauseTopics count
	passed      bool // head has paused it already
	shift       int64
	round       uint64
	wholeRound  bool   // no seek was in it
	playedRound uint64 // messages
	played      uint64 // messages
	tick        int64  // by the timer: the next /clock
	bursts      []*burst
	lock        lockStep
	epoch       int64 // what the machine's clock says more than the timer

	mu    sync.Mutex
	shown snapshot
}

// burst is a number of messages that are played at once while paused.
type burst struct {
	left, played uint64
	reply        chan uint64 // gets played, in the end
}

func newEngine(p plan, tape tape, stage stage, timer timer) *engine {
	e := &engine{
		plan: p, tape: tape, stage: stage, timer: timer, requests: make(chan func(), 16), done: make(chan struct{}),
		line: timeline{rate: p.rate, recorded: p.start}, first: p.start, last: p.start, pausing: true, tick: never,
		lock: lockStep{length: p.step, period: p.clockPeriod},
	}
	if p.clockPeriod > 0 && p.step == 0 {
		e.tick = timer.now()
	}
	e.show()
	return e
}

// run plays from begin on, until the end or until ctx ends, which is no error.
func (e *engine) run(ctx context.Context) (err error) {
	defer close(e.done)
	defer func() {
		e.finish()
		if e.feed != nil {
			err = errors.Join(err, e.feed.Close())
		}
	}()
	defer context.AfterFunc(ctx, e.timer.wake)()
	for !e.over && ctx.Err() == nil {
		select {
		case request := <-e.requests:
			request()
			continue
		default:
		}
		if e.failure != nil {
			return e.failure
		}
		until, err := e.advance()
		if err != nil {
			return err
		}
		e.show()
		if until != atOnce && !e.over {
			e.timer.sleep(until)
		}
	}
	return e.failure
}

const atOnce = 0 // by the timer

// advance does what is due, one thing at most, and returns until when there is nothing to do then.
func (e *engine) advance() (until int64, err error) {
	if err := e.fetch(); err != nil {
		return 0, err
	}
	now := e.timer.now()
	if now >= e.tick {
		e.tick += (now-e.tick)/e.clockPeriod*e.clockPeriod + e.clockPeriod
		return atOnce, e.tell(e.position(now))
	}
	switch {
	case e.feed == nil || e.finished:
		return e.tick, nil
	case e.head == nil && !e.empty:
		return e.tick, nil // which the feed interrupts
	case e.paused && len(e.bursts) == 0:
		return e.tick, nil
	case e.paused:
		return atOnce, e.playBurst(now)
	case e.lock.held():
		if !e.lock.next() {
			return e.tick, nil
		}
		e.line.move(e.last, now)
	}
	due := e.due()
	if e.skipEmpty > 0 && due-e.last > e.skipEmpty {
		e.line.move(due, now)
	}
	when := e.line.when(due)
	switch {
	case when > now:
		return min(when, e.tick), nil
	case e.lock.marks(due):
		return atOnce, e.mark(due)
	case e.head == nil:
		return atOnce, e.endRound(when)
	case e.pausing && !e.passed && names(e.pauseTopics, e.head.Channel.Topic):
		e.passed = true
		e.setPaused(true)
		return atOnce, nil
	}
	return atOnce, e.play(now)
}

// fetch looks what comes next, as far as it was read.
func (e *engine) fetch() error {
	if e.feed == nil || e.head != nil || e.empty {
		return nil
	}
	var err error
	if e.head, err = e.feed.Next(); errors.Is(err, io.EOF) {
		e.empty, err = true, nil
	}
	return err
}

// due returns the recorded time of what comes next, at which time stands until that was done.
func (e *engine) due() int64 {
	due := e.last
	switch {
	case e.head != nil:
		due = max(due, e.head.LogTime)
	case e.empty:
		due = max(due, e.end)
	}
	return min(due, e.lock.nextMark())
}

// running says whether time passes.
func (e *engine) running() bool { return e.feed != nil && !e.finished && !e.paused && !e.lock.held() }

// position returns what recorded time it is.
func (e *engine) position(now int64) int64 {
	if !e.running() {
		return e.line.recorded
	}
	return min(e.line.at(now), e.due())
}

// settle has time go on from what it is now, so that how it passes may be changed.
func (e *engine) settle() {
	now := e.timer.now()
	e.line.move(e.position(now), now)
}

// tell publishes a recorded time on /clock.
func (e *engine) tell(recorded int64) error {
	if !e.clocked() {
		return nil
	}
	return e.stage.tell(recorded + e.shift)
}

// playingTime returns when what was recorded at a time is played: by /clock where there is one, else by the machine's clock.
func (e *engine) playingTime(recorded int64) int64 {
	switch {
	case e.clocked():
		return recorded + e.shift
	case e.line.rate == immediate:
		return e.epoch + e.line.machine + recorded - e.line.recorded
	}
	return e.epoch + e.line.when(recorded)
}

// play publishes what comes next.
func (e *engine) play(now int64) error {
	m := e.head
	e.head, e.passed = nil, false
	e.last = max(e.last, m.LogTime)
	if e.paused || e.line.rate == immediate {
		e.line.move(e.last, now)
		e.lock.reach(e.last)
	}
	if e.paused || e.clockWith != nil && e.clockWith(m.Channel.Topic) {
		if err := e.tell(e.last); err != nil {
			return err
		}
	}
	e.played++
	e.playedRound++
	return e.stage.publish(m)
}

// playBurst plays one message of a burst.
func (e *engine) playBurst(now int64) error {
	b := e.bursts[0]
	if e.head != nil {
		b.played++
		b.left--
		if err := e.play(now); err != nil {
			return err
		}
	}
	if b.left == 0 || e.empty {
		e.bursts = e.bursts[1:]
		b.reply <- b.played
	}
	return nil
}

// mark tells /clock the time, at which a step may be complete.
func (e *engine) mark(t int64) error {
	e.last = t
	if e.lock.pass(t) || e.line.rate == immediate {
		e.line.move(t, e.timer.now())
	}
	return e.tell(t)
}

// moveTo has the playback go on at a recorded time.
func (e *engine) moveTo(t int64) error {
	if e.feed != nil {
		if err := e.feed.Close(); err != nil {
			return err
		}
		e.feed = nil
	}
	e.head, e.empty, e.passed, e.finished, e.playedRound = nil, false, false, false, 0
	e.last = t
	e.lock.start(t)
	e.line.move(t, e.timer.now())
	if err := e.tell(t); err != nil {
		return err
	}
	if err := e.tape.latched(t, e.stage.publish); err != nil {
		return err
	}
	var err error
	e.feed, err = e.tape.from(t, e.end)
	e.line.move(t, e.timer.now())
	return err
}

// endRound begins the next round, or ends the playback. The round was over at that time by the timer.
func (e *engine) endRound(at int64) error {
	e.round++
	if e.rounds > 0 && e.round >= e.rounds || e.wholeRound && e.playedRound == 0 {
		e.last = e.end
		e.line.move(e.end, at)
		e.finish()
		e.over = !e.keepAlive
		return e.tell(e.end)
	}
	if !e.restartClock {
		e.shift += e.end - e.start
	}
	e.wholeRound = true
	err := e.moveTo(e.start)
	if e.line.rate != immediate {
		e.line.move(e.start, at) // however long it took to begin
	}
	return err
}

// finish ends the playback, as far as it goes.
func (e *engine) finish() {
	e.settle()
	e.finished = true
	e.answerBursts()
	e.lock.drop()
}

func (e *engine) answerBursts() {
	for _, b := range e.bursts {
		b.reply <- b.played
	}
	e.bursts = nil
}

// The following are requests: for the goroutine of run.

// begin starts time, and with it the playback.
func (e *engine) begin() {
	e.round, e.shift, e.wholeRound = 0, 0, e.first == e.start
	e.failure = e.moveTo(e.first)
	e.askFirst()
}

// beginFirst begins, unless it was stopped meanwhile or another part was begun.
func (e *engine) beginFirst() {
	if e.feed == nil && !e.finished {
		e.begin()
	}
}

// seek has the playback go on elsewhere, or begin there, as near to t as the plan allows. It returns false if that fails.
func (e *engine) seek(t int64) bool {
	t = min(max(t, e.start), e.end)
	if e.feed == nil {
		e.first, e.last = t, t
		e.line.move(t, e.timer.now())
		return true
	}
	e.shift, e.wholeRound = 0, false
	e.failure = e.moveTo(t)
	e.askFirst()
	return e.failure == nil
}

func (e *engine) setPaused(paused bool) {
	e.settle()
	if e.paused = paused; !paused {
		e.answerBursts()
	}
}

// setRate returns false for what is no rate.
func (e *engine) setRate(rate float64) bool {
	if !validRate(rate) {
		return false
	}
	e.settle()
	e.line.rate = rate
	return true
}

// burst plays that many messages at once, 0 are all to the end. The reply says how many it were, 0 unless paused.
func (e *engine) burst(count uint64, reply chan uint64) {
	if !e.paused || e.finished {
		reply <- 0
		return
	}
	if count == 0 {
		count = never
	}
	e.bursts = append(e.bursts, &burst{left: count, reply: reply})
}

// askStep asks for a step of lock-step. The reply, unless nil, gets true when it is complete, or false at the end.
func (e *engine) askStep(reply chan bool) {
	if e.finished {
		if reply != nil {
			reply <- false
		}
		return
	}
	e.lock.ask(reply)
}

// askFirst asks for the step that need not be told.
func (e *engine) askFirst() {
	if e.eagerFirst {
		e.lock.ask(nil)
	}
}

// stop ends the playback, and run unless it is kept alive. It returns false if it has ended.
func (e *engine) stop() bool {
	if e.finished {
		return false
	}
	e.finish()
	e.over = !e.keepAlive
	return true
}

// again plays another part, once the playback has ended. It returns false until then.
func (e *engine) again(start, end int64) bool {
	if !e.finished {
		return false
	}
	e.start, e.end, e.first = start, end, start
	e.begin()
	return e.failure == nil
}

// do has the goroutine of run call f, and returns when it has and state shows it. It returns false if the playback is
// over and f was not called.
func (e *engine) do(f func()) bool {
	called := make(chan struct{})
	select {
	case e.requests <- func() { f(); e.show(); close(called) }:
	case <-e.done:
		return false
	}
	e.timer.wake()
	select {
	case <-called:
		return true
	case <-e.done:
	}
	select {
	case <-called: // before the end
		return true
	default:
		return false
	}
}
