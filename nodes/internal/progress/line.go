package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"tapedeck/codec/text/printable"
)

// Line is a status line at the bottom of a terminal, with an optional table above it. All other output to the terminal
// must go through Write or the writer that Above returns. Line is safe for concurrent use.
//
// On Ctrl-C, the terminal discards output that it has not shown yet and prints ^C at the cursor. So after the first
// drawing Line never assumes that the last line of the terminal is empty.
type Line struct {
	file *os.File

	mu    sync.Mutex
	drawn bool // the line was drawn at least once
	shown int  // number of lines on the terminal
}

// NewLine returns the status line of f. If f is not a terminal, nothing is shown.
func NewLine(f *os.File) *Line { return &Line{file: f} }

// Visible reports whether the line is shown: the file is a terminal with this process in its foreground. A background
// job must not disturb the shell, and the terminal of processes of ros2 launch is not visible.
func (l *Line) Visible() bool { return Foreground(l.file) }

// Show replaces the line, cut to the width of the terminal.
func (l *Line) Show(text string) { l.ShowTable(&Table{Line: text}) }

// ShowTable replaces the line and the table by another table, cut to the size of the terminal.
func (l *Line) ShowTable(t *Table) {
	if !l.Visible() {
		return
	}
	width, height, err := term.GetSize(int(l.file.Fd()))
	if err != nil {
		width, height = 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draw(t.lines(width, height))
}

// draw replaces the lines on the terminal. l.mu is held.
func (l *Line) draw(list []string) {
	// One write that overwrites each line prevents flickering.
	var b strings.Builder
	if l.shown > 1 {
		fmt.Fprintf(&b, "\x1b[%dA", l.shown-1)
	}
	for i, text := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\r%s\x1b[K", text)
	}
	if l.shown > len(list) {
		b.WriteString("\x1b[J")
	}
	fmt.Fprint(l.file, b.String())
	l.drawn, l.shown = true, len(list)
}

// Clear removes line and table from the terminal.
func (l *Line) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}

// clear is Clear while l.mu is held.
func (l *Line) clear() {
	if l.shown > 1 {
		fmt.Fprintf(l.file, "\x1b[%dA\x1b[J", l.shown-1)
	}
	if l.drawn {
		fmt.Fprint(l.file, "\r\x1b[K")
	}
	l.shown = 0
}

// Write writes whole lines in the place of the status line.
func (l *Line) Write(p []byte) (int, error) { return l.above(printable.Writer(l.file), p) }

// Above returns a writer of whole lines to w, which may be the same terminal. The lines take the place of the status
// line.
func (l *Line) Above(w io.Writer) io.Writer { return above{l, w} }

type above struct {
	line *Line
	w    io.Writer
}

func (a above) Write(p []byte) (int, error) { return a.line.above(a.w, p) }

func (l *Line) above(w io.Writer, p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	return w.Write(p)
}
