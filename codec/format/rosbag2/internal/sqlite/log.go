package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"tapedeck/codec/text/plural"
)

const (
	logHead   = 32 // bytes of a write-ahead log before its frames
	frameHead = 24 // bytes of a frame before its page
	logMagic  = 0x377f0682
	walMode   = 2 // version in a database's header of databases with a write-ahead log
)

// Logged is a database with the transactions of its write-ahead log, https://sqlite.org/walformat.html. SQLite's
// library is not used, because it writes to a file beside the database even for reading.
type Logged struct {
	file, log io.ReaderAt
	pageSize  int64
	size      int64           // bytes of the database with the transactions
	frames    map[int64]int64 // offsets of committed pages in the log by page number, from 0
	pending   map[int64]int64 // offsets of pages of a transaction that is not committed

	order binary.ByteOrder // of the words that are summed
	sum   [2]uint32        // checksum of the log up to the present frame
}

// UsesLog reports whether the writers of a database use a write-ahead log.
func UsesLog(file io.ReaderAt) bool {
	head := make([]byte, fileHead)
	_, err := file.ReadAt(head, 0)
	return err == nil && string(head[:len(Magic)]) == Magic && (head[18] == walMode || head[19] == walMode)
}

// NewLogged returns the database in a file of size bytes after the committed transactions of its log. With an error
// about damage of the log, the database has the transactions before the damage.
func NewLogged(file io.ReaderAt, size int64, log io.ReaderAt, logSize int64) (*Logged, error) {
	l := &Logged{file: file, log: log, size: size, frames: map[int64]int64{}, pending: map[int64]int64{}}
	head := make([]byte, logHead)
	if _, err := log.ReadAt(head, 0); err != nil {
		if errors.Is(err, io.EOF) { // the log is empty
			err = nil
		}
		return l, err
	}
	l.order = binary.LittleEndian
	magic := binary.BigEndian.Uint32(head)
	if magic&1 == 1 {
		l.order = binary.BigEndian
	}
	l.pageSize = int64(binary.BigEndian.Uint32(head[8:]))
	l.add(head[:logHead-8])
	switch {
	case magic&^1 != logMagic, !l.matches(head[logHead-8:]):
		return l, errors.New("the beginning of the log is damaged; nothing was read")
	case l.pageSize < 512, l.pageSize > 1<<16, bits.OnesCount64(uint64(l.pageSize)) != 1:
		return l, fmt.Errorf("invalid page size of %s", plural.Count(l.pageSize, "byte"))
	}
	frame := make([]byte, frameHead+l.pageSize)
	for off := int64(logHead); off < logSize; off += int64(len(frame)) {
		if n, err := log.ReadAt(frame, off); n < len(frame) {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("cut off at 0x%x", off)
			}
			return l, err
		}
		if string(frame[8:16]) != string(head[16:24]) {
			break // the frame is older than the log's head
		}
		l.add(frame[:8])
		l.add(frame[frameHead:])
		page := int64(binary.BigEndian.Uint32(frame))
		if !l.matches(frame[16:frameHead]) || page == 0 {
			return l, fmt.Errorf("damaged at 0x%x; the rest, %s, was not read", off, plural.Count(logSize-off, "byte"))
		}
		l.pending[page-1] = off + frameHead
		if pages := binary.BigEndian.Uint32(frame[4:]); pages != 0 {
			l.commit(int64(pages))
		}
	}
	return l, nil
}

// commit commits the pending pages. The database then has the given number of pages.
func (l *Logged) commit(pages int64) {
	for page, off := range l.pending {
		l.frames[page] = off
	}
	clear(l.pending)
	l.size = pages * l.pageSize
}

// add adds bytes to the checksum.
func (l *Logged) add(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		l.sum[0] += l.order.Uint32(b) + l.sum[1]
		l.sum[1] += l.order.Uint32(b[4:]) + l.sum[0]
	}
}

// matches reports whether b is the present checksum.
func (l *Logged) matches(b []byte) bool {
	return binary.BigEndian.Uint32(b) == l.sum[0] && binary.BigEndian.Uint32(b[4:]) == l.sum[1]
}

// Size returns the bytes of the database.
func (l *Logged) Size() int64 { return l.size }

// ReadAt implements io.ReaderAt.
func (l *Logged) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) && off < l.size {
		count := min(int64(len(b)-n), l.size-off)
		file, at := l.file, off
		if len(l.frames) > 0 {
			count = min(count, l.pageSize-off%l.pageSize)
			if frame, ok := l.frames[off/l.pageSize]; ok {
				file, at = l.log, frame+off%l.pageSize
			}
		}
		k, err := file.ReadAt(b[n:n+int(count)], at)
		n, off = n+k, off+int64(k)
		if int64(k) < count {
			return n, err
		}
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
