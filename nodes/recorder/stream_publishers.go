package main

import (
	"cmp"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
)

// source is a publisher as a stream hears it. The stream's lock guards it.
type source struct {
	sequence   uint64 // of the last message
	sourceTime int64  // of the same, ns since the Unix epoch
	heard      int64  // when it was received, likewise

	offering bool          // messages to late subscribers, as latched topics do
	depth    int           // how many messages its late subscribers get; 0: it is not latched
	lifespan int64         // how long they get them, ns
	kept     []*queue.Item // those messages, in order, and those that came after them and are not written yet
}

// told says whether a message was heard before. Where the middleware does not number messages their source time tells.
func (s *source) told(sample *bridge.Sample) bool {
	if sample.Sequence == 0 {
		return sample.SourceTime != 0 && sample.SourceTime <= s.sourceTime
	}
	return sample.Sequence <= s.sequence
}

// keep notes the latest message of a latched publisher. No one will ask for what late subscribers got before the time
// since. It returns the bytes that are kept more, or less, than before.
func (s *source) keep(it *queue.Item, since int64) (more int64) {
	it.Retain()
	s.kept = append(s.kept, it)
	first := 0
	for first+s.depth < len(s.kept) && s.kept[first+s.depth].ReceiveTime <= since {
		first++
	}
	return it.Size() - s.forget(first)
}

// forget drops the first n messages and returns their bytes.
func (s *source) forget(n int) (bytes int64) {
	for _, it := range s.kept[:n] {
		bytes += it.Size()
	}
	queue.Release(s.kept[:n]...)
	s.kept = slices.Delete(s.kept, 0, n)
	return bytes
}

// latched appends to out what a late subscriber would have got at the time t, each with one reference more.
func (s *source) latched(t int64, out []*queue.Item) []*queue.Item {
	end := 0
	for end < len(s.kept) && s.kept[end].ReceiveTime < t {
		end++
	}
	for _, it := range s.kept[max(0, end-s.depth):end] {
		if t-it.ReceiveTime < s.lifespan {
			it.Retain()
			out = append(out, it)
		}
	}
	return out
}

// sources are the publishers of a stream. The zero value is ready.
type sources struct {
	repeat bool // messages are repeated even where they are not latched
	depth  int  // how many; 0: as many as late subscribers get, or 1

	last    bridge.GUID // that was heard last, as most samples in a row are from one
	current *source     // the same
	all     map[bridge.GUID]*source

	offers  map[bridge.GUID]codec.QoS // of those that the graph knows
	assumed codec.QoS                 // of those that it does not know yet
}

// of returns the publisher of a sample.
func (s *sources) of(guid bridge.GUID) *source {
	if s.current != nil && s.last == guid {
		return s.current
	}
	from := s.all[guid]
	if from == nil {
		if s.all == nil {
			s.all = make(map[bridge.GUID]*source)
		}
		from = new(source)
		qos, known := s.offers[guid]
		if !known {
			qos = s.assumed
		}
		s.latch(from, qos)
		s.all[guid] = from
	}
	s.last, s.current = guid, from
	return from
}

// latch sets what is kept of a publisher that offers qos.
func (s *sources) latch(from *source, qos codec.QoS) {
	from.depth, from.lifespan = 0, int64(codec.Infinite)
	from.offering = qos.Durability == codec.TransientLocal
	if from.offering {
		from.depth, from.lifespan = max(qos.Depth, 1), int64(qos.Lifespan) // a depth of 0 is not known
		if qos.History == codec.KeepAll {
			from.depth = 1 << 30
		}
	}
	if s.repeat {
		from.depth = cmp.Or(s.depth, from.depth, 1)
	}
}

// offered notes what publishers of that type offer, and returns the bytes of messages that need not be kept any more.
func (s *sources) offered(publishers []bridge.Endpoint, typeName string) (freed int64) {
	latched := func(p bridge.Endpoint) bool { return p.QoS.Durability == codec.TransientLocal }
	if s.offers == nil && !slices.ContainsFunc(publishers, latched) {
		return 0 // as with nearly all streams
	}
	s.offers = make(map[bridge.GUID]codec.QoS)
	for _, p := range publishers {
		if p.Type != typeName {
			continue
		}
		s.offers[p.GUID] = p.QoS
		if p.QoS.Durability == codec.TransientLocal {
			s.assumed = p.QoS
		}
		if from := s.all[p.GUID]; from != nil {
			if s.latch(from, p.QoS); from.depth == 0 {
				freed += from.forget(len(from.kept))
			}
		}
	}
	return freed
}
