package carla

import (
	"errors"
	"fmt"
	"io"
)

// windowSize is what is read at once.
const windowSize = 256 << 10

// window is a part of a file in memory, which moves on as it is asked for bytes.
type window struct {
	file  io.ReaderAt
	size  int64 // of the file
	start int64 // of buf in the file
	buf   []byte
}

// view returns the bytes of the file from pos on: n of them or more, fewer only where the file ends. They are valid
// until the next call.
func (w *window) view(pos int64, n int) ([]byte, error) {
	left := w.size - pos
	if left <= 0 {
		return nil, nil
	}
	if pos >= w.start && pos+min(int64(n), left) <= w.start+int64(len(w.buf)) {
		return w.buf[pos-w.start:], nil
	}
	length := int(min(int64(max(n+n/2, windowSize)), left))
	var kept []byte
	if pos >= w.start && pos < w.start+int64(len(w.buf)) {
		kept = w.buf[pos-w.start:]
	}
	buf := w.buf[:0]
	if cap(buf) < length || cap(buf) > 16*windowSize && length <= windowSize {
		buf = make([]byte, 0, max(length, int(min(w.size, windowSize))))
	}
	buf = buf[:length]
	have := copy(buf, kept)
	w.buf, w.start = buf, pos
	if have == length {
		return w.buf, nil
	}
	if _, err := w.file.ReadAt(buf[have:], pos+int64(have)); err != nil {
		w.buf = buf[:0]
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the file shrank while it was read: %w", io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	return w.buf, nil
}
