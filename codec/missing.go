package codec

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// MissingError says that messages which a Writer had taken, with no error of Write, are not in its file, since the disk
// failed before they were on it. What had been written before is. The Writer completes the file with that, and takes no
// more messages for it. Its methods return the same MissingError until then.
type MissingError struct {
	Path       string      // of the file
	Topics     []TopicInfo // the channels that miss messages, and how many
	Events     []Event     // the recorder's own messages among them
	Start, End int64       // LogTime of the earliest and the latest of these, ns since the Unix epoch; 0 without any
	Err        error       // what the disk said
}

// Count returns how many messages are missing, without the recorder's own.
func (e *MissingError) Count() uint64 {
	var n uint64
	for _, t := range e.Topics {
		if !IsEvents(t.Channel) {
			n += t.MessageCount
		}
	}
	return n
}

// Error implements error. It says what is missing and what to do.
func (e *MissingError) Error() string {
	advice := "look at the disk"
	switch {
	case errors.Is(e.Err, syscall.ENOSPC), errors.Is(e.Err, syscall.EDQUOT):
		advice = "free some space"
	case errors.Is(e.Err, syscall.EFBIG):
		advice = "have the recording split into smaller files"
	}
	return fmt.Sprintf("write %s: %s; what was written before is readable, %s before going on", e.Path, e.what(), advice)
}

// what says what the disk said and what is missing.
func (e *MissingError) what() string {
	n := e.Count()
	if n == 0 {
		return e.Err.Error()
	}
	if n == 1 {
		return fmt.Sprintf("%v: 1 message from %s is missing", e.Err, clock(e.Start))
	}
	return fmt.Sprintf("%v: %d messages from %s to %s are missing", e.Err, n, clock(e.Start), clock(e.End))
}

func clock(ns int64) string { return time.Unix(0, ns).Format("2006-01-02 15:04:05.000") }

// Unwrap returns what the disk said.
func (e *MissingError) Unwrap() error { return e.Err }

// Event returns what the recording itself says of it.
func (e *MissingError) Event() Event {
	return Event{Kind: EventDisk, Time: e.Start, Until: e.End, Count: e.Count(), Text: e.what()}
}
