package intake

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
)

// LatchedCache bounds what receivers keep of latched (transient_local) topics.
type LatchedCache struct {
	MaxBytes int64
	Since    func() int64       // returns the receive time before which latched messages are not asked for any more
	OnFull   func(*queue.Topic) // is called when messages of a topic cannot be kept

	bytes atomic.Int64
}

// keep stores the latest message of a publisher of all, whose receiver is locked. Where there is no room, messages of
// those that are gone go first, and then the publisher's own oldest ones.
func (l *LatchedCache) keep(all *publishers, from *publisher, it *queue.Item) {
	bytes := l.bytes.Add(from.keep(it, l.Since()))
	if bytes > l.MaxBytes {
		bytes = l.bytes.Add(-all.forgetGone(from))
	}
	for bytes > l.MaxBytes && len(from.kept) > 0 {
		l.OnFull(it.Topic)
		bytes = l.bytes.Add(-from.forget(1))
	}
}

// publisher is one publisher of a topic. The receiver's lock guards it.
type publisher struct {
	sequence   uint64 // of the last message
	sourceTime int64  // of the same, ns since the Unix epoch
	heard      int64  // its log time, likewise
	first      mark   // the first message
	before     mark   // likewise, of those that the subscription before this one heard; zero: it heard none

	transientLocal bool
	depth          int           // how many messages its late subscribers get; 0: it is not latched
	lifespan       int64         // how long they get them, ns
	kept           []*queue.Item // those messages, in order, and later ones that are not written yet
}

// mark is the place of a message among those of its publisher.
type mark struct {
	sequence   uint64
	sourceTime int64
}

// heardBefore reports whether a message came before, by its source time where the middleware does not number messages.
// One that was latched before the first that came did not.
func (p *publisher) heardBefore(sample *bridge.Sample) bool {
	if sample.Sequence == 0 {
		t := sample.SourceTime
		return t != 0 && t >= p.before.sourceTime && t <= p.sourceTime
	}
	return sample.Sequence >= p.before.sequence && sample.Sequence <= p.sequence
}

// note follows the messages that come.
func (p *publisher) note(sample *bridge.Sample, stamp int64) {
	if p.sequence == 0 && p.sourceTime == 0 {
		p.first = mark{sample.Sequence, sample.SourceTime}
	}
	p.first.sequence = min(p.first.sequence, sample.Sequence)
	p.first.sourceTime = min(p.first.sourceTime, sample.SourceTime)
	p.sequence = max(p.sequence, sample.Sequence)
	p.sourceTime = max(p.sourceTime, sample.SourceTime)
	p.heard = stamp
}

// keep stores the latest message of a latched publisher, and forgets those that late subscribers got before the receive
// time since. It returns the bytes that are kept more, or less, than before.
func (p *publisher) keep(it *queue.Item, since int64) (more int64) {
	it.Retain()
	p.kept = append(p.kept, it)
	first := 0
	for first+p.depth < len(p.kept) && p.kept[first+p.depth].ReceiveTime <= since {
		first++
	}
	return it.Size() - p.forget(first) - p.expire(since)
}

// expire drops messages whose lifespan was over at the receive time since, and returns their bytes.
func (p *publisher) expire(since int64) (bytes int64) {
	n := 0
	for n < len(p.kept) && p.kept[n].ReceiveTime <= since-p.lifespan {
		n++
	}
	return p.forget(n)
}

// forget drops the first n messages and returns their bytes.
func (p *publisher) forget(n int) (bytes int64) {
	for _, it := range p.kept[:n] {
		bytes += it.Size()
	}
	queue.Release(p.kept[:n]...)
	p.kept = slices.Delete(p.kept, 0, n)
	return bytes
}

// publishers are those of one topic. The zero value is ready.
type publishers struct {
	repeat bool // messages are repeated even where they are not latched
	depth  int  // how many; 0: as many as late subscribers get, or 1

	last    bridge.GUID // that was heard last, as most samples in a row are from one
	current *publisher  // the same
	all     map[bridge.GUID]*publisher

	offers  map[bridge.GUID]codec.QoS // of those that the graph knows
	assumed codec.QoS                 // of those that it does not know yet
}

// mostPublishers are followed at once. If more come, those without latched messages and those that the graph does not
// know are forgotten, and with them the losses that are being looked for.
const mostPublishers = 1 << 14

// of returns the publisher with that GUID, and the bytes of latched messages that were forgotten.
func (s *publishers) of(guid bridge.GUID) (p *publisher, freed int64) {
	if s.current != nil && s.last == guid {
		return s.current, 0
	}
	p = s.all[guid]
	if p == nil {
		if s.all == nil {
			s.all = make(map[bridge.GUID]*publisher)
		}
		if len(s.all) >= mostPublishers {
			maps.DeleteFunc(s.all, func(guid bridge.GUID, p *publisher) bool {
				if _, known := s.offers[guid]; known && len(p.kept) > 0 {
					return false
				}
				freed += p.forget(len(p.kept))
				return true
			})
			s.current = nil // it may be one of these
		}
		p = new(publisher)
		qos, known := s.offers[guid]
		if !known {
			qos = s.assumed
		}
		s.latch(p, qos)
		s.all[guid] = p
	}
	s.last, s.current = guid, p
	return p, freed
}

// latch sets how many messages of a publisher that offers qos are kept.
func (s *publishers) latch(p *publisher, qos codec.QoS) {
	p.depth, p.lifespan = 0, int64(codec.Infinite)
	p.transientLocal = qos.Durability == codec.TransientLocal
	if p.transientLocal {
		p.depth, p.lifespan = max(qos.Depth, 1), int64(qos.Lifespan) // a depth of 0 is not known
		if qos.History == codec.KeepAll {
			p.depth = 1 << 30
		}
	}
	if s.repeat {
		p.depth = cmp.Or(s.depth, p.depth, 1)
	}
}

// set notes what publishers of that type offer, and returns the bytes of messages that need not be kept any more, as
// late subscribers before the receive time since have got them.
func (s *publishers) set(list []bridge.Endpoint, typeName string, since int64) (freed int64) {
	latched := func(e bridge.Endpoint) bool { return e.QoS.Durability == codec.TransientLocal }
	if s.offers == nil && !slices.ContainsFunc(list, latched) {
		return 0 // as with nearly all topics
	}
	s.offers = make(map[bridge.GUID]codec.QoS)
	for _, e := range list {
		if e.Type != typeName {
			continue
		}
		s.offers[e.GUID] = e.QoS
		if latched(e) {
			s.assumed = e.QoS
		}
		if p := s.all[e.GUID]; p != nil {
			s.latch(p, e.QoS)
			if p.depth == 0 {
				freed += p.forget(len(p.kept))
			}
		}
	}
	for _, p := range s.all { // those that are gone, too, such as the /rosout of nodes that have ended
		freed += p.expire(since)
	}
	return freed
}

// forgetGone drops the messages of publishers other than but that the graph does not know any more, and returns their
// bytes.
func (s *publishers) forgetGone(but *publisher) (bytes int64) {
	for guid, p := range s.all {
		if _, there := s.offers[guid]; !there && s.offers != nil && p != but {
			bytes += p.forget(len(p.kept))
		}
	}
	return bytes
}

// latched appends to out what a late subscriber would have got at the receive time t, with references.
func (s *publishers) latched(t int64, out []*queue.Item) []*queue.Item {
	for _, p := range s.all {
		end := 0
		for end < len(p.kept) && p.kept[end].ReceiveTime < t {
			end++
		}
		for _, it := range p.kept[max(0, end-p.depth):end] {
			if t-it.ReceiveTime < p.lifespan {
				it.Retain()
				out = append(out, it)
			}
		}
	}
	return out
}
