package main

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"tapedeck/nodes/internal/progress"
)

// keyboard turns the keys pressed on the terminal into calls of press, until ctx ends. Ctrl-C keeps its meaning. restore
// puts the terminal back as it was. ok is false where standard input is no terminal, or that of a job in the background.
func keyboard(ctx context.Context, press func(key string)) (restore func(), ok bool) {
	in := int(os.Stdin.Fd())
	was, err := unix.IoctlGetTermios(in, unix.TCGETS)
	if err != nil || !progress.Foreground(os.Stdin) {
		return nil, false
	}
	raw := *was
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(in, unix.TCSETS, &raw) != nil {
		return nil, false
	}
	go func() {
		// The read cannot be interrupted; the goroutine ends with the process at the latest.
		buf := make([]byte, 16)
		for ctx.Err() == nil {
			n, err := os.Stdin.Read(buf)
			if err != nil {
				return
			}
			for rest := string(buf[:n]); rest != ""; {
				key := rest[:1]
				if len(rest) >= 3 && rest[:2] == "\x1b[" {
					key = rest[:3] // an arrow
				}
				rest = rest[len(key):]
				press(key)
			}
		}
	}()
	return func() { _ = unix.IoctlSetTermios(in, unix.TCSETS, was) }, true
}
