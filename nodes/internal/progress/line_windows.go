package progress

import (
	"os"

	"golang.org/x/sys/windows"
)

// Foreground reports whether f is a terminal. Windows has no background jobs. The terminal then understands the
// sequences that move the cursor.
func Foreground(f *os.File) bool {
	terminal := windows.Handle(f.Fd())
	var mode uint32
	return windows.GetConsoleMode(terminal, &mode) == nil &&
		windows.SetConsoleMode(terminal, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
