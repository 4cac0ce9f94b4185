package accounting

import "tapedeck/codec"

// Counts are numbers of messages of a topic since the recording began.
type Counts struct {
	codec.Totals
	Skipped   uint64 // while recording was paused
	Throttled uint64 // left out on purpose
}
