package codec

import (
	"cmp"
	"slices"
)

// Loss is a property of messages that a translation or a format does not keep.
type Loss struct {
	Topic    string // of the original messages
	What     string // "header.seq", "the frame_id of a Log", "messages of a type that has no counterpart"
	Messages uint64 // number of messages with the property set; unset or empty values are no loss
}

// LossCounts counts messages by loss. Messages of the keys is 0.
type LossCounts map[Loss]uint64

// Add counts messages on a topic.
func (c LossCounts) Add(topic, what string, messages uint64) {
	c[Loss{Topic: topic, What: what}] += messages
}

// Of returns a function that counts messages on a topic.
func (c LossCounts) Of(topic string) func(what string, messages uint64) {
	return func(what string, messages uint64) { c.Add(topic, what, messages) }
}

// Losses returns the losses by topic and content.
func (c LossCounts) Losses() []Loss {
	var all []Loss
	for loss, n := range c {
		loss.Messages = n
		all = append(all, loss)
	}
	slices.SortFunc(all, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.What, b.What))
	})
	return all
}
