package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/internal/human"
)

// topicRow is a row of the table: the channels of a topic that have the same type, encoding and QoS.
type topicRow struct {
	codec.TopicInfo
	qos      string
	channels int // usually 1; in a ROS 1 bag one per publisher
}

// mergedTopics returns the rows of a recording's topics, in the order of their names.
func mergedTopics(info *codec.Info) []topicRow {
	var rows []topicRow
	known := map[[4]string]int{}
	for _, t := range sortedTopics(info) {
		row := topicRow{t, shortQoS(t.Channel.QoS), 1}
		key := [4]string{t.Channel.Topic, t.Channel.Type, t.Channel.Encoding, row.qos}
		if i, ok := known[key]; ok {
			rows[i].MessageCount += t.MessageCount
			rows[i].channels++
			continue
		}
		known[key] = len(rows)
		rows = append(rows, row)
	}
	return rows
}

// column is a column of the table of topics.
type column struct {
	title string
	right bool
	cell  func(topicRow) string
}

func writeTopics(b *strings.Builder, info *codec.Info, topics []topicRow) {
	totals, _ := totalsOf(info)
	total := func(n func(codec.Totals) uint64) func(topicRow) string {
		return func(t topicRow) string {
			if all, ok := totals[t.Channel.Topic]; ok {
				return number(n(all))
			}
			return "-"
		}
	}
	columns := []column{
		{"Topic", false, func(t topicRow) string { return human.OrDash(t.Channel.Topic) }},
		{"Type", false, func(t topicRow) string { return human.OrDash(t.Channel.Type) }},
		{"Count", true, func(t topicRow) string { return number(t.MessageCount) }},
	}
	if slices.ContainsFunc(topics, func(t topicRow) bool { return t.channels > 1 }) {
		columns = append(columns, column{"Channels", true, func(t topicRow) string { return strconv.Itoa(t.channels) }})
	}
	if len(totals) > 0 {
		columns = append(columns,
			column{"Received", true, total(func(t codec.Totals) uint64 { return t.Received })},
			column{"Written", true, total(func(t codec.Totals) uint64 { return t.Written })},
			column{"Dropped", true, total(func(t codec.Totals) uint64 { return t.Dropped })},
			column{"Lost", true, total(func(t codec.Totals) uint64 { return t.Lost })})
	}
	columns = append(columns,
		column{"Hz", true, func(t topicRow) string {
			if f := frequency(info, t.TopicInfo); f > 0 {
				return strconv.FormatFloat(f, 'f', 2, 64)
			}
			return "-"
		}},
		column{"Encoding", false, func(t topicRow) string { return human.OrDash(t.Channel.Encoding) }})
	if slices.ContainsFunc(topics, func(t topicRow) bool { return len(t.Channel.QoS) > 0 }) {
		columns = append(columns, column{"QoS", false, func(t topicRow) string { return t.qos }})
	}
	rows, right := make([][]string, 1+len(topics)), map[int]bool{}
	for i, c := range columns {
		right[i] = c.right
		rows[0] = append(rows[0], c.title)
		for n, t := range topics {
			rows[n+1] = append(rows[n+1], c.cell(t))
		}
	}
	writeTable(b, rows, right)
}

// shortQoS formats QoS profiles: "reliable volatile keep_last(10)", and other policies unless they have their default.
func shortQoS(profiles []codec.QoS) string {
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
	return human.OrDash(strings.Join(texts, " + "))
}
