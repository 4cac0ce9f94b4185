package robot

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
)

// Names in messages of a trigger, unless the mapping has others.
const (
	defaultField   = "data"
	defaultDiscard = "discard"
)

// trigger is how the messages of a channel begin, end and discard episodes.
type trigger struct {
	value    *cdr.Path // nil: each message begins an episode
	discards *cdr.Path // the field that discards; nil: word does
	word     string    // the value that discards; "": none
}

// newTrigger returns the trigger for messages of a type.
func newTrigger(s *cdr.Schema, b Boundaries) (*trigger, error) {
	t := &trigger{}
	value, err := scalar(s, cmp.Or(b.Field, defaultField))
	switch {
	case err == nil:
		t.value = value
	case b.Field != "" || s.Name() != "std_msgs/msg/Empty":
		return nil, fmt.Errorf("trigger of episodes: %w", err)
	}
	discard := cmp.Or(b.Discard, defaultDiscard)
	if discard != cmp.Or(b.Field, defaultField) {
		t.discards, err = scalar(s, discard)
		if err == nil {
			return t, nil
		}
	}
	t.word, err = discarding(value, discard)
	if err != nil && discard != defaultDiscard {
		return nil, fmt.Errorf("trigger of episodes: discard: %q is no field of %s, and %w", discard, s.Name(), err)
	}
	return t, nil
}

// scalar returns the path to a number or a text.
func scalar(s *cdr.Schema, path string) (*cdr.Path, error) {
	p, err := s.Path(path)
	if err != nil {
		return nil, err
	}
	if t := p.Type(); t.Kind == rosidl.Nested || t.Shape != rosidl.Single {
		return nil, fmt.Errorf("%q in %s is neither a number nor a text", path, s.Name())
	}
	return p, nil
}

// discarding returns a word as fmt.Sprint returns values of a field, nil for none.
func discarding(field *cdr.Path, word string) (string, error) {
	if field == nil || field.Type().Kind == rosidl.Bool {
		return "", errors.New("no value is left that discards")
	}
	if kind := field.Type().Kind; kind == rosidl.String || kind == rosidl.WString {
		return word, nil
	}
	number, err := strconv.ParseFloat(word, 64)
	if err != nil || number == 0 {
		return "", errors.New("no number that discards")
	}
	return fmt.Sprint(number), nil
}

// begins reports whether a value of a trigger begins an episode, or discards one.
func begins(value string) bool { return value != "" && value != "0" && value != "false" }

// boundary decides where episodes begin and end, and which are discarded.
type boundary struct {
	Boundaries
	active  bool
	empty   bool   // the episode that began last, and may have ended, has no messages of cameras and arms
	began   bool   // an episode with such messages
	doomed  bool   // the empty episode is to be discarded
	value   string // of the trigger
	discard bool   // of the trigger
	latest  int64  // LogTime of the latest message of a camera or an arm; 0 is none
}

func newBoundary(b Boundaries) *boundary {
	always := b.Topic == ""
	return &boundary{Boundaries: b, active: always, empty: always}
}

// change is what a message of the trigger changes.
type change struct {
	discarded bool // the episode before, or what there is of it, is discarded
	ended     bool // the episode before has ended
	task      string
}

// trigger handles a message of the trigger. A message with the values of the one before changes nothing.
func (b *boundary) trigger(t *trigger, m *codec.Message) (c change, err error) {
	if t.value == nil {
		b.next("", true)
		return change{ended: true}, nil
	}
	v, err := t.value.Get(m.Data)
	if err != nil {
		return c, err
	}
	value := fmt.Sprint(v)
	discard := t.word != "" && value == t.word
	if t.discards != nil {
		d, err := t.discards.Get(m.Data)
		if err != nil {
			return c, err
		}
		discard = begins(fmt.Sprint(d))
	}
	if value == b.value && discard == b.discard {
		return c, nil
	}
	b.discard = discard
	if discard {
		c.discarded = b.discards() == nil
	}
	if value == b.value {
		return c, nil
	}
	c.ended = true
	b.next(value, begins(value) && (!discard || t.discards != nil))
	if text, ok := v.(string); ok && b.active {
		c.task = text
	}
	return c, nil
}

// next ends the episode, and begins another one if it is active.
func (b *boundary) next(value string, active bool) {
	b.value, b.active, b.doomed = value, active, false
	b.empty = b.empty || active
}

// Reasons for which there is no episode to be discarded.
var (
	errNotBegun = errors.New("no episode has begun")
	errDoomed   = errors.New("nothing of the episode is recorded yet; what comes of it is discarded")
	errNothing  = errors.New("nothing was recorded of the episode that ended last")
)

// discards decides whether the episode that is recorded, or else the one that ended last, is to be marked as discarded.
// errDoomed means that sample tells when.
func (b *boundary) discards() error {
	switch {
	case b.empty && b.active:
		b.doomed = true
		return errDoomed
	case b.empty:
		return errNothing
	case !b.began:
		return errNotBegun
	}
	return nil
}

// sample notes a message of a camera or an arm in an episode. It reports whether the episode, whose first one that is,
// is to be marked as discarded.
func (b *boundary) sample() (discarded bool) {
	discarded = b.doomed
	b.began, b.empty, b.doomed = true, false, false
	return discarded
}

// pause reports whether a message of a camera or an arm comes after a pause, and so begins another episode.
func (b *boundary) pause(logTime int64) bool {
	late := b.Pause > 0 && b.latest != 0 && logTime-b.latest > int64(b.Pause)
	b.latest = logTime
	return late
}
