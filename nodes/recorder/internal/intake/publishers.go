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

// LatchedCache bounds the latched (transient_local) messages that all receivers keep.
type LatchedCache struct {
	MaxBytes int64
	Since    func() int64       // returns the earliest receive time for which Receiver.Latched may still be called
	OnFull   func(*queue.Topic) // is called when messages of a topic cannot be kept

	bytes atomic.Int64
}

// keep stores the latest message of the publisher from of a topic, whose receiver is locked. To make room it first
// drops messages of publishers that are gone, then the oldest messages of from.
func (l *LatchedCache) keep(topic *publishers, from *publisher, item *queue.Item) {
	bytes := l.bytes.Add(from.keep(item, l.Since()))
	if bytes > l.MaxBytes {
		bytes = l.bytes.Add(-topic.forgetGone(from))
	}
	for bytes > l.MaxBytes && len(from.kept) > 0 {
		l.OnFull(item.Topic)
		bytes = l.bytes.Add(-from.forget(1))
	}
}

// publisher is one publisher of a topic. The receiver's lock guards it.
type publisher struct {
	sequence      uint64 // highest sequence number of a message
	sourceTime    int64  // latest source time of a message, ns since the Unix epoch
	heard         int64  // log time of the last message, ns since the Unix epoch
	first         mark   // first message that was received
	previousFirst mark   // first message that the replaced subscription received; zero: it received none

	transientLocal bool
	depth          int           // number of messages that late subscribers get; 0: the publisher is not latched
	lifespan       int64         // age in ns after which late subscribers do not get a message
	kept           []*queue.Item // messages for late subscribers, in order, and later ones that are not written yet
}

// mark identifies a message of a publisher.
type mark struct {
	sequence   uint64
	sourceTime int64 // ns since the Unix epoch
}

// heardBefore reports whether the replaced subscription received a message. It compares source times if the middleware
// does not number messages. A message latched before the first one that was received was not.
func (p *publisher) heardBefore(sample *bridge.Sample) bool {
	if sample.Sequence == 0 {
		t := sample.SourceTime
		return t != 0 && t >= p.previousFirst.sourceTime && t <= p.sourceTime
	}
	return sample.Sequence >= p.previousFirst.sequence && sample.Sequence <= p.sequence
}

// note notes the numbers and times of a message. stamp is its log time.
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

// keep stores the latest message of a latched publisher, and drops the messages that no late subscriber gets after the
// receive time since. It returns by how many bytes the kept messages have grown, which may be negative.
func (p *publisher) keep(item *queue.Item, since int64) (more int64) {
	item.Retain()
	p.kept = append(p.kept, item)
	first := 0
	for first+p.depth < len(p.kept) && p.kept[first+p.depth].ReceiveTime <= since {
		first++
	}
	return item.Size() - p.forget(first) - p.expire(since)
}

// expire drops messages whose lifespan was over at the receive time since, and returns their bytes.
func (p *publisher) expire(since int64) (bytes int64) {
	n := 0
	for n < len(p.kept) && p.kept[n].ReceiveTime <= since-p.lifespan {
		n++
	}
	return p.forget(n)
}

// forget drops the first n kept messages and returns their bytes.
func (p *publisher) forget(n int) (bytes int64) {
	for _, item := range p.kept[:n] {
		bytes += item.Size()
	}
	queue.Release(p.kept[:n]...)
	p.kept = slices.Delete(p.kept, 0, n)
	return bytes
}

// publishers are the publishers of one topic. The zero value is ready.
type publishers struct {
	repeat bool // messages are kept even if they are not latched
	depth  int  // number of messages to keep if repeat; 0: as many as late subscribers get, or 1

	last    bridge.GUID // publisher of the last sample: most samples in a row are from one publisher
	current *publisher  // publisher with the GUID last
	byGUID  map[bridge.GUID]*publisher

	offers  map[bridge.GUID]codec.QoS // QoS of the publishers that the graph knows
	assumed codec.QoS                 // QoS of publishers that the graph does not know yet
}

// mostPublishers is the number of publishers that are followed at once. If more come, publishers without latched
// messages and publishers that the graph does not know are forgotten.
const mostPublishers = 1 << 14

// find returns the publisher with a GUID, which may be new, and the bytes of latched messages that were dropped.
func (s *publishers) find(guid bridge.GUID) (p *publisher, freed int64) {
	if s.current != nil && s.last == guid {
		return s.current, 0
	}
	p = s.byGUID[guid]
	if p == nil {
		if s.byGUID == nil {
			s.byGUID = make(map[bridge.GUID]*publisher)
		}
		if len(s.byGUID) >= mostPublishers {
			maps.DeleteFunc(s.byGUID, func(guid bridge.GUID, p *publisher) bool {
				if _, known := s.offers[guid]; known && len(p.kept) > 0 {
					return false
				}
				freed += p.forget(len(p.kept))
				return true
			})
			s.current = nil // it may be forgotten now
		}
		p = new(publisher)
		qos, known := s.offers[guid]
		if !known {
			qos = s.assumed
		}
		s.latch(p, qos)
		s.byGUID[guid] = p
	}
	s.last, s.current = guid, p
	return p, freed
}

// latch sets how many messages are kept of a publisher that offers qos.
func (s *publishers) latch(p *publisher, qos codec.QoS) {
	p.depth, p.lifespan = 0, int64(codec.Infinite)
	p.transientLocal = qos.Durability == codec.TransientLocal
	if p.transientLocal {
		p.depth, p.lifespan = max(qos.Depth, 1), int64(qos.Lifespan) // a depth of 0 is unknown
		if qos.History == codec.KeepAll {
			p.depth = 1 << 30
		}
	}
	if s.repeat {
		p.depth = cmp.Or(s.depth, p.depth, 1)
	}
}

// set notes the QoS that the publishers of a type offer, and drops messages that no late subscriber gets after the
// receive time since. It returns their bytes.
func (s *publishers) set(list []bridge.Endpoint, typeName string, since int64) (freed int64) {
	latched := func(e bridge.Endpoint) bool { return e.QoS.Durability == codec.TransientLocal }
	if s.offers == nil && !slices.ContainsFunc(list, latched) {
		return 0 // fast path for most topics
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
		if p := s.byGUID[e.GUID]; p != nil {
			s.latch(p, e.QoS)
			if p.depth == 0 {
				freed += p.forget(len(p.kept))
			}
		}
	}
	for _, p := range s.byGUID { // also those that are gone, such as /rosout of nodes that ended
		freed += p.expire(since)
	}
	return freed
}

// forgetGone drops the messages of publishers that left the graph, and returns the number of dropped bytes. It keeps
// the messages of except.
func (s *publishers) forgetGone(except *publisher) (bytes int64) {
	for guid, p := range s.byGUID {
		if _, there := s.offers[guid]; !there && s.offers != nil && p != except {
			bytes += p.forget(len(p.kept))
		}
	}
	return bytes
}

// latched appends to out the messages that a late subscriber would have got at the receive time t, with references.
func (s *publishers) latched(t int64, out []*queue.Item) []*queue.Item {
	for _, p := range s.byGUID {
		end := 0
		for end < len(p.kept) && p.kept[end].ReceiveTime < t {
			end++
		}
		for _, item := range p.kept[max(0, end-p.depth):end] {
			if t-item.ReceiveTime < p.lifespan {
				item.Retain()
				out = append(out, item)
			}
		}
	}
	return out
}
