package snapshot

import (
	"errors"
	"fmt"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/nodes/internal/filter/condition"
	"tapedeck/nodes/recorder/internal/intake"
)

// Checks is how far the conditions of a topic are checked. The zero value is not at all.
type Checks int

// Without the definition of a type only conditions that match any message can be checked.
const (
	Some Checks = iota + 1
	All
)

// Check makes a receiver check its messages for conditions, as far as its type is known by now, and updates checks.
// A condition that does not suit the type ends the recorder if strict.
func (s *Set) Check(r *intake.Receiver, checks *Checks, strict bool) {
	c := r.Channel.Load()
	if s.Conditions[c.Topic] == nil || r.AwaitsDefinition() || *checks == All ||
		*checks == Some && len(c.Schema.Data) == 0 {
		return
	}
	*checks = All
	var detectors []*condition.Detector
	schema, err := schemaOf(c)
	for _, wanted := range s.Conditions[c.Topic] {
		if schema == nil && !wanted.MatchesAny() {
			*checks = Some
			s.Warn("condition "+c.Topic, "snapshot_condition: %q cannot be checked on %s: %v", wanted.Text, c.Topic,
				err)
			continue
		}
		if d, err := condition.NewDetector(wanted, schema); err != nil {
			s.reject(err, strict)
		} else {
			detectors = append(detectors, d)
		}
	}
	r.SetCheck(func(sample *bridge.Sample) {
		for _, d := range detectors {
			if d.Fires(sample.Data) {
				s.fire(d, sample)
			}
		}
	})
}

func schemaOf(c *codec.Channel) (*cdr.Schema, error) {
	if c.Schema.Encoding != codec.SchemaROS2Msg {
		return nil, errors.New("the definition of its type, " + c.Type + ", is not known")
	}
	library, err := c.Definitions()
	if err != nil {
		return nil, err
	}
	return cdr.NewSchema(library, c.Type)
}

// reject handles a condition that does not suit the type of its topic.
func (s *Set) reject(err error, strict bool) {
	if !strict {
		s.Warn(err.Error(), "snapshot_condition: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = fmt.Errorf("snapshot_condition: %w", err)
	}
	s.Quit()
}
