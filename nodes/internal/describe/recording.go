// Package describe describes recordings in JSON, as 'converter info --json' prints it.
package describe

import (
	"math"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

type (
	// Recording is the JSON form of codec.Info. Times are in ns since the Unix epoch, durations in s.
	Recording struct {
		Format       string            `json:"format"`
		Path         string            `json:"path"`
		Files        []File            `json:"files"`
		Size         int64             `json:"size"`
		MessageCount uint64            `json:"message_count"`
		Bytes        *int64            `json:"payload_bytes,omitempty"` // only with --verbose
		StartTime    int64             `json:"start_time"`
		EndTime      int64             `json:"end_time"`
		Duration     float64           `json:"duration"`
		Complete     bool              `json:"complete"`
		Checked      bool              `json:"contents_checked"`
		Topics       []Topic           `json:"topics"`
		Services     []Service         `json:"services,omitempty"`
		Actions      []Action          `json:"actions,omitempty"`
		Events       []Event           `json:"events"`
		Metadata     map[string]string `json:"metadata,omitempty"`
		Attachments  []Attachment      `json:"attachments,omitempty"`
		Notes        []string          `json:"notes,omitempty"` // for example, which files were not read
		Extra        any               `json:"extra,omitempty"`
	}
	// Attachment describes an attachment; its size is in bytes.
	Attachment struct {
		Name       string `json:"name"`
		MediaType  string `json:"media_type"`
		Size       int64  `json:"size"`
		LogTime    int64  `json:"log_time"`
		CreateTime int64  `json:"create_time"`
	}
	// File describes a file of a recording; its size is in bytes.
	File struct {
		Path         string `json:"path"`
		Size         int64  `json:"size"`
		MessageCount uint64 `json:"message_count"`
		StartTime    int64  `json:"start_time"`
		EndTime      int64  `json:"end_time"`
	}
	// Topic describes a topic. QoS has the form of rosbag2's override files. Share is relative to the bytes of all
	// topics. Frequency is in Hz.
	Topic struct {
		Name         string            `json:"name"`
		Type         string            `json:"type"`
		Encoding     string            `json:"encoding"`
		MessageCount uint64            `json:"message_count"`
		Repeated     uint64            `json:"repeated,omitempty"` // repeated latched messages, not counted
		Bytes        *int64            `json:"bytes,omitempty"`
		Share        *float64          `json:"share,omitempty"`
		WorstGap     *Gap              `json:"worst_gap,omitempty"`
		Latency      *Latency          `json:"latency,omitempty"`
		Totals       *Totals           `json:"totals,omitempty"`
		Frequency    float64           `json:"frequency"`
		QoS          []human.QoSJSON   `json:"qos"`
		TypeHash     string            `json:"type_hash,omitempty"`
		Schema       string            `json:"schema_encoding,omitempty"`
		Metadata     map[string]string `json:"metadata,omitempty"`
	}
	// Gap is the longest time between two messages of a topic. Time is the first message's.
	Gap struct {
		Time     int64   `json:"time"`
		Duration float64 `json:"duration"`
	}
	// Latency has times from stamp to receipt in s.
	Latency struct {
		Median float64 `json:"median"`
		Most   float64 `json:"p99"`
	}
	// Totals has the recorder's counts for the files that were read.
	Totals struct {
		Received uint64 `json:"received"`
		Written  uint64 `json:"written"`
		Dropped  uint64 `json:"dropped"`
		Lost     uint64 `json:"lost"`
	}
	// Event is an event of the recording. Until is its end, if it lasted.
	Event struct {
		Kind  string `json:"kind"`
		Topic string `json:"topic,omitempty"`
		Time  int64  `json:"time,omitempty"`
		Until int64  `json:"until,omitempty"`
		Count uint64 `json:"count,omitempty"`
		Text  string `json:"text"`
	}
)

// New describes a recording. count, which may be nil, counts calls in recorded events.
func New(info *codec.Info, count Counter) *Recording {
	out := &Recording{
		Format: info.Format, Path: info.Path, Files: []File{}, Size: info.Size, MessageCount: info.MessageCount,
		StartTime: info.StartTime, EndTime: info.EndTime, Duration: Span(info).Seconds(), Complete: info.Complete,
		Topics: []Topic{}, Events: []Event{}, Metadata: info.AllMetadata(), Extra: info.Extra,
		Notes: info.Notes,
	}
	for _, a := range info.Attachments {
		out.Attachments = append(out.Attachments, Attachment{a.Name, a.MediaType, a.Size, a.LogTime, a.CreateTime})
	}
	for _, f := range info.Files {
		out.Files = append(out.Files, File(f))
	}
	totals, _ := TotalsOf(info)
	for _, t := range SortedTopics(info) {
		c := t.Channel
		topic := Topic{
			Name: c.Topic, Type: c.Type, Encoding: c.Encoding, MessageCount: t.MessageCount,
			Repeated:  t.Repeated,
			Frequency: Frequency(info, t), QoS: human.NewQoSJSON(c.QoS), TypeHash: c.TypeHash,
			Schema: c.Schema.Encoding, Metadata: c.Metadata,
		}
		if t, ok := totals[c.Topic]; ok {
			counted := Totals(t)
			topic.Totals = &counted
		}
		out.Topics = append(out.Topics, topic)
	}
	out.Services, out.Actions = Calls(info, count)
	for _, e := range info.Events {
		out.Events = append(out.Events, Event(e))
	}
	return out
}

// Frequency returns messages per second, 0 if unknown.
func Frequency(info *codec.Info, t codec.TopicInfo) float64 {
	d := Span(info).Seconds()
	if d == 0 || t.MessageCount < 2 {
		return 0
	}
	return float64(t.MessageCount) / d
}

// SortedTopics returns the topics of a recording, sorted by name.
func SortedTopics(info *codec.Info) []codec.TopicInfo {
	topics := slices.Clone(info.Topics)
	slices.SortStableFunc(topics, func(a, b codec.TopicInfo) int {
		return strings.Compare(a.Channel.Topic, b.Channel.Topic)
	})
	return topics
}

// TotalsOf returns the recorder's counts by topic: of the files that were read, and of the whole recording if they are
// known.
func TotalsOf(info *codec.Info) (files, whole map[string]codec.Totals) {
	files, whole = map[string]codec.Totals{}, map[string]codec.Totals{}
	for _, e := range info.Events {
		t, all, ok := codec.ParseTotals(e)
		if !ok {
			continue
		}
		if all {
			whole[e.Topic] = t
		} else {
			files[e.Topic] = files[e.Topic].Plus(t)
		}
	}
	return files, whole
}

// Span returns the duration of a recording, 0 if it is empty.
func Span(info *codec.Info) time.Duration {
	if info.EndTime <= info.StartTime {
		return 0
	}
	d := info.EndTime - info.StartTime
	if d < 0 { // more than 292 years, from damaged times
		return math.MaxInt64
	}
	return time.Duration(d)
}
