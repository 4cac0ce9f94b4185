// Package plural writes numbers with nouns, and lists of names.
package plural

import (
	"fmt"
	"strings"

	"tapedeck/codec/text/printable"
)

// Number is a type that counts things.
type Number interface {
	int | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Count returns a number with its noun: "1 message", "2 messages".
func Count[N Number](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// shown is the number of names that List shows of a longer list.
const shown = 6

// List returns the first names of a list: "/a, /b and 3 more".
func List(names []string) string {
	more := ""
	if len(names) > shown+1 {
		more = fmt.Sprintf(" and %d more", len(names)-shown)
		names = names[:shown]
	}
	var texts []string
	for _, name := range names {
		texts = append(texts, printable.Name(name))
	}
	return strings.Join(texts, ", ") + more
}
