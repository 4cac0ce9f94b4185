package apollo

import (
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/bridge"
)

// losses counts, for a channel, the messages with fields that their translation does not have.
type losses struct {
	topic    string
	what     []string
	messages []atomic.Uint64
	unread   unread // if a pair reads a part of the fields
}

// unknownFields returns the losses of a channel whose messages are generated: for each plan, fields that its
// description does not have.
func unknownFields(topic string, all *plans) *losses {
	l := &losses{topic: topic}
	for _, f := range all.all {
		what := "fields that the recording does not describe"
		if f != all.root() && f.descriptor != nil {
			what += ", of " + string(f.descriptor.FullName())
		}
		l.what = append(l.what, what)
	}
	l.messages = make([]atomic.Uint64, len(l.what))
	return l
}

// unreadFields returns the losses of a channel of which a pair reads the fields at the given paths.
func unreadFields(topic string, d protoreflect.MessageDescriptor, reads []string) *losses {
	l := &losses{topic: topic, what: []string{"fields that the recording does not describe"}}
	l.unread = l.fields(d, "", reads)
	l.messages = make([]atomic.Uint64, len(l.what))
	return l
}

func (l *losses) counted() []bridge.Loss {
	var all []bridge.Loss
	for i, what := range l.what {
		if n := l.messages[i].Load(); n > 0 {
			all = append(all, bridge.Loss{Topic: l.topic, What: what, Messages: n})
		}
	}
	return all
}

// lost is the set of losses of one message.
type lost struct {
	losses *losses
	is     []bool // by index of the loss
	list   []int  // the same, as indexes
}

func (l *losses) begin() *lost { return &lost{losses: l, is: make([]bool, len(l.what))} }

func (l *lost) field(i int) {
	if !l.is[i] {
		l.is[i] = true
		l.list = append(l.list, i)
	}
}

// add counts the message and begins the next one.
func (l *lost) add() {
	for _, i := range l.list {
		l.losses.messages[i].Add(1)
		l.is[i] = false
	}
	l.list = l.list[:0]
}

// unread has the fields of a type by number: nil if a pair reads the field whole.
type unread map[protowire.Number]*unreadField

// unreadField is a field that is not read, or read in part.
type unreadField struct {
	index int    // of the loss
	inner unread // of a field that is read in part
}

// undescribed is the index of the loss for fields that the description does not have.
const undescribed = 0

func (l *losses) fields(d protoreflect.MessageDescriptor, path string, reads []string) unread {
	u := unread{}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		name := path + string(f.Name())
		var inner []string
		whole := false
		for _, read := range reads {
			switch first, rest, more := strings.Cut(read, "."); {
			case first != string(f.Name()):
			case more:
				inner = append(inner, rest)
			default:
				whole = true
			}
		}
		switch {
		case whole:
			u[f.Number()] = nil
		case inner != nil && f.Kind() == protoreflect.MessageKind:
			u[f.Number()] = &unreadField{inner: l.fields(f.Message(), name+".", inner)}
		default:
			u[f.Number()] = &unreadField{index: len(l.what)}
			l.what = append(l.what, name)
		}
	}
	return u
}

// count notes the fields of a message that are not read, except zero and empty ones. It stops at damage.
func (u unread) count(lost *lost, b []byte) {
	for len(b) > 0 {
		number, kind, n := consumeTag(b)
		if n < 0 {
			return
		}
		bits, content, size := consume(number, kind, b[n:])
		if size < 0 {
			return
		}
		b = b[n+size:]
		field, described := u[number]
		switch {
		case !described:
			lost.field(undescribed)
		case field == nil || bits == 0 && len(content) == 0:
		case field.inner != nil:
			field.inner.count(lost, content)
		default:
			lost.field(field.index)
		}
	}
}
