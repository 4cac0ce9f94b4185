package progress

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Line is a line at the bottom of a terminal that says how a process goes, and is written over. What else goes to the
// terminal is written with Write. Its methods may be called from several goroutines at once.
type Line struct {
	file *os.File

	mu    sync.Mutex
	shown bool
}

// NewLine returns the line of the terminal f. Where f is none there is no line.
func NewLine(f *os.File) *Line { return &Line{file: f} }

// Visible says whether there is a line: f is a terminal and the process is in its foreground. A job in the background
// must not disturb the shell, and what launch gives its processes is a terminal that nobody looks at.
func (l *Line) Visible() bool { return Foreground(l.file) }

// Foreground says whether f is a terminal with this process in its foreground.
func Foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Show replaces the line, cut to the width of the terminal.
func (l *Line) Show(text string) {
	if !l.Visible() {
		return
	}
	width, _, err := term.GetSize(int(l.file.Fd()))
	if runes := []rune(text); err == nil && width > 1 && len(runes) >= width {
		text = string(runes[:width-1])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.file, "\r%s\x1b[K", text)
	l.shown = true
}

// Clear takes the line off the terminal.
func (l *Line) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}

func (l *Line) clear() {
	if l.shown {
		fmt.Fprint(l.file, "\r\x1b[K")
		l.shown = false
	}
}

// Write writes p, whole lines, in the place of the line.
func (l *Line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	return l.file.Write(p)
}
