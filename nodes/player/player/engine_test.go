package player

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// testTimer is a timer whose time passes at once. It calls functions that were scheduled with on at their times.
type testTimer struct {
	t       *testing.T
	time    int64
	at      []int64
	do      []func()
	woken   bool
	stalled func() // called when no event is scheduled
}

func (s *testTimer) now() int64 { return s.time }
func (s *testTimer) wake()      { s.woken = true }

func (s *testTimer) on(ms int64, do func()) {
	s.at, s.do = append(s.at, ms*1e6), append(s.do, do)
}

func (s *testTimer) sleep(until int64) {
	if s.woken {
		s.woken = false
		return
	}
	if len(s.at) > 0 && s.at[0] <= until {
		do := s.do[0]
		s.time = max(s.time, s.at[0])
		s.at, s.do = s.at[1:], s.do[1:]
		do()
		return
	}
	if until == never {
		require.NotNil(s.t, s.stalled, "the playback stalls")
		s.stalled()
		return
	}
	s.time = max(s.time, until)
}

// memoryInput is an input in memory.
type memoryInput struct {
	messages []codec.Message
	state    map[string]bool // latched topics
	starve   int             // number of times that Next returns nil before each message
	wake     func()
}

// newMemoryInput returns an input with messages "topic@ms".
func newMemoryInput(texts ...string) *memoryInput {
	r := &memoryInput{state: map[string]bool{}}
	channels := map[string]*codec.Channel{}
	for _, text := range texts {
		topic, rest, _ := strings.Cut(text, "@")
		var ms int64
		fmt.Sscan(rest, &ms)
		if channels[topic] == nil {
			channels[topic] = &codec.Channel{Topic: topic}
		}
		r.messages = append(r.messages, codec.Message{Channel: channels[topic], LogTime: ms * 1e6, Data: []byte(text)})
	}
	return r
}

func (r *memoryInput) from(t, end int64) (feed, error) {
	f := &memoryFeed{input: r, starve: r.starve}
	for _, m := range r.messages {
		if m.LogTime >= t && m.LogTime < end {
			f.rest = append(f.rest, m)
		}
	}
	return f, nil
}

func (r *memoryInput) latched(t int64, publish func(*codec.Message) error) error {
	for _, topic := range slices.Sorted(func(yield func(string) bool) {
		for topic := range r.state {
			if !yield(topic) {
				return
			}
		}
	}) {
		for _, m := range slices.Backward(r.messages) {
			if m.LogTime < t && m.Channel.Topic == topic {
				if err := publish(&m); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

type memoryFeed struct {
	input  *memoryInput
	rest   []codec.Message
	starve int
}

func (f *memoryFeed) Next() (*codec.Message, error) {
	if f.starve > 0 {
		f.starve--
		f.input.wake()
		return nil, nil
	}
	f.starve = f.input.starve
	if len(f.rest) == 0 {
		return nil, io.EOF
	}
	m := &f.rest[0]
	f.rest = f.rest[1:]
	return m, nil
}

func (f *memoryFeed) Close() error { return nil }

// testRun collects what was played with the timer's time: "a@10+10" is a message, "clock 10+10" a /clock.
type testRun struct {
	*engine
	t      *testing.T
	clock  *testTimer
	input  *memoryInput
	events []string
	fail   error
	busy   int64 // duration of publishing, ns
}

func (s *testRun) publish(m *codec.Message) error {
	s.events = append(s.events, fmt.Sprintf("%s+%d", m.Data, s.clock.time/1e6))
	s.clock.time += s.busy
	return s.fail
}

func (s *testRun) publishClock(clock int64) error {
	s.events = append(s.events, fmt.Sprintf("clock %d+%d", clock/1e6, s.clock.time/1e6))
	return nil
}

// newTestRun prepares to play an input from 0 to 100 ms.
func newTestRun(t *testing.T, r *memoryInput, change func(*settings)) *testRun {
	s := &testRun{t: t, clock: &testTimer{t: t}, input: r}
	r.wake = s.clock.wake
	p := settings{start: 0, end: 100e6, rounds: 1, rate: 1}
	if change != nil {
		change(&p)
	}
	s.engine = newEngine(p, r, s, s.clock)
	return s
}

// on makes a request at a time.
func (s *testRun) on(ms int64, request func(e *engine)) *testRun {
	s.clock.on(ms, func() { s.requests <- func() { request(s.engine) } })
	return s
}

// run plays to the end and returns the played messages.
func (s *testRun) run() string {
	s.t.Helper()
	s.requests <- s.engine.begin
	require.NoError(s.t, s.engine.run(s.t.Context()))
	return strings.Join(s.events, " ")
}

func TestEngine(t *testing.T) {
	three := []string{"a@0", "b@30", "a@60"}
	pause := func(e *engine) { e.setPaused(true) }
	resume := func(e *engine) { e.setPaused(false) }
	rate := func(x float64) func(e *engine) { return func(e *engine) { e.setRate(x) } }
	seek := func(ms int64) func(e *engine) { return func(e *engine) { e.seek(ms * 1e6) } }
	burst := func(n uint64) func(e *engine) {
		return func(e *engine) { e.burst(n, make(chan uint64, 1)) }
	}
	type at struct {
		ms int64
		do func(*engine)
	}
	for name, test := range map[string]struct {
		messages []string
		change   func(*settings)
		script   []at
		want     string
		ends     int64 // ms
	}{
		"at its pace":   {three, nil, nil, "a@0+0 b@30+30 a@60+60", 100},
		"twice as fast": {three, func(p *settings) { p.rate = 2 }, nil, "a@0+0 b@30+15 a@60+30", 50},
		"at half speed": {three, func(p *settings) { p.rate = 0.5 }, nil, "a@0+0 b@30+60 a@60+120", 200},
		"at once":       {three, func(p *settings) { p.rate = immediate }, nil, "a@0+0 b@30+0 a@60+0", 0},
		"nothing":       {nil, nil, nil, "", 100},
		"equal times":   {[]string{"a@5", "b@5", "c@5"}, nil, nil, "a@5+5 b@5+5 c@5+5", 100},
		"a part":        {three, func(p *settings) { p.start = 20e6; p.end = 50e6 }, nil, "b@30+10", 30},

		"paused": {three, nil, []at{{10, pause}, {50, resume}}, "a@0+0 b@30+70 a@60+100", 140},
		"paused at first": {three, func(p *settings) { p.paused = true }, []at{{50, resume}}, "a@0+50 b@30+80 a@60+110",
			150},
		"paused twice": {three, nil, []at{{10, pause}, {20, pause}, {50, resume}, {55, resume}},
			"a@0+0 b@30+70 a@60+100", 140},
		"faster from now":  {three, nil, []at{{20, rate(2)}}, "a@0+0 b@30+25 a@60+40", 60},
		"slower from now":  {three, nil, []at{{30, rate(0.5)}}, "a@0+0 b@30+30 a@60+90", 170},
		"at once from now": {three, nil, []at{{20, rate(immediate)}}, "a@0+0 b@30+20 a@60+20", 20},
		"no such rate": {three, nil, []at{{20, rate(0)}, {21, rate(math.NaN())}, {22, rate(-1)}},
			"a@0+0 b@30+30 a@60+60", 100},
		"slow then at once": {three, func(p *settings) { p.rate = immediate; p.paused = true },
			[]at{{10, rate(1)}, {10, resume}},
			"a@0+10 b@30+40 a@60+70", 110},

		"next": {three, func(p *settings) { p.paused = true }, []at{{10, burst(1)}, {20, burst(1)}, {30, resume}},
			"a@0+10 b@30+20 a@60+60", 100},
		"burst": {three, func(p *settings) { p.paused = true }, []at{{10, burst(2)}, {30, resume}},
			"a@0+10 b@30+10 a@60+60", 100},
		"burst of all": {three, func(p *settings) { p.paused = true }, []at{{10, burst(0)}, {30, resume}},
			"a@0+10 b@30+10 a@60+10", 70},
		"burst too many": {three, func(p *settings) { p.paused = true }, []at{{10, burst(9)}, {30, resume}},
			"a@0+10 b@30+10 a@60+10", 70},
		"burst unpaused": {three, nil, []at{{10, burst(2)}}, "a@0+0 b@30+30 a@60+60", 100},

		"seek forwards":      {three, nil, []at{{10, seek(50)}}, "a@0+0 a@60+20", 60},
		"seek backwards":     {three, nil, []at{{40, seek(20)}}, "a@0+0 b@30+30 b@30+50 a@60+80", 120},
		"seek to itself":     {three, nil, []at{{40, seek(30)}}, "a@0+0 b@30+30 b@30+40 a@60+70", 110},
		"seek too far":       {three, nil, []at{{10, seek(1000)}}, "a@0+0", 10},
		"seek before it all": {three, nil, []at{{10, seek(-1000)}}, "a@0+0 a@0+10 b@30+40 a@60+70", 110},
		"seek while paused":  {three, nil, []at{{10, pause}, {20, seek(50)}, {40, resume}}, "a@0+0 a@60+50", 90},
		"seek then next": {three, nil, []at{{10, pause}, {20, seek(30)}, {30, burst(1)}, {40, resume}},
			"a@0+0 b@30+30 a@60+70", 110},
		"seek in a part": {three, func(p *settings) { p.start = 20e6 }, []at{{5, seek(0)}}, "b@30+15 a@60+45", 85},

		"two rounds": {three, func(p *settings) { p.rounds = 2 }, nil,
			"a@0+0 b@30+30 a@60+60 a@0+100 b@30+130 a@60+160", 200},
		"rounds of nothing": {nil, func(p *settings) { p.rounds = 0 }, nil, "", 100},
		"rounds at once": {[]string{"a@0"}, func(p *settings) { p.rounds = 3; p.rate = immediate }, nil,
			"a@0+0 a@0+0 a@0+0", 0},
		"a seek to nothing is no end of rounds": {[]string{"a@0"}, func(p *settings) { p.rounds = 2 },
			[]at{{10, seek(50)}},
			"a@0+0 a@0+60", 160},

		"skip what is empty": {[]string{"a@50", "b@55", "c@80"}, func(p *settings) { p.skipEmpty = 20e6 }, nil,
			"a@50+0 b@55+5 c@80+5", 25},
		"pause before": {three, func(p *settings) { p.pauseTopics = []string{"b"} }, []at{{40, resume}},
			"a@0+0 b@30+40 a@60+70", 110},
		"pause before, next": {three, func(p *settings) { p.pauseTopics = []string{"b"} },
			[]at{{40, burst(1)}, {50, resume}},
			"a@0+0 b@30+40 a@60+80", 120},
		"pause before no more": {three, func(p *settings) { p.pauseTopics = []string{"b", "a"} },
			[]at{{5, func(e *engine) { e.pausesAtTopics = false }}, {10, resume}}, "a@0+10 b@30+40 a@60+70", 110},
		"stop":              {three, nil, []at{{40, func(e *engine) { e.stop() }}}, "a@0+0 b@30+30", 40},
		"stop while paused": {three, nil, []at{{10, pause}, {40, func(e *engine) { e.stop() }}}, "a@0+0", 40},
	} {
		for _, starve := range []int{0, 2} {
			t.Run(fmt.Sprint(name, " ", starve), func(t *testing.T) {
				r := newMemoryInput(test.messages...)
				s := newTestRun(t, r, test.change)
				r.starve = starve
				for _, a := range test.script {
					s.on(a.ms, a.do)
				}
				require.Equal(t, test.want, s.run())
				require.Equal(t, test.ends, s.clock.time/1e6, "time of the end, ms")
				require.Empty(t, s.clock.do)
			})
		}
	}
}

func TestEngineClock(t *testing.T) {
	clock := func(p *settings) { p.clockPeriod = 20e6 }
	with := func(topic string) func(string) bool {
		return func(t string) bool { return topic == "" || t == topic }
	}
	for name, test := range map[string]struct {
		change func(*settings)
		script func(*testRun)
		want   string
	}{
		"steady": {clock, nil, "clock 0+0 clock 0+0 a@10+10 clock 20+20 clock 40+40 b@50+50 clock 60+60 clock 60+60"},
		"steady at any rate": {func(p *settings) { clock(p); p.rate = 0.5 }, nil,
			"clock 0+0 clock 0+0 clock 10+20 a@10+20 clock 20+40 clock 30+60 clock 40+80 clock 50+100 b@50+100 clock " +
				"60+120 clock 60+120"},
		"frozen while paused": {clock, func(s *testRun) {
			s.on(25, func(e *engine) { e.setPaused(true) }).on(65, func(e *engine) { e.setPaused(false) })
		}, "clock 0+0 clock 0+0 a@10+10 clock 20+20 clock 25+40 clock 25+60 clock 40+80 b@50+90 clock 60+100 clock " +
			"60+100"},
		"a step is requested": {clock, func(s *testRun) {
			s.on(5, func(e *engine) { e.setPaused(true); e.burst(1, make(chan uint64, 1)) }).on(15,
				func(e *engine) { e.setPaused(false) })
		}, "clock 0+0 clock 0+0 clock 10+5 a@10+5 clock 15+20 clock 35+40 b@50+55 clock 55+60 clock 60+65"},
		"jumps on a seek": {clock, func(s *testRun) { s.on(30, func(e *engine) { e.seek(45e6) }) },
			"clock 0+0 clock 0+0 a@10+10 clock 20+20 clock 45+30 b@50+35 clock 55+40 clock 60+45"},
		"goes on in rounds": {func(p *settings) { clock(p); p.rounds = 2 }, nil,
			"clock 0+0 clock 0+0 a@10+10 clock 20+20 clock 40+40 b@50+50 clock 60+60 clock 60+60 " +
				"a@10+70 clock 80+80 clock 100+100 b@50+110 clock 120+120 clock 120+120"},
		"begins anew in rounds": {func(p *settings) { clock(p); p.rounds = 2; p.restartClock = true }, nil,
			"clock 0+0 clock 0+0 a@10+10 clock 20+20 clock 40+40 b@50+50 clock 60+60 clock 0+60 " +
				"a@10+70 clock 20+80 clock 40+100 b@50+110 clock 60+120 clock 60+120"},
		"a seek ends the sum of rounds": {func(p *settings) { clock(p); p.rounds = 2 },
			func(s *testRun) { s.on(75, func(e *engine) { e.seek(40e6) }) },
			"clock 0+0 clock 0+0 a@10+10 clock 20+20 clock 40+40 b@50+50 clock 60+60 clock 60+60 a@10+70 " +
				"clock 40+75 clock 45+80 b@50+85 clock 60+95"},
		"with every message": {func(p *settings) { p.clockWith = with("") }, nil,
			"clock 0+0 clock 10+10 a@10+10 clock 50+50 b@50+50 clock 60+60"},
		"with a topic": {func(p *settings) { p.clockWith = with("b") }, nil,
			"clock 0+0 a@10+10 clock 50+50 b@50+50 clock 60+60"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestRun(t, newMemoryInput("a@10", "b@50"), func(p *settings) { p.end = 60e6; test.change(p) })
			if test.script != nil {
				test.script(s)
			}
			require.Equal(t, test.want, s.run())
		})
	}
}

// A late message delays the clock, which then catches up.
func TestEngineClockWaitsForTheOutput(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@10", "b@20", "c@90"), func(p *settings) { p.clockPeriod = 20e6 })
	s.busy = 25e6
	require.Equal(t, "clock 0+0 clock 0+0 a@10+10 clock 20+35 b@20+35 clock 60+60 clock 80+80 c@90+90 clock 100+115 "+
		"clock 100+115", s.run())
}

func TestEngineLatched(t *testing.T) {
	r := newMemoryInput("map@0", "a@10", "map@20", "a@30", "map@40", "a@50")
	r.state["map"] = true
	s := newTestRun(t, r, func(p *settings) { p.start = 25e6; p.rounds = 2; p.end = 60e6 })
	s.on(10, func(e *engine) { e.seek(45e6) })
	require.Equal(t, "map@20+0 a@30+5 map@40+10 a@50+15 map@20+25 a@30+30 map@40+40 a@50+50", s.run())
}

func TestEngineAnswers(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@0", "a@1", "a@2", "a@3"),
		func(p *settings) { p.paused, p.clockPeriod = true, 10e6 })
	counts := make(chan uint64, 10)
	s.on(1, func(e *engine) { e.burst(2, counts) })
	s.on(2, func(e *engine) { e.burst(1, counts) })
	s.on(3, func(e *engine) { e.burst(9, counts) })
	s.on(4, func(e *engine) { e.burst(1, counts) })
	s.on(5, func(e *engine) { e.setPaused(false); e.burst(1, counts) })
	s.run()
	close(counts)
	require.Equal(t, []uint64{2, 1, 1, 0, 0}, slices.Collect(func(yield func(uint64) bool) {
		for n := range counts {
			yield(n)
		}
	}))
	require.False(t, s.do(func() {}), "requests must fail after the end of run")
}

func TestEngineKeptAlive(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@10", "a@50"), func(p *settings) { p.keepAlive = true })
	var said []any
	s.on(40, func(e *engine) { said = append(said, e.playAgain(0, 20e6)) })
	s.on(200, func(e *engine) { said = append(said, e.stop(), e.state().word, e.seek(40e6)) })
	s.on(400, func(e *engine) { said = append(said, e.playAgain(5e6, 20e6)) })
	s.on(500, func(e *engine) { said = append(said, e.stop()); e.stopped = true })
	require.Equal(t, "a@10+10 a@50+50 a@50+210 a@10+405", s.run())
	require.Equal(t, []any{false, false, "ENDED", true, true, false}, said)
}

// A loop takes some time, even if the played time range is empty.
func TestEngineLoopsOfOneMessage(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@0", "b@5"), func(p *settings) { p.end, p.rounds, p.keepAlive = 1, 2, true })
	s.on(10, func(e *engine) { require.True(t, e.playAgain(5e6, 5e6+1)) })
	s.on(20, func(e *engine) { e.stopped = true })
	require.Equal(t, "a@0+0 a@0+1 b@5+10 b@5+11", s.run())
}

func TestEngineLockStep(t *testing.T) {
	messages := []string{"a@0", "b@5", "a@10", "b@25", "a@30"}
	want := "clock 0 a@0 b@5 clock 10 a@10 clock 20 b@25 clock 30 a@30 clock 40 clock 40"
	for name, test := range map[string]struct {
		change func(*settings)
		every  int64 // ms between acknowledgements
	}{
		"paced":                {func(*settings) {}, 20},
		"faster":               {func(p *settings) { p.rate = 3 }, 7},
		"at once":              {func(p *settings) { p.rate = immediate }, 1},
		"requested in advance": {func(*settings) {}, 1},
		"acknowledged":         {func(p *settings) { p.eagerFirst = true }, 15},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestRun(t, newMemoryInput(messages...), func(p *settings) {
				p.step, p.end = 10e6, 40e6
				p.clockWith = func(string) bool { return false }
				test.change(p)
			})
			replies := make(chan bool, 10)
			for i := range int64(6) {
				s.on(5+i*test.every, func(e *engine) { e.lockStep.ask(replies) })
			}
			got := s.run()
			for i, event := range s.events {
				s.events[i], _, _ = strings.Cut(event, "+")
			}
			require.Equal(t, want, strings.Join(s.events, " "), got)
			for range 3 {
				require.True(t, <-replies)
			}
		})
	}
}

func TestEngineLockStepClock(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@5", "b@17"), func(p *settings) {
		p.step, p.end, p.clockPeriod, p.rounds = 10e6, 25e6, 4e6,
			2
	})
	for i := range int64(8) {
		s.on(100*i, func(e *engine) { e.lockStep.ask(make(chan bool, 1)) })
	}
	s.clock.stalled = func() { s.requests <- func() { s.stopped = true } }
	s.run()
	for i, event := range s.events {
		s.events[i], _, _ = strings.Cut(event, "+")
	}
	require.Equal(t, "clock 0 clock 4 a@5 clock 8 clock 10 clock 12 clock 16 b@17 clock 20 clock 24 "+
		"clock 25 clock 29 a@5 clock 33 clock 35 clock 37 clock 41 b@17 clock 45 clock 49 clock 50",
		strings.Join(s.events, " "))
}

func TestLockStepReaches(t *testing.T) {
	l := lockStep{length: 10, period: 3}
	l.start(100)
	for _, test := range [][2]int64{{101, 101}, {104, 104}, {1e18, 1e18}} {
		l.reach(test[0])
	}
	require.Equal(t, []int64{1e18, 1e18 + 3}, []int64{l.limit, l.clock})
	l = lockStep{period: 3}
	l.reach(1e18)
	require.Equal(t, int64(never), l.nextMark())
}

// TestEngineClockOfToday plays a recording of this century as fast as possible. /clock must not begin in 1970 and catch
// up.
func TestEngineClockOfToday(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@1700000000000", "a@1700000000010"), func(p *settings) {
		p.start, p.end, p.clockPeriod, p.rate = 1_700_000_000e9, 1_700_000_001e9, 1e6, immediate
	})
	require.Equal(t, "clock 1700000000000+0 clock 1700000000000+0 a@1700000000000+0 a@1700000000010+0 clock "+
		"1700000001000+0", s.run())
}

func TestEngineEnds(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@0"), nil)
	s.fail = io.ErrShortWrite
	s.requests <- s.begin
	require.ErrorIs(t, s.engine.run(t.Context()), io.ErrShortWrite)

	s = newTestRun(t, newMemoryInput("a@0", "a@90"), nil)
	ctx, cancel := context.WithCancel(t.Context())
	s.clock.on(50, cancel)
	s.requests <- s.begin
	require.NoError(t, s.engine.run(ctx))
	require.Equal(t, []string{"a@0+0"}, s.events)
}

func TestEnginePlayingTime(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@0"), func(p *settings) { p.rate = 2 })
	s.epoch = 1000e6
	s.on(10, func(e *engine) {
		require.Equal(t, int64(1010e6), e.playingTime(20e6))
		require.Equal(t, int64(1005e6), e.playingTime(10e6), "equal times stay equal, whenever they are asked for")
	})
	s.run()
	s = newTestRun(t, newMemoryInput("a@0"), func(p *settings) { p.rounds, p.clockPeriod = 2, 50e6 })
	s.on(110, func(e *engine) { require.Equal(t, int64(120e6), e.playingTime(20e6), "by /clock") })
	s.run()
}

func TestPress(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@0", "a@1000", "a@9000"),
		func(p *settings) { p.end, p.pauseTopics = 20e9, []string{"b"} })
	press := func(key string) {
		done := make(chan struct{})
		go func() { s.press(key); close(done) }()
		(<-s.requests)()
		<-done
	}
	s.begin()
	press(" ")
	require.True(t, s.paused)
	press(".")
	press("s")
	require.Len(t, s.bursts, 2)
	press("\x1b[C")
	require.Equal(t, int64(seekBy), s.state().position)
	press("\x1b[D")
	press("\x1b[D")
	require.Zero(t, s.state().position)
	press("\x1b[A")
	require.InDelta(t, 1.1, s.state().rate, 1e-9)
	press("\x1b[B")
	require.InDelta(t, 1, s.state().rate, 1e-9)
	for range 300 {
		press("\x1b[B")
	}
	require.InDelta(t, minRate, s.state().rate, 1e-9)
	press("t")
	require.False(t, s.pausesAtTopics)
	press("x")
	press(" ")
	require.False(t, s.paused)
}

func TestEngineState(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@0", "a@50"), nil)
	var texts []string
	look := func() { texts = append(texts, s.state().String()[:9]+fmt.Sprint(s.state().position/1e6)) }
	look()
	s.clock.on(20, look)
	s.clock.on(60, look)
	s.run()
	look()
	require.Equal(t, []string{"[WAITING]0", "[PLAYING]20", "[PLAYING]60", "[ENDED  ]100"}, texts)
}

func TestEngineBeginsWhereItWasSought(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@0", "b@30", "a@60"), func(p *settings) { p.rounds = 2 })
	require.True(t, s.seek(50e6))
	require.Equal(t, "a@60+10 a@0+50 b@30+80 a@60+110", s.run())
}

func TestEngineIsStoppedBeforeItBegins(t *testing.T) {
	s := newTestRun(t, newMemoryInput("a@0"), func(p *settings) { p.keepAlive = true })
	s.on(10, func(e *engine) { require.True(t, e.stop()) }).on(20, (*engine).beginFirst)
	s.on(30, func(e *engine) { require.True(t, e.playAgain(0, 50e6)) }).on(40, (*engine).beginFirst)
	s.on(50, func(e *engine) { e.stopped = true })
	require.NoError(t, s.engine.run(t.Context()))
	require.Equal(t, "a@0+30", strings.Join(s.events, " "))
}

// endingTimer runs its engine to the end when it is woken.
type endingTimer struct {
	*testTimer
	engine *engine
}

func (e *endingTimer) wake() { require.NoError(e.t, e.engine.run(e.t.Context())) }

func TestEngineEndsWithARequest(t *testing.T) {
	for range 100 { // select chooses at random
		s := newTestRun(t, newMemoryInput("a@0"), nil)
		s.timer = &endingTimer{s.clock, s.engine}
		require.True(t, s.do(func() { s.stop() }))
	}
}
