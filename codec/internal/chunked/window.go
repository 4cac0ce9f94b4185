package chunked

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	// WindowSize is the number of bytes that a Window reads at once while it is read in order.
	WindowSize = 256 << 10
	// JumpSize is the number of bytes that a Window reads first after a jump.
	JumpSize  = 4 << 10
	mostAhead = 1 << 20 // maximum of bytes that a Window reads beyond a View of more than WindowSize
)

// Window is a range of a file in memory. It moves over the file as bytes are requested.
type Window struct {
	File io.ReaderAt
	Size int64 // bytes of the file
	Err  error // first error of At

	buf   []byte
	off   int64 // of buf in the file
	ahead int   // bytes that the last move read
}

// Reset empties the window, but keeps the buffer.
func (w *Window) Reset(file io.ReaderAt, size int64) {
	*w = Window{File: file, Size: size, buf: w.buf[:0]}
}

// Holds reports whether the buffer has n bytes from off on.
func (w *Window) Holds(off, n int64) bool {
	return off >= w.off && off+n <= w.off+int64(len(w.buf))
}

// Near reports whether off lies in the buffer or shortly behind it.
func (w *Window) Near(off int64) bool {
	return off >= w.off && off <= w.off+int64(len(w.buf))+JumpSize && len(w.buf) > 0
}

// View returns the bytes of the file from off on: at least n, fewer only at the end of the file. They are valid until
// the next call. Small steps forward are cheap for any n.
func (w *Window) View(off int64, n int) ([]byte, error) {
	if w.Holds(off, int64(n)) {
		return w.buf[off-w.off:], nil
	}
	return w.move(off, n)
}

func (w *Window) move(off int64, n int) ([]byte, error) {
	rest := w.Size - off
	if rest <= 0 {
		return nil, nil
	}
	if w.Near(off) {
		w.ahead = min(4*w.ahead, WindowSize)
	} else {
		w.ahead = JumpSize
	}
	length := max(n, w.ahead)
	var kept []byte
	if off >= w.off && off < w.off+int64(len(w.buf)) {
		kept = w.buf[off-w.off:]
		if n > w.ahead {
			length = n + min(n/2, mostAhead)
		}
	}
	length = int(min(int64(length), rest))
	buf := w.buf[:0]
	if cap(buf) < length || cap(buf) > 16*WindowSize && length <= WindowSize {
		w.buf = nil // lets the buffer be freed before the allocation, unless kept uses it
		buf = make([]byte, length)
	}
	buf = buf[:length]
	have := copy(buf, kept)
	w.buf, w.off = buf, off
	if have == length {
		return w.buf, nil
	}
	if _, err := w.File.ReadAt(buf[have:], off+int64(have)); err != nil {
		w.buf = buf[:0]
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the file shrank while it was read: %w", io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	return w.buf, nil
}

// At is like View, but returns exactly n bytes. Unreadable bytes are zero, and set Err.
func (w *Window) At(off, n int64) []byte {
	if w.Holds(off, n) {
		return w.buf[off-w.off:][:n]
	}
	b, err := w.move(off, int(n))
	if int64(len(b)) < n {
		w.Err = cmp.Or(w.Err, err, io.ErrUnexpectedEOF)
		return append(make([]byte, 0, n), b...)[:n]
	}
	return b[:n]
}

// ContentEnd returns the offset of the zeros at the end of the first size bytes of a file, which a crash may leave.
func ContentEnd(file io.ReaderAt, size int64) (int64, error) {
	b := make([]byte, min(size, WindowSize))
	for end := size; end > 0; end -= int64(len(b)) {
		b = b[:min(end, WindowSize)]
		if _, err := file.ReadAt(b, end-int64(len(b))); err != nil {
			return 0, Unexpected(err)
		}
		if n := len(bytes.TrimRight(b, "\x00")); n > 0 {
			return end - int64(len(b)-n), nil
		}
	}
	return 0, nil
}

// Resize returns a slice of n bytes, in buf if they fit.
func Resize(buf []byte, n int) []byte {
	if n > cap(buf) {
		return make([]byte, n)
	}
	return buf[:n]
}

// ReadSum is file.ReadAt, and also returns the CRC-32 of b. It sums each piece while the CPU cache holds it.
func ReadSum(file io.ReaderAt, b []byte, off int64) (n int, sum uint32, err error) {
	for n < len(b) && err == nil {
		piece := b[n:min(len(b), n+WindowSize)]
		var read int
		read, err = file.ReadAt(piece, off+int64(n))
		n += read
		if read == len(piece) {
			err = nil // err may be io.EOF
		}
		sum = crc32.Update(sum, crc32.IEEETable, piece[:read])
	}
	return n, sum, err
}

// Unexpected turns the end of the file into an error.
func Unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
