package main

import "time"

// meter tells how fast counters of messages and bytes grow, over the last seconds. The zero value is ready.
type meter struct {
	at              time.Time
	messages, bytes uint64
	rate, bandwidth float64 // a second
}

// meterWeight is how much the latest second says, against all before.
const meterWeight = 0.5

// read takes the counters at now. It is to be called now and then.
func (m *meter) read(now time.Time, messages, bytes uint64) {
	if span := now.Sub(m.at).Seconds(); !m.at.IsZero() && span > 0 {
		weight := min(1, span*meterWeight)
		m.rate += weight * (float64(messages-m.messages)/span - m.rate)
		m.bandwidth += weight * (float64(bytes-m.bytes)/span - m.bandwidth)
	}
	m.at, m.messages, m.bytes = now, messages, bytes
}
