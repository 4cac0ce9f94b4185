package recordings

import (
	"bytes"
	"fmt"

	"tapedeck/codec"
)

const (
	comparedMessages = 32  // messages of a recording that are searched in another recording
	comparedPairs    = 200 // pairs of recordings that are compared
)

// Doubled returns a warning for each pair of recordings with common messages, for example a recording and a snapshot of
// it. It takes some messages of one recording, from the start of the time that both recordings cover, and searches them
// in the other recording. It ignores errors of reading.
func Doubled(recordings []codec.Reader) (warnings []string) {
	pairs := 0
	for i, a := range recordings {
		for _, b := range recordings[i+1:] {
			first, err := a.Info()
			second, secondErr := b.Info()
			if err != nil || secondErr != nil || pairs == comparedPairs {
				return warnings
			}
			start := max(first.StartTime, second.StartTime)
			if start > min(first.EndTime, second.EndTime) || !shareTopic(first, second) {
				continue
			}
			pairs++
			if haveSame(a, b, start) {
				warnings = append(warnings, fmt.Sprintf("%s and %s have messages in common, which are read twice; "+
					"leave one of them out", first.Path, second.Path))
			}
		}
	}
	return warnings
}

func shareTopic(a, b *codec.Info) bool {
	topics := map[string]bool{}
	for _, t := range a.Topics {
		topics[t.Channel.Topic] = t.MessageCount > 0
	}
	for _, t := range b.Topics {
		if topics[t.Channel.Topic] && t.MessageCount > 0 {
			return true
		}
	}
	return false
}

// haveSame reports whether b contains one of the first messages of a from start on.
func haveSame(a, b codec.Reader, start int64) bool {
	in := first(a, codec.Query{Start: start, Damaged: func(error) {}}, comparedMessages)
	for _, m := range in {
		q := codec.Query{Start: m.LogTime, End: m.LogTime + 1, Damaged: func(error) {},
			Topics: func(c *codec.Channel) bool { return c.Topic == m.Channel.Topic }}
		for _, o := range first(b, q, comparedMessages) {
			if o.PublishTime == m.PublishTime && bytes.Equal(o.Data, m.Data) {
				return true
			}
		}
	}
	return false
}

// first returns at most n of the first messages that q selects, without events.
func first(r codec.Reader, q codec.Query, n int) (all []codec.Message) {
	for m, err := range codec.Messages(r, q) {
		if err != nil || len(all) == n {
			return all
		}
		if !codec.IsEvents(m.Channel) {
			all = append(all, m.Clone())
		}
	}
	return all
}
