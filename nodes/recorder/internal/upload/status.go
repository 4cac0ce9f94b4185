package upload

import (
	"cmp"
	"fmt"
	"time"

	"tapedeck/codec/text/human"
)

// Status is what waits to be uploaded.
type Status struct {
	Files   int   // that wait, with the one that is sent
	Bytes   int64 // of these, not sent yet
	Sent    int64 // bytes of the file that is sent
	Proven  int64 // bytes that are in the store
	Sending string
	Since   time.Duration // for which the first one of them waits
	Refused int           // files that will probably not be taken
	Why     string        // nothing is sent, or a file is not; "": nothing is wrong
}

// Status returns what waits now.
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
			t.Since = max(t.Since, time.Since(f.Added)) // a clock that was set back gives less
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

// Stored returns how many bytes the store has.
func (t Status) Stored() int64 { return t.Proven + t.Sent }

// String describes what waits in one line, "" if nothing does.
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
