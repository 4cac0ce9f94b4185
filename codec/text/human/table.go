package human

import (
	"strings"
	"unicode/utf8"
)

// widest is the largest width of a column, in characters. A longer cell juts out and does not widen the other rows.
const widest = 120

// Table writes rows in aligned columns. The columns in right are aligned to the right.
func Table(b *strings.Builder, rows [][]string, right map[int]bool) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = min(max(widths[i], utf8.RuneCountInString(cell)), widest)
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
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
