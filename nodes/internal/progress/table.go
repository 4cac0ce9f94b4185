package progress

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Table is text in columns above a line. The first column is aligned to the left and cut if it is too wide; the others
// are aligned to the right.
type Table struct {
	Columns []string
	Rows    [][]string // the most important first; those that do not fit are left out and counted
	Alert   string     // before Line, never cut: in lines of its own where both do not fit into one
	Line    string     // below the rows
}

// leftAlone is how many rows of a terminal a table leaves free for log lines.
const leftAlone = 4

// echo is what a terminal prints behind the line on Ctrl-C. It must not wrap, or the next terminal line would be
// cleared instead of this one.
const echo = "^C"

// lines returns the table for a terminal of that size.
func (t *Table) lines(width, height int) []string {
	rows := t.Rows
	room := height - leftAlone - 2 // beside the columns' names and the line
	if len(rows) == 0 || room < 1 {
		return t.below(width)
	}
	if len(rows) > room {
		rows = rows[:room-1]
	}
	widths := make([]int, len(t.Columns))
	for _, row := range append([][]string{t.Columns}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	const gap = 2
	others := 0
	for _, w := range widths[1:] {
		others += gap + w
	}
	widths[0] = max(min(widths[0], width-1-others), 8)
	var list []string
	for _, row := range append([][]string{t.Columns}, rows...) {
		var b strings.Builder
		fmt.Fprintf(&b, "%-*s", widths[0], cut(row[0], widths[0]+1))
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "%*s", gap+widths[i+1], cell)
		}
		list = append(list, cut(b.String(), width))
	}
	if n := len(t.Rows) - len(rows); n > 0 {
		list = append(list, cut(fmt.Sprintf("and %d more", n), width))
	}
	return append(list, t.below(width)...)
}

// below returns the lines below the rows.
func (t *Table) below(width int) (list []string) {
	if t.Alert == "" {
		return []string{cutLine(t.Line, width)}
	}
	if line := t.Alert + ", " + t.Line; cutLine(line, width) == line {
		return []string{line}
	}
	for rest := []rune(t.Alert); len(rest) > 0; {
		n := len(rest)
		if width > 1 {
			n = min(n, width-1)
		}
		list, rest = append(list, string(rest[:n])), rest[n:]
	}
	return append(list, cutLine(t.Line, width))
}

// cutLine shortens the last line so that it leaves room for echo.
func cutLine(text string, width int) string {
	if width > 1 {
		width = max(width-len(echo), 2)
	}
	return cut(text, width)
}

// cut shortens a text so that it does not reach the edge of a terminal.
func cut(text string, width int) string {
	if runes := []rune(text); width > 1 && len(runes) >= width {
		return string(runes[:width-1])
	}
	return text
}
