package record

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	windowSize = 256 << 10 // of what is read at once while reading goes on in order
	jumpSize   = 4 << 10   // of what is read first after a jump
)

// window is a part of a file in memory. It moves over the file as it is asked for bytes.
type window struct {
	file  io.ReaderAt
	size  int64 // of the file
	start int64 // of buf in the file
	buf   []byte
	ahead int // what the last move read
}

func (w *window) holds(pos int64, n int) bool {
	return pos >= w.start && pos+int64(n) <= w.start+int64(len(w.buf))
}

// view returns the bytes of the file from pos on: n of them or more, fewer only where the file ends. They are valid until the
// next call.
func (w *window) view(pos int64, n int) ([]byte, error) {
	if pos >= w.start && pos+int64(n) <= w.start+int64(len(w.buf)) {
		return w.buf[pos-w.start:], nil
	}
	return w.move(pos, n)
}

func (w *window) move(pos int64, n int) ([]byte, error) {
	rest := w.size - pos
	if rest <= 0 {
		return nil, nil
	}
	end := w.start + int64(len(w.buf))
	if pos >= w.start && pos <= end+jumpSize && len(w.buf) > 0 {
		w.ahead = min(4*w.ahead, windowSize)
	} else {
		w.ahead = jumpSize
	}
	length := int(min(max(int64(n), int64(w.ahead)), rest))
	if cap(w.buf) < length || cap(w.buf) > 16*windowSize && length <= windowSize {
		w.buf = nil // free it first
		w.buf = make([]byte, 0, max(length, int(min(w.size, windowSize))))
	}
	w.buf, w.start = w.buf[:length], pos
	if _, err := w.file.ReadAt(w.buf, pos); err != nil {
		w.buf = w.buf[:0]
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the file shrank while it was read: %w", io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	return w.buf, nil
}

// windows are several windows of one file, for reading at several places in turn.
type windows struct {
	small [8]window
	last  int    // the one used last
	order [8]int // the time each was used last
	time  int
	large window // for what is larger than windowSize
}

func newWindows(file io.ReaderAt, size int64) *windows {
	w := &windows{large: window{file: file, size: size}}
	for i := range w.small {
		w.small[i] = window{file: file, size: size}
	}
	return w
}

// read returns the n bytes of the file at pos. They are valid until the next call.
func (w *windows) read(pos int64, n int) ([]byte, error) {
	if last := &w.small[w.last]; last.holds(pos, n) {
		i := pos - last.start
		return last.buf[i : i+int64(n) : i+int64(n)], nil
	}
	from := w.pick(pos, n)
	b, err := from.view(pos, n)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, fmt.Errorf("the file shrank while it was read: %w", io.ErrUnexpectedEOF)
	}
	return b[:n:n], nil
}

// pick returns the window to read through: the one that holds the bytes, or else one that they follow, or else the one that
// was not used for the longest time.
func (w *windows) pick(pos int64, n int) *window {
	if n > windowSize {
		return &w.large
	}
	w.time++
	i := slices.IndexFunc(w.small[:], func(s window) bool { return s.holds(pos, n) })
	if i < 0 {
		i = slices.IndexFunc(w.small[:], func(s window) bool {
			end := s.start + int64(len(s.buf))
			return pos >= s.start && pos <= end+jumpSize && len(s.buf) > 0
		})
	}
	if i < 0 {
		i = slices.Index(w.order[:], slices.Min(w.order[:]))
	}
	w.last, w.order[i] = i, w.time
	return &w.small[i]
}
