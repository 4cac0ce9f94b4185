package subscription

import "time"

// Rate measures how fast counters of messages and bytes grow, over the last seconds. The zero value is ready.
type Rate struct {
	Messages, Bytes float64 // per second

	at              time.Time // time of the last Update
	messages, bytes uint64    // counters at the last Update
}

// rateWeight is the weight of the latest second in the average.
const rateWeight = 0.5

// Update takes the values of the counters at now.
func (r *Rate) Update(now time.Time, messages, bytes uint64) {
	if span := now.Sub(r.at).Seconds(); !r.at.IsZero() && span > 0 {
		weight := min(1, span*rateWeight)
		r.Messages += weight * (float64(messages-r.messages)/span - r.Messages)
		r.Bytes += weight * (float64(bytes-r.bytes)/span - r.Bytes)
	}
	r.at, r.messages, r.bytes = now, messages, bytes
}
