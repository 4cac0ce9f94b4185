package main

import (
	"fmt"

	"tapedeck/config"
)

// fileLimits say when a recording goes on in another file. 0 is never.
type fileLimits struct {
	bytes    int64
	duration int64 // ns
	messages uint64
}

// part is the file that is being written. Times are log times, ns since the Unix epoch.
type part struct {
	messages uint64 // without events and what was repeated
	bytes    int64  // roughly, of the file
	start    int64  // of the first message; 0: there is none
	end      int64  // of the last message, or of the one before this file
	origin   int64  // of the recording: files end at whole durations after it
	until    int64  // when the file is to end
}

// perMessage is what a message takes in a file beside its payload and the name of its topic, in bytes.
const perMessage = 48

// stored is how many bytes an item takes in a file, roughly.
func stored(it *item) int64 {
	return int64(len(it.payload.Data)+len(it.stream.channel.Load().Topic)) + perMessage
}

// enough says whether the item belongs into another file. A file has at least one message, so that none is empty.
func (p *part) enough(l *fileLimits, it *item) bool {
	return p.messages > 0 &&
		(l.messages > 0 && p.messages >= l.messages ||
			l.bytes > 0 && p.bytes+stored(it) > l.bytes ||
			l.duration > 0 && (it.logTime >= p.until || it.logTime < p.start-l.duration))
}

// begin notes the log time of the next message.
func (p *part) begin(l *fileLimits, t int64) {
	p.end = t
	if p.messages > 0 {
		return
	}
	p.start = t
	if l.duration == 0 {
		return
	}
	if p.origin == 0 || t < p.origin { // simulated time may begin anew
		p.origin = t
	}
	p.until = p.origin + ((t-p.origin)/l.duration+1)*l.duration
}

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
