package codec

import "slices"

// DamageError is a damaged place of a recording, with the messages that it affects. Readers pass it to
// Query.Damaged.
type DamageError struct {
	Err     error    // names the file and the place
	Suspect Affected // messages whose bytes may have changed, as a checksum does not match
	Lost    Affected // messages that an index lists but that cannot be read
}

func (e *DamageError) Error() string { return e.Err.Error() }

func (e *DamageError) Unwrap() error { return e.Err }

// AffectedMessages are messages of a topic that damage concerns.
type AffectedMessages struct {
	Topic      string
	Count      uint64
	Start, End int64 // LogTime of the first and the last message, ns since the Unix epoch
}

// Affected lists the messages that damage concerns, by topic.
type Affected []AffectedMessages

// Add adds a message.
func (a *Affected) Add(topic string, logTime int64) {
	a.Join(AffectedMessages{Topic: topic, Count: 1, Start: logTime, End: logTime}, -1)
}

// Join adds messages. It adds them to a known entry of their topic, unless more than gap ns are between them. A
// negative gap means any distance.
func (a *Affected) Join(m AffectedMessages, gap int64) {
	i := slices.IndexFunc(*a, func(known AffectedMessages) bool {
		return known.Topic == m.Topic && (gap < 0 || m.Start <= known.End+gap && known.Start <= m.End+gap)
	})
	if i < 0 {
		*a = append(*a, m)
		return
	}
	known := &(*a)[i]
	known.Count += m.Count
	known.Start, known.End = min(known.Start, m.Start), max(known.End, m.End)
}

// Count returns the number of affected messages.
func (a Affected) Count() (n uint64) {
	for _, m := range a {
		n += m.Count
	}
	return n
}
