// Package progress shows the progress of long work on a terminal, and reads keys. It writes nothing to a pipe or a
// file.
package progress

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"tapedeck/codec/text/printable"
)

// Bar is a progress bar on a terminal. A nil Bar is valid and shows nothing. Its methods are cheap enough to be called
// for each message. A Bar is not safe for concurrent use.
type Bar struct {
	bar     *progressbar.ProgressBar
	file    *os.File
	what    string
	total   int64
	seconds bool
	step    int64 // smaller changes are not drawn
	last    int64
	drawn   time.Time
}

const interval = 100 * time.Millisecond // between two drawings

// Bytes returns a bar for work on a number of bytes, nil unless w is a terminal. A total of 0 means unknown.
func Bytes(w *os.File, what string, total int64) *Bar {
	return start(w, what, total, progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true),
		progressbar.OptionShowCount())
}

// Seconds returns a bar for work on a span of time, nil unless w is a terminal. A total of 0 means unknown.
func Seconds(w *os.File, what string, total time.Duration) *Bar {
	b := start(w, what, int64(total))
	if b != nil {
		b.seconds = true
	}
	return b
}

func start(w *os.File, what string, total int64, options ...progressbar.Option) *Bar {
	if !term.IsTerminal(int(w.Fd())) {
		return nil
	}
	total, what = max(total, 0), printable.Name(what)
	options = append(options, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0))
	bar := progressbar.NewOptions64(cmp.Or(total, -1), options...)
	return &Bar{bar: bar, file: w, what: what, total: total, step: total / 1000}
}

// Set sets how much is done, in bytes, or in ns for a bar of seconds. It may decrease.
func (b *Bar) Set(done int64) {
	if b == nil || done >= b.last && done-b.last <= b.step {
		return
	}
	b.last = done
	if now := time.Now(); now.Sub(b.drawn) >= interval {
		b.drawn = now
		b.draw(done)
	}
}

func (b *Bar) draw(done int64) {
	if b.seconds {
		b.bar.Describe(fmt.Sprintf("%s %.1f/%.1f s", b.what, time.Duration(done).Seconds(),
			time.Duration(b.total).Seconds()))
	}
	if b.total > 0 {
		done = min(done, b.total-1) // at the total the bar would end
	}
	b.bar.Set64(done)
}

// Hide removes the bar from the terminal until it is drawn again, so that other text can be written.
func (b *Bar) Hide() {
	if b != nil {
		b.bar.Clear()
		fmt.Fprint(b.file, "\x1b[K") // removes the ^C that the terminal may have printed
	}
}

// Close removes the bar from the terminal. It is not drawn again.
func (b *Bar) Close() {
	if b != nil {
		b.bar.Exit()
		b.Hide()
	}
}
