package joined

import (
	"hash/maphash"
	"slices"

	"tapedeck/codec"
)

// repeats are the messages at the beginning of a file that the file before it has, too: a writer repeats what a new
// subscriber of a latched topic would receive, with the log time of the first message that follows.
type repeats struct {
	count    map[key]int
	channels map[*codec.Channel]uint64 // messages, by channels of the recording
}

// key is what a repeated message has in common with the first one.
type key struct {
	channel *codec.Channel // of the recording
	sent    int64          // PublishTime; 0 if it is not known, also where writers take the log time for it
	payload uint64         // hash
}

// seed is the seed of all hashes of payloads.
var seed = maphash.MakeSeed()

func (p *part) keyOf(m *codec.Message) key {
	k := key{p.channels[m.Channel], m.PublishTime, maphash.Bytes(seed, m.Data)}
	if k.sent == m.LogTime {
		k.sent = 0
	}
	return k
}

// findRepeats finds what p repeats of the file before it. It takes a message for a repetition only if it is on a
// latched topic, has the time of the beginning of p, and equals a message of the file before it in payload and publish
// time. Where publish times are not known the last message of that time is none: the repeated ones precede the one
// whose time they have. A recorder may repeat topics that are not latched: if it notes that p continues another file,
// they are looked at, too, and must have been sent before. The result is nil if there are none, or if they cannot be
// read.
func (p *part) findRepeats(before *part) *repeats {
	wanted := map[*codec.Channel]bool{}
	start, continued := p.info.StartTime, codec.Continues(p.info) != ""
	for c := range p.holds {
		if before.holds[c] && (continued || codec.LatchedDepth(c) > 0) {
			wanted[c] = true
		}
	}
	if len(wanted) == 0 || start == before.info.StartTime {
		return nil
	}
	var keys []key // of all messages at the start; without a channel unless they are wanted
	number := map[*codec.Channel]int{}
	q := codec.Query{Start: start, End: start + 1, Damaged: func(error) {}}
	for m, err := range codec.Messages(p, q) {
		if err != nil {
			return nil
		}
		var k key
		c := p.channels[m.Channel]
		early := m.PublishTime != 0 && m.PublishTime <= before.info.EndTime
		if wanted[c] && (early || codec.LatchedDepth(c) > 0) {
			k = p.keyOf(m)
			number[c]++
		}
		keys = append(keys, k)
	}
	if len(number) == 0 {
		return nil
	}
	had := before.had(number)
	r := &repeats{map[key]int{}, map[*codec.Channel]uint64{}}
	for i, k := range keys {
		last := i == len(keys)-1
		if k.channel == nil || last && k.sent == 0 {
			continue
		}
		if n := slices.IndexFunc(had, func(o sent) bool { return o.is(k) }); n >= 0 {
			had = slices.Delete(had, n, n+1)
			r.count[k]++
			r.channels[k.channel]++
		}
	}
	if len(r.count) == 0 {
		return nil
	}
	return r
}

// sent is a message that may have been repeated.
type sent struct {
	key
	publish int64 // PublishTime
}

// is reports whether k is the key of a repetition.
func (s *sent) is(k key) bool {
	return s.channel == k.channel && s.payload == k.payload && (s.sent == k.sent || s.publish == k.sent)
}

// had returns the last messages of channels in p: more than number has, as publishers may have sent more since.
func (p *part) had(number map[*codec.Channel]int) (all []sent) {
	q := codec.Query{Damaged: func(error) {}, Topics: func(c *codec.Channel) bool { return number[c] > 0 }}
	q = p.query(q)
	q.Last = func(c *codec.Channel) int { return 2*number[p.channels[c]] + 8 }
	for m, err := range codec.Messages(p, q) {
		if err != nil {
			break // some repetitions are not found
		}
		all = append(all, sent{p.keyOf(m), m.PublishTime})
	}
	return all
}

// countRepeats finds what files repeat, and takes it off the counts of messages.
func (r *Reader) countRepeats(info *codec.Info) {
	for i := 1; i < len(r.parts); i++ {
		p := r.parts[i]
		p.repeats = p.findRepeats(r.parts[i-1])
		if p.repeats == nil {
			continue
		}
		for i := range r.topics {
			t := &r.topics[i]
			n := min(p.repeats.channels[t.Channel], t.MessageCount)
			t.MessageCount -= n
			t.Repeated += n
			info.MessageCount -= n
		}
	}
}

// unrepeated yields the messages of a file without those that it repeats.
type unrepeated struct {
	codec.Iterator
	part *part
	left map[key]int // to be left out
}

// leaveOut returns the messages of p without those that it repeats.
func (p *part) leaveOut(it codec.Iterator) codec.Iterator {
	if p.repeats == nil {
		return it
	}
	left := make(map[key]int, len(p.repeats.count))
	for k, n := range p.repeats.count {
		left[k] = n
	}
	return &unrepeated{it, p, left}
}

func (it *unrepeated) Next() (*codec.Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil || m.LogTime != it.part.info.StartTime ||
			it.part.repeats.channels[it.part.channels[m.Channel]] == 0 {
			return m, err
		}
		k := it.part.keyOf(m)
		if it.left[k] == 0 {
			return m, nil
		}
		it.left[k]--
	}
}
