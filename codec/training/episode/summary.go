package episode

import (
	"encoding/json"
	"slices"
	"time"
)

// Summary describes an Episode.
type Summary struct {
	Name      string                     `json:"name"`
	Task      string                     `json:"task,omitempty"`
	Success   *bool                      `json:"success,omitempty"`
	Discarded bool                       `json:"discarded,omitempty"`
	Start     int64                      `json:"start_time"` // ns since the Unix epoch, of the first sample
	End       int64                      `json:"end_time"`   // ns since the Unix epoch, of the last sample
	Duration  float64                    `json:"duration"`   // s
	Cameras   []StreamSummary            `json:"cameras"`
	Streams   []StreamSummary            `json:"streams"`
	Devices   map[string]json.RawMessage `json:"devices,omitempty"`
	Metadata  json.RawMessage            `json:"metadata,omitempty"`
}

// StreamSummary describes the samples of a stream.
type StreamSummary struct {
	Name       string   `json:"name"`
	Topic      string   `json:"topic,omitempty"`
	Columns    []string `json:"columns,omitempty"`
	Unit       string   `json:"unit,omitempty"` // of all columns; "": different units, or none
	Count      int      `json:"count"`
	Rate       float64  `json:"rate"`        // Hz, from the median period; 0 with fewer than two samples
	Gaps       int      `json:"gaps"`        // distances of two samples that are longer than five periods and 100 ms
	LongestGap float64  `json:"longest_gap"` // s between two samples
}

// Summarize describes e.
func Summarize(e *Episode) Summary {
	s := Summary{Name: e.Name, Task: e.Task, Success: e.Success, Discarded: e.Discarded,
		Devices: e.Devices(), Metadata: e.Metadata}
	first := true
	summarize := func(name, topic string, stamps []int64) StreamSummary {
		t := StreamSummary{Name: name, Topic: topic, Count: len(stamps)}
		if len(stamps) == 0 {
			return t
		}
		_, stamps = order(stamps)
		last := stamps[len(stamps)-1]
		if first {
			s.Start, s.End, first = stamps[0], last, false
		}
		s.Start, s.End = min(s.Start, stamps[0]), max(s.End, last)
		steps := make([]time.Duration, len(stamps)-1)
		for i := range steps {
			steps[i] = time.Duration(stamps[i+1] - stamps[i])
		}
		slices.Sort(steps)
		if n := len(steps); n > 0 {
			period := steps[(n-1)/2]
			if period > 0 {
				t.Rate = 1 / period.Seconds()
			}
			t.LongestGap = steps[n-1].Seconds()
			for _, step := range steps {
				if step > 100*time.Millisecond && step/5 > period {
					t.Gaps++
				}
			}
		}
		return t
	}
	for _, c := range e.Cameras {
		s.Cameras = append(s.Cameras, summarize(c.Name, c.Topic, c.Stamps))
	}
	for _, a := range e.Arms {
		for role, v := range a.Streams {
			if absent(v) {
				continue
			}
			t := summarize(v.Name, v.Topic, v.Stamps)
			t.Unit = unitOf(Role(role), v)
			for _, c := range v.Columns {
				t.Columns = append(t.Columns, c.Name)
			}
			s.Streams = append(s.Streams, t)
		}
	}
	s.Duration = time.Duration(s.End - s.Start).Seconds()
	return s
}
