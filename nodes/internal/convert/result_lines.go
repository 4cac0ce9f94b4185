package convert

import (
	"fmt"
	"slices"
	"strings"

	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
)

// Lines returns printable lines about the written recording and the losses. If verbose, each loss has a line.
func (r *Result) Lines(verbose bool) []string {
	if r.Episodes != nil {
		return r.episodeLines(verbose)
	}
	speed := int64(float64(r.Bytes) / max(r.Took.Seconds(), 1e-9))
	lines := []string{fmt.Sprintf("%s: %s, %s, %s of payload, %s s; written in %.3f s (%s/s)", r.Path,
		human.Count(r.Messages, "message"),
		human.Count(r.Topics, "topic"), human.Bytes(r.Bytes), human.Seconds(r.End-r.Start), r.Took.Seconds(),
		human.Bytes(speed))}
	if len(r.Files) > 1 {
		lines[0] += ", " + human.Count(len(r.Files), "file")
	}
	if r.Throttled.Messages > 0 {
		lines = append(lines, "left out: "+r.Throttled.String())
	}
	lines = append(lines, r.skippedLines()...)
	if r.Repeated.Messages > 0 {
		lines = append(lines, "repeated: "+r.Repeated.String())
	}
	return printableLines(append(lines, r.lossLines(verbose)...))
}

// printableLines escapes each text to one printable line.
func printableLines(lines []string) []string {
	for i := range lines {
		lines[i] = printable.Line(lines[i])
	}
	return lines
}

// episodeLines returns lines about the written episodes.
func (r *Result) episodeLines(verbose bool) []string {
	episodes, frames, rows, aligned := 0, 0, 0, false
	var lines []string
	for _, e := range r.Episodes {
		what := fmt.Sprintf("%s: %s s, %s", human.Printable(e.Name), human.Seconds(e.End-e.Start),
			human.Count(e.Frames, "frame"))
		if e.Report == nil {
			episodes, frames = episodes+1, frames+e.Frames
		} else {
			aligned = true
			episodes, frames, rows = episodes+e.Report.Episodes(), frames+e.Report.Frames(), rows+e.Report.Written()
			what += "; " + strings.TrimRight(e.Report.String(), "\n")
			if verbose {
				for _, line := range e.Report.DroppedTimes() {
					what += "\n  " + line
				}
			}
		}
		lines = append(lines, strings.Split(what, "\n")...)
	}
	total := fmt.Sprintf("%s: %s, %s", r.Path, human.Count(episodes, "episode"), human.Count(frames, "frame"))
	if aligned {
		total += ", " + human.Count(rows, "row")
	}
	lines = append(lines, fmt.Sprintf("%s; written in %.3f s", total, r.Took.Seconds()))
	skipped := r.skippedLines()
	for i := range skipped {
		skipped[i] += fmt.Sprintf("; the output has episodes 0 to %d", episodes-1)
	}
	return printableLines(slices.Concat(lines, skipped, r.lossLines(verbose)))
}

// skippedLines returns a line about episodes that were not selected.
func (r *Result) skippedLines() []string {
	if r.SkippedEpisodes == "" {
		return nil
	}
	return []string{"left out: " + r.SkippedEpisodes}
}

// lossLines returns lines about losses, and about data for which a format without messages has no place.
func (r *Result) lossLines(verbose bool) (lines []string) {
	if !verbose {
		lines = r.LossSummary()
	} else {
		for _, loss := range r.Losses {
			lines = append(lines, loss.String())
		}
	}
	for i := range lines {
		lines[i] = "lost: " + lines[i]
	}
	if !verbose && len(r.Unplaced) > 0 {
		return append(lines, "left out: "+r.UnplacedSummary())
	}
	for _, loss := range r.Unplaced {
		lines = append(lines, "left out: "+loss.String())
	}
	return lines
}
