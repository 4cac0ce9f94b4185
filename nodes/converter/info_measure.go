package main

import (
	"context"
	"math"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/fleet/contract"
)

// measure is what only reading all messages of a channel or topic tells of it.
type measure struct {
	bytes  int64 // of payloads
	gap    int64 // longest time from one message to the next, ns
	gapAt  int64 // when that began, ns since the Unix epoch
	last   int64 // LogTime of the latest message
	before bool  // there was a message

	stamps    *cdr.Stamps // nil: there are none, or the messages are not those of ROS 2
	latencies contract.Latencies

	calls *callEvents // of the service whose events these are, or nil
	row   *measure    // of the row that the channel is in; nil of a row
}

func (m *measure) add(msg *codec.Message) {
	if m.before && msg.LogTime-m.last > m.gap {
		m.gap, m.gapAt = msg.LogTime-m.last, m.last
	}
	m.bytes += int64(len(msg.Data))
	m.last, m.before = msg.LogTime, true
	if m.stamps != nil {
		if stamp, ok, err := m.stamps.First(msg.Data); err == nil && ok && stamp != 0 {
			m.latencies.Add(msg.LogTime - stamp)
		}
	}
	if m.calls != nil {
		m.calls.add(msg)
	}
}

// measures holds measures by channel, for JSON, and by row of the table of topics.
type measures struct {
	total    int64 // bytes
	channels map[*codec.Channel]*measure
	rows     map[rowKey]*measure
	calls    map[string]*callEvents // by service
}

// share returns which part of all bytes m is, 0 to 1.
func (all *measures) share(m *measure) float64 {
	return float64(m.bytes) / math.Max(float64(all.total), 1)
}

// describe adds what was measured of a channel to the description of its topic.
func (all *measures) describe(topic *describe.Topic, m *measure) {
	share := all.share(m)
	topic.Bytes, topic.Share = &m.bytes, &share
	if m.gap > 0 {
		topic.WorstGap = &describe.Gap{Time: m.gapAt, Duration: float64(m.gap) / 1e9}
	}
	if l := &m.latencies; l.Count() > 0 {
		topic.Latency = &describe.Latency{
			Median: float64(l.Quantile(0.5)) / 1e9, Most: float64(l.Quantile(0.99)) / 1e9,
		}
	}
}

// measure reads all messages of a recording. The result's info tells of damage that this found.
func (i *input) measure(ctx context.Context) (*measures, *codec.Info, error) {
	all := &measures{channels: map[*codec.Channel]*measure{}, rows: map[rowKey]*measure{},
		calls: map[string]*callEvents{}}
	of := func(c *codec.Channel) *measure {
		row := keyOfRow(c)
		if all.rows[row] == nil {
			all.rows[row] = &measure{}
		}
		m := &measure{row: all.rows[row]}
		all.channels[c] = m
		if c.Encoding == codec.EncodingCDR && !codec.IsEvents(c) {
			m.stamps = c.Stamps(msgs.Library())
			m.row.stamps = m.stamps
		}
		if call, _ := bridge.CallTopicOf(c.Topic, c.Type); call.Ending == bridge.ServiceEvents {
			m.calls = all.calls[call.Service]
			if m.calls == nil {
				m.calls = &callEvents{map[callID]bool{}, map[callID]bool{}}
				all.calls[call.Service] = m.calls
			}
		}
		return m
	}
	for _, t := range i.info.Topics {
		of(t.Channel)
	}
	info := *i.info
	info.Events = slices.Clone(info.Events)
	err := i.each(ctx, codec.Query{Verify: true, Damaged: func(err error) {
		info.Complete = false
		e := codec.Event{Kind: codec.EventDamage, Text: err.Error()}
		if !slices.ContainsFunc(info.Events, func(known codec.Event) bool { return known.Text == e.Text }) {
			info.Events = append(info.Events, e)
		}
	}}, func(msg *codec.Message) {
		m := all.channels[msg.Channel]
		if m == nil {
			m = of(msg.Channel)
		}
		m.add(msg)
		m.row.add(msg)
		all.total += int64(len(msg.Data))
	})
	return all, &info, err
}
