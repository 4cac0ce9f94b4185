package files

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is how many bytes a name has at most, so that a number and an extension fit behind it.
const longest = 200

// Names are names that are taken already. The zero value has none.
type Names struct{ taken map[string]bool }

// Of returns the name of a file or folder for a topic, without an extension: camera_front for /camera/front. No two
// calls return the same, not even in other case, which some file systems ignore: the second of two equal names ends
// with _2. Nothing in a topic leads out of the folder.
func (n *Names) Of(topic string) string {
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == utf8.RuneError || r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return '_'
		}
		return r
	}, strings.Trim(topic, "/"))
	if strings.HasPrefix(name, ".") {
		name = "_" + name[1:]
	}
	if name == "" {
		name = "topic"
	}
	for len(name) > longest {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	unique := name
	for i := 2; n.taken[strings.ToLower(unique)]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	n.taken[strings.ToLower(unique)] = true
	return unique
}
