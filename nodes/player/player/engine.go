package player

import (
	"context"
	"errors"
	"io"
	"sync"

	"tapedeck/codec"
)

// input yields the messages that an engine plays. It is a recordingInput, or messages in memory in tests.
type input interface {
	// from returns the messages with t ≤ LogTime < end.
	from(t, end int64) (feed, error)
	// latched calls publish with the latest messages of latched topics before t, in time order. No feed may be open.
	latched(t int64, publish func(*codec.Message) error) error
}

// feed yields messages in the order of LogTime.
type feed interface {
	// Next returns the next message, valid until the next call. It returns nil if none is read yet, io.EOF at the end.
	Next() (*codec.Message, error)
	Close() error
}

// output publishes what an engine plays. It is a graphOutput, or a list in tests.
type output interface {
	publish(m *codec.Message) error
	publishClock(clock int64) error
}

// settings describe a playback. Times and durations are in ns.
type settings struct {
	start, end   int64  // the recorded time range that is played
	rounds       uint64 // number of times to play; 0: without end
	rate         float64
	paused       bool
	keepAlive    bool  // wait for requests at the end
	restartClock bool  // /clock restarts with each round
	skipEmpty    int64 // longer gaps between messages are skipped; 0: none is

	pauseTopics []string // playback pauses before messages of these topics

	clockPeriod int64                   // 0: /clock is not published periodically
	clockWith   func(topic string) bool // reports whether /clock is published before messages of topic

	step       int64 // length of a lock-step; 0: time runs freely
	eagerFirst bool  // the first step begins without a request
}

// clocked reports whether /clock is published.
func (p *settings) clocked() bool { return p.clockPeriod > 0 || p.clockWith != nil }

// engine publishes the messages of an input when they are due and owns the playback's time. Only the goroutine of run
// may use its fields, except shown, which mu guards. Other goroutines send requests with do, which run executes between
// two messages, and read state. run blocks only on the timer and the output.
type engine struct {
	settings
	input  input
	output output
	timer  timer

	requests chan func()
	done     chan struct{} // closed when run has ended

	// Time.
	line     timeline
	lockStep lockStep
	first    int64 // recorded time at which playback begins
	last     int64 // recorded time up to which everything was played
	shift    int64 // ns from recorded time to /clock
	tick     int64 // timer's time of the next periodic /clock
	epoch    int64 // ns to add to the timer's time for the machine's clock

	// Messages.
	feed   feed           // nil until begin
	head   *codec.Message // the next message; nil: not read yet
	empty  bool           // the feed has ended
	bursts []*burst       // bursts that were requested; the first one is being played

	// Pauses before messages of topics.
	pausesAtTopics bool // pauseTopics apply
	pausedAtHead   bool // playback has paused before head

	// Rounds.
	round       uint64 // rounds that have ended
	wholeRound  bool   // this round began at start, without a seek
	playedRound uint64 // messages played in this round
	played      uint64 // messages played in all rounds

	// The end.
	finished bool  // everything was played, or stop was called
	stopped  bool  // run must return
	failure  error // error of a request, which run returns

	mu    sync.Mutex
	shown snapshot // what state returns
}

// burst is a number of messages to play without delay while playback is paused.
type burst struct {
	remaining, played uint64
	reply             chan uint64 // receives played when the burst ends
}

func newEngine(s settings, input input, output output, timer timer) *engine {
	e := &engine{
		settings: s, input: input, output: output, timer: timer,
		requests: make(chan func(), 16), done: make(chan struct{}),
		line: timeline{rate: s.rate, recorded: s.start}, first: s.start, last: s.start, pausesAtTopics: true,
		tick:     never,
		lockStep: lockStep{length: s.step, period: s.clockPeriod},
	}
	if s.clockPeriod > 0 && s.step == 0 {
		e.tick = timer.now()
	}
	e.show()
	return e
}

// run plays from begin on. It returns at the end, or without an error once ctx is done.
func (e *engine) run(ctx context.Context) (err error) {
	defer close(e.done)
	defer func() {
		e.finish()
		e.show()
		if e.feed != nil {
			err = errors.Join(err, e.feed.Close())
		}
	}()
	defer context.AfterFunc(ctx, e.timer.wake)()
	for !e.stopped && ctx.Err() == nil {
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
		if until != atOnce || e.stopped || e.played%16 == 0 { // while many messages are due, every 16th is enough
			e.show()
		}
		if until != atOnce && !e.stopped {
			e.timer.sleep(until)
		}
	}
	return e.failure
}

const atOnce = 0 // timer's time in the past

// advance publishes or ends at most one due thing. It returns the timer's time at which the next one is due.
func (e *engine) advance() (until int64, err error) {
	if err := e.fetch(); err != nil {
		return 0, err
	}
	now := e.timer.now()
	if now >= e.tick {
		e.tick += (now-e.tick)/e.clockPeriod*e.clockPeriod + e.clockPeriod
		return atOnce, e.publishClock(e.position(now))
	}
	switch {
	case e.feed == nil || e.finished:
		return e.tick, nil
	case e.head == nil && !e.empty:
		return e.tick, nil // the feed wakes the timer
	case e.paused && len(e.bursts) == 0:
		return e.tick, nil
	case e.paused:
		return atOnce, e.playBurst(now)
	case e.lockStep.held():
		if !e.lockStep.next() {
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
	case e.lockStep.isNextMark(due):
		return atOnce, e.mark(due)
	case e.head == nil:
		return atOnce, e.endRound(when)
	case e.pausesAtTopics && !e.pausedAtHead && names(e.pauseTopics, e.head.Channel.Topic):
		e.pausedAtHead = true
		e.setPaused(true)
		return atOnce, nil
	}
	return atOnce, e.play(now)
}

// fetch gets the next message from the feed, if the feed has read it.
func (e *engine) fetch() error {
	if e.feed == nil || e.head != nil || e.empty {
		return nil
	}
	var err error
	e.head, err = e.feed.Next()
	if errors.Is(err, io.EOF) {
		e.empty, err = true, nil
	}
	return err
}

// due returns the recorded time of the next event. Time does not pass it before the event has happened.
func (e *engine) due() int64 {
	due := e.last
	switch {
	case e.head != nil:
		due = max(due, e.head.LogTime)
	case e.empty:
		due = max(due, e.roundEnd())
	}
	return min(due, e.lockStep.nextMark())
}

// minRound is the minimum duration of a round of a loop in ns. Without it, a loop of one message would never sleep.
const minRound = 1_000_000

// roundEnd returns the recorded time at which a round ends.
func (e *engine) roundEnd() int64 {
	if e.rounds == 1 {
		return e.end
	}
	return max(e.end, e.start+minRound)
}

// running reports whether recorded time passes.
func (e *engine) running() bool {
	return e.feed != nil && !e.finished && !e.paused && !e.lockStep.held()
}

// position returns the current recorded time.
func (e *engine) position(now int64) int64 {
	if !e.running() {
		return e.line.recorded
	}
	return min(e.line.at(now), e.due())
}

// settle restarts the timeline at the current time, so that its rate may be changed.
func (e *engine) settle() {
	now := e.timer.now()
	e.line.move(e.position(now), now)
}

// publishClock publishes a recorded time on /clock if /clock is published.
func (e *engine) publishClock(recorded int64) error {
	if !e.clocked() {
		return nil
	}
	return e.output.publishClock(recorded + e.shift)
}

// playingTime returns the time at which a message is played that was recorded at a time. It is a time of /clock if
// /clock is published, else of the machine's clock.
func (e *engine) playingTime(recorded int64) int64 {
	switch {
	case e.clocked():
		return recorded + e.shift
	case e.line.rate == immediate:
		return e.epoch + e.line.machine + recorded - e.line.recorded
	}
	return e.epoch + e.line.when(recorded)
}

// play publishes the next message.
func (e *engine) play(now int64) error {
	m := e.head
	e.head, e.pausedAtHead = nil, false
	e.last = max(e.last, m.LogTime)
	if e.paused || e.line.rate == immediate {
		e.line.move(e.last, now)
		e.lockStep.reach(e.last)
	}
	if e.paused || e.clockWith != nil && e.clockWith(m.Channel.Topic) {
		if err := e.publishClock(e.last); err != nil {
			return err
		}
	}
	e.played++
	e.playedRound++
	return e.output.publish(m)
}

// playBurst plays one message of a burst.
func (e *engine) playBurst(now int64) error {
	b := e.bursts[0]
	if e.head != nil {
		b.played++
		b.remaining--
		if err := e.play(now); err != nil {
			return err
		}
	}
	if b.remaining == 0 || e.empty {
		e.bursts = e.bursts[1:]
		e.show()
		b.reply <- b.played
	}
	return nil
}

// mark publishes t on /clock. t may be the end of a step.
func (e *engine) mark(t int64) error {
	e.last = t
	if e.lockStep.passMark(t) || e.line.rate == immediate {
		e.line.move(t, e.timer.now())
	}
	return e.publishClock(t)
}

// moveTo continues the playback at a recorded time. It publishes the latched messages from before that time.
func (e *engine) moveTo(t int64) error {
	if e.feed != nil {
		if err := e.feed.Close(); err != nil {
			return err
		}
		e.feed = nil
	}
	e.head, e.empty, e.pausedAtHead, e.finished, e.playedRound = nil, false, false, false, 0
	e.last = t
	e.lockStep.start(t)
	e.line.move(t, e.timer.now())
	if err := e.publishClock(t); err != nil {
		return err
	}
	if err := e.input.latched(t, e.output.publish); err != nil {
		return err
	}
	var err error
	e.feed, err = e.input.from(t, e.end)
	e.line.move(t, e.timer.now())
	return err
}

// endRound begins the next round, or ends the playback. The timer's time at the end of the round is at.
func (e *engine) endRound(at int64) error {
	e.round++
	end := e.roundEnd()
	if e.rounds > 0 && e.round >= e.rounds || e.wholeRound && e.playedRound == 0 {
		e.last = end
		e.line.move(end, at)
		e.finish()
		e.stopped = !e.keepAlive
		return e.publishClock(end)
	}
	if !e.restartClock {
		e.shift += end - e.start
	}
	e.wholeRound = true
	err := e.moveTo(e.start)
	if e.line.rate != immediate {
		e.line.move(e.start, at) // not delayed by the time that moveTo took
	}
	return err
}

// finish ends the playback at its position. It replies to all waiting requests.
func (e *engine) finish() {
	e.settle()
	e.finished = true
	e.answerBursts()
	e.lockStep.drop()
}

// answerBursts ends all bursts and replies to their requesters.
func (e *engine) answerBursts() {
	for _, b := range e.bursts {
		b.reply <- b.played
	}
	e.bursts = nil
}

// The methods from begin to playAgain are requests: only the goroutine of run may call them.

// begin starts the playback and its time.
func (e *engine) begin() {
	e.round, e.shift, e.wholeRound = 0, 0, e.first == e.start
	e.failure = e.moveTo(e.first)
	e.askFirst()
}

// beginFirst begins the playback, unless it was stopped before or another time range was begun.
func (e *engine) beginFirst() {
	if e.feed == nil && !e.finished {
		e.begin()
	}
}

// seek continues the playback at t, limited to the played time range. Before begin it sets where the playback will
// begin. It returns false if that fails.
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

// setPaused pauses or resumes the playback. Resuming ends all bursts.
func (e *engine) setPaused(paused bool) {
	e.settle()
	e.paused = paused
	if !paused {
		e.answerBursts()
	}
}

// setRate sets the playback rate. It returns false if rate is not valid.
func (e *engine) setRate(rate float64) bool {
	if !validRate(rate) {
		return false
	}
	e.settle()
	e.line.rate = rate
	return true
}

// burst plays count messages without delay, 0 for all. reply receives the number of played messages, 0 unless paused.
func (e *engine) burst(count uint64, reply chan uint64) {
	if !e.paused || e.finished {
		reply <- 0
		return
	}
	if count == 0 {
		count = never
	}
	e.bursts = append(e.bursts, &burst{remaining: count, reply: reply})
}

// askStep requests a lock-step. reply, unless nil, receives true when the step is complete, or false at the end.
func (e *engine) askStep(reply chan bool) {
	if e.finished {
		if reply != nil {
			reply <- false
		}
		return
	}
	e.lockStep.ask(reply)
}

// askFirst requests the first step if eagerFirst is set.
func (e *engine) askFirst() {
	if e.eagerFirst {
		e.lockStep.ask(nil)
	}
}

// stop ends the playback, and run unless keepAlive is set. It returns false if the playback has ended.
func (e *engine) stop() bool {
	if e.finished {
		return false
	}
	e.finish()
	e.stopped = !e.keepAlive
	return true
}

// playAgain plays another time range after the playback has ended. It returns false before the end.
func (e *engine) playAgain(start, end int64) bool {
	if !e.finished {
		return false
	}
	e.start, e.end, e.first = start, end, start
	e.begin()
	return e.failure == nil
}

// do calls f on the goroutine of run and returns when f has returned and state shows its effect. It returns false if
// run has ended and f was not called.
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
	case <-called: // run executed f before it ended
		return true
	default:
		return false
	}
}
