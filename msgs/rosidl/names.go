package rosidl

import (
	"strings"
	"unicode"
)

// SnakeCase returns a name of another language by the rules of ROS 2 for fields and packages: in lower case, with
// single underscores between words. A word begins at a capital, except inside an acronym, and after characters other
// than ASCII letters and digits. prefix precedes a name that would be empty or begin with a digit.
func SnakeCase(name, prefix string) string {
	var room [64]byte
	snake, begins := room[:0], false
	for i, c := range []byte(name) {
		if !isLetter(c) && !isDigit(c) {
			begins = true
			continue
		}
		if isUpper(c) {
			// aB, AAb
			begins = begins || i > 0 && (!isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1]))
			c += 'a' - 'A'
		}
		if begins && len(snake) > 0 {
			snake = append(snake, '_')
		}
		snake, begins = append(snake, c), false
	}
	return addPrefix(string(snake), prefix)
}

// CamelCase returns a name of another language by the rules of ROS 2 for types: only ASCII letters and digits, each
// word with a capital. prefix precedes a name that would be empty or begin with a digit.
func CamelCase(name, prefix string) string {
	var b strings.Builder
	separates := func(r rune) bool { return r > unicode.MaxASCII || !isLetter(byte(r)) && !isDigit(byte(r)) }
	for word := range strings.FieldsFuncSeq(name, separates) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return addPrefix(b.String(), prefix)
}

// addPrefix adds the prefix to a name that is empty or begins with a digit.
func addPrefix(name, prefix string) string {
	if name == "" || isDigit(name[0]) {
		return prefix + name
	}
	return name
}

func isLetter(c byte) bool { return isLower(c) || isUpper(c) }

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
