package files

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is the maximum length of a name in bytes. A number and an extension fit behind it.
const longest = 200

// Names is the set of names that are taken. The zero value is empty.
type Names struct{ taken map[string]bool }

// Of returns the name of a file or folder for a topic, without an extension: camera_front for /camera/front. All
// results differ, also if case is ignored, as some file systems do: the second of two equal names ends with _2. Nothing
// in a topic leads out of the folder.
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
