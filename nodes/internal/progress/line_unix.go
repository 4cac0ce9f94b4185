//go:build unix

package progress

import (
	"os"

	"golang.org/x/sys/unix"
)

// Foreground reports whether f is a terminal with this process in its foreground.
func Foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
