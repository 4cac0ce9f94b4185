package codec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// MissingError reports that messages which Write accepted without an error are not in the file, because the disk failed
// before they were written. All earlier messages are in the file. The Writer completes the file with these and accepts
// no more messages for it. The Writer's methods return the same MissingError until then.
type MissingError struct {
	Path       string      // of the file
	Topics     []TopicInfo // channels with missing messages, and their number
	Start, End int64       // LogTime of the earliest and the latest missing message, ns; 0 if none is missing
	Err        error       // of the disk
}

// Count returns the number of missing messages, without the recorder's own.
func (e *MissingError) Count() uint64 {
	var n uint64
	for _, t := range e.Topics {
		if !IsEvents(t.Channel) {
			n += t.MessageCount
		}
	}
	return n
}

// Error names the missing messages and says what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("write %s: %s; what was written before is readable, %s before going on", e.Path, e.what(),
		Advice(e.Err))
}

// Advice returns what to do after an error of the disk, such as "free some space".
func Advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space"
	case errors.Is(err, syscall.EFBIG):
		return "have the recording split into smaller files"
	}
	return "look at the disk"
}

// what names the error of the disk and the missing messages.
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

// Unwrap returns the error of the disk.
func (e *MissingError) Unwrap() error { return e.Err }

// Event returns the event about e that the recording stores.
func (e *MissingError) Event() Event {
	return Event{Kind: EventDisk, Time: e.Start, Until: e.End, Count: e.Count(), Text: e.what()}
}

// Pathless removes the operation and the path from errors of package os, for callers that name them.
func Pathless(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Plain returns err without the prefix of package proto: its name and a space, which may be a no-break space.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	if text, ok := strings.CutPrefix(err.Error(), "proto:"); ok {
		return WithText(err, strings.TrimLeft(text, " \u00a0"))
	}
	return err
}

// WithText returns an error that wraps err and has another text.
func WithText(err error, text string) error { return &textError{err, text} }

type textError struct {
	error
	text string
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.error }
