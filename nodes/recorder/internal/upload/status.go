package upload

import (
	"cmp"
	"fmt"
	"time"

	"tapedeck/codec/text/human"
)

// Status is the state of an upload queue. A file waits until it is proven to be in the store.
type Status struct {
	Files   int           // number of waiting files, including the current file, which is being sent
	Bytes   int64         // bytes of the waiting files that were not sent yet
	Sent    int64         // bytes of the current file that were sent
	Proven  int64         // bytes of the files that are proven to be in the store
	Sending string        // path of the current file; "": no file is being sent
	Since   time.Duration // how long the oldest waiting file has waited
	Refused int           // number of waiting files that the store will probably refuse again
	Why     string        // reason why some or all waiting files cannot be sent; "": no reason is known
}

// Status returns the state of the queue. Of several reasons why files are not sent, Why is the last failure to send, if
// there was one.
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
			t.Since = max(t.Since, time.Since(f.Added)) // time.Since is negative if the clock was set back
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

// Stored returns the number of bytes in the store: all proven files, and what was sent of the current file.
func (t Status) Stored() int64 { return t.Proven + t.Sent }

// String describes the waiting files and the reason why they are not sent in one line. It returns "" if no file waits
// and there is no such reason.
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
