package robot

import (
	"fmt"

	"tapedeck/codec"
)

// boundary says where in time episodes begin and end.
type boundary struct {
	Boundaries
	active bool
	value  string // of the trigger
	latest int64  // LogTime of the latest message of a camera or an arm; 0 is none
}

func newBoundary(b Boundaries) *boundary {
	return &boundary{Boundaries: b, active: b.Topic == ""}
}

// trigger takes a message of the trigger. It says whether what was before has ended; a task is what is done from now on, if that is told.
func (b *boundary) trigger(t *topic, m *codec.Message) (ended bool, task string, err error) {
	if t.trigger == nil {
		b.active = true
		return true, "", nil
	}
	v, err := t.trigger.Get(m.Data)
	if err != nil {
		return false, "", err
	}
	value := fmt.Sprint(v)
	if value == b.value {
		return false, "", nil
	}
	b.value = value
	b.active = value != "" && value != "0" && value != "false"
	if text, ok := v.(string); ok && b.active {
		task = text
	}
	return true, task, nil
}

// pause says whether a message of a camera or an arm comes so late that it belongs to another episode.
func (b *boundary) pause(logTime int64) bool {
	late := b.Pause > 0 && b.latest != 0 && logTime-b.latest > int64(b.Pause)
	b.latest = logTime
	return late
}
