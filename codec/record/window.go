package record

import (
	"fmt"
	"io"
	"slices"

	"tapedeck/codec/internal/chunked"
)

// windows are several windows of one file, for reading at several places in turn.
type windows struct {
	small [8]chunked.Window
	last  int    // the one used last
	order [8]int // the time each was used last
	time  int
	large chunked.Window // for what is larger than chunked.WindowSize
}

func newWindows(file io.ReaderAt, size int64) *windows {
	w := &windows{large: chunked.Window{File: file, Size: size}}
	for i := range w.small {
		w.small[i] = w.large
	}
	return w
}

// read returns the n bytes of the file at pos. They are valid until the next call.
func (w *windows) read(pos int64, n int) ([]byte, error) {
	from := &w.small[w.last]
	if !from.Holds(pos, int64(n)) {
		from = w.pick(pos, n)
	}
	b, err := from.View(pos, n)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, fmt.Errorf("the file shrank while it was read: %w", io.ErrUnexpectedEOF)
	}
	return b[:n:n], nil
}

// pick returns the window to read through: the one that holds the bytes, or else one that they follow, or else the
// one that was not used for the longest time.
func (w *windows) pick(pos int64, n int) *chunked.Window {
	if n > chunked.WindowSize {
		return &w.large
	}
	w.time++
	i := slices.IndexFunc(w.small[:], func(s chunked.Window) bool { return s.Holds(pos, int64(n)) })
	if i < 0 {
		i = slices.IndexFunc(w.small[:], func(s chunked.Window) bool { return s.Near(pos) })
	}
	if i < 0 {
		i = slices.Index(w.order[:], slices.Min(w.order[:]))
	}
	w.last, w.order[i] = i, w.time
	return &w.small[i]
}
