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

// Defaults of Boundaries.Field and Boundaries.Discard.
const (
	defaultField   = "data"
	defaultDiscard = "discard"
)

// trigger reads from the messages of a channel when to begin, end and discard episodes.
type trigger struct {
	value    *cdr.Path // path of Boundaries.Field; nil: each message begins an episode
	discards *cdr.Path // path of the field that discards; nil: word discards
	word     string    // the value of Boundaries.Field that discards; "": none
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

// discarding returns word in the form in which fmt.Sprint returns values of field. It returns an error if field, which
// may be nil, cannot have such a value.
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
	active  bool   // whether an episode is being recorded
	empty   bool   // the episode that began last, and may have ended, has no messages of cameras and arms
	began   bool   // an episode with messages of cameras or arms has begun
	doomed  bool   // the empty episode will be discarded once it has a message
	value   string // latest value of the trigger
	discard bool   // whether the latest message of the trigger discards
	latest  int64  // LogTime of the latest message of a camera or an arm; 0: none
}

func newBoundary(b Boundaries) *boundary {
	always := b.Topic == ""
	return &boundary{Boundaries: b, active: always, empty: always}
}

// change is the effect of a message of the trigger.
type change struct {
	discarded bool   // the episode before the message is discarded
	ended     bool   // the episode before the message has ended
	task      string // task of the episode that begins; "": none
}

// trigger handles a message of the trigger. A message that repeats the values of the previous message changes nothing.
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

// next ends the episode, and begins another one if active.
func (b *boundary) next(value string, active bool) {
	b.value, b.active, b.doomed = value, active, false
	b.empty = b.empty || active
}

// Errors of discards: no episode can be marked as discarded now.
var (
	errNotBegun = errors.New("no episode has begun")
	errDoomed   = errors.New("nothing of the episode is recorded yet; what comes of it is discarded")
	errNothing  = errors.New("nothing was recorded of the episode that ended last")
)

// discards marks the current episode as discarded, or else the episode that ended last. If it returns nil, the
// caller marks the episode as discarded. If it returns errDoomed, the caller does so when sample returns true.
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

// sample is called for each message of a camera or an arm in an episode. It reports whether the caller must now mark
// the episode as discarded.
func (b *boundary) sample() (discarded bool) {
	discarded = b.doomed
	b.began, b.empty, b.doomed = true, false, false
	return discarded
}

// pause is called for each message of a camera or an arm. It reports whether the message comes after a pause, and so
// begins another episode.
func (b *boundary) pause(logTime int64) bool {
	late := b.Pause > 0 && b.latest != 0 && logTime-b.latest > int64(b.Pause)
	b.latest = logTime
	return late
}
