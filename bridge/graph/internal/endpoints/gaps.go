package endpoints

import "tapedeck/bridge"

// Gaps finds gaps in the sequence numbers of each publisher. Its zero value is ready to use.
type Gaps struct {
	last    *uint64 // of the last publisher: most samples in a row come from one
	lastGot bridge.GUID
	byGUID  map[bridge.GUID]*uint64
}

const (
	// mostPublishers are followed at once. A graph that has more, or in which they come and go, makes Gaps forget them
	// all, and with them losses that are being counted, rather than take ever more memory.
	mostPublishers = 1 << 14
	// longestGap is more than any publisher sends in days. A longer gap is a sequence number that somebody made up.
	longestGap = 1 << 32
)

// Count returns how many samples are missing before this one. Counting starts with the first sample of a publisher.
func (g *Gaps) Count(publisher bridge.GUID, sequence uint64) uint64 {
	if sequence == 0 {
		return 0
	}
	if g.last == nil || g.lastGot != publisher {
		g.lastGot, g.last = publisher, g.byGUID[publisher]
		if g.last == nil {
			if g.byGUID == nil || len(g.byGUID) >= mostPublishers {
				g.byGUID = make(map[bridge.GUID]*uint64)
			}
			g.last = new(uint64)
			*g.last = sequence
			g.byGUID[publisher] = g.last
			return 0
		}
	}
	before := *g.last
	if sequence <= before || sequence-before > longestGap {
		return 0
	}
	*g.last = sequence
	return sequence - before - 1
}
