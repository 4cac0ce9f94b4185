package main

import (
	"errors"
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/recorder/internal/condition"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/selection"
)

// How far a topicRecorder checks conditions. Without a definition only those that match any message can be checked.
const (
	checksNone = iota
	checksSome
	checksAll
)

// follow has the messages of the graph's topics watched for conditions, also those of topics that are not recorded.
// recorder.mu is held.
func (s *snapshots) follow(topics []bridge.Topic) {
	r := s.recorder
	for i := range topics {
		topic := &topics[i]
		if s.conditions[topic.Name] == nil || len(topic.Publishers) == 0 {
			continue
		}
		for _, typeName := range selection.TypesOf(topic) {
			key := topicKey{topic.Name, typeName}
			rec, watch := r.recorders[key], s.watches[key]
			switch {
			case rec == nil && watch == nil:
				if rec = s.watch(topic, typeName); rec == nil {
					continue
				}
				s.watches[key] = rec
			case rec == nil:
				rec = watch
				r.adapt(rec, topic, offersOf(topic, typeName))
				r.define(rec, topic)
			case watch != nil:
				watch.close()
				delete(s.watches, key)
			}
			s.attach(rec)
		}
	}
}

// watch subscribes to a topic for its conditions alone; nil if that is not possible.
func (s *snapshots) watch(topic *bridge.Topic, typeName string) *topicRecorder {
	r := s.recorder
	offers := offersOf(topic, typeName)
	rec := &topicRecorder{Receiver: intake.NewReceiver(r.channel(topic, typeName, offers), intake.Options{Clock: r.clock})}
	if rec.Channel.Load().Schema.Encoding == "" {
		rec.AwaitDefinition()
	}
	r.define(rec, topic)
	s.attach(rec)
	rec.qos = r.request(topic.Name, offers)
	subscription, err := r.node.Subscribe(topic.Name, typeName, rec.qos, rec.Take)
	if err != nil {
		r.warn("subscribe "+topic.Name, "cannot look for conditions on %s: %v", topic.Name, err)
		return nil
	}
	rec.add(subscription)
	return rec
}

// attach checks the messages of a topic for conditions, as far as its type is known by now. recorder.mu is held.
func (s *snapshots) attach(rec *topicRecorder) {
	c := rec.Channel.Load()
	if s.conditions[c.Topic] == nil || rec.AwaitsDefinition() || rec.checks == checksAll ||
		rec.checks == checksSome && len(c.Schema.Data) == 0 {
		return
	}
	var detectors []*condition.Detector
	rec.checks = checksAll
	schema, err := schemaOf(c)
	for _, wanted := range s.conditions[c.Topic] {
		if schema == nil && !wanted.MatchesAny() {
			rec.checks = checksSome
			s.recorder.warn("condition "+c.Topic, "snapshot_condition: %q cannot be looked for on %s: %v", wanted.Text, c.Topic,
				err)
			continue
		}
		if d, err := condition.NewDetector(wanted, schema); err != nil {
			s.reject(err)
		} else {
			detectors = append(detectors, d)
		}
	}
	rec.SetCheck(func(sample *bridge.Sample) {
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
	library, err := rosidl.ParseConcatenated(c.Type, string(c.Schema.Data))
	if err != nil {
		return nil, err
	}
	return cdr.NewSchema(library, c.Type)
}

// reject deals with a condition that does not suit the type of its topic: that is an error at the start, and only told
// later.
func (s *snapshots) reject(err error) {
	if !time.Now().Before(s.recorder.discovered) {
		s.recorder.warn(err.Error(), "snapshot_condition: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = fmt.Errorf("snapshot_condition: %w", err)
	}
	s.recorder.quit()
}
