package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tapedeck/codec"
)

// shownEvents is how many events of a recording its text form lists.
const shownEvents = 20

// writeInfoText writes info as people read it, much as "ros2 bag info" and "rosbag info" do.
func writeInfoText(w io.Writer, path string, info *codec.Info) error {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(&b, "%-11s %s\n", label, text)
	}
	label := "Files:"
	for _, f := range info.Files {
		name := printable(f.Path)
		if len(info.Files) > 1 {
			name += fmt.Sprintf("  (%s, %s)", size(f.Size), count(f.MessageCount, "message"))
		}
		line(label, "%s", name)
		label = ""
	}
	if len(info.Files) == 0 {
		line(label, "%s", printable(path))
	}
	line("Bag size:", "%s", exactSize(info.Size))
	line("Format:", "%s", info.Format)
	for _, d := range details(info) {
		line(d.label, "%s", d.text)
	}
	line("Duration:", "%s s", seconds(int64(span(info))))
	if info.MessageCount > 0 {
		line("Start:", "%s", clock(info.StartTime))
		line("End:", "%s", clock(info.EndTime))
	}
	line("Messages:", "%d", info.MessageCount)
	switch {
	case info.Complete:
		line("Complete:", "yes")
	case slices.ContainsFunc(info.Events, func(e codec.Event) bool { return e.Kind == "damage" }):
		line("Complete:", "no, it is damaged; 'converter recover %s' saves everything that can be read", printable(path))
	default:
		line("Complete:", "no, it was not finished; what is here can be read and played,")
		line("", "'converter recover %s' writes a complete copy of it", printable(path))
	}
	line("Topics:", "%d", len(info.Topics))
	if len(info.Topics) > 0 {
		writeTopics(&b, info)
	}
	files, whole := totalsOf(info)
	if len(files) > 0 {
		line("Recorded:", "%s", totalsText(sum(files)))
	}
	if all := sum(whole); len(whole) > 0 && all != sum(files) {
		line("", "all files of the recording together: %s", totalsText(all))
	}
	if events := happenings(info.Events); len(events) > 0 {
		line("Events:", "%d", len(events))
		writeEvents(&b, events)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func exactSize(n int64) string {
	if n < 1024 {
		return size(n)
	}
	return fmt.Sprintf("%s (%d bytes)", size(n), n)
}

func writeTopics(b *strings.Builder, info *codec.Info) {
	rows := [][]string{{"Topic", "Type", "Count", "Hz", "Encoding", "QoS"}}
	right := map[int]bool{2: true, 3: true}
	totals, _ := totalsOf(info)
	if len(totals) > 0 {
		rows[0] = slices.Insert(rows[0], 3, "Received", "Written", "Dropped", "Lost")
		right = map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true}
	}
	anyQoS := false
	for _, t := range sortedTopics(info) {
		c := t.Channel
		hz := "-"
		if f := frequency(info, t); f > 0 {
			hz = strconv.FormatFloat(f, 'f', 2, 64)
		}
		rows = append(rows, []string{
			orDash(c.Topic), orDash(c.Type), number(t.MessageCount), hz, orDash(c.Encoding), shortQoS(c.QoS),
		})
		if t, ok := totals[c.Topic]; ok {
			rows[len(rows)-1] = slices.Insert(rows[len(rows)-1], 3, number(t.Received), number(t.Written), number(t.Dropped), number(t.Lost))
		} else if len(totals) > 0 {
			rows[len(rows)-1] = slices.Insert(rows[len(rows)-1], 3, "-", "-", "-", "-")
		}
		anyQoS = anyQoS || len(c.QoS) > 0
	}
	if !anyQoS {
		for i := range rows {
			rows[i] = rows[i][:len(rows[i])-1]
		}
	}
	writeTable(b, rows, right)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// writeTable writes rows in aligned columns; those in right are aligned to the right.
func writeTable(b *strings.Builder, rows [][]string, right map[int]bool) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case right[i]:
				b.WriteString("  " + pad + cell)
			case i == len(row)-1:
				b.WriteString("  " + cell)
			default:
				b.WriteString("  " + cell + pad)
			}
		}
		b.WriteByte('\n')
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s)
}

// shortQoS writes offered profiles in short: "reliable volatile keep_last(10)"; what is at its default beyond these three is
// left out.
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
	return orDash(strings.Join(texts, " + "))
}
