package mavlink

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"tapedeck/codec/format/tlog"
)

// Counts are frames and bytes since the link was opened.
type Counts struct {
	Received   uint64 // frames, with duplicates
	Bytes      uint64 // of received frames
	Lost       uint64 // frames, by gaps in the sequence numbers, including those with a bad checksum
	Duplicates uint64 // frames whose sequence number was received shortly before
	Reordered  uint64 // frames received after later ones
	Restarts   uint64 // restarts of sequences: reboots, and silences after which losses cannot be counted

	// Over the last ten seconds.
	Rate     float64 // frames per second
	ByteRate float64 // bytes per second
	Quality  float64 // percent of frames not lost; 100 without frames
}

// ComponentStatistics are the counts of one component of a system.
type ComponentStatistics struct {
	System    uint8
	Component uint8
	Counts
}

// Statistics are the counts of a Link since it was opened: a copy, for diagnostics.
type Statistics struct {
	Counts     // of all components
	Components []ComponentStatistics

	BadChecksum uint64            // frames
	Garbage     uint64            // bytes outside frames
	Unknown     uint64            // frames whose message id is not in the dialect
	UnknownIDs  map[uint32]uint64 // Unknown by message id, for at most mostUnknownIDs
	Dropped     uint64            // frames dropped because the handler was too slow

	Open    int    // open ports and connections
	Opened  uint64 // ports and connections opened so far
	Problem string // why the source could not be opened, or was closed; empty while it is open
}

// mostUnknownIDs bounds what senders of made-up message ids make a link remember.
const mostUnknownIDs = 256

// statistics are the counts of a running link.
type statistics struct {
	mu         sync.Mutex
	link       Statistics // without Counts
	components map[address]*component
}

// address is a system and one of its components.
type address struct{ system, component uint8 }

type component struct {
	counts Counts
	recent window
}

func newStatistics() *statistics {
	return &statistics{components: make(map[address]*component), link: Statistics{UnknownIDs: make(map[uint32]uint64)}}
}

// connection counts the frames of one port, connection or log.
type connection struct {
	total     *statistics
	formats   map[uint32]tlog.MessageFormat
	sequences map[address]*sequence
}

func newConnection(total *statistics, formats map[uint32]tlog.MessageFormat) *connection {
	return &connection{total: total, formats: formats, sequences: make(map[address]*sequence)}
}

// frame counts a frame received at now.
func (c *connection) frame(h tlog.Header, now int64) {
	from := address{h.System, h.Component}
	q := c.sequences[from]
	if q == nil {
		q = new(sequence)
		c.sequences[from] = q
	}
	lost, arrival := q.next(h.Sequence, now)

	c.total.mu.Lock()
	defer c.total.mu.Unlock()
	if _, known := c.formats[h.ID]; !known {
		c.total.link.Unknown++
		ids := c.total.link.UnknownIDs
		if ids[h.ID] > 0 || len(ids) < mostUnknownIDs {
			ids[h.ID]++
		}
	}
	to := c.total.components[from]
	if to == nil {
		to = new(component)
		c.total.components[from] = to
	}
	switch arrival {
	case inOrder:
	case duplicate:
		to.counts.Duplicates++
	case late:
		to.counts.Reordered++
		if to.counts.Lost > 0 {
			to.counts.Lost--
			lost = -1
		}
	case restart:
		to.counts.Restarts++
	}
	to.counts.Received++
	to.counts.Bytes += uint64(h.Size)
	if lost > 0 {
		to.counts.Lost += uint64(lost)
	}
	to.recent.add(now, 1, int64(lost), int64(h.Size))
}

// change updates the statistics of the link.
func (s *statistics) change(f func(*Statistics)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.link)
}

// snapshot copies the statistics at now, in ns.
func (s *statistics) snapshot(now int64) Statistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.link
	all.UnknownIDs = maps.Clone(s.link.UnknownIDs)
	var received, lost int64 // in the window, of all components
	for from, c := range s.components {
		one := c.counts
		r, l, b, seconds := c.recent.sum(now)
		received += r
		lost += l
		one.Quality = quality(r, l)
		if seconds > 0 {
			one.Rate = float64(r) / float64(seconds)
			one.ByteRate = float64(b) / float64(seconds)
		}
		all.Components = append(all.Components, ComponentStatistics{from.system, from.component, one})
		all.Received += one.Received
		all.Bytes += one.Bytes
		all.Lost += one.Lost
		all.Duplicates += one.Duplicates
		all.Reordered += one.Reordered
		all.Restarts += one.Restarts
		all.Rate += one.Rate
		all.ByteRate += one.ByteRate
	}
	all.Quality = quality(received, lost)
	slices.SortFunc(all.Components, func(a, b ComponentStatistics) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Component, b.Component))
	})
	return all
}

func quality(received, lost int64) float64 {
	if received+lost == 0 {
		return 100
	}
	return 100 * float64(received) / float64(received+lost)
}

const windowSeconds = 10

// window counts over the last ten whole seconds.
type window struct {
	first   int64 // second of the first count
	seconds [windowSeconds + 1]struct {
		second                int64
		received, lost, bytes int64
	}
}

// add counts at now, in ns.
func (w *window) add(now, received, lost, bytes int64) {
	second := now / 1e9
	if w.first == 0 || second < w.first {
		w.first = second
	}
	s := &w.seconds[uint64(second)%uint64(len(w.seconds))]
	if s.second != second {
		s.second, s.received, s.lost, s.bytes = second, 0, 0, 0
	}
	s.received += received
	s.lost += lost
	s.bytes += bytes
}

// sum returns the counts of the whole seconds before now, and how many such seconds there are.
func (w *window) sum(now int64) (received, lost, bytes, seconds int64) {
	second := now / 1e9
	for _, s := range w.seconds {
		if age := second - s.second; 0 < age && age <= windowSeconds {
			received += s.received
			lost += s.lost
			bytes += s.bytes
		}
	}
	return received, max(0, lost), bytes, max(0, min(windowSeconds, second-w.first))
}
