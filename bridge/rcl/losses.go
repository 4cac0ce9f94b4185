//go:build rcl

package rcl

import "tapedeck/bridge"

// losses finds the gaps in the sequence numbers of each publisher. Its zero value is ready.
type losses struct {
	last    *uint64 // of the publisher that was seen last, as most samples in a row are from one
	lastGot bridge.GUID
	byGUID  map[bridge.GUID]*uint64
}

// count returns how many samples are missing before this one. A publisher begins with the first of its samples.
func (l *losses) count(publisher bridge.GUID, sequence uint64) uint64 {
	if sequence == 0 {
		return 0
	}
	if l.last == nil || l.lastGot != publisher {
		l.lastGot, l.last = publisher, l.byGUID[publisher]
		if l.last == nil {
			if l.byGUID == nil {
				l.byGUID = make(map[bridge.GUID]*uint64)
			}
			l.last = new(uint64)
			*l.last = sequence
			l.byGUID[publisher] = l.last
			return 0
		}
	}
	before := *l.last
	if sequence <= before {
		return 0
	}
	*l.last = sequence
	return sequence - before - 1
}
