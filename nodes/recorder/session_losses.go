package main

import (
	"fmt"
	"strings"

	"tapedeck/bridge"
)

// losses is how much was lost of a topic since the recording began.
type losses struct {
	topic     string
	transport uint64 // messages between a publisher and the recorder
	recorder  uint64 // messages that were received and not written
}

// losses returns what was lost of each topic, by topic.
func (r *recorder) losses() []losses {
	var list []losses
	for _, rec := range r.recorded() {
		l := losses{rec.Channel.Load().Topic, rec.missed(), rec.Dropped.Load()}
		if n := len(list); n > 0 && list[n-1].topic == l.topic { // with another type
			list[n-1].transport += l.transport
			list[n-1].recorder += l.recorder
		} else {
			list = append(list, l)
		}
	}
	return list
}

// untold says in lines what messages had and the recording cannot have.
func untold(list []bridge.Loss) (lines []string) {
	var kinds []string
	topics, messages := map[string][]string{}, map[string]uint64{}
	for _, l := range list {
		if messages[l.What] == 0 {
			kinds = append(kinds, l.What)
		}
		topics[l.What] = append(topics[l.What], l.Topic)
		messages[l.What] += l.Messages
	}
	for _, what := range kinds {
		on := strings.Join(topics[what], ", ")
		if n := len(topics[what]); n > 6 {
			on = fmt.Sprintf("%d topics", n)
		}
		lines = append(lines, fmt.Sprintf("lost: %s (%d messages on %s)", what, messages[what], on))
	}
	return lines
}
