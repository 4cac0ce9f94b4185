package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
)

// player publishes recordings onto a node's graph, at the pace at which they were recorded.
type player struct {
	options    options
	node       bridge.Node
	source     *source
	remaps     map[string]string
	overrides  map[string]codec.QoS
	publishers map[*codec.Channel]bridge.Publisher
	clock      *clock
	start, end int64         // ns since the Unix epoch, of what is played
	published  atomic.Uint64 // messages
	shift      atomic.Int64  // ns that the present round of a loop is later than the recording
}

// newPlayer checks the options. Nothing is published yet.
func newPlayer(o options, node bridge.Node, s *source) (*player, error) {
	p := &player{
		options: o, node: node, source: s,
		remaps: map[string]string{}, publishers: map[*codec.Channel]bridge.Publisher{},
		start: s.start + int64(o.StartOffset), end: s.end + 1,
	}
	if o.StartOffset > 0 && p.start > s.end {
		return nil, fmt.Errorf("start_offset: %v is behind the end of the recording, which lasts %v", o.StartOffset, time.Duration(s.end-s.start))
	}
	if o.Duration > 0 {
		p.end = min(p.end, p.start+int64(o.Duration))
	}
	for _, rule := range o.Remap {
		from, to, ok := strings.Cut(rule, ":=")
		if !ok || from == "" || to == "" {
			return nil, fmt.Errorf("remap: %q is not of the form /from:=/to", rule)
		}
		p.remaps[from] = to
	}
	if o.QoSOverrides != "" {
		text, err := os.ReadFile(o.QoSOverrides)
		if err != nil {
			return nil, fmt.Errorf("read QoS overrides: %w", err)
		}
		if p.overrides, err = codec.ParseQoSOverrides(text); err != nil {
			return nil, fmt.Errorf("read QoS overrides: %s: %w", o.QoSOverrides, err)
		}
	}
	p.clock = newClock(p.start, o.Rate)
	return p, nil
}

// advertise creates the publishers. Channels of the same topic and type share one.
func (p *player) advertise() error {
	type key struct{ topic, typeName string }
	shared := map[key]bridge.Publisher{}
	for _, c := range p.source.channels {
		if c.Encoding != codec.EncodingCDR {
			p.node.Log(bridge.Warn, "%s is not played: its messages are %s, not ROS 2's CDR", c.Topic, c.Encoding)
			continue
		}
		topic := c.Topic
		if to, ok := p.remaps[topic]; ok {
			topic = to
		}
		k := key{topic, c.Type}
		if shared[k] == nil {
			qos, ok := p.overrides[c.Topic]
			if !ok {
				qos = bridge.OfferQoS(c.QoS)
			}
			publisher, err := p.node.Advertise(topic, c.Type, qos)
			if err != nil {
				return fmt.Errorf("publish %s: %w", topic, err)
			}
			shared[k] = publisher
		}
		p.publishers[c] = shared[k]
	}
	if len(p.publishers) == 0 {
		return errors.New("nothing to play: no topic of the recording is selected, or none carries ROS 2 messages; 'converter info' lists them")
	}
	return nil
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
	if !p.options.KeyboardOff {
		defer keyboard(ctx, p.press)()
	}
	if err := p.await(ctx); err != nil {
		return interrupted(err)
	}
	if !p.options.StartPaused {
		p.clock.resume()
	}
	show := newStatus(p)
	defer show.clear()
	workers.Go(func() { show.run(ctx) })
	for {
		if err := p.round(ctx); err != nil {
			return interrupted(err)
		}
		if !p.options.Loop {
			break
		}
		p.shift.Add(p.end - p.start)
	}
	return p.flush(ctx)
}

// interrupted makes the end of a context no error.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// await waits for subscribers, if asked to, and for the delay.
func (p *player) await(ctx context.Context) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
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

// round plays the recording once.
func (p *player) round(ctx context.Context) error {
	damaged := func(err error) { p.node.Log(bridge.Warn, "playing on behind a damaged place: %v", err) }
	if p.options.DamagedError {
		damaged = nil
	}
	it, err := p.source.read(p.start, p.end, damaged)
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
		if err := publisher.Publish(m.Data); err != nil {
			return fmt.Errorf("publish on %s: %w", publisher.Topic(), err)
		}
		p.published.Add(1)
	}
}

// flush waits until reliable subscribers have everything.
func (p *player) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.AckTimeout)
	defer cancel()
	for _, publisher := range p.publishers {
		if err := publisher.Flush(ctx); err != nil {
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
			p.node.Log(bridge.Error, "publish /clock: %v", err)
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
	rate, _ := p.clock.state()
	switch key {
	case " ":
		p.clock.toggle()
	case "s", "\x1b[C": // right arrow
		p.clock.step()
	case "\x1b[A": // up arrow
		p.clock.setRate(rate * 1.1)
	case "\x1b[B": // down arrow
		p.clock.setRate(rate / 1.1)
	}
}
