package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/config"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/wire"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/progress"
)

// player publishes recordings onto a node's graph, at the pace at which they were recorded.
type player struct {
	options    options
	node       bridge.Node
	line       *progress.Line
	source     *source
	overrides  map[string]codec.QoS
	publishers map[*codec.Channel]*publisher
	clock      *clock
	start, end int64         // ns since the Unix epoch, of what is played
	published  atomic.Uint64 // messages
	shift      atomic.Int64  // ns that the present round of a loop is later than the recording
}

// publisher is shared by the channels of one topic and type.
type publisher struct {
	bridge.Publisher
	qos   codec.QoS
	short bool // a message that is none was told of
}

// newPlayer checks the options.
func newPlayer(o options, s *source) (*player, error) {
	p := &player{
		options: o, source: s, publishers: map[*codec.Channel]*publisher{},
		start: s.start + int64(o.StartOffset), end: s.end + 1,
	}
	if o.Loop {
		p.end = max(p.end, p.start+int64(time.Millisecond)) // so that a single message does not come without end
	}
	if o.StartOffset > 0 && p.start > s.end {
		return nil, fmt.Errorf("start_offset: %v is behind the end of the recording, which lasts %v", o.StartOffset, time.Duration(s.end-s.start))
	}
	if o.Duration > 0 {
		p.end = min(p.end, p.start+int64(o.Duration))
	}
	var err error
	if p.overrides, err = graph.QoSOverrides(o.QoSOverrides); err != nil {
		return nil, err
	}
	p.clock = newClock(p.start, o.Rate)
	return p, nil
}

// advertise creates the publishers. A topic that cannot be published does not keep the others from being played.
func (p *player) advertise() error {
	type key struct{ topic, typeName string }
	channels := map[key][]*codec.Channel{}
	for _, c := range p.source.channels {
		if c.Encoding != codec.EncodingCDR {
			p.node.Log(bridge.Warn, "%s is not played: its messages are %s, not ROS 2's CDR", c.Topic, c.Encoding)
			continue
		}
		k := key{c.Topic, c.Type}
		channels[k] = append(channels[k], c)
	}
	for k, list := range channels {
		qos := p.offer(list)
		own, err := p.node.Advertise(k.topic, k.typeName, qos)
		if err != nil {
			p.node.Log(bridge.Warn, "%s is not played: %v", k.topic, err)
			continue
		}
		shared := &publisher{Publisher: own, qos: qos}
		for _, c := range list {
			p.publishers[c] = shared
		}
	}
	if len(p.publishers) == 0 {
		return errors.New("nothing to play: no topic of the recording is selected, or none carries ROS 2 messages; 'converter info' lists them")
	}
	for _, name := range p.options.Topics {
		if !slices.ContainsFunc(p.source.channels, func(c *codec.Channel) bool { return names([]string{name}, c.Topic) }) {
			p.node.Log(bridge.Warn, "%s is not in the recording", name)
		}
	}
	return nil
}

// offer returns the QoS of the publisher for channels of one topic.
func (p *player) offer(channels []*codec.Channel) codec.QoS {
	if qos, ok := p.overrides[channels[0].Topic]; ok {
		return qos
	}
	var recorded []codec.QoS
	for _, c := range channels {
		recorded = append(recorded, c.QoS...)
	}
	qos := bridge.OfferQoS(recorded)
	if qos.Reliability == codec.Reliable && qos.Durability == codec.Volatile {
		// So that a burst reaches subscribers whole, whatever the network loses of it at first.
		qos.History, qos.Depth = codec.KeepAll, 0
	}
	return qos
}

// run plays until the end or until ctx ends, which is no error.
func (p *player) run(ctx context.Context) error {
	if err := p.advertise(); err != nil {
		return err
	}
	var workers sync.WaitGroup
	defer workers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if p.options.Clock > 0 {
		publisher, err := p.node.Advertise("/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS())
		if err != nil {
			return fmt.Errorf("publish /clock: %w", err)
		}
		workers.Go(func() { p.publishClock(ctx, publisher) })
	}
	keys := false
	if !p.options.KeyboardOff {
		var restore func()
		if restore, keys = keyboard(ctx, p.press); keys {
			defer restore()
		}
	}
	if p.options.StartPaused && !keys {
		return config.Usagef("start_paused: there is no keyboard to end the pause with")
	}
	if err := p.play(ctx, keys, &workers); ctx.Err() == nil {
		return err
	}
	return nil
}

func (p *player) play(ctx context.Context, keys bool, workers *sync.WaitGroup) error {
	if err := p.await(ctx); err != nil {
		return err
	}
	// A publisher blocks while a subscriber is behind, which may be for long.
	defer context.AfterFunc(ctx, func() {
		for _, publisher := range p.publishers {
			_ = publisher.Close()
		}
	})()
	if err := p.publishLatched(); err != nil {
		return err
	}
	if !p.options.StartPaused {
		p.clock.resume()
	}
	if keys && p.line.Visible() {
		fmt.Fprintln(p.line, "Space pauses and resumes, s or → plays the next message while paused, ↑ and ↓ change the rate.")
	}
	defer p.line.Clear()
	workers.Go(func() { p.show(ctx) })
	for {
		if err := p.round(ctx); err != nil {
			return err
		}
		if !p.options.Loop || p.source.messages == 0 {
			break
		}
		p.shift.Add(p.end - p.start)
	}
	return p.flush(ctx)
}

// await waits for subscribers, if asked to, and for the delay.
func (p *player) await(ctx context.Context) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	told := time.Now()
	for p.options.AwaitSubs {
		missing := ""
		for _, publisher := range p.publishers {
			if publisher.Subscribers() == 0 {
				missing = publisher.Topic()
			}
		}
		if missing == "" {
			break
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			p.node.Log(bridge.Info, "waiting for a subscriber of %s", missing)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.options.Delay):
		return nil
	}
}

// damaged returns what is done about damage, nil when playing ends with it.
func (p *player) damaged() func(error) {
	if p.options.DamagedError {
		return nil
	}
	return func(err error) { p.node.Log(bridge.Warn, "playing on behind a damaged place: %v", err) }
}

// publishLatched publishes the latched messages from before the start that a subscriber would have got there.
func (p *player) publishLatched() error {
	latched := func(c *codec.Channel) bool {
		publisher := p.publishers[c]
		return publisher != nil && publisher.qos.Durability == codec.TransientLocal
	}
	if p.start == p.source.start || !slices.ContainsFunc(p.source.channels, latched) {
		return nil
	}
	it, err := p.source.read(codec.Query{End: p.start, Topics: latched, Damaged: p.damaged()})
	if err != nil {
		return err
	}
	defer it.Close()
	kept := map[*publisher][][]byte{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		publisher := p.publishers[m.Channel]
		list := append(kept[publisher], bytes.Clone(m.Data))
		if publisher.qos.History == codec.KeepLast {
			list = list[max(0, len(list)-publisher.qos.Depth):]
		}
		kept[publisher] = list
	}
	for publisher, list := range kept {
		for _, data := range list {
			if err := p.publish(publisher, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// round plays the recording once.
func (p *player) round(ctx context.Context) error {
	it, err := p.source.read(codec.Query{Start: p.start, End: p.end, Damaged: p.damaged()})
	if err != nil {
		return err
	}
	ahead := newReadAhead(it, int64(p.options.ReadAhead))
	defer func() {
		_ = ahead.Close()
		_ = it.Close()
	}()
	for {
		m, err := ahead.Next()
		if errors.Is(err, io.EOF) {
			// The last stretch counts too, so that a round takes as long as the recording.
			return p.clock.wait(ctx, p.end+p.shift.Load())
		}
		if err != nil {
			return err
		}
		publisher := p.publishers[m.Channel]
		if publisher == nil {
			continue
		}
		if err := p.clock.wait(ctx, m.LogTime+p.shift.Load()); err != nil {
			return err
		}
		if err := p.publish(publisher, m.Data); err != nil {
			return err
		}
	}
}

func (p *player) publish(publisher *publisher, data []byte) error {
	if len(data) < wire.HeaderSize {
		if !publisher.short {
			publisher.short = true
			p.node.Log(bridge.Warn, "%s: what is too short to be a message is not played", publisher.Topic())
		}
		return nil
	}
	if err := publisher.Publish(data); err != nil {
		return err
	}
	p.published.Add(1)
	return nil
}

// flush waits until reliable subscribers have everything.
func (p *player) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.AckTimeout)
	defer cancel()
	for _, publisher := range p.publishers {
		if err := publisher.Flush(ctx); err != nil && p.options.AckTimeout > 0 {
			p.node.Log(bridge.Warn, "%s: subscribers have not acknowledged everything: %v", publisher.Topic(), err)
			return nil
		}
	}
	return nil
}

// publishClock publishes the time of the playback until ctx ends. While paused it stands still, and is published.
func (p *player) publishClock(ctx context.Context, publisher bridge.Publisher) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / p.options.Clock))
	defer tick.Stop()
	var buf []byte
	for {
		now := p.clock.now()
		message := rosgraph_msgs.Clock{Clock: builtin_interfaces.Time{Sec: int32(now / 1e9), Nanosec: uint32(now % 1e9)}}
		var err error
		if buf, err = cdr.Append(buf[:0], &message); err == nil {
			err = publisher.Publish(buf)
		}
		if err != nil {
			p.node.Log(bridge.Error, "%v", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// press does what a key asks for.
func (p *player) press(key string) {
	switch key {
	case " ":
		p.clock.toggle()
	case "s", "\x1b[C": // right arrow
		p.clock.step()
	case "\x1b[A": // up arrow
		p.clock.scale(1.1)
	case "\x1b[B": // down arrow
		p.clock.scale(1 / 1.1)
	}
}
