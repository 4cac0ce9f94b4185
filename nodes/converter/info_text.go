package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tapedeck/codec"
	"tapedeck/codec/episode"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
)

// shownEvents is the most events that are listed.
const shownEvents = 20

// writeInfoText writes info as text, similar to "ros2 bag info" and "rosbag info".
func writeInfoText(w io.Writer, path string, info *codec.Info) error {
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
	line("Bag size:", "%s", exactSize(info.Size))
	line("Format:", "%s", info.Format)
	for _, d := range formats.Details(info) {
		line(d.Label, "%s", d.Text)
	}
	if e, ok := info.Extra.(episode.Details); ok {
		line("Episodes:", "%d", len(e.Episodes))
		writeEpisodes(&b, e.Episodes)
	}
	line("Duration:", "%s s", human.Seconds(int64(span(info))))
	if info.MessageCount > 0 {
		line("Start:", "%s", human.Clock(info.StartTime))
		line("End:", "%s", human.Clock(info.EndTime))
	}
	line("Messages:", "%d", info.MessageCount)
	switch {
	case info.Complete:
		line("Complete:", "yes")
	case slices.ContainsFunc(info.Events, func(e codec.Event) bool { return e.Kind == "damage" }):
		line("Complete:", "no, it is damaged; 'converter recover %s' saves everything that can be read",
			human.Printable(path))
	default:
		line("Complete:", "no, it was not finished; what is here can be read and played,")
		line("", "'converter recover %s' writes a complete copy of it", human.Printable(path))
	}
	topics := mergedTopics(info)
	line("Topics:", "%d", len(topics))
	if len(topics) > 0 {
		writeTopics(&b, info, topics)
	}
	files, whole := totalsOf(info)
	if len(files) > 0 {
		line("Recorded:", "%s", totalsText(sum(files)))
	}
	if all := sum(whole); len(whole) > 0 && all != sum(files) {
		line("", "all files of the recording together: %s", totalsText(all))
	}
	if events := eventRows(info.Events); len(events) > 0 {
		line("Events:", "%d", len(events))
		writeEvents(&b, events)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func exactSize(n int64) string {
	if n < 1024 {
		return human.Bytes(n)
	}
	return fmt.Sprintf("%s (%d bytes)", human.Bytes(n), n)
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
