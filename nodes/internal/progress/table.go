package progress

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tapedeck/codec/text/printable"
)

// Table is text in columns above a line. The first column is aligned to the left and cut if it is too wide; the others
// are aligned to the right.
type Table struct {
	Columns []string
	Rows    [][]string // the most important first; those that do not fit are left out and counted
	Alert   string     // before Line; in up to maxAlert lines of its own where both do not fit into one
	Line    string     // below the rows
}

// leftAlone is how many rows of a terminal a table leaves free for log lines.
const leftAlone = 4

// maxAlert is the most lines of an alert.
const maxAlert = 6

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
	rows = append([][]string{t.Columns}, rows...)
	for i, row := range rows {
		rows[i] = slices.Clone(row)
		for j, cell := range row {
			rows[i][j] = printable.Name(cell)
		}
	}
	widths := make([]int, len(t.Columns))
	for _, row := range rows {
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
	for _, row := range rows {
		var b strings.Builder
		fmt.Fprintf(&b, "%-*s", widths[0], cut(row[0], widths[0]+1))
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "%*s", gap+widths[i+1], cell)
		}
		list = append(list, cut(b.String(), width))
	}
	if n := len(t.Rows) - (len(rows) - 1); n > 0 {
		list = append(list, cut(fmt.Sprintf("and %d more", n), width))
	}
	return append(list, t.below(width)...)
}

// below returns the lines below the rows.
func (t *Table) below(width int) (list []string) {
	line, alert := printable.Line(t.Line), printable.Line(t.Alert)
	if alert == "" {
		return []string{cutLine(line, width)}
	}
	if both := alert + ", " + line; cutLine(both, width) == both {
		return []string{both}
	}
	for rest := alert; rest != "" && len(list) < maxAlert; {
		first := cut(rest, width)
		list, rest = append(list, first), rest[len(first):]
	}
	return append(list, cutLine(line, width))
}

// cutLine shortens the last line so that it leaves room for the ^C that a terminal prints behind it on Ctrl-C: if that
// wrapped, the next terminal line would be cleared instead of this one.
func cutLine(text string, width int) string {
	if width > 1 {
		width = max(width-len("^C"), 2)
	}
	return cut(text, width)
}

// cut shortens a text so that it does not reach the edge of a terminal. Its first character always stays.
func cut(text string, width int) string {
	if width <= 1 {
		return text
	}
	columns := 0
	for i, r := range text {
		columns++
		if r >= 0x1100 { // may be wide, as those of Chinese
			columns++
		}
		if columns >= width && i > 0 {
			return text[:i]
		}
	}
	return text
}
