package apollo

import (
	"slices"
	"strings"
	"sync/atomic"

	"tapedeck/bridge"
)

// lost are the losses of one message, each with the number of messages that have it.
type lost []*atomic.Uint64

// add notes a loss, unless it is known.
func (l *lost) add(loss *atomic.Uint64) {
	if !slices.Contains(*l, loss) {
		*l = append(*l, loss)
	}
}

// count counts the message, and begins the next one.
func (l *lost) count() {
	for _, loss := range *l {
		loss.Add(1)
	}
	*l = (*l)[:0]
}

// undescribed is the loss of fields that the plan of a message does not have.
const undescribed = "fields that the recording does not describe"

// undescribedIn returns the loss of fields that the plan of a message, or of one in it, does not have.
func undescribedIn(p, whole *plan) string {
	if p == whole || p.descriptor == nil {
		return undescribed
	}
	return undescribed + ", of " + string(p.descriptor.FullName())
}

// fieldLoss is a field in the messages of a channel, or the whole of them, and the number of messages that lose it. It
// is for one goroutine.
type fieldLoss struct {
	losses   *bridge.LossCounters
	topic    string
	path     string         // "header.frame_id.", "" for the whole
	messages *atomic.Uint64 // nil: it was never lost
	// If the field is a message, its plan, its fields by index, and which of them were read in the current message.
	plan   *plan
	fields []fieldLoss
	read   []bool
}

// open makes the fields of a message, which has a plan.
func (l *fieldLoss) open(p *plan) {
	if l.plan != nil {
		return
	}
	l.plan, l.fields, l.read = p, make([]fieldLoss, len(p.fields)), make([]bool, len(p.fields))
	for i := range p.fields {
		l.fields[i] = fieldLoss{losses: l.losses, topic: l.topic, path: l.path + p.fields[i].source + "."}
	}
}

// field returns a field of a message, whose losses are not counted if l is nil.
func (l *fieldLoss) field(f *planField) *fieldLoss {
	if l == nil {
		return nil
	}
	return &l.fields[f.index]
}

// undescribed returns what to increase for a message that loses fields without a description.
func (l *fieldLoss) undescribed() *atomic.Uint64 { return l.losses.Lost(l.topic, undescribed) }

// counter returns what to increase for a message that loses the field.
func (l *fieldLoss) counter() *atomic.Uint64 {
	if l.messages == nil {
		l.messages = l.losses.Lost(l.topic, strings.TrimSuffix(l.path, "."))
	}
	return l.messages
}
