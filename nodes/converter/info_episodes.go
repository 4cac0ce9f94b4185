package main

import (
	"fmt"
	"strings"

	"tapedeck/codec/episode"
	"tapedeck/nodes/internal/human"
)

// The most episodes that are shown with all their streams, and that are shown at all.
const (
	detailedEpisodes = 3
	shownEpisodes    = 50
)

// writeEpisodes writes a table for each of a few episodes, or a line for each of many.
func writeEpisodes(b *strings.Builder, list []episode.Summary) {
	if len(list) == 0 {
		return
	}
	if len(list) > detailedEpisodes {
		writeManyEpisodes(b, list)
		return
	}
	for _, e := range list {
		fmt.Fprintf(b, "  %s: %.3f s", human.Printable(e.Name), e.Duration)
		if e.Task != "" {
			fmt.Fprintf(b, ", %s", human.Printable(e.Task))
		}
		if e.Success != nil {
			fmt.Fprintf(b, ", success: %v", *e.Success)
		}
		b.WriteByte('\n')
		rows := [][]string{{"  stream", "count", "rate", "gaps", "longest", "columns"}}
		for _, s := range append(e.Cameras[:len(e.Cameras):len(e.Cameras)], e.Streams...) {
			rows = append(rows, []string{"  " + human.Printable(s.Name), fmt.Sprint(s.Count), rate(s.Rate),
				fmt.Sprint(s.Gaps), fmt.Sprintf("%.3f s", s.LongestGap), human.OrDash(strings.Join(s.Columns, " "))})
		}
		writeTable(b, rows, map[int]bool{1: true, 2: true, 3: true, 4: true})
	}
}

func writeManyEpisodes(b *strings.Builder, list []episode.Summary) {
	rows := [][]string{{"episode", "duration", "frames", "slowest camera", "gaps", "longest", "task"}}
	for _, e := range list[:min(len(list), shownEpisodes)] {
		frames, gaps, longest, slowest := 0, 0, 0.0, 0.0
		for i, c := range e.Cameras {
			frames += c.Count
			if i == 0 || c.Rate < slowest {
				slowest = c.Rate
			}
		}
		for _, s := range append(e.Cameras[:len(e.Cameras):len(e.Cameras)], e.Streams...) {
			gaps += s.Gaps
			longest = max(longest, s.LongestGap)
		}
		rows = append(rows, []string{human.Printable(e.Name), fmt.Sprintf("%.3f s", e.Duration), fmt.Sprint(frames),
			rate(slowest), fmt.Sprint(gaps), fmt.Sprintf("%.3f s", longest), human.OrDash(e.Task)})
	}
	writeTable(b, rows, map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true})
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
