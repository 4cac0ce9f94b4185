package player

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/filter/timerange"
	"tapedeck/nodes/internal/graph/remote"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/nodes/internal/keyboard"
	"tapedeck/nodes/internal/progress"
)

// player publishes recordings onto a node's graph.
type player struct {
	*engine
	options    options
	node       bridge.Node
	line       *progress.Line
	recordings *mergedRecordings
	publishers publishers
	callers    callers
	output     *graphOutput
	timer      *systemTimer
	opened     time.Time // when the node had joined the graph
}

// newPlayer creates the publishers, so that subscribers can match them before run.
func newPlayer(o options, recordings *mergedRecordings, node bridge.Node, line *progress.Line) (*player, error) {
	opened := time.Now()
	start, end, outside, err := o.Select(recordings.start, recordings.end)
	if err != nil {
		return nil, err
	}
	if outside != "" {
		node.Log(bridge.Warn, "%s", outside)
	}
	end = recordings.lastTime(end)
	settings := o.settings(start, end)
	p := &player{options: o, node: node, line: line, recordings: recordings, opened: opened}
	readers, warnings, err := recordings.requestReaders(&o)
	if err != nil {
		return nil, err
	}
	for _, text := range warnings {
		node.Log(bridge.Warn, "%s", text)
	}
	p.publishers, p.callers, err = advertise(node, recordings.channels, readers, &o)
	if err != nil {
		return nil, err
	}
	if (o.SendRequests || o.SendActions) && len(p.callers.list) == 0 && len(warnings) == 0 {
		node.Log(bridge.Warn, "no request is sent: none is recorded of the selected services and actions")
	}
	p.output, err = newGraphOutput(node, p.publishers, settings.clocked())
	if err != nil {
		return nil, err
	}
	p.timer, err = newSystemTimer()
	if err != nil {
		return nil, err
	}
	input := &recordingInput{recordings: recordings, publishers: p.publishers, order: o.Order,
		readAhead: int64(o.ReadAhead), ready: p.timer.wake}
	if !o.DamagedError {
		input.damaged = func(err error) { node.Log(bridge.Warn, "continuing behind a damaged place: %v", err) }
	}
	var reported sync.Map // texts; each round of a loop reads again
	input.mislabelled = func(err error) {
		if _, known := reported.LoadOrStore(err.Error(), true); !known {
			node.Log(bridge.Warn, "%v", err)
		}
	}
	if o.Order == byHeader || o.Restamp {
		input.stamps = stampsOf(recordings.channels)
	}
	if o.Restamp {
		for c, one := range p.publishers {
			one.stamps = input.stamps[c]
		}
	}
	p.engine = newEngine(settings, input, p.output, p.timer)
	p.epoch = p.timer.origin.UnixNano() - p.timer.first
	p.output.playingTime = p.playingTime
	return p, nil
}

// run plays until the end or until ctx is done, which is no error.
func (p *player) run(ctx context.Context) (err error) {
	var workers sync.WaitGroup
	defer func() {
		workers.Wait()
		p.line.Clear()
		err = errors.Join(err, p.timer.close())
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	library := msgs.Library()
	p.serve(library)
	remote.ServeStatus(p.node, p.remoteStatus)
	if topic := p.options.LockStepTopic; topic != "" {
		p.acknowledge(ctx, topic, &workers)
	}
	if !p.options.KeyboardOff {
		if restore, ok := keyboard.Listen(ctx, p.press); ok {
			defer restore()
			if p.line.Visible() && !p.options.Quiet {
				fmt.Fprintln(p.line, keysHelp)
			}
		}
	}
	workers.Go(func() { p.report(ctx, library) })
	workers.Go(func() { p.show(ctx) })
	workers.Go(func() {
		if p.await(ctx) == nil {
			p.do(p.beginFirst)
		}
	})
	// Publish blocks while a reliable subscriber is behind; closing the publishers ends that.
	end := func() { rospub.Close(p.publishers.offers()) }
	defer end()
	defer context.AfterFunc(ctx, end)()
	p.timer.lockThread()
	err = p.engine.run(ctx)
	settled, stop := rospub.Patient(ctx, p.options.AckTimeout)
	defer stop()
	p.callers.finish(settled)
	if ctx.Err() != nil {
		return nil // the end of ctx caused err
	} else if err != nil {
		return err
	}
	offers := p.publishers.offers()
	if p.output.clock != nil {
		offers = append(offers, p.output.clock.Offer)
	}
	rospub.Flush(ctx, p.node, offers, p.options.AckTimeout)
	return nil
}

// timeRangeOf returns the recorded time range of a request of the service play.
func (p *player) timeRangeOf(offset, duration time.Duration, until int64) (start, end int64, err error) {
	r := timerange.Range{StartOffset: max(offset, 0), Duration: duration}
	start, end, _, err = r.Select(p.recordings.start, p.recordings.end)
	end = p.recordings.lastTime(end)
	if err == nil && until > 0 {
		end = min(end, until+1)
		if until < start {
			err = errors.New("the end is before the start")
		}
	}
	return start, end, err
}

// await waits for subscribers and for the option Delay.
func (p *player) await(ctx context.Context) error {
	offers := p.publishers.offers()
	if p.options.AwaitSubs {
		if err := rospub.AwaitSubscribers(ctx, p.node, offers); err != nil {
			return err
		}
	}
	missing, err := rospub.AwaitMatches(ctx, p.node, p.opened, offers, p.options.MatchPatience)
	if missing != nil {
		p.node.Log(bridge.Warn, "subscribers of %s were not matched within %v and may miss messages; match_patience "+
			"sets how long to wait", strings.Join(missing, ", "), p.options.MatchPatience)
	}
	if err != nil {
		return err
	}
	if err := p.awaitServices(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.options.Delay):
		return nil
	}
}

// awaitServices waits for the services to which requests are sent. It waits for match_patience, or without limit if the
// option AwaitSubs is set.
func (p *player) awaitServices(ctx context.Context) error {
	began, logged := time.Now(), time.Now()
	for missing := p.callers.missing(); missing != nil && ctx.Err() == nil; missing = p.callers.missing() {
		names, patience := strings.Join(missing, ", "), p.options.MatchPatience
		switch {
		case !p.options.AwaitSubs && time.Since(began) >= patience:
			if patience > 0 {
				p.node.Log(bridge.Warn, "no such services within %v; requests are sent once they exist: %s",
					patience, names)
			}
			return nil
		case time.Since(logged) > 5*time.Second:
			logged = time.Now()
			p.node.Log(bridge.Info, "waiting for services: %s", names)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
	return ctx.Err()
}

// acknowledge requests a lock-step for each message on a topic of any type.
func (p *player) acknowledge(ctx context.Context, topic string, workers *sync.WaitGroup) {
	subscribe := func() (bool, error) {
		for _, t := range p.node.Topics() {
			if t.Name == full(topic) && len(t.Types) > 0 {
				_, err := p.node.Subscribe(topic, t.Types[0], bridge.SensorDataQoS(), func(batch []bridge.Sample) {
					p.do(func() {
						for range batch {
							p.askStep(nil)
						}
					})
				})
				return true, err
			}
		}
		return false, nil
	}
	changed := p.node.Watch(ctx)
	workers.Go(func() {
		for {
			done, err := subscribe()
			if err != nil {
				p.node.Log(bridge.Error, "lock_step_topic: %v", err)
			}
			if done {
				return
			}
			if _, ok := <-changed; !ok {
				return
			}
		}
	})
}

// report publishes diagnostics and read_split events until ctx is done.
func (p *player) report(ctx context.Context, library *rosidl.Library) {
	files := newSplits(p.node, library, p.recordings)
	files.reach(p.state().start) // the playback may end before the first tick
	var health *rospub.Diagnostics
	var published time.Time // of the latest diagnostics
	if p.options.Diagnostics {
		var err error
		health, err = rospub.NewDiagnostics(p.node)
		if err != nil {
			p.node.Log(bridge.Warn, "cannot publish on %s: %v", rospub.DiagnosticsTopic, err)
		}
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s := p.state()
		if s.word != "WAITING" {
			files.reach(s.position)
		}
		if now := time.Now(); health != nil && now.Sub(published) >= diagnosticsPeriod {
			published = now
			health.Report(ctx, now, s.status(health))
		}
		select {
		case <-ctx.Done():
			files.reach(p.state().position)
			files.end()
			return
		case <-tick.C:
		}
	}
}

// show prints the state on a terminal until ctx is done.
func (p *player) show(ctx context.Context) {
	if p.options.Progress == 0 || p.options.Quiet {
		return
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / p.options.Progress))
	defer tick.Stop()
	for ctx.Err() == nil {
		p.line.Show(p.state().String())
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
