package main

import (
	"fmt"

	"tapedeck/config"
)

// totalLimits say when a recording ends. 0 is never.
type totalLimits struct {
	bytes    int64 // of the files, roughly
	messages uint64
}

// reached returns the limit for which a message of that size is not written after so many messages and bytes, "" if
// there is none.
func (l *totalLimits) reached(messages uint64, bytes, size int64) string {
	switch {
	case l.messages > 0 && messages >= l.messages:
		return fmt.Sprintf("%d messages are recorded", l.messages)
	case l.bytes > 0 && bytes+size > l.bytes:
		return fmt.Sprintf("%v are recorded", config.Size(l.bytes))
	}
	return ""
}
