package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/codec/training/episode"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/formats"
)

// shownEvents is the largest number of events that are listed.
const shownEvents = 20

// writeInfoText writes info as text similar to "ros2 bag info" and "rosbag info", with measures unless they are nil.
// order is a value of --sort.
func writeInfoText(w io.Writer, path string, info *codec.Info, measured *measures, order string) error {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(&b, "%-11s %s\n", label, text)
	}
	label := "Files:"
	for _, f := range info.Files {
		name := human.Printable(f.Path)
		if len(info.Files) > 1 {
			name += fmt.Sprintf("  (%s, %s)", human.Bytes(f.Size), human.Count(f.MessageCount, "message"))
		}
		line(label, "%s", name)
		label = ""
	}
	if len(info.Files) == 0 {
		line(label, "%s", human.Printable(path))
	}
	for _, text := range info.Notes {
		line("Note:", "%s", human.Printable(text))
	}
	line("Bag size:", "%s", exactSize(info.Size))
	line("Format:", "%s", info.Format)
	for _, d := range formats.Details(info) {
		line(d.Label, "%s", d.Text)
	}
	episodes, ok := knownEpisodes(info)
	if ok {
		line("Episodes:", "%s", episodeCount(episodes))
		writeEpisodes(&b, episodes)
	}
	line("Duration:", "%s s", human.Seconds(int64(describe.Span(info))))
	if info.MessageCount > 0 {
		line("Start:", "%s", clock(info, info.StartTime))
		line("End:", "%s", clock(info, info.EndTime))
	}
	line("Messages:", "%d", info.MessageCount)
	if n := repeatedMessages(info); measured != nil && n > 0 {
		line("", "%s at the start of files, which repeat latched ones, not counted and not read",
			human.Count(n, "message"))
	}
	if measured != nil {
		line("Payload:", "%s", exactSize(measured.total))
	}
	switch {
	case info.Complete && info.Indexed && measured == nil:
		line("Complete:", "index is complete; contents not checked")
	case info.Complete:
		line("Complete:", "yes")
	case slices.ContainsFunc(info.Events, func(e codec.Event) bool { return e.Kind == codec.EventMissing }):
		line("Complete:", "no, files of it are missing or cannot be read; in a Git clone, 'git lfs pull' gets them")
	case slices.ContainsFunc(info.Events, func(e codec.Event) bool { return e.Kind == "damage" }):
		line("Complete:", "no, it is damaged; 'converter recover %s' saves everything that can be read",
			human.Printable(path))
	default:
		line("Complete:", "no, it was not finished; what is here can be read and played,")
		line("", "'converter recover %s' writes a complete copy of it", human.Printable(path))
	}
	label = "Metadata:"
	for _, text := range metadataLines(info, episodes) {
		line(label, "%s", text)
		label = ""
	}
	label = "Attached:"
	for _, a := range info.Attachments {
		line(label, "%s  (%s, %s)", human.Printable(a.Name), human.Bytes(a.Size),
			human.OrDash(human.Printable(a.MediaType)))
		label = ""
	}
	topics := mergedTopics(info, order)
	line("Topics:", "%d", len(topics))
	if len(topics) > 0 {
		writeTopics(&b, info, topics, measured)
	}
	writeCalls(&b, line, info, measured)
	files, whole := describe.TotalsOf(info)
	if len(files) > 0 {
		line("Recorded:", "%s", totalsText(sum(files)))
	}
	if all := sum(whole); len(whole) > 0 && all != sum(files) {
		line("", "all files of the recording together: %s", totalsText(all))
	}
	if events := eventRows(info.Events); len(events) > 0 {
		line("Events:", "%d", len(events))
		writeEvents(&b, info, events)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// repeatedMessages returns the number of latched messages that the files of a recording repeat.
func repeatedMessages(info *codec.Info) (n uint64) {
	for _, t := range info.Topics {
		n += t.Repeated
	}
	return n
}

// Limits of the shown metadata.
const (
	shownMetadata = 30  // lines
	shownValue    = 200 // characters of a value
	shownDepth    = 3   // levels of JSON objects
)

// knownEpisodes returns the episodes of a recording, also of a recording converted from episodes. The result is false
// if it has none.
func knownEpisodes(info *codec.Info) ([]episode.Summary, bool) {
	d, ok := info.Extra.(episode.Details)
	if !ok {
		ok = json.Unmarshal([]byte(info.Metadata[episode.MetadataKey]), &d) == nil && len(d.Episodes) > 0
	}
	return d.Episodes, ok
}

// metadataLines returns the metadata of a recording and of its episodes as lines "name = value".
func metadataLines(info *codec.Info, episodes []episode.Summary) []string {
	var lines []string
	all := info.AllMetadata()
	if len(episodes) > 0 {
		delete(all, episode.MetadataKey) // shown as episodes
	}
	for _, e := range episodes {
		prefix := ""
		if len(episodes) > 1 {
			prefix = e.Name + "."
		}
		flatten(e.Metadata, prefix, shownDepth, all)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if formats.IsDetail(name) {
			continue
		}
		value := []rune(all[name])
		text := human.Printable(string(value[:min(len(value), shownValue)]))
		if more := len(value) - shownValue; more > 0 {
			text += fmt.Sprintf("... and %s; --json shows all", human.Count(more, "more character"))
		}
		lines = append(lines, human.Printable(name)+" = "+text)
	}
	if more := len(lines) - shownMetadata; more > 0 {
		lines = append(lines[:shownMetadata], fmt.Sprintf("and %d more; --json shows all", more))
	}
	return lines
}

func exactSize(n int64) string {
	if n < 1024 {
		return human.Bytes(n)
	}
	return fmt.Sprintf("%s (%d bytes)", human.Bytes(n), n)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// flatten adds the members of a JSON object to all, by path. Objects below depth levels stay JSON.
func flatten(object json.RawMessage, prefix string, depth int, all map[string]string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return
	}
	for name, value := range members {
		name = prefix + name
		text, compact := "", bytes.Buffer{}
		switch {
		case value[0] == '{' && depth > 1:
			flatten(value, name+".", depth-1, all)
		case value[0] == '"' && json.Unmarshal(value, &text) == nil:
			all[name] = text
		case json.Compact(&compact, value) == nil:
			all[name] = compact.String()
		}
	}
}

// topicRow is a row of the table of topics: the channels of a topic with equal type, encoding and QoS.
type topicRow struct {
	codec.TopicInfo
	qos      string
	channels int // usually 1; in a ROS 1 bag one for each publisher
}

// rowKey identifies a row of the table: topic, type, encoding, QoS. Channels with equal keys share a row.
type rowKey [4]string

func keyOfRow(c *codec.Channel) rowKey { return rowKey{c.Topic, c.Type, c.Encoding, human.QoS(c.QoS)} }

// Values of --sort.
const (
	sortName  = "name"
	sortType  = "type"
	sortCount = "count"
)

// mergedTopics returns the rows of a recording's topics. order is a value of --sort.
func mergedTopics(info *codec.Info, order string) []topicRow {
	var rows []topicRow
	known := map[rowKey]int{}
	for _, t := range describe.SortedTopics(info) {
		row := topicRow{t, human.QoS(t.Channel.QoS), 1}
		key := keyOfRow(t.Channel)
		if i, ok := known[key]; ok {
			rows[i].MessageCount += t.MessageCount
			rows[i].channels++
			continue
		}
		known[key] = len(rows)
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b topicRow) int {
		switch order {
		case sortType:
			return strings.Compare(a.Channel.Type, b.Channel.Type)
		case sortCount:
			return cmp.Compare(a.MessageCount, b.MessageCount)
		}
		return 0
	})
	return rows
}

// writeNames writes the names of topics, one a line.
func writeNames(w io.Writer, rows []topicRow) error {
	var b strings.Builder
	for i, row := range rows {
		if i == 0 || row.Channel.Topic != rows[i-1].Channel.Topic {
			fmt.Fprintln(&b, human.Printable(row.Channel.Topic))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// column is a column of the table of topics.
type column struct {
	title string
	right bool
	cell  func(topicRow) string
}

// latencyText formats the times from stamps to receipt. It returns "-" if the stamps come from a clock with another
// time.
func latencyText(m *measure) string {
	median := time.Duration(m.latencies.Quantile(0.5))
	if m.latencies.Count() == 0 || median.Abs() > time.Hour {
		return "-"
	}
	return fmt.Sprintf("%.3f s, 99 %% %.3f s", median.Seconds(), float64(m.latencies.Quantile(0.99))/1e9)
}

func writeTopics(b *strings.Builder, info *codec.Info, topics []topicRow, measured *measures) {
	totals, _ := describe.TotalsOf(info)
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
	if measured != nil {
		cell := func(text func(*measure) string) func(topicRow) string {
			return func(t topicRow) string { return text(measured.rows[keyOfRow(t.Channel)]) }
		}
		columns = append(columns,
			column{"Bytes", true, cell(func(m *measure) string { return human.Bytes(m.bytes) })},
			column{"Share", true, cell(func(m *measure) string {
				return fmt.Sprintf("%.1f %%", 100*measured.share(m))
			})},
			column{"Worst gap", true, cell(func(m *measure) string {
				if m.gap == 0 {
					return "-"
				}
				return fmt.Sprintf("%.3f s at %.3f s", float64(m.gap)/1e9, float64(m.gapAt-info.StartTime)/1e9)
			})})
		latency := column{"Latency", true, cell(latencyText)}
		if slices.ContainsFunc(topics, func(t topicRow) bool { return latency.cell(t) != "-" }) {
			columns = append(columns, latency)
		}
	}
	columns = append(columns,
		column{"Hz", true, func(t topicRow) string {
			if f := describe.Frequency(info, t.TopicInfo); f > 0 {
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
	human.Table(b, rows, right)
}

// Limits of the numbers of shown episodes.
const (
	detailedEpisodes = 3 // with all their streams
	shownEpisodes    = 50
)

// discarded is the word for an episode with Discarded set.
const discarded = "discarded"

// episodeCount returns a text such as "12, 3 of them discarded".
func episodeCount(list []episode.Summary) string {
	n := 0
	for _, e := range list {
		if e.Discarded {
			n++
		}
	}
	text := strconv.Itoa(len(list))
	if n > 0 {
		text += fmt.Sprintf(", %d of them %s", n, discarded)
	}
	return text
}

// writeEpisodes writes a table for each of a few episodes, or a line for each of many.
func writeEpisodes(b *strings.Builder, list []episode.Summary) {
	if len(list) == 0 {
		return
	}
	if len(list) > detailedEpisodes {
		writeManyEpisodes(b, list)
		return
	}
	for i, e := range list {
		b.WriteString("  ")
		if len(list) > 1 {
			fmt.Fprintf(b, "%d ", i)
		}
		fmt.Fprintf(b, "%s: %.3f s", human.Printable(e.Name), e.Duration)
		if e.Task != "" {
			fmt.Fprintf(b, ", %s", human.Printable(e.Task))
		}
		if e.Success != nil {
			fmt.Fprintf(b, ", success: %v", *e.Success)
		}
		if e.Discarded {
			b.WriteString(", " + discarded)
		}
		b.WriteByte('\n')
		rows := [][]string{{"  stream", "count", "rate", "gaps", "longest", "unit", "columns"}}
		for _, s := range append(e.Cameras[:len(e.Cameras):len(e.Cameras)], e.Streams...) {
			rows = append(rows, []string{"  " + human.Printable(s.Name), fmt.Sprint(s.Count), rate(s.Rate),
				fmt.Sprint(s.Gaps), fmt.Sprintf("%.3f s", s.LongestGap), human.OrDash(s.Unit),
				human.OrDash(strings.Join(s.Columns, " "))})
		}
		human.Table(b, rows, map[int]bool{1: true, 2: true, 3: true, 4: true})
	}
}

func writeManyEpisodes(b *strings.Builder, list []episode.Summary) {
	rows := [][]string{{"number", "episode", "duration", "frames", "slowest camera", "gaps", "longest", "task"}}
	for i, e := range list[:min(len(list), shownEpisodes)] {
		frames, gaps, longest, slowest := 0, 0, 0.0, 0.0
		for k, c := range e.Cameras {
			frames += c.Count
			if k == 0 || c.Rate < slowest {
				slowest = c.Rate
			}
		}
		for _, s := range append(e.Cameras[:len(e.Cameras):len(e.Cameras)], e.Streams...) {
			gaps += s.Gaps
			longest = max(longest, s.LongestGap)
		}
		rows = append(rows, []string{strconv.Itoa(i), human.Printable(e.Name), fmt.Sprintf("%.3f s", e.Duration),
			fmt.Sprint(frames),
			rate(slowest), fmt.Sprint(gaps), fmt.Sprintf("%.3f s", longest), human.OrDash(e.Task)})
		if e.Discarded {
			rows[len(rows)-1][1] += " (" + discarded + ")"
		}
	}
	human.Table(b, rows, map[int]bool{0: true, 2: true, 3: true, 4: true, 5: true, 6: true})
	if n := len(list) - shownEpisodes; n > 0 {
		fmt.Fprintf(b, "  and %d more; --json shows all\n", n)
	}
}

// rate formats a frequency.
func rate(hz float64) string {
	if hz == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f Hz", hz)
}
