package parts

import "tapedeck/bridge"

// Gaps finds the gaps in the sequence numbers of each publisher. Its zero value is ready.
type Gaps struct {
	last    *uint64 // of the publisher that was seen last, as most samples in a row are from one
	lastGot bridge.GUID
	byGUID  map[bridge.GUID]*uint64
}

// Count returns how many samples are missing before this one. A publisher begins with the first of its samples.
func (g *Gaps) Count(publisher bridge.GUID, sequence uint64) uint64 {
	if sequence == 0 {
		return 0
	}
	if g.last == nil || g.lastGot != publisher {
		g.lastGot, g.last = publisher, g.byGUID[publisher]
		if g.last == nil {
			if g.byGUID == nil {
				g.byGUID = make(map[bridge.GUID]*uint64)
			}
			g.last = new(uint64)
			*g.last = sequence
			g.byGUID[publisher] = g.last
			return 0
		}
	}
	before := *g.last
	if sequence <= before {
		return 0
	}
	*g.last = sequence
	return sequence - before - 1
}
