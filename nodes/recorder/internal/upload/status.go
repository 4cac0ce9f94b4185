package upload

import (
	"cmp"
	"fmt"
	"time"

	"tapedeck/codec/text/human"
)

// Status is the state of a queue.
type Status struct {
	Files   int           // files that wait, also the current one
	Bytes   int64         // bytes of waiting files that were not sent yet
	Sent    int64         // bytes of the current file that were sent
	Proven  int64         // bytes of files that are proven to be in the store
	Sending string        // path of the current file
	Since   time.Duration // how long the oldest file has waited
	Refused int           // files that the store will probably not take
	Why     string        // why nothing or some file is not sent; "": nothing is wrong
}

// Status returns the state of the queue.
func (q *Queue) Status() (t Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.Why = q.why
	for _, s := range q.spools {
		if s.manifest.refused != nil {
			t.Why = cmp.Or(t.Why, s.manifest.refused.Error())
		}
		for _, f := range s.Files {
			if f.CRC32C != "" {
				t.Proven += f.Size
			}
			if !f.waits() {
				continue
			}
			t.Files++
			t.Bytes += f.Size
			t.Since = max(t.Since, time.Since(f.Added)) // negative if the clock was set back
			if f == q.current {
				t.Sending = s.local(f)
				t.Sent = min(q.sent, f.Size)
				t.Bytes -= t.Sent
			}
			if f.refused != nil {
				t.Refused++
				t.Why = cmp.Or(t.Why, f.refused.Error())
			}
		}
	}
	t.Why = cmp.Or(t.Why, q.broken)
	return t
}

// Stored returns how many bytes the store has, with the sent ones of the current file.
func (t Status) Stored() int64 { return t.Proven + t.Sent }

// String describes the waiting files in one line, "" if none wait and nothing is wrong.
func (t Status) String() string {
	if t.Files == 0 && t.Why == "" {
		return ""
	}
	text := fmt.Sprintf("%s to upload (%s)", human.Count(t.Files, "file"), human.Bytes(t.Bytes))
	if t.Since > time.Minute {
		text += fmt.Sprintf(", the first for %v", t.Since.Round(time.Minute))
	}
	if t.Why != "" {
		text += ": " + t.Why
	}
	return text
}
