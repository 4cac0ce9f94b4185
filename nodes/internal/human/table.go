package human

import (
	"strings"
	"unicode/utf8"
)

// Table writes rows in aligned columns; those in right are aligned to the right.
func Table(b *strings.Builder, rows [][]string, right map[int]bool) {
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
