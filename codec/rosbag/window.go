package rosbag

import (
	"cmp"
	"io"
)

const (
	windowSize  = 64 << 10 // bytes read at a time
	smallWindow = 512      // likewise, to look at a single record
)

// window reads parts of a file through a buffer.
type window struct {
	r    io.ReaderAt
	size int64 // bytes read at a time; 0: windowSize
	buf  []byte
	off  int64 // of buf in the file
	err  error // the first one of reading
}

// at returns n bytes from off on, zeros where they cannot be read. They are valid until the next call. Going on in small steps
// is cheap whatever n is.
func (w *window) at(off, n int64) []byte {
	if off < w.off || off+n > w.off+int64(len(w.buf)) {
		if size := max(2*n, cmp.Or(w.size, windowSize)); int64(cap(w.buf)) < size {
			w.buf = make([]byte, size)
		}
		w.buf = w.buf[:cap(w.buf)]
		got, err := w.r.ReadAt(w.buf, off)
		if int64(got) < n {
			w.err = cmp.Or(w.err, err)
			clear(w.buf[got:n])
			got = int(n)
		}
		w.buf, w.off = w.buf[:got], off
	}
	return w.buf[off-w.off:][:n]
}
