package main

import "tapedeck/codec"

// counts are numbers of messages of a topic.
type counts struct {
	codec.Totals
	skipped   uint64 // while recording was paused
	throttled uint64 // left out on purpose
}

// counts returns what was counted since the recording began.
func (rec *recording) counts() counts {
	return counts{
		Totals: codec.Totals{
			Received: rec.received.Load(), Written: rec.written.Load(), Dropped: rec.dropped.Load(),
			Lost: rec.missed(),
		},
		skipped: rec.skipped.Load(), throttled: rec.throttled.Load(),
	}
}
