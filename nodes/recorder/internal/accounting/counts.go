package accounting

import "tapedeck/codec"

// Counts are numbers of messages of a topic.
type Counts struct {
	codec.Totals
	Skipped   uint64 // while recording was paused
	Throttled uint64 // left out on purpose
}

// Since returns what was counted after o. Received are the messages that are written or dropped by now.
func (c Counts) Since(o Counts) Counts {
	written, dropped := c.Written-o.Written, c.Dropped-o.Dropped
	return Counts{
		Totals: codec.Totals{
			Received: written + dropped, Written: written, Dropped: dropped, Lost: c.Lost - o.Lost,
		},
		Throttled: c.Throttled - o.Throttled,
	}
}

// Plus returns the sum of all but Skipped.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		Totals: codec.Totals{
			Received: c.Received + o.Received, Written: c.Written + o.Written, Dropped: c.Dropped + o.Dropped,
			Lost: c.Lost + o.Lost,
		},
		Throttled: c.Throttled + o.Throttled,
	}
}

// Topic is what a recording has noted and written about the messages of one topic.
type Topic struct {
	Noted    Counts // of which events of losses and drops were noted
	InTotals Counts // that are in the totals of a file
	Before   uint64 // messages written to the files before
	Begun    Counts // when the recording began that another one had gone on in
}
