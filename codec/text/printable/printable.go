// Package printable makes foreign texts safe to show: they cannot control a terminal, hide characters or reorder the
// text beside them.
package printable

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The most bytes of a name and of a line that are shown.
const (
	longestName = 1000
	longestLine = 8000
)

// Hidden reports whether a character must not be shown unescaped, because it is a control or formatting character or is
// invisible.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsPrint(r) || r == utf8.RuneError ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Escape returns s with its hidden characters, other than those in kept, escaped as in JSON. If s is JSON, its meaning
// does not change. Bytes that are not UTF-8, which JSON cannot contain, become \x and two hexadecimal digits.
func Escape(s, kept string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return Hidden(r) && !strings.ContainsRune(kept, r) }) {
		return s
	}
	var b []byte
	for i, r := range s {
		size := max(1, utf8.RuneLen(r))
		switch short := strings.IndexRune("\n\t\r", r); {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(r)):
			b = fmt.Appendf(b, `\x%02x`, s[i])
		case !Hidden(r) || strings.ContainsRune(kept, r):
			b = append(b, s[i:i+size]...)
		case short >= 0:
			b = append(b, '\\', "ntr"[short])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return string(b)
}

// Name returns s, quoted if it contains hidden characters. A very long name is cut.
func Name(s string) string {
	short, more := cut(s, longestName)
	if strings.ContainsFunc(short, Hidden) {
		short = Escape(strconv.Quote(short), "")
	}
	return short + more
}

// Line returns a text as one line without a line break. Several lines are joined; a very long text is cut.
func Line(s string) string {
	short, more := cut(strings.TrimRight(s, " \n"), longestLine)
	return Escape(strings.ReplaceAll(short, "\n", "; "), "") + more
}

// cut returns the beginning of s, up to most bytes, and a text that stands for the rest.
func cut(s string, most int) (short, more string) {
	if len(s) <= most {
		return s, ""
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], fmt.Sprintf("... and %d more bytes", len(s)-n)
}

// Writer returns a writer of text or JSON to w. It escapes hidden characters, except line breaks and tabs.
func Writer(w io.Writer) io.Writer { return &writer{w: w} }

type writer struct {
	w io.Writer

	mu   sync.Mutex
	rest []byte // beginning of a character or line break that the next write completes
	err  error  // first error of w
}

// Err returns the first write error of a writer that Writer returned, nil for other writers.
func Err(w io.Writer) error {
	text, ok := w.(*writer)
	if !ok {
		return nil
	}
	text.mu.Lock()
	defer text.mu.Unlock()
	return text.err
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	n := len(text)
	for n > max(0, len(text)-utf8.UTFMax+1) && !utf8.RuneStart(text[n-1]) {
		n--
	}
	switch {
	case n > 0 && text[n-1] >= utf8.RuneSelf && !utf8.FullRune(text[n-1:]):
		n--
	case len(text) > 0 && text[len(text)-1] == '\r':
		n = len(text) - 1
	default:
		n = len(text)
	}
	_, err := io.WriteString(w.w, Escape(strings.ReplaceAll(string(text[:n]), "\r\n", "\n"), "\n\t"))
	w.rest = append([]byte(nil), text[n:]...)
	w.err = cmp.Or(w.err, err)
	return len(p), err
}

// LineWriter returns a writer to w that turns each write into one line.
func LineWriter(w io.Writer) io.Writer { return lineWriter{w} }

type lineWriter struct{ w io.Writer }

func (w lineWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(w.w, Line(string(p))+"\n")
	return len(p), err
}
