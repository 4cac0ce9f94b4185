package chunked

import (
	"bytes"
	"cmp"
	"errors"
	"io"
)

// WindowSize is how many bytes a Window reads at a time.
const WindowSize = 64 << 10

// mostAhead is how much is read ahead of a part that is longer than that.
const mostAhead = 1 << 20

// Window reads parts of a file through a buffer.
type Window struct {
	File io.ReaderAt
	Size int64 // bytes read at a time; 0: WindowSize
	Err  error // the first one of reading

	buf []byte
	off int64 // of buf in the file
}

// Reset forgets what was read, but keeps the buffer.
func (w *Window) Reset(file io.ReaderAt, size int64) {
	*w = Window{File: file, Size: size, buf: w.buf[:0]}
}

// Holds says whether the buffer has n bytes from off on.
func (w *Window) Holds(off, n int64) bool {
	return off >= w.off && off+n <= w.off+int64(len(w.buf))
}

// At returns n bytes from off on, zeros where they cannot be read. They are valid until the next call. Going on in small steps is
// cheap whatever n is.
func (w *Window) At(off, n int64) []byte {
	if !w.Holds(off, n) {
		size := cmp.Or(w.Size, WindowSize)
		if n > size {
			size = n + min(n, mostAhead)
		}
		if int64(cap(w.buf)) < size {
			w.buf = make([]byte, size)
		}
		w.buf = w.buf[:cap(w.buf)]
		got, err := w.File.ReadAt(w.buf, off)
		if int64(got) < n {
			w.Err = cmp.Or(w.Err, err)
			clear(w.buf[got:n])
			got = int(n)
		}
		w.buf, w.off = w.buf[:got], off
	}
	return w.buf[off-w.off:][:n]
}

// ContentEnd returns where the zeros begin that the first size bytes of a file end with, as a crash may leave them.
func ContentEnd(file io.ReaderAt, size int64) (int64, error) {
	b := make([]byte, WindowSize)
	for end := size; ; end -= WindowSize {
		part := b[:min(end, WindowSize)]
		if _, err := file.ReadAt(part, end-int64(len(part))); err != nil {
			return 0, Unexpected(err)
		}
		if n := len(bytes.TrimRight(part, "\x00")); n > 0 || end <= WindowSize {
			return end - int64(len(part)-n), nil
		}
	}
}

// Resize returns n bytes, in buf if they fit there.
func Resize(buf []byte, n int) []byte {
	if n > cap(buf) {
		return make([]byte, n)
	}
	return buf[:n]
}

// Unexpected turns the end of the file into an error.
func Unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
