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
	value        *cdr.Path // path of Boundaries.Field; nil: each message begins an episode
	discardField *cdr.Path // path of the field that discards episodes; nil: discardValue discards episodes
	discardValue string    // value of Boundaries.Field that discards episodes; "": none
}

// newTrigger returns the trigger for messages of a type.
func newTrigger(s *cdr.Schema, b Boundaries) (*trigger, error) {
	t := &trigger{}
	value, err := scalarPath(s, cmp.Or(b.Field, defaultField))
	switch {
	case err == nil:
		t.value = value
	case b.Field != "" || s.Name() != "std_msgs/msg/Empty":
		return nil, fmt.Errorf("trigger of episodes: %w", err)
	}
	discard := cmp.Or(b.Discard, defaultDiscard)
	if discard != cmp.Or(b.Field, defaultField) {
		t.discardField, err = scalarPath(s, discard)
		if err == nil {
			return t, nil
		}
	}
	t.discardValue, err = formatDiscardValue(value, discard)
	if err != nil && discard != defaultDiscard {
		return nil, fmt.Errorf("trigger of episodes: discard: %q is no field of %s, and %w", discard, s.Name(), err)
	}
	return t, nil
}

// scalarPath returns the path to a field that is a number or a text.
func scalarPath(s *cdr.Schema, path string) (*cdr.Path, error) {
	p, err := s.Path(path)
	if err != nil {
		return nil, err
	}
	if t := p.Type(); t.Kind == rosidl.Nested || t.Shape != rosidl.Single {
		return nil, fmt.Errorf("%q in %s is neither a number nor a text", path, s.Name())
	}
	return p, nil
}

// formatDiscardValue returns word in the format in which fmt.Sprint prints values of field. It returns an error if
// field, which may be nil, cannot have the value word, or needs that value to begin and end episodes.
func formatDiscardValue(field *cdr.Path, word string) (string, error) {
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

// isTrue reports whether a value of a trigger begins an episode, or discards one.
func isTrue(value string) bool { return value != "" && value != "0" && value != "false" }

// boundary decides where episodes begin and end, and which are discarded.
type boundary struct {
	Boundaries
	active         bool   // an episode is being recorded
	empty          bool   // the episode that began last, and may have ended, has no messages of cameras and arms
	hasBegun       bool   // an episode with messages of cameras or arms has begun
	discardPending bool   // the empty episode is to be discarded when its first message comes
	value          string // latest value of the trigger
	discarding     bool   // the latest message of the trigger discards an episode
	latest         int64  // LogTime of the latest message of a camera or an arm; 0: none
}

func newBoundary(b Boundaries) *boundary {
	always := b.Topic == ""
	return &boundary{Boundaries: b, active: always, empty: always}
}

// triggerEffect is the effect of a message of the trigger.
type triggerEffect struct {
	discarded bool   // the message discards the episode before it
	ended     bool   // the message ends the episode before it
	task      string // task of the episode that begins; "": none
}

// handleTrigger handles a message of the trigger. A message that repeats the values of the previous message has no
// effect.
func (b *boundary) handleTrigger(t *trigger, m *codec.Message) (effect triggerEffect, err error) {
	if t.value == nil {
		b.next("", true)
		return triggerEffect{ended: true}, nil
	}
	v, err := t.value.Get(m.Data)
	if err != nil {
		return effect, err
	}
	value := fmt.Sprint(v)
	discarding := t.discardValue != "" && value == t.discardValue
	if t.discardField != nil {
		d, err := t.discardField.Get(m.Data)
		if err != nil {
			return effect, err
		}
		discarding = isTrue(fmt.Sprint(d))
	}
	if value == b.value && discarding == b.discarding {
		return effect, nil
	}
	b.discarding = discarding
	if discarding {
		effect.discarded = b.discard() == nil
	}
	if value == b.value {
		return effect, nil
	}
	effect.ended = true
	b.next(value, isTrue(value) && (!discarding || t.discardField != nil))
	if text, ok := v.(string); ok && b.active {
		effect.task = text
	}
	return effect, nil
}

// next ends the episode, and begins the next one if active. value is the value of the trigger.
func (b *boundary) next(value string, active bool) {
	b.value, b.active, b.discardPending = value, active, false
	b.empty = b.empty || active
}

// Errors of boundary.discard: the caller cannot mark an episode as discarded now.
var (
	errNotBegun       = errors.New("no episode has begun")
	errDiscardPending = errors.New("nothing of the episode is recorded yet; the episode will be discarded")
	errEmptyEpisode   = errors.New("nothing was recorded of the episode that ended last")
)

// discard discards the current episode, or else the episode that ended last. If discard returns nil, the caller must
// mark the episode as discarded at once. If discard returns errDiscardPending, the caller must mark the episode as
// discarded when addSample returns true.
func (b *boundary) discard() error {
	switch {
	case b.empty && b.active:
		b.discardPending = true
		return errDiscardPending
	case b.empty:
		return errEmptyEpisode
	case !b.hasBegun:
		return errNotBegun
	}
	return nil
}

// addSample must be called for each message of a camera or an arm in an episode. It reports whether the caller must now
// mark the episode as discarded.
func (b *boundary) addSample() (discard bool) {
	discard = b.discardPending
	b.hasBegun, b.empty, b.discardPending = true, false, false
	return discard
}

// followsPause must be called for each message of a camera or an arm. It reports whether the message comes after a
// pause, and thus begins another episode.
func (b *boundary) followsPause(logTime int64) bool {
	late := b.Pause > 0 && b.latest != 0 && logTime-b.latest > int64(b.Pause)
	b.latest = logTime
	return late
}
