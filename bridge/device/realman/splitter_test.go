package realman

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitter(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		objects string // separated by blanks
		errors  []string
	}{
		"lines":            {"{\"a\":1}\r\n{\"b\":2}\r\n", `{"a":1} {"b":2}`, nil},
		"line feeds":       {"{\"a\":1}\n{\"b\":2}\n\n", `{"a":1} {"b":2}`, nil},
		"no ends of lines": {`{"a":1}{"b":2}`, `{"a":1} {"b":2}`, nil},
		"zeros":            {"{\"a\":1}\x00\r\n\x00", `{"a":1}`, nil},
		"objects within":   {"{\"a\":{\"b\":{}}}\r\n", `{"a":{"b":{}}}`, nil},
		"braces in texts":  {`{"a":"}{\"}\\"}{"b":1}`, `{"a":"}{\"}\\"} {"b":1}`, nil},
		"garbage between": {"{\"a\":1} xyz{\"b\":2}", `{"a":1} {"b":2}`,
			[]string{`there is text outside of JSON objects: "xyz"`}},
		"garbage on a line": {"hello, world\r\n{\"b\":2}", `{"b":2}`,
			[]string{`there is text outside of JSON objects: "hello,world"`}},
		"a brace too many": {"{\"a\":1}}\r\n{\"b\":2}", `{"a":1} {"b":2}`,
			[]string{`there is text outside of JSON objects: "}"`}},
		"cut off": {"{\"a\":[1,2\r\n{\"b\":2}", `{"b":2}`,
			[]string{`the line ends within an object: "{\"a\":[1,2\r"`}},
		"cut off in a text": {"{\"a\":\"xy\r\n{\"b\":2}", `{"b":2}`,
			[]string{`the line ends within an object: "{\"a\":\"xy\r"`}},
		"cut off after an escape": {"{\"a\":\"\\\n{\"b\":2}", `{"b":2}`,
			[]string{`the line ends within an object: "{\"a\":\"\\"`}},
		"too long": {"{\"a\":\"" + strings.Repeat("x", maxObject) + "\"}{\"c\":1}\r\n{\"b\":2}", `{"b":2}`, []string{
			`an object has more than 65536 bytes: "{\"a\":\"` + strings.Repeat("x", maxExcerpt-6) + `"`,
		}},
		"much garbage": {strings.Repeat("x", 3*maxObject) + "\n{\"b\":2}", `{"b":2}`,
			[]string{`there is text outside of JSON objects: "` + strings.Repeat("x", maxExcerpt) + `"`}},
		"unfinished": {"{\"a\":1}{\"b\"", `{"a":1}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 7, len(test.text)} {
				var objects, problems []string
				s := splitter{object: func(o []byte) { objects = append(objects, string(o)) },
					bad: func(err error) { problems = append(problems, err.Error()) }}
				for rest := test.text; rest != ""; {
					n := min(size, len(rest))
					s.add([]byte(rest[:n]))
					rest = rest[n:]
				}
				require.Equal(t, test.objects, strings.Join(objects, " "), "in pieces of %d", size)
				require.Equal(t, test.errors, problems, "in pieces of %d", size)
			}
		})
	}
}
