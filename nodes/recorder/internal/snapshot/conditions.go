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

// Checks tells which conditions of a topic are checked. The zero value is none.
type Checks int

const (
	// Some are the conditions that match any message: the definition of the type is unknown.
	Some Checks = iota + 1
	// All are all conditions of the topic.
	All
)

// Check makes a receiver check its messages for the conditions of its topic, and updates checks. It does nothing until
// the definition is there or known to be missing. A condition that does not suit the type ends the recorder if strict.
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

// schemaOf returns the layout of a channel's messages.
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
