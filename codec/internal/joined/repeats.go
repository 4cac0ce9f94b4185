package joined

import (
	"hash/maphash"
	"slices"

	"tapedeck/codec"
)

// repeats counts the messages at the beginning of a file that repeat messages of the previous file. A writer repeats
// the latched messages that a new subscriber would receive, with the log time of the first message that follows.
type repeats struct {
	count    map[key]int
	channels map[*codec.Channel]uint64 // number of messages by channel of the recording
}

// key is equal for a message and its repetition.
type key struct {
	channel *codec.Channel // of the recording
	sent    int64          // PublishTime; 0 if unknown, also if the writer used the log time instead
	payload uint64         // hash of Data
}

// seed is the seed of all hashes of payloads.
var seed = maphash.MakeSeed()

func (fr *fileReader) keyOf(m *codec.Message) key {
	k := key{fr.channels[m.Channel], m.PublishTime, maphash.Bytes(seed, m.Data)}
	if k.sent == m.LogTime {
		k.sent = 0
	}
	return k
}

// findRepeats finds the messages of before, the previous file, that fr repeats. A message is a repetition only if it is
// on a latched topic, has the start time of fr, and equals a message of before in payload and publish time. If publish
// times are unknown, the last message at the start time is not a repetition: repetitions precede the message whose time
// they have. A recorder may also repeat topics that are not latched. If an event says that fr continues another file,
// messages of topics that are not latched are repetitions if they were published before the end of before. The result
// is nil if there are no repetitions, or if they cannot be read.
func (fr *fileReader) findRepeats(before *fileReader) *repeats {
	wanted := map[*codec.Channel]bool{}
	start, continued := fr.info.StartTime, codec.Continues(fr.info) != ""
	for c := range fr.holds {
		if before.holds[c] && (continued || codec.LatchedDepth(c) > 0) {
			wanted[c] = true
		}
	}
	if len(wanted) == 0 || start == before.info.StartTime {
		return nil
	}
	var keys []key // of all messages at the start time; zero for other topics
	number := map[*codec.Channel]int{}
	q := codec.Query{Start: start, End: start + 1, Damaged: func(error) {}}
	for m, err := range codec.Messages(fr, q) {
		if err != nil {
			return nil
		}
		var k key
		c := fr.channels[m.Channel]
		early := m.PublishTime != 0 && m.PublishTime <= before.info.EndTime
		if wanted[c] && (early || codec.LatchedDepth(c) > 0) {
			k = fr.keyOf(m)
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

// had returns the last messages of channels in fr. It returns more than number, as publishers may have sent more since.
func (fr *fileReader) had(number map[*codec.Channel]int) (all []sent) {
	q := codec.Query{Damaged: func(error) {}, Topics: func(c *codec.Channel) bool { return number[c] > 0 }}
	q = fr.query(q)
	q.Last = func(c *codec.Channel) int { return 2*number[fr.channels[c]] + 8 }
	for m, err := range codec.Messages(fr, q) {
		if err != nil {
			break // some repetitions are not found
		}
		all = append(all, sent{fr.keyOf(m), m.PublishTime})
	}
	return all
}

// countRepeats finds the repetitions of all files and subtracts them from the counts of messages.
func (r *Reader) countRepeats(info *codec.Info) {
	for i := 1; i < len(r.readers); i++ {
		fr := r.readers[i]
		fr.repeats = fr.findRepeats(r.readers[i-1])
		if fr.repeats == nil {
			continue
		}
		for i := range r.topics {
			t := &r.topics[i]
			n := min(fr.repeats.channels[t.Channel], t.MessageCount)
			t.MessageCount -= n
			t.Repeated += n
			info.MessageCount -= n
		}
	}
}

// unrepeated yields the messages of a file without repetitions.
type unrepeated struct {
	codec.Iterator
	reader  *fileReader
	pending map[key]int // repetitions still to be omitted
}

// withoutRepeats returns an iterator that omits the repetitions in fr.
func (fr *fileReader) withoutRepeats(it codec.Iterator) codec.Iterator {
	if fr.repeats == nil {
		return it
	}
	pending := make(map[key]int, len(fr.repeats.count))
	for k, n := range fr.repeats.count {
		pending[k] = n
	}
	return &unrepeated{it, fr, pending}
}

func (it *unrepeated) Next() (*codec.Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil || m.LogTime != it.reader.info.StartTime ||
			it.reader.repeats.channels[it.reader.channels[m.Channel]] == 0 {
			return m, err
		}
		k := it.reader.keyOf(m)
		if it.pending[k] == 0 {
			return m, nil
		}
		it.pending[k]--
	}
}
