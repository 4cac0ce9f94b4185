package human

import (
	"fmt"
	"strings"
	"time"

	"tapedeck/codec"
)

// QoS returns QoS profiles as text: "reliable volatile keep_last(10)", followed by other policies that are not the
// default.
func QoS(profiles []codec.QoS) string {
	var texts []string
	for _, q := range profiles {
		text := fmt.Sprintf("%s %s %s", q.Reliability, q.Durability, q.History)
		if q.History == codec.KeepLast {
			text += fmt.Sprintf("(%d)", q.Depth)
		}
		for _, d := range []struct {
			name  string
			value time.Duration
		}{{"deadline", q.Deadline}, {"lifespan", q.Lifespan}, {"lease", q.LivelinessLease}} {
			if d.value != codec.Infinite && d.value != 0 {
				text += fmt.Sprintf(" %s %v", d.name, d.value)
			}
		}
		if q.Liveliness == codec.ManualByTopic {
			text += " " + string(q.Liveliness)
		}
		texts = append(texts, text)
	}
	return OrDash(strings.Join(texts, " + "))
}

// QoSJSON is a QoS profile for JSON, with the names of rosbag2.
type QoSJSON struct {
	History         codec.History     `json:"history"`
	Depth           int               `json:"depth"`
	Reliability     codec.Reliability `json:"reliability"`
	Durability      codec.Durability  `json:"durability"`
	Deadline        durationJSON      `json:"deadline"`
	Lifespan        durationJSON      `json:"lifespan"`
	Liveliness      codec.Liveliness  `json:"liveliness"`
	LivelinessLease durationJSON      `json:"liveliness_lease_duration"`
}

type durationJSON struct {
	Sec  int64 `json:"sec"`
	Nsec int64 `json:"nsec"`
}

// NewQoSJSON converts QoS profiles for JSON.
func NewQoSJSON(profiles []codec.QoS) []QoSJSON {
	duration := func(d time.Duration) durationJSON {
		return durationJSON{int64(d / time.Second), int64(d % time.Second)}
	}
	list := []QoSJSON{}
	for _, q := range profiles {
		list = append(list, QoSJSON{q.History, q.Depth, q.Reliability, q.Durability, duration(q.Deadline),
			duration(q.Lifespan), q.Liveliness, duration(q.LivelinessLease)})
	}
	return list
}
