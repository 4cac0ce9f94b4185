package human

import (
	"slices"
	"strings"
)

// Near returns up to three of names that may have been meant by name, the nearest first.
func Near(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	if len(name) > 1000 { // nobody typed it
		return nil
	}
	lower := strings.ToLower(name)
	var near []candidate
	for _, other := range names {
		limit := max(1, len(name)/4)
		d := len(other) - len(name) // a lower bound of the distance
		if d <= limit {
			d = distance(lower, strings.ToLower(other))
		}
		if d > limit {
			if len(name) < 3 || !strings.Contains(strings.ToLower(other), strings.Trim(lower, "/")) {
				continue
			}
			d = limit + 1
		}
		near = append(near, candidate{other, d})
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var all []string
	for _, c := range near[:min(len(near), 3)] {
		all = append(all, c.name)
	}
	return all
}

// DidYouMean returns "; did you mean NAME?" with the names near name, or "" if none is near.
func DidYouMean(name string, names []string) string {
	if near := Near(name, names); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// distance returns the smallest number of insertions, deletions, replacements and swaps of neighbours that turn a into
// b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{above, row, before}
	}
	return rows[1][len(b)]
}
