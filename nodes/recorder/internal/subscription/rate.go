package subscription

import "time"

// Rate measures how fast counters of messages and bytes grow, over the last seconds. The zero value is ready.
type Rate struct {
	at              time.Time
	messages, bytes uint64
	Messages, Bytes float64 // a second
}

// rateWeight is the weight of the latest second, against all before.
const rateWeight = 0.5

// Update takes the values of the counters at now.
func (m *Rate) Update(now time.Time, messages, bytes uint64) {
	if span := now.Sub(m.at).Seconds(); !m.at.IsZero() && span > 0 {
		weight := min(1, span*rateWeight)
		m.Messages += weight * (float64(messages-m.messages)/span - m.Messages)
		m.Bytes += weight * (float64(bytes-m.bytes)/span - m.Bytes)
	}
	m.at, m.messages, m.bytes = now, messages, bytes
}
