package main

import (
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/nodes/recorder/internal/selection"
)

// discoveryTime is how long the graph may take to become known; with no_discovery what it holds then is recorded.
const discoveryTime = 3 * time.Second

// startDiscovery has topics that appear from now on recorded, if they are selected.
func (r *recorder) startDiscovery() { r.discover(true) }

// stopDiscovery leaves it at the topics that are recorded now.
func (r *recorder) stopDiscovery() { r.discover(false) }

func (r *recorder) discover(on bool) {
	r.mu.Lock()
	r.discovery, r.discovered = on, time.Time{}
	r.mu.Unlock()
	r.look()
}

func (r *recorder) discovering() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.discovery
}

// look has the graph looked at soon.
func (r *recorder) look() {
	select {
	case r.lookAgain <- struct{}{}:
	default:
	}
}

// subscribeTo records topics beside those selected, each with the type at its index in types or, where there is none or
// it is "", with those that the graph knows. It returns the full names of those that are recorded now, and of those for
// which no type is known; they are recorded once they appear.
func (r *recorder) subscribeTo(topics, types []string) (subscribed, unavailable []string, err error) {
	var full []string
	for _, name := range topics {
		name, err := r.selection.Expand(name)
		if err != nil {
			return nil, nil, err
		}
		full = append(full, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.active {
		return nil, nil, errNotRecording
	}
	for i, name := range full {
		r.selection.Topics[name] = true
		topic := r.topic(name)
		wanted := selection.TypesOf(&topic)
		if i < len(types) && types[i] != "" {
			wanted = []string{types[i]}
		}
		ok := len(wanted) > 0
		for _, typeName := range wanted {
			if r.recorders[topicKey{name, typeName}] == nil {
				ok = r.subscribe(&topic, typeName, offersOf(&topic, typeName)) && ok
			}
		}
		if ok {
			subscribed = append(subscribed, name)
		} else {
			unavailable = append(unavailable, name)
		}
	}
	return subscribed, unavailable, nil
}

// topic returns what the graph knows of a topic, at least its name.
func (r *recorder) topic(name string) bridge.Topic {
	for _, topic := range r.topics() {
		if topic.Name == name {
			return topic
		}
	}
	return bridge.Topic{Name: name}
}

// subscribedTopics returns the names of the topics that are recorded, in order.
func (r *recorder) subscribedTopics() []string {
	var names []string
	if r.recording() {
		for _, rec := range r.recorded() {
			names = append(names, rec.Channel.Load().Topic)
		}
	}
	return slices.Compact(names)
}
