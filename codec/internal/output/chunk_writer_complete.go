package output

import (
	"cmp"
	"errors"
	"fmt"

	"tapedeck/codec"
)

// Complete writes the end of the file, with events about missing messages. Then it renames the file to File.Path.
func (w *ChunkWriter) Complete(durable bool) error {
	w.disk.Lock()
	defer w.disk.Unlock()
	reported, before := w.reopen()
	w.flushChunks(false, true) // after an error of Sync the chunk may have messages
	_, last := w.reopen()
	w.file.End()
	defer w.file.Settle()
	endingErr := w.appendEnding(before, last)
	err := last
	if err == nil && !reported {
		err = before
	}
	if cmp.Or(before, last) == nil {
		err = endingErr
	}
	if finishErr := w.finish(durable, cmp.Or(before, last)); finishErr != nil {
		return errors.Join(err, fmt.Errorf("complete %s: %w; the file is readable nevertheless, %s before going on",
			w.file.Path(), finishErr, codec.Advice(finishErr)))
	}
	return err
}

// reopen clears the error that ended the writing. It returns the error, and whether a method has returned it.
func (w *ChunkWriter) reopen() (reported bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err, w.err = w.err, nil
	return w.reported, err
}

// appendEnding appends the event of missing messages and the events of CreateOptions.Ending. It returns the error of
// appending. before and last are the errors that ended the file. At most one of the two errors has missing messages:
// after a lost chunk no more chunks are written.
func (w *ChunkWriter) appendEnding(before, last error) error {
	var missing, other *codec.MissingError
	errors.As(before, &missing)
	if errors.As(last, &other) && (missing == nil || len(other.Topics) > 0) {
		missing = other
	}
	var err error
	if missing != nil && missing.Count() > 0 {
		err = w.appendEvents([]codec.Event{missing.Event()})
	}
	if w.ending == nil {
		return err
	}
	return errors.Join(err, w.appendEvents(w.endingEvents(missing)))
}

// appendEvents writes a chunk of events.
func (w *ChunkWriter) appendEvents(events []codec.Event) error {
	w.mu.Lock()
	w.err = nil
	pieces, _ := w.encoder.(pieceEncoder)
	for _, e := range events {
		m, err := w.encoder.Event(e)
		if err == nil {
			_, err = w.encoder.Prepare(m)
		}
		if err == nil {
			if pieces != nil && pieces.Body() != nil {
				pieces.Body().whole = true
			}
			w.encoder.Append(m)
		}
	}
	w.mu.Unlock()
	w.flushChunks(false, true)
	_, err := w.reopen()
	return err
}

const (
	eventSize  = 192     // maximum size of an event and its index entry, in bytes, without text and topic
	eventsRoom = 8 << 10 // bytes for events in the reserve of every encoder
)

// eventReserve returns the bytes to keep in reserve for the events of CreateOptions.Ending.
func (w *ChunkWriter) eventReserve() int64 {
	if w.ending == nil {
		return 0
	}
	n := int64(0)
	for _, t := range w.encoder.Topics() {
		n += 2*eventSize + 2*int64(len(t.Channel.Topic))
	}
	return n
}

// endingEvents returns the events of CreateOptions.Ending and the recorder's lost events. If the disk failed, it
// returns only the events for which the file has room.
func (w *ChunkWriter) endingEvents(missing *codec.MissingError) []codec.Event {
	w.mu.Lock()
	room, start, end := w.eventReserve()+eventsRoom, w.written.Start, w.written.End
	if w.written.Messages == 0 && missing != nil {
		start, end = missing.Start, missing.End
	}
	lost := w.events.lost
	w.mu.Unlock()
	events := append(w.ending(w.file.Path(), missing), lost...)
	fits := 0
	for i := range events {
		e := &events[i]
		if e.Time == 0 && e.Until == 0 {
			e.Time, e.Until = start, end
		}
		room -= int64(len(e.Text)+2*len(e.Topic)) + eventSize
		if missing == nil || room >= 0 && e.Time != 0 {
			events[fits] = *e
			fits++
		}
	}
	return events[:fits]
}

// finish completes the content of the file and closes the file. cause is the error that ended the writing, or nil. disk
// is held.
func (w *ChunkWriter) finish(durable bool, cause error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.err = true, cause
	if err := w.encoder.Finish(w.file, w.info(), durable); err != nil {
		_ = w.file.Abandon()
		return err
	}
	if err := w.file.Complete(durable); err != nil {
		return err
	}
	w.complete = true
	return nil
}
