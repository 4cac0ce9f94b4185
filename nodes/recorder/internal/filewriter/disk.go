package filewriter

import (
	"errors"
	"syscall"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/diskguard"
)

// fail handles an error of the disk, after which nothing more is written to the file.
func (w *Writer) fail(err error) {
	if err == nil || w.broken != nil {
		return
	}
	var missing *codec.MissingError
	if errors.As(err, &missing) {
		if missing == w.missing {
			return // it was handled already
		}
		w.missing = missing
		w.updateFile()
		if file := w.File(); file != "" && missing.Path != file {
			w.callbacks.OnError(err) // about an earlier file, from a Sync during a split
			return
		}
	}
	w.broken = err
	if !diskguard.DiskFull(err) { // else the guard knows when
		w.retry = time.Now().Add(retryDelay)
	}
	w.callbacks.OnError(err)
	if w.Guard != nil {
		w.Guard.Hit(err)
	}
}

// isDiskError reports whether an error of the output is one of the disk, not one about a single message.
func isDiskError(err error) bool {
	var missing *codec.MissingError
	var errno syscall.Errno
	return errors.As(err, &missing) || errors.As(err, &errno)
}

// waits reports whether to wait, after an error of the disk, until writing can continue.
func (w *Writer) waits() bool { return w.Guard != nil && w.Guard.Waits(w.broken) }

// ready reports whether items can be written. After an error of the disk it tries to begin another file.
func (w *Writer) ready(stopping bool) bool {
	w.owner.Turn()
	// At the end the guard does not hold back the rest of the queue, which is small and would be lost.
	hold := w.Guard != nil && w.Guard.Holds() && !stopping
	if w.broken != nil && !hold && w.waits() && (stopping || !time.Now().Before(w.retry)) {
		if _, _, err := w.split(w.end, w.Position()+1, nil); err != nil {
			w.retry = time.Now().Add(retryDelay)
		}
	}
	if w.broken == nil && !hold {
		return true
	}
	if w.request != nil {
		w.answer(errors.Join(errors.New("cannot write at present"), w.broken))
	}
	return false
}

// makeRoom deletes a file to make room for the end of the recording on a full disk, and reports whether it could.
func (w *Writer) makeRoom() bool {
	if w.broken == nil || !w.waits() {
		return false
	}
	_ = w.output.Sync() // completes the earlier files, which can then be deleted
	return w.Guard.MakeRoom(w.broken)
}
