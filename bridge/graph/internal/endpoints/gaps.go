package endpoints

import "tapedeck/bridge"

// Gaps finds gaps in the sequence numbers of each publisher. Its zero value is ready to use.
type Gaps struct {
	byGUID map[bridge.GUID]*uint64 // highest sequence number of each publisher

	// A lookup is saved if two samples in a row come from one publisher.
	publisher bridge.GUID // publisher of the last sample
	highest   *uint64     // byGUID[publisher]
}

const (
	// mostPublishers bounds the memory of Gaps. When a graph has more publishers, or publishers come and go, Gaps
	// forgets all of them, and misses the losses at that time.
	mostPublishers = 1 << 14
	// longestGap is more samples than a publisher sends in days. A longer gap comes from a forged sequence number.
	longestGap = 1 << 32
)

// Count returns how many samples of a publisher are missing before the sample with the given sequence number. It
// returns 0 for the first sample of a publisher.
func (g *Gaps) Count(publisher bridge.GUID, sequence uint64) uint64 {
	if sequence == 0 {
		return 0
	}
	if g.highest == nil || g.publisher != publisher {
		g.publisher, g.highest = publisher, g.byGUID[publisher]
		if g.highest == nil {
			if g.byGUID == nil || len(g.byGUID) >= mostPublishers {
				g.byGUID = make(map[bridge.GUID]*uint64)
			}
			g.highest = new(uint64)
			*g.highest = sequence
			g.byGUID[publisher] = g.highest
			return 0
		}
	}
	before := *g.highest
	if sequence <= before || sequence-before > longestGap {
		return 0
	}
	*g.highest = sequence
	return sequence - before - 1
}
