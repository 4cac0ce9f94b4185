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

// measure has values of a channel or topic that need all its messages.
type measure struct {
	bytes   int64 // of payloads
	gap     int64 // longest time between two messages, ns
	gapAt   int64 // LogTime of the message before the longest gap
	last    int64 // LogTime of the latest message
	hasLast bool  // last is set

	stamps    *cdr.Stamps // nil: the messages have none or are not ROS 2 messages
	latencies contract.Latencies

	calls *callEvents // calls of the service; nil: the topic does not have a service's events
	row   *measure    // row of the channel; nil: this is a row
}

func (m *measure) add(msg *codec.Message) {
	if m.hasLast && msg.LogTime-m.last > m.gap {
		m.gap, m.gapAt = msg.LogTime-m.last, m.last
	}
	m.bytes += int64(len(msg.Data))
	m.last, m.hasLast = msg.LogTime, true
	if m.stamps != nil {
		if stamp, ok, err := m.stamps.First(msg.Data); err == nil && ok && stamp != 0 {
			m.latencies.Add(msg.LogTime - stamp)
		}
	}
	if m.calls != nil {
		m.calls.add(msg)
	}
}

// measures has measures by channel, for JSON, and by row of the table of topics.
type measures struct {
	total    int64 // bytes
	channels map[*codec.Channel]*measure
	rows     map[rowKey]*measure
	calls    map[string]*callEvents // by service
}

// share returns the share of m in the bytes of all topics, 0 to 1.
func (ms *measures) share(m *measure) float64 {
	return float64(m.bytes) / math.Max(float64(ms.total), 1)
}

// describe adds the measures of a channel to the description of its topic.
func (ms *measures) describe(topic *describe.Topic, m *measure) {
	share := ms.share(m)
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

// measure reads all messages of a recording. The returned info has the damage that was found.
func (i *input) measure(ctx context.Context) (*measures, *codec.Info, error) {
	all := &measures{channels: map[*codec.Channel]*measure{}, rows: map[rowKey]*measure{},
		calls: map[string]*callEvents{}}
	add := func(c *codec.Channel) *measure {
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
		add(t.Channel)
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
			m = add(msg.Channel)
		}
		m.add(msg)
		m.row.add(msg)
		all.total += int64(len(msg.Data))
	})
	return all, &info, err
}
