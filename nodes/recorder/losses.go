package main

// losses is how much was lost of a topic since the recording began.
type losses struct {
	topic     string
	transport uint64 // messages between a publisher and the recorder
	recorder  uint64 // messages that were received and not written
}

// losses returns what was lost of each topic, by topic.
func (r *recorder) losses() []losses {
	var list []losses
	for _, rec := range r.recorded() {
		l := losses{rec.channel.Load().Topic, rec.missed(), rec.dropped.Load()}
		if n := len(list); n > 0 && list[n-1].topic == l.topic { // with another type
			list[n-1].transport += l.transport
			list[n-1].recorder += l.recorder
		} else {
			list = append(list, l)
		}
	}
	return list
}
