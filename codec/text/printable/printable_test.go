package printable

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"/imu":                        "/imu",
		"é 日本 \u05d0":                 "é 日本 \u05d0",
		"/\x1b[2J":                    `"/\x1b[2J"`,
		"\x1b]8;;http://x\x07a":       `"\x1b]8;;http://x\aa"`,
		"a\nb\tc\r\u0085\u009b31m":    `"a\nb\tc\r\u0085\u009b31m"`,
		"\u202eabc\u2066\u200f":       `"\u202eabc\u2066\u200f"`,
		"\u200b\ufeff\u3164\ufe0f":    `"\u200b\ufeff\u3164\ufe0f"`,
		"\xff\xfe \ufffd":             `"\xff\xfe \ufffd"`,
		"\x7f\U000e0041":              `"\x7f\U000e0041"`,
		strings.Repeat("a", 64<<10):   strings.Repeat("a", 1000) + "... and 64536 more bytes",
		strings.Repeat("é", 600) + "": strings.Repeat("é", 500) + "... and 200 more bytes",
	} {
		require.Equal(t, want, Name(text))
	}
}

func TestLine(t *testing.T) {
	require.Equal(t, "a; b", Line("a\nb\n"))
	require.Equal(t, `a\u001b[31m\r\xff`, Line("a\x1b[31m\r\xff "))
	require.Less(t, len(Line(strings.Repeat("\n", 1<<20)+strings.Repeat("a\n", 1<<20))), 20_000)
}

func TestWriter(t *testing.T) {
	var out strings.Builder
	w := Writer(&out)
	for _, b := range []byte("é日\U0001f600\r\n\tx\x1b\r\u009b\xc3x\xe3\x81\n") { // splits characters
		n, err := w.Write([]byte{b})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	require.Equal(t, "é日\U0001f600\n\tx"+`\u001b\r\u009b\xc3x\xe3\x81`+"\n", out.String())
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"/imu", "\x1b]52;c;aGk=\x07", "\u202e\u200b\n\x7f\u009b", "\xc3(\xff",
		"\U0001d173\ufe0f", "a\r"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		for _, shown := range []string{Name(s), Line(s), Escape(s, "")} {
			require.NotContains(t, shown, "\n")
			require.False(t, strings.ContainsFunc(shown, Hidden), "%q", shown)
			require.True(t, utf8.ValidString(shown))
		}
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var back, before string
		require.NoError(t, json.Unmarshal([]byte(Escape(string(text), "\n")), &back))
		require.NoError(t, json.Unmarshal(text, &before))
		require.Equal(t, before, back)

		var whole, pieces strings.Builder
		_, _ = Writer(&whole).Write([]byte(s + "\n"))
		w := Writer(&pieces)
		at = min(max(at, 0), len(s))
		_, _ = w.Write([]byte(s[:at]))
		_, _ = w.Write([]byte(s[at:] + "\n"))
		require.Equal(t, whole.String(), pieces.String())
	})
}
