// Package keyboard reads single keys from the terminal.
package keyboard

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/nodes/internal/progress"
)

// Listen calls press for each key pressed on the terminal until ctx is done. Ctrl-C keeps its meaning. restore resets
// the terminal. ok is false if standard input is no terminal or the process is a background job.
func Listen(ctx context.Context, press func(key string)) (restore func(), ok bool) {
	in := int(os.Stdin.Fd())
	before, err := unix.IoctlGetTermios(in, unix.TCGETS)
	if err != nil || !progress.Foreground(os.Stdin) {
		return nil, false
	}
	raw := *before
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(in, unix.TCSETS, &raw) != nil {
		return nil, false
	}
	// A background job that reads or sets the terminal would be stopped. Here, reading fails instead.
	signal.Ignore(unix.SIGTTIN)
	set := func(t *unix.Termios) {
		if progress.Foreground(os.Stdin) {
			_ = unix.IoctlSetTermios(in, unix.TCSETS, t)
		}
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-continued: // after Ctrl-Z the shell has reset the terminal
				set(&raw)
			}
		}
	}()
	go readKeys(ctx, press, func() { set(&raw) })
	return func() { set(before) }, true
}

// readKeys calls press for each key until ctx is done. A read cannot be interrupted, so readKeys may last until the end
// of the process. It calls back when the process is in the foreground again.
func readKeys(ctx context.Context, press func(key string), back func()) {
	buf := make([]byte, 16)
	for ctx.Err() == nil {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			if !errors.Is(err, unix.EIO) || !awaitForeground(ctx) {
				return
			}
			back()
			continue
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
}

// awaitForeground waits while the process is a background job. It reports false when ctx is done before.
func awaitForeground(ctx context.Context) bool {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !progress.Foreground(os.Stdin) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
