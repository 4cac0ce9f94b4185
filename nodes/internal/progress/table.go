package progress

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tapedeck/codec/text/printable"
)

// Table is text in columns above a line. The first column is aligned left and cut if it is too wide. The others are
// aligned right.
type Table struct {
	Columns []string
	Rows    [][]string // the most important first; rows that do not fit are counted
	Alert   string     // text before Line, or up to maxAlert lines above it if both do not fit into one line
	Line    string     // text below the rows
}

// logRows is the number of terminal lines that a table leaves free for log lines.
const logRows = 4

// maxAlert is the maximum number of lines of an alert.
const maxAlert = 6

// lines returns the lines of the table for a terminal with a size.
func (t *Table) lines(width, height int) []string {
	rows := t.Rows
	room := height - logRows - 2 // without the names of columns and the line
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
		fmt.Fprintf(&b, "%-*s", widths[0], truncate(row[0], widths[0]+1))
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "%*s", gap+widths[i+1], cell)
		}
		list = append(list, truncate(b.String(), width))
	}
	if n := len(t.Rows) - (len(rows) - 1); n > 0 {
		list = append(list, truncate(fmt.Sprintf("and %d more", n), width))
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
		first := truncate(rest, width)
		list, rest = append(list, first), rest[len(first):]
	}
	return append(list, cutLine(line, width))
}

// cutLine shortens the last line to leave room for the ^C that a terminal prints on Ctrl-C. If ^C wrapped, the next
// terminal line would be cleared instead of the last one.
func cutLine(text string, width int) string {
	if width > 1 {
		width = max(width-len("^C"), 2)
	}
	return truncate(text, width)
}

// truncate shortens a text so that it ends before the edge of a terminal. At least one character remains.
func truncate(text string, width int) string {
	if width <= 1 {
		return text
	}
	columns := 0
	for i, r := range text {
		columns++
		if r >= 0x1100 { // may be wide, as Chinese characters are
			columns++
		}
		if columns >= width && i > 0 {
			return text[:i]
		}
	}
	return text
}
