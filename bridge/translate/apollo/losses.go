package apollo

import (
	"slices"
	"strings"
	"sync/atomic"

	"tapedeck/bridge"
)

// messageLosses is the list of the losses of one message. An element counts the messages with the loss.
type messageLosses []*atomic.Uint64

// add adds a loss, unless the message has it already.
func (l *messageLosses) add(loss *atomic.Uint64) {
	if !slices.Contains(*l, loss) {
		*l = append(*l, loss)
	}
}

// count adds the message to the counts of its losses, and prepares l for the next message.
func (l *messageLosses) count() {
	for _, loss := range *l {
		loss.Add(1)
	}
	*l = (*l)[:0]
}

// undescribed is the loss of fields that the plan of a message does not have.
const undescribed = "fields that the recording does not describe"

// undescribedIn returns the loss of fields that p does not have. root is the plan of the channel's messages.
func undescribedIn(p, root *plan) string {
	if p == root || p.descriptor == nil {
		return undescribed
	}
	return undescribed + ", of " + string(p.descriptor.FullName())
}

// fieldLoss counts the messages of a channel that lose a field, or that lose fields at any depth of a message. Only one
// goroutine may use it.
type fieldLoss struct {
	losses   *bridge.LossCounters
	topic    string
	path     string         // path of the field: "header.frame_id."; "" for the whole message
	messages *atomic.Uint64 // number of messages that lost the field; nil: none
	plan     *plan          // plan of the field if it is a message; else nil
	fields   []fieldLoss    // losses of the fields of plan
	read     []bool         // fields of plan that were read in the current message
}

// open prepares l for a message with the plan p.
func (l *fieldLoss) open(p *plan) {
	if l.plan != nil {
		return
	}
	l.plan, l.fields, l.read = p, make([]fieldLoss, len(p.fields)), make([]bool, len(p.fields))
	for i := range p.fields {
		l.fields[i] = fieldLoss{losses: l.losses, topic: l.topic, path: l.path + p.fields[i].protoName + "."}
	}
}

// field returns the loss of a field of l's message. It returns nil if l is nil: losses are not counted then.
func (l *fieldLoss) field(f *planField) *fieldLoss {
	if l == nil {
		return nil
	}
	return &l.fields[f.index]
}

// undescribed returns the counter of messages that lose fields without a description.
func (l *fieldLoss) undescribed() *atomic.Uint64 { return l.losses.Lost(l.topic, undescribed) }

// counter returns the counter of messages that lose the field.
func (l *fieldLoss) counter() *atomic.Uint64 {
	if l.messages == nil {
		l.messages = l.losses.Lost(l.topic, strings.TrimSuffix(l.path, "."))
	}
	return l.messages
}
